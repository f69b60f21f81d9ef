/* What a repair session takes back at its end (see fix.c): a setting of Dynamo's is the whole process's, and one with which there are as many breaks as
 * without, and no first graph, is not worth it.  It may have been accepted since what lay behind it came to light, in the hope that this can be mended.  Only the last
 * repairs are looked at: those behind a setting may need it. */
#include "repair/fix.h"

static gg_fix_repair *last_accepted(gg_fix *fix) {
    for (size_t row = fix->repairs.len; row-- > 0;)
        if (fix->repairs.items[row].verdict->accepted) return &fix->repairs.items[row];
    return NULL;
}

static bool gains_nothing(const gg_fix_repair *repair) {
    const gg_verdict *v = repair->verdict;
    bool compiles = v->graphs_before == 0 && v->graphs_after > 0;
    return repair->rule && repair->rule->safety == GG_SAFETY_CONFIG && v->breaks_after >= v->breaks_before && !compiles;
}

int gg__fix_withdraw(gg_fix *fix, gg_error *err) {
    for (gg_fix_repair *last; (last = last_accepted(fix)) && gains_nothing(last);) {
        gg_verdict *withdrawn = GG_ARENA_NEW(fix->arena, gg_verdict);
        *withdrawn = *last->verdict;
        withdrawn->accepted = withdrawn->glued = false;
        withdrawn->reasons = GG_ARENA_NEW(fix->arena, gg_str);
        withdrawn->reasons[0] = GG_STR("taken back: with the setting alone there are as many breaks as without");
        withdrawn->reason_count = 1;
        last->verdict = withdrawn;
        const gg_fix_repair *earlier = last_accepted(fix);
        int error = gg__fix_put_back(fix, last, earlier ? earlier->verdict : NULL, err);
        if (error) return error;
    }
    return 0;
}
