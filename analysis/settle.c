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

/* ---- what the captured text had --------------------------------------------------------------------------------------------- */

typedef struct had {
    uint64_t alike;
    size_t left; /* not yet seen again */
    bool used;
} had;

typedef struct had_table {
    had *items;
    size_t mask;
} had_table;

static had *had_of(const had_table *table, uint64_t alike) {
    size_t slot = (size_t)alike & table->mask;
    while (table->items[slot].used && table->items[slot].alike != alike) slot = (slot + 1) & table->mask;
    return &table->items[slot];
}

static had_table had_new(const gg_prediction_list *captured) {
    had_table table = {.mask = 15};
    while (captured && table.mask < captured->len * 2) table.mask = table.mask * 2 + 1;
    table.items = gg_calloc(table.mask + 1, sizeof(had));
    for (size_t i = 0; captured && i < captured->len; i++) {
        had *h = had_of(&table, captured->items[i].alike);
        *h = (had){captured->items[i].alike, h->left + 1, true};
    }
    return table;
}

void gg_predictions_settle(bool *settled, const gg_prediction_list *list, const gg_span *spans, const gg_span *sites,
                           size_t site_count, const gg_prediction_list *captured) {
    gg_span *reaches = reaches_of(sites, site_count);
    had_table table = had_new(captured);
    for (size_t i = 0; i < list->len; i++) {
        had *h = had_of(&table, list->items[i].alike);
        bool was_there = h->left > 0;
        h->left -= was_there;
        settled[i] = (was_there && !list->items[i].beyond) || is_confirmed(spans[i], reaches, site_count);
    }
    gg_free(table.items);
    gg_free(reaches);
}

bool gg_entries_whole(const gg_entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != GG_ENTRY_CAPTURED && entries[i].status != GG_ENTRY_BREAKS &&
            entries[i].status != GG_ENTRY_NOTHING)
            return false;
    return count > 0;
}
