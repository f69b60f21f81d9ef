/* More inputs in a repair session (see fix.c): a candidate that was accepted, a rule's or the source's own, is kept when it holds on those that the
 * source knows, too.  Its repair is the same then, and so is its verdict, with what was tried; or it is the verdict on these inputs, where that refuses it. */
#include "repair/fix.h"

bool gg__fix_widens(gg_fix *fix, const gg_verdict *verdict) {
    const gg_site *site = gg__fix_current_site(fix);
    if (fix->source.widen == NULL || site == NULL || fix->questions >= GG_FIX_QUESTIONS ||
        !fix->source.widen(fix->source.data, fix->files.items[fix->edited_file].tree, site, fix->edited, verdict))
        return false;
    fix->asking = fix->widening = true;
    return true;
}

void gg__fix_verify_wider(gg_fix *fix, const gg_fix_offer *offer, gg_fix_action *out) {
    const gg_fix_repair *repair = &fix->repairs.items[fix->repairs.len - 1];
    if (fix->edited == NULL) fix->edited = gg_text_ref(offer->edited);
    gg__fix_verify(fix, repair->rule ? repair->rule->safety : gg__fix_source_safety(fix), repair->verdict->copies,
                   repair->rule, out);
    out->inputs = offer->inputs;
    out->input_count = offer->input_count;
    fix->wider = true;
}

void gg__fix_note_wider(gg_fix *fix, gg_verdict *judged) {
    gg_fix_repair *repair = &fix->repairs.items[fix->repairs.len - 1];
    fix->wider = false;
    if (!judged->accepted) {
        repair->verdict = judged;
        return;
    }
    gg_verdict *both = GG_ARENA_NEW(fix->arena, gg_verdict);
    *both = *repair->verdict;
    both->proposed = judged->proposed;
    both->proposed_count = judged->proposed_count;
    repair->verdict = both;
}

int gg__fix_end_widening(gg_fix *fix, bool refused, gg_error *err) {
    const gg_fix_repair *repair = &fix->repairs.items[fix->repairs.len - 1];
    gg_text *edited = fix->edited;
    fix->edited = NULL;
    fix->asking = fix->widening = false;
    int error = refused ? 0 : gg__fix_adopt(fix, fix->edited_file, edited, repair->verdict, repair->rule->safety, err);
    gg_text_unref(&edited);
    return error;
}
