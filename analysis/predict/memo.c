/* See memo.h. */
#include "analysis/predict/memo.h"

#include <stdlib.h>

enum { FEWEST_STEPS = 12 }; /* of a call that is worth it */

typedef struct gg__change {
    uint32_t slot; /* of the attributes */
    uint32_t len;
    gg__binding *items;
} gg__change;

void gg__memo_clear(gg__memo *memo) {
    for (size_t i = 0; i < memo->calls.len; i++) gg_list_clear(&memo->calls.items[i].mold.slots);
    gg_list_clear(&memo->calls);
    gg_list_clear(&memo->events);
    gg_list_clear(&memo->changed);
    gg_map_clear(&memo->by_key);
    gg__graph_clear(&memo->graph);
    gg_arena_free(memo->arena);
}

void gg__memo_begin_piece(gg__walk *w) {
    gg__memo *memo = w->memo;
    memo->record = NULL;
    memo->off = false;
    memo->replayed = 0;
    memo->events.len = memo->changed.len = 0;
}

/* ---- what records note ---------------------------------------------------------------------------------------------------------- */

void gg__note_event(gg__walk *w, const gg__event *event) {
    if (w->memo && w->memo->record) gg_list_push(&w->memo->events, *event);
}

void gg__note_telling(gg__walk *w) {
    if (w->memo) w->memo->tellings++;
}

void gg__note_change(gg__walk *w, gg__scope *scope) {
    gg__memo *memo = w->memo;
    if (memo == NULL || memo->record == NULL || scope->stamp >= memo->record->stamp) return;
    size_t len = memo->changed.len;
    if (len > memo->record->changed && memo->changed.items[len - 1] == scope) return;
    gg_list_push(&memo->changed, scope);
}

void gg__spoil_outside(gg__walk *w, const gg__scope *scope) {
    for (gg__record *r = w->memo ? w->memo->record : NULL; r && scope->stamp < r->stamp; r = r->outer) r->spoilt = true;
}

void gg__spoil_below(gg__walk *w, const gg__frame *frame) {
    for (gg__record *r = w->memo ? w->memo->record : NULL; r && r->depth > frame->depth; r = r->outer) r->spoilt = true;
}

void gg__spoil_all(gg__walk *w) {
    for (gg__record *r = w->memo ? w->memo->record : NULL; r; r = r->outer) r->spoilt = true;
    if (w->memo) w->memo->off = true;
}

/* ---- replays ---------------------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A function of a caller's, which may not run a third time: whether it is let depends on them. */
static bool goes_into_callers(const gg__walk *w, const uint32_t *units, uint32_t count) {
    for (const gg__frame *f = w->frame; f && f->caller; f = f->caller)
        if (bsearch(&f->unit, units, count, sizeof(uint32_t), by_number)) return true;
    return false;
}

static bool fits(const gg__walk *w, const gg__kept_call *kept) {
    return w->steps + kept->steps <= w->max_steps && w->nesting + kept->nesting < GG__MAX_NESTING &&
           w->depth + kept->depth <= GG__MAX_DEPTH && !goes_into_callers(w, kept->units, kept->unit_count);
}

/* What is found in the call, as from here: behind the conditions and in the loops that are around it now. */
static void find_again(gg__walk *w, gg__copy *copy, const gg__kept_call *kept, unsigned depth) {
    if (kept->breaks) gg__break_graph(w);
    for (uint32_t i = 0; i < kept->event_count; i++) {
        gg__event e = kept->events[i];
        gg__value doubt = {.confirmed = (bool *)e.confirmed};
        e.confirmed = gg__copy_value(copy, &doubt).confirmed;
        gg__event outer = e;
        gg__place_event(w, &outer);
        if (e.guard_depth >= 0) {
            e.guard_depth += (int)depth;
        } else {
            e.guard = outer.guard;
            e.guarded = outer.guarded;
            e.guard_depth = outer.guard_depth;
        }
        e.loop_depth = e.loop_depth >= 0 ? e.loop_depth + (int)depth : outer.loop_depth;
        gg__found_event(w, &e);
    }
}

static gg__value replay(gg__walk *w, const gg__kept_call *kept, unsigned depth) {
    gg__memo *memo = w->memo;
    gg__copy copy = {.graph = &memo->graph, .arena = w->arena, .w = w, .given = kept->mold.given};
    size_t slots = kept->mold.slots.len;
    copy.slots.items = GG_ARENA_ARRAY(w->arena, gg__pointer, slots + 1);
    copy.slots.len = slots;
    for (size_t i = 0; i < slots; i++)
        copy.slots.items[i] = i < copy.given ? memo->graph.seen.items[i] : kept->mold.slots.items[i];
    gg__copy_out_begin(&copy);
    for (uint32_t i = 0; i < kept->unit_count; i++) gg__touch_unit(w, kept->units[i]);
    for (uint32_t i = 0; i < kept->name_count; i++) gg__note_name_read(w, kept->names[i]);
    for (uint32_t i = 0; i < kept->settled_count; i++) *(bool *)(uintptr_t)copy.slots.items[kept->settled[i]].to = true;
    find_again(w, &copy, kept, depth);
    for (uint32_t i = 0; i < kept->change_count; i++) {
        const gg__change *change = &kept->changes[i];
        gg__scope *scope = (gg__scope *)(uintptr_t)copy.slots.items[change->slot].to;
        gg__before_change(w, scope, GG_STR_NULL);
        gg__scope now = {.items = change->items, .len = change->len};
        scope->items = gg__copy_bindings(&copy, &now);
        scope->len = scope->cap = change->len;
        scope->slots = NULL;
    }
    w->steps += kept->steps;
    memo->replayed += kept->steps;
    w->usual = kept->usual;
    if (w->nesting + kept->nesting > w->deepest) w->deepest = w->nesting + kept->nesting;
    if (w->depth + kept->depth > w->deepest_call) w->deepest_call = w->depth + kept->depth;
    memo->tellings += kept->telling;
    return gg__copy_value(&copy, &kept->result);
}

/* What a call finds, and what that changes, holds aloud or in silence only. */
static uint64_t telling_key(const gg__walk *w, uint64_t key) {
    return gg__mix(key, w->quiet ? 2 : 1);
}

static const gg__kept_call *find(const gg__walk *w, uint64_t key) {
    const uint32_t *at = gg_map_find(&w->memo->by_key, key);
    if (at == NULL) at = gg_map_find(&w->memo->by_key, telling_key(w, key));
    return at ? &w->memo->calls.items[*at - 1] : NULL;
}

static bool is_sheltered(const gg__walk *w) {
    for (const gg__frame *f = w->frame; f; f = f->caller)
        if (f->shelters) return true;
    return false;
}

static void begin(gg__walk *w, gg__frame *frame, gg__record *record, uint64_t key) {
    gg__memo *memo = w->memo;
    gg__uses *uses = w->uses;
    if (memo->record == NULL) uses->noted_units.len = uses->noted_names.len = memo->events.len = memo->changed.len = 0;
    *record = (gg__record){.outer = memo->record,
                           .key = key,
                           .given = GG_ARENA_ARRAY(w->arena, gg__pointer, memo->graph.seen.len + 1),
                           .given_count = (uint32_t)memo->graph.seen.len,
                           .stamp = ++w->stamp,
                           .depth = frame->depth,
                           .units = uses->noted_units.len,
                           .names = uses->noted_names.len,
                           .events = memo->events.len,
                           .changed = memo->changed.len,
                           .noted_from = uses->noted_from,
                           .steps = w->steps,
                           .nesting = w->nesting,
                           .deepest = w->deepest,
                           .deepest_call = w->deepest_call,
                           .tellings = memo->tellings,
                           .runs = true};
    for (uint32_t i = 0; i < record->given_count; i++) record->given[i] = memo->graph.seen.items[i];
    frame->scope->stamp = record->stamp;
    memo->record = record;
    w->deepest = w->nesting;
    w->deepest_call = w->depth;
    gg__uses_note_from_here(uses);
}

bool gg__memo_replay(gg__walk *w, gg__frame *frame, const gg__value *function, gg__record *record, gg__value *out) {
    gg__memo *memo = w->memo;
    *record = (gg__record){0};
    if (memo == NULL || memo->off || w->yields || (function->scope && !function->scope->of_module)) return false;
    gg__graph *g = &memo->graph;
    gg__graph_begin(w, g);
    gg__graph_add_word(g, (uint64_t)(uintptr_t)function->node.id);
    gg__graph_add_word(g, (uint64_t)(uintptr_t)function->scope);
    gg__graph_add_word(g, (w->guard != NULL) | (w->guard && w->guard->unlikely) << 1 | is_sheltered(w) << 2 |
                              w->only_tensors << 3 | (function->self != NULL) << 4);
    if (function->self) gg__graph_add_value(g, function->self);
    gg__graph_add_scope(g, frame->scope);
    if (g->failed) return false;
    uint64_t key = gg__graph_print(g);
    const gg__kept_call *kept = find(w, key);
    if (kept == NULL) {
        begin(w, frame, record, key);
        return false;
    }
    if (!fits(w, kept)) return false;
    *out = replay(w, kept, frame->depth);
    return true;
}

/* ---- records ------------------------------------------------------------------------------------------------------------------------ */

static uint32_t keep_units(gg__memo *memo, const gg__uses *uses, const gg__record *r, gg__kept_call *out) {
    size_t count = uses->noted_units.len - r->units;
    out->units = GG_ARENA_ARRAY(memo->arena, uint32_t, count + 1);
    if (count) memcpy(out->units, uses->noted_units.items + r->units, count * sizeof(uint32_t));
    qsort(out->units, count, sizeof(uint32_t), by_number);
    uint32_t len = 0;
    for (size_t i = 0; i < count; i++)
        if (len == 0 || out->units[len - 1] != out->units[i]) out->units[len++] = out->units[i];
    return len;
}

static uint32_t keep_names(gg__memo *memo, const gg__uses *uses, const gg__record *r, gg__kept_call *out) {
    size_t count = uses->noted_names.len - r->names;
    out->names = GG_ARENA_ARRAY(memo->arena, uint64_t, count + 1);
    if (count) memcpy(out->names, uses->noted_names.items + r->names, count * sizeof(uint64_t));
    qsort(out->names, count, sizeof(uint64_t), by_name);
    uint32_t len = 0;
    for (size_t i = 0; i < count; i++)
        if (len == 0 || out->names[len - 1] != out->names[i]) out->names[len++] = out->names[i];
    return len;
}

static bool is_same(const gg__event *a, const gg__event *b) {
    return a->id == b->id && a->confirmed == b->confirmed && gg_str_equal(a->guard, b->guard) &&
           a->guard_depth == b->guard_depth && a->loop_depth == b->loop_depth && a->guarded == b->guarded &&
           a->maybe_none == b->maybe_none && a->eager == b->eager && a->breaks == b->breaks && a->beyond == b->beyond;
}

/* What the one before it at its place says too is left out. */
static bool is_repeated(const gg__kept_call *kept, const gg__event *event) {
    for (uint32_t i = kept->event_count; i > 0; i--) {
        const gg__event *e = &kept->events[i - 1];
        if (e->rule == event->rule && e->node.id == event->node.id) return is_same(e, event);
    }
    return false;
}

static void keep_events(gg__memo *memo, gg__copy *copy, const gg__record *r, gg__kept_call *out) {
    out->events = GG_ARENA_ARRAY(memo->arena, gg__event, memo->events.len - r->events + 1);
    for (size_t i = r->events; i < memo->events.len; i++) {
        gg__event e = memo->events.items[i];
        gg__value doubt = {.confirmed = (bool *)(uintptr_t)e.confirmed};
        e.confirmed = gg__copy_value(copy, &doubt).confirmed;
        if (e.guard_depth >= (int)r->depth) {
            e.guard_depth -= (int)r->depth;
        } else {
            e.guard = GG_STR_NULL;
            e.guard_depth = -1;
        }
        e.loop_depth = e.loop_depth >= (int)r->depth ? e.loop_depth - (int)r->depth : -1;
        out->breaks = out->breaks || e.breaks;
        if (is_repeated(out, &e)) continue;
        e.guard = gg_arena_str(memo->arena, e.guard);
        out->events[out->event_count++] = e;
    }
}

static bool is_changed_already(const gg__kept_call *kept, uint32_t slot) {
    for (uint32_t i = 0; i < kept->change_count; i++)
        if (kept->changes[i].slot == slot) return true;
    return false;
}

static void keep_changes(gg__memo *memo, gg__copy *copy, const gg__record *r, gg__kept_call *out) {
    out->changes = GG_ARENA_ARRAY(memo->arena, gg__change, memo->changed.len - r->changed + 1);
    for (size_t i = r->changed; i < memo->changed.len; i++) {
        const gg__scope *scope = memo->changed.items[i];
        if (scope->stamp >= r->stamp) continue; /* it was made in the call */
        uint32_t slot = gg__copy_slot(copy, scope, GG__TO_ATTRIBUTES);
        if (slot == UINT32_MAX) memo->graph.failed = true;
        if (slot == UINT32_MAX || is_changed_already(out, slot)) continue;
        out->changes[out->change_count++] =
            (gg__change){.slot = slot, .len = scope->len, .items = gg__copy_bindings(copy, scope)};
    }
}

static void keep_settled(gg__memo *memo, const gg__record *r, gg__kept_call *out) {
    out->settled = GG_ARENA_ARRAY(memo->arena, uint32_t, r->given_count + 1);
    for (uint32_t i = 0; i < r->given_count; i++)
        if (r->given[i].as == GG__TO_DOUBT && *(const bool *)r->given[i].to) out->settled[out->settled_count++] = i;
}

static void keep(gg__walk *w, const gg__record *r, const gg__value *result, unsigned nesting, unsigned depth) {
    gg__memo *memo = w->memo;
    gg__kept_call out = {.steps = w->steps - r->steps,
                         .nesting = nesting,
                         .depth = depth,
                         .usual = w->usual,
                         .telling = memo->tellings != r->tellings};
    out.unit_count = keep_units(memo, w->uses, r, &out);
    if (goes_into_callers(w, out.units, out.unit_count)) return;
    out.name_count = keep_names(memo, w->uses, r, &out);
    gg__copy copy = {.graph = &memo->graph, .arena = memo->arena};
    gg__copy_in_begin(&copy, r->given, r->given_count);
    out.result = gg__copy_value(&copy, result);
    keep_events(memo, &copy, r, &out);
    keep_changes(memo, &copy, r, &out);
    keep_settled(memo, r, &out);
    out.mold = copy;
    if (memo->graph.failed) {
        gg_list_clear(&out.mold.slots);
        return;
    }
    gg_list_push(&memo->calls, out);
    *gg_map_at(&memo->by_key, out.telling ? telling_key(w, r->key) : r->key) = (uint32_t)memo->calls.len;
}

void gg__memo_end(gg__walk *w, gg__record *record, const gg__value *result) {
    gg__memo *memo = w->memo;
    unsigned nesting = w->deepest - record->nesting, depth = w->deepest_call - w->depth;
    bool whole = w->steps <= w->max_steps && w->deepest < GG__MAX_NESTING && w->deepest_call <= GG__MAX_DEPTH;
    memo->record = record->outer;
    w->uses->noted_from = record->noted_from;
    if (w->deepest < record->deepest) w->deepest = record->deepest;
    if (w->deepest_call < record->deepest_call) w->deepest_call = record->deepest_call;
    if (whole && !record->spoilt && !memo->off && w->steps - record->steps >= FEWEST_STEPS)
        keep(w, record, result, nesting, depth);
}
