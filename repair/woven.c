/* What arms of a branch do in their order, lines and stores, and both arms woven into one.  See select.h.
 *
 * DESIGN  `self.n += 1` in one arm becomes self.n.copy_(torch.where(c, self.n + 1, self.n)) where the arm was: a store in any case, that changes nothing
 * where the arm is not taken.  So the stores of both arms may follow each other, each arm's in its own order, and an expression behind one reads what it
 * would have read, through whatever name.  Stores of both arms to the same place are made one where the orders allow it. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

gg__events *gg__new_events(gg__select *s) {
    return gg_arena_calloc(s->arena, 1, sizeof(gg__events));
}

void gg__push(gg__events *to, gg__event event) {
    to->full = to->full || to->count == GG__MAX_EVENTS;
    if (to->full) return;
    to->items[to->count++] = event;
    to->stores += event.lines.len == 0;
}

void gg__flush(gg__select *s, gg__events *to) {
    gg__event event = {.lines = gg_arena_str(s->arena, gg_buf_str(&s->lines))};
    if (event.lines.len) gg__push(to, event);
    s->lines.len = 0;
}

void gg__append_events(gg__events *to, const gg__events *more) {
    to->full = to->full || more->full;
    for (size_t i = 0; i < more->count; i++) gg__push(to, more->items[i]);
}

/* The first store of the place from `from` on; the count when there is none. */
static size_t find_place(const gg__events *in, size_t from, gg_str place) {
    while (from < in->count && (in->items[from].lines.len || !gg_str_equal(in->items[from].place, place))) from++;
    return from;
}

bool gg__stores_truth(const gg__events *in) {
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].truth) return true;
    return false;
}

size_t gg__count_woven(const gg__events *yes, const gg__events *no) {
    size_t count = yes->stores + no->stores, at = 0;
    for (size_t i = 0; i < yes->count; i++) {
        if (yes->items[i].lines.len) continue;
        size_t found = find_place(no, at, yes->items[i].place);
        if (found == no->count) continue;
        at = found + 1;
        count--;
    }
    return count;
}

/* A store of one arm alone, or lines. */
static bool push_one(gg__select *s, gg__test test, bool negated, gg__event event, gg__events *out) {
    if (event.lines.len == 0) {
        if (event.both)
            return gg__hinder(s->in, s->statement, "`%.*s` is bound on one way only", GG_STR_ARG(event.place));
        test.negated = test.negated != negated;
        event.value = gg__where(s, test, event.value, event.place);
        event.meta.sort = GG__TENSOR;
    }
    gg__push(out, event);
    return true;
}

static bool push_both(gg__select *s, gg__test test, gg__event yes, gg__event no, gg__events *out) {
    if (yes.bound && !gg__same_tensor(yes.meta, no.meta))
        return gg__hinder_unlike(s->in, s->statement, yes.place, yes.meta, no.meta);
    if (gg__is_number(yes.meta) && gg__is_number(no.meta)) /* of two numbers, where() would choose the dtype */
        yes.value = gg_arena_printf(s->arena, "%.*s.full_like(%.*s, %.*s)", GG_STR_ARG(s->torch), GG_STR_ARG(yes.place),
                                    GG_STR_ARG(yes.value));
    gg__event event = yes;
    event.value = gg__where(s, test, yes.value, no.value);
    event.meta.sort = GG__TENSOR;
    event.assigned = yes.assigned && no.assigned;
    event.both = yes.both || no.both;
    gg__push(out, event);
    return true;
}

bool gg__weave(gg__select *s, gg__test test, const gg__events *yes, const gg__events *no, gg__events *out) {
    size_t at = 0;
    out->full = out->full || yes->full || no->full;
    for (size_t i = 0; i < yes->count; i++) {
        size_t found = yes->items[i].lines.len ? no->count : find_place(no, at, yes->items[i].place);
        if (found == no->count) {
            if (!push_one(s, test, false, yes->items[i], out)) return false;
            continue;
        }
        for (; at < found; at++)
            if (!push_one(s, test, true, no->items[at], out)) return false;
        if (!push_both(s, test, yes->items[i], no->items[at++], out)) return false;
    }
    for (; at < no->count; at++)
        if (!push_one(s, test, true, no->items[at], out)) return false;
    return true;
}

bool gg__write_events(gg__select *s, const gg__events *events) {
    for (size_t i = 0; i < events->count; i++) {
        const gg__event *e = &events->items[i];
        if (e->lines.len) {
            gg_buf_append(&s->lines, e->lines);
        } else if (e->assigned) {
            gg__select_line(s, e->place, e->value);
        } else {
            gg_str text = gg_arena_printf(s->arena, "%.*s.copy_(%.*s)%.*s%.*s", GG_STR_ARG(e->place),
                                          GG_STR_ARG(e->value), GG_STR_ARG(s->newline), GG_STR_ARG(s->indent));
            gg_buf_append(&s->lines, text);
        }
    }
    return !events->full;
}
