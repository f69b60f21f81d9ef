/* What the last capture found of the entries that begin at each line: said above it (code lens) or behind it (inlay hint).  Loop thread only. */
#include "server/session.h"

enum { MAX_AT_ONE_PLACE = 3 }; /* entries; more are told in sum */

typedef struct place { /* entries that are marked at the same line */
    size_t first, count;
    uint32_t graphs, breaks, broken;
    bool unwritten;
} place;

static const gg_mark *mark_of(const gg_document *document, size_t entry) {
    return &document->marks[document->findings->sites.len + document->findings->problem_count + entry];
}

/* An entry that still runs has only its breaks so far. */
static bool is_told(const gg_document *document, size_t entry) {
    const gg_mark *mark = mark_of(document, entry);
    return !mark->gone && !mark->faded && document->findings->entries[entry].inputs.len > 0;
}

static bool is_written(const gg_entry *entry) {
    static const char *const forms[] = {"recorded", "deduced", "none"};
    for (size_t i = 0; i < GG_COUNT(forms); i++)
        if (gg_str_is(entry->inputs, forms[i])) return false;
    return true;
}

static bool same_place(const gg_document *document, size_t a, size_t b) {
    return mark_of(document, a)->span.start == mark_of(document, b)->span.start;
}

static place place_at(const gg_document *document, size_t first) {
    const gg_findings *f = document->findings;
    place p = {.first = first};
    for (size_t i = first; i < f->entry_count; i++) {
        const gg_entry *entry = &f->entries[i];
        if (!is_told(document, i) || !same_place(document, first, i)) continue;
        p.count++;
        p.graphs += (uint32_t)entry->graphs;
        p.breaks += (uint32_t)entry->break_count;
        p.broken += entry->status == GG_ENTRY_BREAKS;
        p.unwritten = p.unwritten || !is_written(entry);
    }
    return p;
}

static bool is_first(const gg_document *document, size_t entry) {
    for (size_t i = 0; i < entry; i++)
        if (is_told(document, i) && same_place(document, i, entry)) return false;
    return true;
}

static void push(gg_entry_states *out, const gg_document *document, size_t entry, gg_entry_state state) {
    state.span = mark_of(document, entry)->span;
    gg_list_push(out, state);
}

static void add_states(gg_entry_states *out, const gg_document *document, const place *p, bool same, gg_arena *arena) {
    const gg_findings *f = document->findings;
    const char *since = same ? "" : " (edited since)";
    if (p->count > MAX_AT_ONE_PLACE) {
        gg_str breaks =
            p->broken ? gg_arena_printf(arena, "%u breaks in %u of them", p->breaks, p->broken) : GG_STR("no break");
        gg_entry_state sum = {.said = gg_arena_printf(arena, "%zu input sets: %u graphs, %.*s%s", p->count, p->graphs,
                                                      GG_STR_ARG(breaks), since),
                              .broken = same && p->broken > 0,
                              .graphs = p->graphs,
                              .breaks = p->breaks,
                              .name = gg_arena_printf(arena, "%zu input sets: ", p->count),
                              .unwritten = p->unwritten};
        push(out, document, p->first, sum);
        return;
    }
    for (size_t i = p->first, left = p->count; i < f->entry_count; i++) {
        const gg_entry *entry = &f->entries[i];
        if (!is_told(document, i) || !same_place(document, p->first, i)) continue;
        bool named = p->count > 1 || document->path == NULL || !gg_str_is(entry->file, document->path);
        gg_entry_state state = {.broken = same && entry->status == GG_ENTRY_BREAKS && entry->break_count > 0,
                                .graphs = (uint32_t)entry->graphs,
                                .breaks = (uint32_t)entry->break_count,
                                .unwritten = --left == 0 && p->unwritten};
        if (named) state.name = gg_arena_printf(arena, "%.*s: ", GG_STR_ARG(entry->name));
        if (entry->cuda.device.len && entry->cuda.elapsed_ms >= 0)
            state.took =
                gg_arena_printf(arena, " · %.3g ms on %.*s", entry->cuda.elapsed_ms, GG_STR_ARG(entry->cuda.device));
        state.said = gg_arena_printf(arena, "%.*s%.*s%s", GG_STR_ARG(state.name),
                                     GG_STR_ARG(gg_entry_summary(entry, &f->sites, arena)), since);
        push(out, document, i, state);
    }
}

gg_entry_states gg_entry_states_of(const gg_document *document, gg_arena *arena) {
    gg_entry_states out = {0};
    const gg_findings *f = document ? document->findings : NULL;
    if (f == NULL || !document->session->settings.trusted) return out;
    bool same = gg_str_equal(gg_text_bytes(f->text), gg_text_bytes(document->text));
    for (size_t i = 0; i < f->entry_count; i++) {
        if (!is_told(document, i) || !is_first(document, i)) continue;
        place at = place_at(document, i);
        add_states(&out, document, &at, same, arena);
    }
    return out;
}
