/* What a capture says about predictions: which it confirmed, and which it takes back.  Threads: any.
 *
 * What is new in the text since the capture is told from what the capture had by rule and message: as many alike as its text had are settled. */
#include "analysis/gg_analysis.h"

static bool alike(const gg_prediction *a, const gg_prediction *b) {
    return gg_str_equal(a->rule, b->rule) && gg_str_equal(a->message, b->message);
}

static size_t count_alike(const gg_prediction_list *list, size_t end, const gg_prediction *p) {
    size_t n = 0;
    for (size_t i = 0; i < end; i++) n += alike(&list->items[i], p);
    return n;
}

static bool is_confirmed(gg_span span, const gg_span *sites, size_t site_count) {
    for (size_t i = 0; i < site_count; i++)
        if (sites[i].start <= span.end && sites[i].end >= span.start) return true;
    return false;
}

void gg_predictions_settle(bool *settled, const gg_prediction_list *list, const gg_span *spans, const gg_span *sites,
                           size_t site_count, const gg_prediction_list *captured) {
    for (size_t i = 0; i < list->len; i++) {
        const gg_prediction *one = &list->items[i];
        settled[i] =
            is_confirmed(spans[i], sites, site_count) ||
            (captured && !one->beyond && count_alike(list, i, one) < count_alike(captured, captured->len, one));
    }
}

bool gg_entries_whole(const gg_entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != GG_ENTRY_CAPTURED && entries[i].status != GG_ENTRY_BREAKS &&
            entries[i].status != GG_ENTRY_NOTHING)
            return false;
    return count > 0;
}
