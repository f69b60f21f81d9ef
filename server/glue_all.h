/* A repair session of a document, as glue_all.c drives it and glue_model.c asks a model for it.  Private to these. */
#ifndef GG_GLUE_ALL_H
#define GG_GLUE_ALL_H

#include "server/llm/model.h"
#include "server/llm/session_agent.h"
#include "server/session.h"

typedef struct gg__asked {   /* of a model */
    bool wanted, only_shown; /* only_shown: the first question, and nothing is sent */
    gg_model_who who;
    char *torch;     /* the version that found the breaks */
    char *root;      /* the project's folder, where lessons are kept (NULL: nowhere) */
    char *enclosing; /* only breaks of this class or function are mended; NULL: all */
    gg_session_agent agent;
    gg_asking *asking;
    bool was_asked, unanswered; /* unanswered: so the last question stayed, and the user was told */
    bool awaited;               /* what was heard is to be told to the session */
    gg_heard heard;
    unsigned round; /* of the last question */
    uint64_t told;  /* tokens of its answer that progress has told */
    gg_buf text;    /* the log, or the question that was only to be shown */
} gg__asked;

struct gg_glue_all {
    gg_session *session;
    char *uri, *path;
    uint64_t revision; /* of the text that is being mended */
    gg_options *options;
    gg_text *text;
    gg_fix *fix;
    gg_glue_done done;
    void *data;
    /* what the worker said of the last step, until the next */
    json_t *entries, *verdict;
    char *failure;
    bool asked_capture, asked_verdict, asked_bench;
    json_t *bench; /* what is to be timed came so far; NULL: nothing is to be */
    gg_fix_action action;
    gg_edits edits;
    gg_error error;
    gg_worker *worker;
    json_int_t job;
    size_t candidates;
    gg_progress *progress;
    bool canceled, waiting;
    gg__asked asked;
};

gg_document *gg__glued_document(gg_glue_all *all); /* NULL: it is another text by now */
void gg__glue_finish(gg_glue_all *all, int error, const char *message);
void gg__glue_go_on(gg_glue_all *all); /* what is known is told to the repair session, in a job */
/* It begins with gg__glue_go_on. */
gg_glue_all *gg__glue_start(gg_document *document, bool unasked, gg_glue_done done, void *data, gg_error *err);

/* ---- glue_model.c ------------------------------------------------------------------------------------------------------------------ */
void gg__model_begin(gg_glue_all *all);              /* in the first job: reads what was learnt */
int gg__model_answered(gg_glue_all *all);            /* in a job */
void gg__model_end(gg_glue_all *all, bool in_a_job); /* keeps what was learnt, in a job only */
void gg__model_ask(gg_glue_all *all);
void gg__model_clear(gg_glue_all *all);

#endif
