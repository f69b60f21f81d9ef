/* The state of a repair session, for fix.c, whose comment tells how it goes, fix_source.c, fix_wider.c and fix_withdraw.c. */
#ifndef GG_REPAIR_FIX_H
#define GG_REPAIR_FIX_H

#include "repair/gg_repair.h"

enum { GG_FIX_REPAIRS = 256, GG_FIX_OFFERS = 8, GG_FIX_QUESTIONS = 256 };

typedef struct gg__fix_refusal { /* a site whose candidates were all refused */
    gg_str key;
    size_t accepted; /* repairs accepted by then */
    bool right;      /* one of them may be right behind another repair */
    bool deliberate; /* a rule for it was kept out, as what it undoes was written on purpose */
    bool asked;      /* the second source was */
    const gg_rule *tried[GG_FIX_OFFERS];
    size_t tried_count;
} gg__fix_refusal;

typedef struct gg__fix_file { /* `seen` is what others are shown of the rest */
    gg_fix_file seen;
    gg_text *original, *begun, *text;
    gg_tree *tree; /* of the text; NULL: to be parsed */
} gg__fix_file;

struct gg_fix {
    gg_arena *arena;             /* lives as long as the session: repairs and verdicts are shown at its end */
    GG_LIST(gg__fix_file) files; /* the session's own, then covered ones with a site */
    bool (*covers)(const void *data, gg_str path); /* NULL: no other file */
    const void *covers_data;
    gg_safety max_safety, stage; /* settings hold for the whole process: first what needs none is mended */
    bool resorts;                /* rules of a last resort are tried, too */
    unsigned classes; /* of the accepted repairs, a bit each: what one waived may show only behind a later one */
    const gg_registry *registry;
    bool (*wants)(const void *data, const gg_site *site); /* NULL: every one */
    const void *wants_data;
    gg_entry *before, *after;
    size_t before_count, after_count;
    gg_site_list sites;
    GG_LIST(gg__fix_refusal) given_up; /* one for each key */
    size_t accepted;
    gg_text *edited;    /* the candidate under verification … */
    size_t edited_file; /* … of this file */
    const gg_rule *offers[GG_FIX_OFFERS];
    size_t offer_count, next_offer;
    gg_str site_key;           /* of the site being mended; empty: none chosen */
    gg_fix_source source;      /* .begin NULL: there is none */
    size_t asked_file;         /* of the sites it has taken up */
    const gg_site *asked_site; /* the first of them */
    size_t questions;
    GG_LIST(gg_fix_repair) repairs;
    GG_LIST(gg_text *) bases; /* references held for repairs */
    bool keeps_deliberate, captured;
    bool over;                               /* nothing is tried any more */
    bool foreign;                            /* a candidate of the source was adopted */
    bool site_was_right, site_is_deliberate; /* of the site being mended; see refusal */
    bool asking, awaits_answer;              /* the source has taken up sites; its question is out */
    bool widening, wider; /* … or a rule's candidate, to try it on more inputs; a verdict on such inputs is awaited */
};

gg__fix_file *gg__fix_find_file(const gg_fix *fix, gg_str path); /* NULL: the session has none of it */
bool gg__fix_is_own(const gg_fix *fix, const gg_site *site);     /* it lies in such a file, and is one that is wanted */
gg_str gg__fix_key_of(gg_fix *fix, size_t site);
gg__fix_refusal *gg__fix_refusal_of(gg_fix *fix, gg_str key); /* NULL: not given up */
/* The row of a candidate of `f` that is to be judged; `rule` NULL: a model's. */
void gg__fix_note(gg_fix *fix, const gg__fix_file *f, const gg_site *site, const gg_rule *rule, const gg_edits *edits);
void gg__fix_verify(const gg_fix *fix, gg_safety safety, bool copies, const gg_rule *rule, gg_fix_action *out);
/* fix_choose.c: the next site to mend: the first that has not been given up, else (`again`) one whose refusal another repair may have mended;
 * behind those it calls.  Its offers are put down. */
const gg_site *gg__fix_choose_site(gg_fix *fix, bool again);
bool gg__fix_was_tried(const gg__fix_refusal *refused, const gg_rule *rule);
bool gg__fix_next_of_rules(gg_fix *fix, gg_fix_action *out); /* the next candidate of a rule; false: no rule has one */
/* The candidate becomes the file's text, and what was measured of it the entries. */
int gg__fix_adopt(gg_fix *fix, size_t file_index, const gg_text *edited, const gg_verdict *verdict, gg_safety safety,
                  gg_error *err) GG_MUST_USE;
const gg_site *gg__fix_current_site(gg_fix *fix); /* the one that rules mend; NULL: none is, or it is gone */
/* fix_source.c: what the second source wants next, while no rule has anything. */
int gg__fix_next_of_source(gg_fix *fix, gg_fix_action *out, gg_error *err) GG_MUST_USE;
/* What its candidates may waive: it makes no promise that a rule's author thought about. */
gg_safety gg__fix_source_safety(const gg_fix *fix);
/* The file's text is what the repair was made on again; `measured`: the verdict on that text, NULL for what the session began with. */
int gg__fix_put_back(gg_fix *fix, const gg_fix_repair *repair, const gg_verdict *measured, gg_error *err) GG_MUST_USE;
/* fix_withdraw.c: settings that gained nothing. */
int gg__fix_withdraw(gg_fix *fix, gg_error *err) GG_MUST_USE;
/* fix_wider.c: more inputs for a candidate that was accepted, as the source knows them. */
bool gg__fix_widens(gg_fix *fix, const gg_verdict *verdict); /* the candidate of a rule is taken up */
void gg__fix_verify_wider(gg_fix *fix, const gg_fix_offer *offer, gg_fix_action *out);
void gg__fix_note_wider(gg_fix *fix, gg_verdict *judged); /* what they showed */
int gg__fix_end_widening(gg_fix *fix, bool refused, gg_error *err) GG_MUST_USE;

#endif
