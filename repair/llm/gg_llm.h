/* repair/llm/ — the repair agent: what is asked of a language model, what its answers are worth, and when it is asked again.
 * Nothing here opens a connection, a file or a process: server/llm/ carries the requests, the worker judges the candidates. */
#ifndef GG_LLM_H
#define GG_LLM_H

#include "repair/gg_repair.h"

/* ---- what goes to a model and comes back, whichever API carries it ---------------------------------------------------------- */
typedef enum gg_llm_role { GG_LLM_USER, GG_LLM_ASSISTANT } gg_llm_role;

typedef struct gg_llm_message {
    gg_llm_role role;
    gg_str content; /* UTF-8 */
} gg_llm_message;

typedef struct gg_llm_request { /* texts are the owner's, and outlive the exchange */
    gg_str system;              /* empty: none */
    const gg_llm_message *messages;
    size_t message_count;
    gg_str schema;       /* JSON schema the answer has to follow, for endpoints that can be told; empty: tagged text */
    uint32_t max_tokens; /* of the answer */
    double temperature, top_p;
} gg_llm_request;

#define GG_LLM_MAX_TOKENS  8192
#define GG_LLM_TEMPERATURE 0.7
#define GG_LLM_TOP_P       0.8

typedef enum gg_llm_stop {
    GG_LLM_STOP_END,    /* the model had said all it wanted to */
    GG_LLM_STOP_LENGTH, /* max_tokens: the text is cut off */
    GG_LLM_STOP_REFUSED /* the endpoint or the model would not answer */
} gg_llm_stop;

typedef struct gg_llm_reply {
    gg_str text;                          /* what is to be read of the answer: thinking left out */
    uint64_t input_tokens, output_tokens; /* as the endpoint counted; 0: it did not say */
    gg_llm_stop stop;
} gg_llm_reply;

/* ---- typed exchanges (exchange.c): one row says what is asked for; prompt, schema and parser come from it ------------------------ */
typedef enum gg_llm_field_kind {
    GG_FIELD_CODE,      /* Python, its own lines and indentation kept */
    GG_FIELD_TEXT,      /* prose, trimmed */
    GG_FIELD_EXPRESSION /* one line of Python */
} gg_llm_field_kind;

typedef struct gg_llm_field {
    const char *name, *tag; /* JSON: "code"; tagged: <Optimized Code> */
    const char *says;       /* what belongs in it, for the model */
    gg_llm_field_kind kind;
    uint32_t min, max; /* how many of it there may be; max 1: a string in JSON, else an array of them */
} gg_llm_field;

typedef struct gg_llm_exchange { /* one row of exchange.c */
    const char *name;
    const gg_llm_field *fields;
    size_t field_count;
} gg_llm_exchange;

enum { GG_MAX_FIELDS = 4 };
extern const gg_llm_exchange gg_llm_repair;      /* code, reasons */
extern const gg_llm_exchange gg_llm_explain;     /* explanations: one for each break, in their order */
extern const gg_llm_exchange gg_llm_more_inputs; /* inputs: expressions, as graphglue_worker/proposed.py follows them */

typedef struct gg_llm_answer { /* items of each field, in the arena */
    struct {
        gg_str *items;
        size_t count;
    } fields[GG_MAX_FIELDS];
} gg_llm_answer;

/* The prompt's words on the form of the answer; `json`: as the schema has it, else in tags. */
gg_str gg_llm_format(const gg_llm_exchange *exchange, bool json, gg_arena *arena);
gg_str gg_llm_schema(const gg_llm_exchange *exchange, gg_arena *arena);
/* Reads an answer in tags or in JSON, whichever it is.  GG_EPARAMS in words that can be sent back to the model. */
int gg_llm_read(gg_llm_answer *out, const gg_llm_exchange *exchange, const gg_llm_reply *reply, gg_arena *arena,
                gg_error *err) GG_MUST_USE;

/* ---- learning from fixes (lessons.c): pairs of before and after, found again by their words ------------------------------------- */
typedef struct gg_lesson {
    gg_str id; /* of the break: "GB0059" */
    gg_str before, after;
} gg_lesson;

typedef struct gg_lessons gg_lessons; /* one owner at a time */
gg_lessons *gg_lessons_new(void);
void gg_lessons_free(gg_lessons *lessons); /* NULL is fine */
size_t gg_lessons_count(const gg_lessons *lessons);
/* Copied.  false: it is known, empty or too long.  The oldest goes when there are too many. */
bool gg_lessons_add(gg_lessons *lessons, const gg_lesson *lesson);
/* JSON lines; one that cannot be read is left out.  Returns how many were added. */
size_t gg_lessons_load(gg_lessons *lessons, gg_str jsonl);
void gg_lessons_render(const gg_lessons *lessons, gg_buf *out);
/* The nearest, best first; borrowed until the lessons change.  Returns how many. */
size_t gg_lessons_nearest(const gg_lessons *lessons, gg_str id, gg_str code, const gg_lesson **out, size_t max);

/* ---- budgets (budget.c): what exchanges may take, and took ----------------------------------------------------------------------- */
typedef struct gg_llm_limits { /* 0: without a limit, but for max_rounds */
    uint32_t max_rounds;       /* beside attempt 0; at most GG_SRS_MAX_ROUNDS */
    uint64_t max_tokens;       /* in and out, all rounds together; what an endpoint does not count is estimated */
    uint64_t max_ms;           /* by the caller's clock: gg_srs_clock */
    double max_cost, input_price, output_price; /* prices of a million tokens */
    uint32_t answer_tokens;
    double temperature, top_p;
    uint32_t
        more_inputs; /* input sets that the model may propose for a candidate that was accepted; 0: it is not asked */
    bool json;       /* the endpoint can be told a schema: the answer is to be JSON */
    bool only_feedback; /* never begin again from the original code: what SRS is measured against */
} gg_llm_limits;

enum { GG_SRS_ROUNDS = 3, GG_SRS_MAX_ROUNDS = 5 };
gg_llm_limits gg_llm_limits_default(void);

typedef struct gg_llm_usage {
    uint64_t input_tokens, output_tokens;
    double cost;
} gg_llm_usage;

typedef struct gg_llm_budget { /* a plain value; {.limits = …} begins one */
    gg_llm_limits limits;
    uint64_t begun_ms, now_ms, input_tokens, output_tokens;
    double cost;
    bool has_begun;
} gg_llm_budget;
/* The time, whenever the caller likes to tell it; the first is the beginning. */
void gg_llm_budget_clock(gg_llm_budget *budget, uint64_t now_ms);
/* Which is used up: "tokens", "time" or "cost"; NULL: none. */
const char *gg_llm_budget_spent(const gg_llm_budget *budget);
/* The request's max_tokens become what may still be spent on an answer.  As above where that is nothing to speak of. */
const char *gg_llm_budget_fit(const gg_llm_budget *budget, gg_llm_request *request);
/* What an endpoint does not count is estimated. */
gg_llm_usage gg_llm_budget_count(gg_llm_budget *budget, const gg_llm_request *request, const gg_llm_reply *reply);

/* ---- SRS: one repair, asked for, judged and asked for again (srs.c).  A state machine: it sends nothing and runs nothing ----------------
 * Drive it:  loop { action = gg_srs_next(srs); do what it says; tell it with gg_srs_answered / gg_srs_verified }.
 * Attempt 0; then up to max_rounds more: odd ones send back what was wrong, with all that was said before; rounds 2 and 4 throw everything away and
 * begin again from the original code.  The first candidate that mends all that was asked for ends it; one that mends some is kept as the
 * best so far.  With more_inputs the model is asked, about each candidate that would be kept, for inputs it may be wrong on: it is kept if it holds on those
 * too, else that verdict is what goes back.  It ends whatever it is told: after max_rounds, or when a budget is spent. */
typedef struct gg_llm_task { /* what is to be mended; copied, but for sites and lessons, which outlive the SRS */
    const gg_tree *tree;     /* of the file, as it is now */
    const gg_site *const *sites;
    size_t site_count;          /* of one definition (gg_llm_definition) */
    const gg_str *explanations; /* one for each site, instead of our own words; NULL, and empty ones: our own */
    const gg_lessons *lessons;  /* NULL: none */
} gg_llm_task;

/* The definition that an exchange is about: the outermost class around the site, else the outermost function, decorators included; where that is
 * too long for a prompt, the next smaller one.  false: there is none. */
bool gg_llm_definition(const gg_tree *tree, gg_span site, gg_span *out);

typedef enum gg_srs_step { GG_SRS_ASK, GG_SRS_VERIFY, GG_SRS_DONE } gg_srs_step;

typedef struct gg_srs_action {
    gg_srs_step step;
    uint32_t round;                /* 0: the first attempt */
    const gg_llm_request *request; /* ASK; borrowed until it is answered */
    const gg_text *edited;         /* VERIFY: the candidate; DONE: the best, NULL when there is none */
    const gg_edits *edits;         /* … that make it of the task's text */
    const gg_str *inputs; /* VERIFY: input sets that the model proposed, for a candidate that was accepted before … */
    size_t input_count;   /* … 0: none, it is a new one */
    const gg_verdict *verdict; /* DONE: of the best */
    const char *end;           /* DONE: why: "mended", "rounds", "tokens", "time", "cost", "endpoint" */
} gg_srs_action;

typedef struct gg_srs_round { /* the trajectory */
    gg_str asked;             /* the last message of the request */
    bool fresh;               /* nothing of the rounds before was sent */
    gg_str answered;          /* what came back; empty: nothing */
    gg_str outcome;           /* what was wrong, or the verdict's summary */
    gg_str cheat;             /* the name of what integrity refused it for; empty: nothing */
    gg_str reasons;           /* the model's own, one a line */
    gg_str
        wider; /* of the inputs it proposed then: question, answer and what came of them, Markdown; empty: it was not asked */
    gg_llm_usage usage;
} gg_srs_round;

typedef struct gg_srs gg_srs;
gg_srs *gg_srs_new(const gg_llm_task *task, const gg_llm_limits *limits);
void gg_srs_free(gg_srs *srs); /* NULL is fine */
void gg_srs_clock(gg_srs *srs,
                  uint64_t now_ms); /* the time, whenever the caller likes to tell it; the first is the beginning */
int gg_srs_next(gg_srs *srs, gg_srs_action *out, gg_error *err) GG_MUST_USE;
/* NULL: the exchange failed for good, and `failure` says why: the SRS ends. */
int gg_srs_answered(gg_srs *srs, const gg_llm_reply *reply, gg_str failure, gg_error *err) GG_MUST_USE;
/* The verdict outlives the SRS. */
int gg_srs_verified(gg_srs *srs, const gg_verdict *verdict, gg_error *err) GG_MUST_USE;
const gg_srs_round *gg_srs_rounds(const gg_srs *srs, size_t *out_count);
void gg_srs_log(const gg_srs *srs, gg_buf *out); /* the trajectory, Markdown */

/* ---- explanations (explain.c): one question for breaks of one definition, asked again once.  A state machine too ---------------------------
 * loop { request = gg_explaining_next(e); NULL: done; ask it, and tell with gg_explaining_answered }. */
enum { GG_EXPLAIN_SITES = 12, GG_EXPLANATION_BYTES = 2048 };
typedef struct gg_explaining gg_explaining;
/* task: breaks as gg_explain_batch chose them; its explanations and lessons are not looked at.  `budget`: outlives it. */
gg_explaining *gg_explaining_new(const gg_llm_task *task, gg_llm_budget *budget);
void gg_explaining_free(gg_explaining *explaining);                               /* NULL is fine */
const gg_llm_request *gg_explaining_next(gg_explaining *explaining);              /* borrowed until it is answered */
void gg_explaining_answered(gg_explaining *explaining, const gg_llm_reply *reply, /* NULL: `failure` says why */
                            gg_str failure);
/* When it is over: one for each site, plain Markdown; NULL: there is none, *failure (may be NULL) says why, and our own words stay.  Borrowed. */
const gg_str *gg_explaining_texts(const gg_explaining *explaining, gg_str *failure);
/* The first of the sites that is not `taken`, and others of its definition, as many as one question may have: they, and those that lie in no
 * definition, are taken.  *out: room for GG_EXPLAIN_SITES.  Returns how many; 0: none is left. */
size_t gg_explain_batch(const gg_tree *tree, const gg_site *const *sites, size_t count, bool *taken,
                        const gg_site **out);
/* All that an explanation rests on beside the model, as a key for whoever keeps it: our words' version, torch's ("" where it is not known), the definition with
 * what it uses of its file, the break's id and place in it.  In the arena; empty: it lies in no definition. */
gg_str gg_explain_subject(const gg_tree *tree, const gg_site *site, const char *torch, gg_arena *arena);
/* What may be shown of words that a model, or a file, has for a site.  GG_EPARAMS in words for the model: too long, a link, code that is not the
 * file's. */
int gg_explanation_accept(gg_str *out, gg_str said, const gg_tree *tree, const gg_site *site, gg_arena *arena,
                          gg_error *err) GG_MUST_USE;

/* ---- integrity (integrity.c): what a model may not do to make a verdict come out well -------------------------------------------------- */
typedef struct gg_cheat {
    const char *name; /* "turns-off-compiler", of cheats.def; NULL: nothing was found */
    gg_str why;       /* in words, with the code that shows it; in the arena */
} gg_cheat;
/* The first thing that `after` has and `before` has not; `definition`: the span, in `before`, that the edit had to keep to. */
gg_cheat gg_integrity_check(const gg_tree *before, const gg_tree *after, gg_span definition, gg_arena *arena);

/* ---- the agent: SRS as the second source of a repair session (agent.c; gg_fix_use) --------------------------------------------------------- */
typedef struct gg_agent gg_agent; /* one owner at a time; outlives the session it is used in */
/* The limits are those of the whole session, max_rounds those of each site.  `lessons`: borrowed, NULL is fine. */
gg_agent *gg_agent_new(const gg_llm_limits *limits, gg_lessons *lessons);
void gg_agent_free(gg_agent *agent);
void gg_agent_clock(gg_agent *agent, uint64_t now_ms); /* tell it before each step */
/* Who knows words for a site that are better than ours, if any; they go into questions.  Called where the source is driven; borrowed. */
typedef bool (*gg_agent_words)(void *data, gg_str *out, const gg_tree *tree, const gg_site *site, gg_arena *arena);
void gg_agent_explain(gg_agent *agent, gg_agent_words words, void *data);
gg_fix_source gg_agent_source(gg_agent *agent);
/* The SRS that runs, or ran last; NULL: none did.  Borrowed until the next one begins. */
const gg_srs *gg_agent_srs(const gg_agent *agent);
gg_llm_usage gg_agent_spent(const gg_agent *agent);
void gg_agent_log(const gg_agent *agent, gg_buf *out); /* "Show repair log": all trajectories, Markdown */

#endif
