/* What a capture says about predictions: which it confirmed, and which it takes back.  Threads: any.
 *
 * What is new in the text since the capture is told from what the capture had by rule and message: as many alike as its text had are settled. */
#include <stdlib.h>
#include <string.h>

#include "analysis/gg_analysis.h"

/* ---- sites -------------------------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
    const gg_span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorted; each ends where the last of those up to it does, so that one look tells whether any of them reaches a place. */
static gg_span *reaches_of(const gg_span *sites, size_t count) {
    gg_span *out = gg_calloc(count, sizeof(gg_span));
    if (count) memcpy(out, sites, count * sizeof(gg_span));
    qsort(out, count, sizeof(gg_span), by_start);
    for (size_t i = 1; i < count; i++)
        if (out[i].end < out[i - 1].end) out[i].end = out[i - 1].end;
    return out;
}

static bool is_confirmed(gg_span span, const gg_span *reaches, size_t count) {
    size_t low = 0, high = count; /* the first that starts behind it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reaches[middle].start <= span.end)
            low = middle + 1;
        else
            high = middle;
    }
    return low && reaches[low - 1].end >= span.start;
}

void gg_predictions_settle(bool *settled, const gg_prediction_list *list, const gg_span *spans, const gg_span *sites,
                           size_t site_count, const gg_prediction_list *captured) {
    gg_span *reaches = reaches_of(sites, site_count);
    gg_map had = {0}; /* of the captured text, by what is alike: how many were not seen again yet */
    for (size_t i = 0; captured && i < captured->len; i++) ++*gg_map_at(&had, captured->items[i].alike);
    for (size_t i = 0; i < list->len; i++) {
        uint32_t *left = gg_map_find(&had, list->items[i].alike);
        bool was_there = left && *left > 0;
        if (was_there) --*left;
        settled[i] = (was_there && !list->items[i].beyond) || is_confirmed(spans[i], reaches, site_count);
    }
    gg_map_clear(&had);
    gg_free(reaches);
}

bool gg_entries_whole(const gg_entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != GG_ENTRY_CAPTURED && entries[i].status != GG_ENTRY_BREAKS &&
            entries[i].status != GG_ENTRY_NOTHING)
            return false;
    return count > 0;
}
