/* What a repair session takes back at its end (see fix.c): a setting of Dynamo's is the whole process's, and one with which there are as many breaks as
 * without, and no first graph, is not worth it.  It may have been accepted since what lay behind it came to light, in the hope that this can be mended.  Only the last
 * repairs are looked at: those behind a setting may need it. */
#include "repair/fix.h"

/* The last accepted repair before this row; NULL: there is none. */
static gg_fix_repair *accepted_before(gg_fix *fix, size_t row) {
    while (row-- > 0)
        if (fix->repairs.items[row].verdict && fix->repairs.items[row].verdict->accepted)
            return &fix->repairs.items[row];
    return NULL;
}

static bool gains_nothing(const gg_fix_repair *repair) {
    const gg_verdict *v = repair->verdict;
    bool compiles = v->graphs_before == 0 && v->graphs_after > 0;
    return repair->rule && repair->rule->safety == GG_SAFETY_CONFIG && v->breaks_after >= v->breaks_before && !compiles;
}

int gg__fix_withdraw(gg_fix *fix, gg_error *err) {
    for (gg_fix_repair *last; (last = accepted_before(fix, fix->repairs.len)) && gains_nothing(last);) {
        gg_verdict *withdrawn = GG_ARENA_NEW(fix->arena, gg_verdict);
        *withdrawn = *last->verdict;
        withdrawn->accepted = withdrawn->glued = false;
        withdrawn->reasons = GG_ARENA_NEW(fix->arena, gg_str);
        withdrawn->reasons[0] = GG_STR("taken back: with the setting alone there are as many breaks as without");
        withdrawn->reason_count = 1;
        last->verdict = withdrawn;
        gg_entry *after = GG_ARENA_ARRAY(fix->arena, gg_entry, withdrawn->entry_count);
        for (size_t i = 0; i < withdrawn->entry_count; i++) after[i] = withdrawn->entries[i].before;
        const gg_fix_repair *earlier = accepted_before(fix, (size_t)(last - fix->repairs.items));
        for (size_t i = 0; earlier && i < earlier->verdict->entry_count && i < withdrawn->entry_count; i++)
            after[i] = earlier->verdict->entries[i].after;
        int error = gg__fix_put_back(fix, last, after, withdrawn->entry_count, err);
        if (error) return error;
    }
    return 0;
}
