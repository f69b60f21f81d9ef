/* What files of repair/llm/ share with each other only.  See gg_llm.h. */
#ifndef GG_LLM_EXCHANGE_H
#define GG_LLM_EXCHANGE_H

#include "repair/llm/gg_llm.h"
#include "repair/syntax.h"

#define GG__CODE_TAG "Optimized Code"
enum {
    GG__MAX_PROMPT_BYTES = 512 * 1024,
    GG__MAX_ANSWER_BYTES = 1024 * 1024,
    GG__MAX_DEFINITION_BYTES = 48 * 1024,
    GG__MAX_CONTEXT_BYTES = 12 * 1024,
    GG__MAX_INPUTS = 16 /* as graphglue_worker/proposed.py */
};

/* ---- exchange.c ---- */
/* The length of the tag that begins at `at`, whatever its case, its spaces or underscores; 0 when there is none. */
size_t gg__tag_at(gg_str text, size_t at, const char *tag, bool *closes);

/* ---- prompt.c ---- */
typedef struct gg__prompt {
    gg_str system, user;
} gg__prompt;
/* Made for one definition of the task's file.  Lives in the arena. */
gg__prompt gg__prompt_make(const gg_llm_task *task, gg_span definition, bool json, gg_arena *arena);
/* <Code> with its breaks marked and explained, <Context> and <Facts>: what every question about breaks begins with. */
void gg__append_task(gg_buf *out, const gg_llm_task *task, gg_span definition, gg_arena *arena);
/* Tags of ours in somebody else's text no longer are any; what is added is taken away again by gg__restore. */
gg_str gg__neutral(gg_str text, gg_arena *arena);
gg_str gg__restore(gg_str answer, gg_str original, gg_arena *arena);
/* The module's statements that the definition needs, as they stand in the file. */
gg_str gg__context(const gg_tree *tree, gg_span definition, gg_arena *arena);

/* ---- widen.c: which inputs could show that a candidate is wrong that was accepted?  One question, asked once ---- */
typedef enum gg__widening_state {
    GG__WIDENING_OFF,
    GG__WIDENING_ASK,
    GG__WIDENING_WAIT,
    GG__WIDENING_VERIFY,
    GG__WIDENING_DONE
} gg__widening_state;

typedef struct gg__widening { /* all of it lives in the arena that it is begun with; {0}: none runs */
    gg__widening_state state;
    gg_llm_message message;
    gg_llm_request request;
    gg_str *inputs; /* VERIFY: what was proposed and reads like an input set */
    size_t input_count;
    gg_str answered, failure; /* failure: why there is no answer */
    gg_llm_usage usage;
    const gg_verdict
        *verdict; /* DONE: on those inputs; NULL: nothing was verified, and the candidate stays what it was */
} gg__widening;
/* `verdict`: the candidate's.  Stays off where it cannot be asked. */
void gg__widening_begin(gg__widening *w, const gg_llm_task *task, gg_span definition, const gg_text *edited,
                        const gg_verdict *verdict, const gg_llm_limits *limits, gg_arena *arena);
gg_srs_step gg__widening_next(gg__widening *w, gg_llm_budget *budget);
void gg__widening_answered(gg__widening *w, gg_llm_budget *budget, const gg_llm_reply *reply, gg_str failure,
                           gg_arena *arena);
void gg__widening_verified(gg__widening *w, const gg_verdict *verdict);
bool gg__widening_refuses(const gg__widening *w);
gg_str gg__widening_log(const gg__widening *w, gg_arena *arena); /* Markdown */
void gg__fenced(gg_buf *out, gg_str text);                       /* log.c */
void gg__append_usage(gg_buf *out, const gg_llm_usage *usage);   /* log.c: a paragraph */

/* ---- srs.c ---- */
void gg__srs_share(gg_srs *srs, gg_llm_budget *budget); /* instead of its own; outlives it */

/* ---- definition.c ---- */
TSNode gg__inner(TSNode node); /* of a decorated definition what is decorated, else the node */
bool gg__is_definition(TSNode node);
gg_str gg__definition_name(const gg_tree *tree, TSNode node);
/* The definition of `before`, decorators included, as `after` has it: of the same kind, name and place.  Null node: it has none. */
TSNode gg__definition_after(const gg_tree *after, const gg_tree *before, gg_span definition);

/* ---- answer.c ---- */
/* Code as it was answered, without what only the prompt had, and with its first line at the margin. */
gg_str gg__answer_code(gg_str code, gg_str original, gg_arena *arena);

/* ---- map.c, keep.c ---- */
/* The file with the answered definition in place of its own, and imports where they belong.  GG_EPARAMS in words for the model. */
int gg__map(gg_text **out, const gg_tree *tree, gg_span definition, gg_str code, gg_error *err) GG_MUST_USE;
/* The same program as `after`, with the lines of `before` wherever they say the same. */
int gg__keep_lines(gg_text **out, const gg_tree *before, const gg_tree *after, gg_error *err) GG_MUST_USE;

/* ---- canonical.c ---- */
/* What a node says: types and tokens, without comments, layout and the kind of a string's quotes.  Null node: empty. */
gg_str gg__canonical(const gg_tree *tree, TSNode node, gg_arena *arena);
bool gg__same_code(const gg_tree *a, TSNode x, const gg_tree *b, TSNode y);
/* A string's text without its quotes' kind; false when the node is no string that could be written with others. */
bool gg__string_body(const gg_tree *tree, TSNode node, gg_str *prefix, gg_str *body);

/* ---- feedback.c ---- */
/* What a verdict found wrong with the candidate, for the model; `path`: of the candidate's file. */
gg_str gg__verdict_words(const gg_verdict *verdict, gg_str path, const gg_text *candidate, gg_arena *arena);

#endif
