/* repair/ — rules that mend a break by source transformation, candidates, verdicts, and the order they are tried in.
 * Knows analysis/ and tree-sitter; no LSP, no event loop.  Adding a rule: docs/how-to-add-a-rule.md. */
#ifndef GG_REPAIR_H
#define GG_REPAIR_H

#include "analysis/gg_analysis.h"
#include "base/gg_base.h"

/* ---- safety (design: weakest allowed is --max-safety, default exact) -------------------------------------------- */
typedef enum gg_safety {
    GG_SAFETY_EXACT,   /* same results, same effects */
    GG_SAFETY_EFFECTS, /* same results; under compile a message is skipped or delayed, or an exception has another type */
    GG_SAFETY_NUMERIC, /* results equal within dtype tolerance */
    GG_SAFETY_CONFIG,  /* needs a Dynamo setting */
    GG_SAFETY_OPAQUE   /* hides code from the compiler: offered, never counted as glued */
} gg_safety;

const char *gg_safety_name(gg_safety safety);
bool gg_safety_parse(const char *name, gg_safety *out);

/* ---- edits --------------------------------------------------------------------------------------------------------- */
typedef struct gg_edit {
    gg_span span;
    gg_str text;
} gg_edit; /* text is the arena's of the caller */

typedef struct gg_setting { /* of torch._dynamo.config, that an edit makes: true, or a set with one member more */
    const char *name;       /* NULL: none */
    gg_str member;          /* "warnings.warn"; empty: it is set to true */
} gg_setting;

typedef struct gg_edits {
    GG_LIST(gg_edit) list;
    gg_setting setting;
    bool copies; /* a result may be a new tensor where the original, in an arm, gives back one that others hold */
} gg_edits;      /* Invariant after gg_edits_sort: sorted, non-overlapping */

void gg_edits_add(gg_edits *edits, gg_span span, gg_str text);
void gg_edits_clear(gg_edits *edits);
int gg_edits_sort(gg_edits *edits, gg_error *err) GG_MUST_USE; /* GG_EPARAMS when two overlap */
/* The new text; edits must be sorted. */
int gg_edits_apply(gg_text **out, const gg_text *text, const gg_edits *edits, gg_error *err) GG_MUST_USE;

/* ---- two texts, line by line (lines.c) ------------------------------------------------------------------------------------ */
typedef struct gg_line_op {
    char kind; /* ' ' and '-': a line of before, '+': of after */
    uint32_t line;
} gg_line_op;
typedef GG_LIST(gg_line_op) gg_line_ops;
void gg_lines_compare(gg_line_ops *out, const gg_text *before, const gg_text *after); /* the caller clears */
gg_str gg_line_with_end(const gg_text *text, uint32_t line);
/* Edits of whole lines, sorted, that make one of the other; their texts borrow from `after`. */
void gg_edits_between(gg_edits *out, const gg_text *before, const gg_text *after);

/* ---- rules: one file in repair/rules/, one row in rules.def ------------------------------------------------------------ */
typedef struct gg_hindrance gg_hindrance;

typedef struct gg_rule_input {
    const gg_tree *tree;     /* of the file the site lies in, as it is now */
    const gg_site *site;     /* id, span, facts (site->first) */
    gg_span span;            /* where the site is in `tree` now */
    gg_hindrance *hindrance; /* where a rule made for such a break says why it does not apply; NULL: nobody asks */
    bool
        numbers; /* tensors of float64 and int64 without dimensions are numbers of Python's, whose uses somebody else looks at */
} gg_rule_input;

typedef struct gg_rule_match {
    TSNode node; /* what the rule will rewrite */
} gg_rule_match;

typedef struct gg_rule {
    const char *code; /* "GG001": file gg001_<slug>.c, page docs/rules/GG001.md, fixtures tests/fixtures/repair/GG001 */
    const char *name; /* "guard-diagnostic" */
    const char *title; /* for the user: "Skip this message while compiling" */
    gg_safety safety;
    bool deliberate;  /* what it undoes was written on purpose (a call that breaks the graph): never mended unasked */
    bool last_resort; /* keeps a branch or a loop as it is, inside the graph: first what needs none is mended */
    /* Cheap, on the tree and the facts only: runs on every code-action request. */
    bool (*check)(const gg_rule_input *in, gg_rule_match *out);
    /* Only when chosen.  Text goes into the arena.  GG_ENOMATCH when a precondition does not hold after all. */
    int (*edit)(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err);
} gg_rule;

const gg_rule *const *gg_rules(size_t *out_count); /* in the order offered: strongest first */
const gg_rule *gg_rule_find(gg_str code_or_name);
gg_str gg_rule_page(const gg_rule *rule); /* its page docs/rules/<code>.md, Markdown; empty when it has none */

/* The rules whose check passes, in order; at most max.  Returns how many: none in a file that nests a thousand levels deep. */
size_t gg_repair_offers(const gg_rule_input *in, gg_safety max_safety, const gg_rule **out, size_t max);

struct gg_hindrance { /* what keeps a rule from mending a break that it is made for (hindrance.c) */
    const gg_rule *rule;
    gg_span span;  /* the code that stands in its way, in the tree */
    char why[160]; /* in words, one line; empty: none was told */
    bool general;  /* any such code breaks: what a rule that is made for this code says tells more */
};
/* What keeps the first of the rules up to a safety that says so, of those that say more than others; false where none does, where one of them applies, and where a file nests too deep. */
bool gg_repair_hindrance(const gg_rule_input *in, gg_safety max_safety, gg_hindrance *out);
/* "line 12, `print(x)`: runs on one way only" */
gg_str gg_hindrance_text(const gg_hindrance *hindrance, const gg_tree *tree, bool markdown, gg_arena *arena);

/* A checked rule's edits, sorted; the result parses with no new syntax error (else GG_ENOMATCH). */
int gg_repair_edits(const gg_rule *rule, const gg_rule_input *in, gg_arena *arena, gg_edits *out,
                    gg_error *err) GG_MUST_USE;

/* ---- verdicts ----------------------------------------------------------------------------------------------------------- */
typedef struct gg_entry_verdict {
    gg_str name;
    gg_entry before, after;
    bool glued;
    gg_str arguments; /* of the original's call, in words; empty: not told */
} gg_entry_verdict;

typedef struct gg_verdict {
    bool accepted, glued;
    gg_str outputs; /* "identical", "close", "different", "error" */
    int32_t graphs_before, graphs_after, breaks_before, breaks_after;
    int32_t breaks_to_light; /* of breaks_after: hidden by the break that is gone */
    bool copies;             /* judged with gg_edits.copies */
    gg_str *compared;
    size_t compared_count;
    gg_str *reasons;
    size_t reason_count;
    gg_str *proposed; /* input sets of a model's, each with what came of it */
    size_t proposed_count;
    gg_entry_verdict *entries;
    size_t entry_count;
} gg_verdict;

int gg_verdict_decode(gg_verdict *out, const json_t *json, gg_arena *arena, gg_error *err) GG_MUST_USE;
/* One line for the user: "Glued: 2 graphs → 1, outputs identical on 4 input sets." / "Refused: outputs differ …" */
gg_str gg_verdict_summary(const gg_verdict *verdict, gg_arena *arena);

/* ---- repair session: mends the sites of a file, and of others it covers: a state machine that runs nothing ---------------------
 * Drive it:  loop { action = gg_fix_next(fix); do what it says; tell it with gg_fix_captured / gg_fix_verified }.
 *   CAPTURE  the current text must be captured       → gg_fix_captured
 *   VERIFY   action.edited is a candidate             → gg_fix_verified
 *   ASK      action.request is to be sent to a model  → gg_fix_answered   (only after gg_fix_use)
 *   DONE     nothing more to try
 * The first break of the first entry is mended first (but that of a function that calls one with a break comes after it) and the file captured again (the verdict's `after` entries serve as that
 * capture), since later breaks may be its cascade; a site whose candidates were all refused is passed over.  A verdict that cannot be
 * read refuses its candidate.  The session ends after a bounded number of steps, whatever it is told. */
typedef struct gg_fix gg_fix;

typedef struct gg_fix_repair { /* one candidate that was tried */
    gg_str site_id, file;
    gg_range range_utf16;      /* of the site, in the text it was tried on */
    const gg_rule *rule;       /* NULL: a model's */
    const gg_verdict *verdict; /* lives as long as the gg_fix */
    const gg_edit *edits;
    size_t edit_count;
    gg_setting setting;  /* what the edits set; no name: nothing */
    const gg_text *base; /* the text the edits apply to */
} gg_fix_repair;

typedef enum gg_fix_step { GG_FIX_CAPTURE, GG_FIX_VERIFY, GG_FIX_ASK, GG_FIX_DONE } gg_fix_step;

typedef struct gg_fix_file {
    gg_str path; /* absolute */
    const gg_text *original, *begun,
        *text; /* as it was, as the session began with it, as mended so far; borrowed until the next step */
} gg_fix_file;

struct gg_llm_request; /* repair/llm/gg_llm.h */
struct gg_llm_reply;

typedef struct gg_fix_action {
    gg_fix_step step;
    gg_str file;             /* VERIFY: the file that is edited; all others are as gg_fix_file_at says */
    const gg_text *original; /* VERIFY: the text now; CAPTURE: the text to capture.  Borrowed. */
    const gg_text *edited;   /* VERIFY */
    gg_safety safety;        /* VERIFY: the rule's */
    gg_str also[GG_SAFETY_OPAQUE + 1];
    size_t also_count;   /* VERIFY: the classes of the repairs accepted so far: what they waive stays waived */
    bool copies;         /* VERIFY: as gg_edits.copies */
    const gg_rule *rule; /* VERIFY: NULL: a model's */
    bool
        foreign; /* VERIFY: in one of the texts is what a model wrote, this candidate's or an accepted one's: for the sandbox only */
    const gg_str
        *inputs; /* VERIFY: of an edit that was accepted: input sets that a model proposed, on which it has to hold … */
    size_t input_count;                   /* … 0: it is a new one */
    const struct gg_llm_request *request; /* ASK; borrowed until it is answered */
} gg_fix_action;

/* A second source of candidates, for what no rule mends (repair/llm: gg_agent_source).  Texts and edits it gives are borrowed until it is called again. */
typedef struct gg_fix_offer {
    gg_fix_step step; /* ASK, VERIFY or DONE */
    const struct gg_llm_request *request;
    const gg_text *edited; /* VERIFY: a candidate; DONE: the one to keep, NULL when there is none */
    const gg_edits *edits;
    const gg_verdict *verdict; /* DONE: of the one to keep */
    const gg_str *inputs;      /* VERIFY: as in gg_fix_action, for the candidate that was accepted last */
    size_t input_count;
    bool refused; /* DONE, of a rule's candidate: it did not hold on them */
} gg_fix_offer;

typedef struct gg_fix_source {
    void *data;
    /* Takes up the first of these open sites of one file, and those of the others that lie in the same definition: says so in `taken`.  false: it can
     * do nothing for it. */
    bool (*begin)(void *data, const gg_tree *tree, const gg_site *const *sites, size_t count, bool *taken);
    int (*next)(void *data, gg_fix_offer *out, gg_error *err);
    int (*answered)(void *data, const struct gg_llm_reply *reply, gg_str failure, gg_error *err);
    int (*verified)(void *data, const gg_verdict *verdict, gg_error *err);
    /* A rule's candidate was accepted: may it be tried on more inputs first?  Then they come as ASK, VERIFY and DONE.  NULL: never. */
    bool (*widen)(void *data, const gg_tree *tree, const gg_site *site, const gg_text *edited,
                  const gg_verdict *verdict);
} gg_fix_source;

/* `path` absolute.  Only sites in that file are mended, unless gg_fix_cover says more.  max_safety bounds the rules. */
gg_fix *gg_fix_new(gg_str path, const gg_text *text, gg_safety max_safety, const gg_registry *registry);
/* Only sites that are wanted are mended from now on; `data` is borrowed for the session's life. */
void gg_fix_keep_deliberate(gg_fix *fix); /* leave out the rules that are deliberate */
void gg_fix_only(gg_fix *fix, bool (*wants)(const void *data, const gg_site *site), const void *data);
/* Sites in files that `covers` (absolute path) accepts are mended too; `data` is borrowed for the session's life.  A file is read when a break
 * is first met in it. */
void gg_fix_cover(gg_fix *fix, bool (*covers)(const void *data, gg_str path), const void *data);
/* A covered file whose text is not the one on disk: before the capture. */
void gg_fix_put(gg_fix *fix, gg_str path, const gg_text *original, const gg_text *text);
/* Sites that no rule mends are taken to this source; its data outlives the session.  max_safety bounds what its candidates may waive, but never further than numeric. */
void gg_fix_use(gg_fix *fix, gg_fix_source source);
void gg_fix_free(gg_fix *fix);
int gg_fix_next(gg_fix *fix, gg_fix_action *out, gg_error *err) GG_MUST_USE;
/* `frames`: the `entry` values of the capture's frames (copied).  */
int gg_fix_captured(gg_fix *fix, json_t *const *entries, size_t count, gg_error *err) GG_MUST_USE;
/* `verdict`: the verdict value of the frame, or NULL when the job failed; `failure` then says why. */
int gg_fix_verified(gg_fix *fix, const json_t *verdict, gg_str failure, gg_error *err) GG_MUST_USE;
/* NULL: the exchange failed for good, and `failure` says why. */
int gg_fix_answered(gg_fix *fix, const struct gg_llm_reply *reply, gg_str failure, gg_error *err) GG_MUST_USE;
const gg_text *gg_fix_text(const gg_fix *fix); /* its own file as mended so far; borrowed */
/* The session's own file is the first, then come covered ones; NULL behind the last.  Those untouched so far are among them. */
const gg_fix_file *gg_fix_file_at(const gg_fix *fix, size_t index);
const gg_fix_repair *gg_fix_repairs(const gg_fix *fix, size_t *out_count);
gg_safety gg_fix_repair_safety(const gg_fix_repair *repair); /* the rule's; of a model's, what the verdict measured */
bool gg_fix_hides(
    const gg_fix *fix); /* an accepted repair hides code from the compiler: nothing counts as glued then */
const gg_entry *gg_fix_before(const gg_fix *fix, size_t *out_count); /* entries of the first capture */
const gg_entry *gg_fix_after(const gg_fix *fix, size_t *out_count);  /* of the text as it is now */

#endif
