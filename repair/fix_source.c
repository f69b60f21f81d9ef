/* The second source of a repair session (see fix.c): asked about the sites that no rule mends. */
#include "repair/fix.h"

gg_safety gg__fix_source_safety(const gg_fix *fix) {
    return fix->max_safety < GG_SAFETY_NUMERIC ? fix->max_safety : GG_SAFETY_NUMERIC;
}

/* May it be asked about the site?  No rule mends it, and it was not asked before. */
static bool is_left(gg_fix *fix, size_t index) {
    const gg_site *site = &fix->sites.items[index];
    if (!gg__fix_is_own(fix, site)) return false;
    const gg__fix_refusal *refused = gg__fix_refusal_of(fix, gg__fix_key_of(fix, index));
    return refused && !refused->asked && !refused->deliberate;
}

/* Takes the sites that are left of the first one's file to the source.  false: none is. */
static bool begin_questions(gg_fix *fix) {
    size_t n = fix->sites.len, count = 0;
    const gg_site **left = gg_calloc(n + 1, sizeof(gg_site *));
    gg__fix_refusal **rows = gg_calloc(n + 1, sizeof(gg__fix_refusal *));
    bool *taken = gg_calloc(n + 1, sizeof(bool));
    for (size_t i = 0; i < n; i++) {
        const gg_site *site = &fix->sites.items[i];
        if (!is_left(fix, i) || (count && !gg_str_equal(site->file, left[0]->file))) continue;
        rows[count] = gg__fix_refusal_of(fix, gg__fix_key_of(fix, i));
        left[count++] = site;
    }
    if (count) {
        const gg__fix_file *f = gg__fix_find_file(fix, left[0]->file);
        fix->asking = fix->source.begin(fix->source.data, f->tree, left, count, taken);
        fix->asked_file = (size_t)(f - fix->files.items);
        fix->asked_site = left[0];
        rows[0]->asked = true;
        for (size_t i = 0; i < count && fix->asking; i++) rows[i]->asked = rows[i]->asked || taken[i];
    }
    gg_free(taken);
    gg_free(rows);
    gg_free(left);
    return count > 0;
}

int gg__fix_next_of_source(gg_fix *fix, gg_fix_action *out, gg_error *err) {
    for (;;) {
        while (!fix->asking)
            if (!begin_questions(fix)) return 0;
        gg_fix_offer offer = {.step = GG_FIX_DONE};
        int error = fix->source.next(fix->source.data, &offer, err);
        if (error) return error;
        const gg__fix_file *f = &fix->files.items[fix->widening ? fix->edited_file : fix->asked_file];
        if (offer.step == GG_FIX_ASK && fix->questions < GG_FIX_QUESTIONS) {
            fix->questions++;
            fix->awaits_answer = true;
            *out = (gg_fix_action){
                .step = GG_FIX_ASK, .file = f->seen.path, .original = f->text, .request = offer.request};
            return 0;
        }
        if (offer.step == GG_FIX_VERIFY && offer.input_count && fix->repairs.len) {
            gg__fix_verify_wider(fix, &offer, out);
            return 0;
        }
        if (fix->widening) {
            error = gg__fix_end_widening(fix, offer.refused, err);
            if (error || gg__fix_next_of_rules(fix, out)) return error;
            continue;
        }
        if (offer.step == GG_FIX_VERIFY && fix->repairs.len < GG_FIX_REPAIRS) {
            fix->edited = gg_text_ref(offer.edited);
            gg__fix_note(fix, f, fix->asked_site, NULL, offer.edits);
            gg__fix_verify(fix, gg__fix_source_safety(fix), false, NULL, out);
            return 0;
        }
        fix->asking = false;
        if (offer.step != GG_FIX_DONE) return 0; /* no more of them */
        if (offer.edited == NULL || offer.verdict == NULL || !offer.verdict->accepted) continue;
        fix->foreign = true;
        error = gg__fix_adopt(fix, fix->asked_file, offer.edited, offer.verdict, gg__fix_source_safety(fix), err);
        if (error || gg__fix_next_of_rules(fix, out)) return error;
    }
}

int gg_fix_answered(gg_fix *fix, const struct gg_llm_reply *reply, gg_str failure, gg_error *err) {
    if (!fix->awaits_answer) return gg_fail(err, GG_EINTERNAL, "no question is out");
    fix->awaits_answer = false;
    return fix->source.answered(fix->source.data, reply, failure, err);
}
