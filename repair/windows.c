/* Stores of a number between bounds that are tensors' values, in one dimension or several: `x[..., a:b, a:b] = 0`.  See parts.h.
 *
 * A slice from a to b takes the places from a on that are below b, once what is negative counts from the end; beyond the dimension there are none. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/parts.h"

/* `a:b`, `a:`, `:b`; each bound a tensor. */
static bool read_window(const gg_rule_input *in, TSNode index, gg__window *w) {
    uint32_t count = gg__child_count(index);
    if (!gg_node_is(index, "slice") || count == 0 || count > 2 || ts_node_child_count(index) != count + 1) return false;
    bool from = ts_node_eq(ts_node_child(index, 0), gg__child(index, 0));
    w->index = index;
    w->has_low = from;
    w->has_high = count == 2 || !from;
    return (!w->has_low || gg__part_bound(in, gg__child(index, 0), &w->low)) &&
           (!w->has_high || gg__part_bound(in, gg__child(index, count - 1), &w->high));
}

static bool read_indices(const gg_rule_input *in, gg__window_store *s, int32_t rank) {
    uint32_t count = gg__child_count(s->subscript);
    bool from_end = false;
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(s->subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
            continue;
        }
        bool number = !gg_node_is(index, "slice");
        int32_t dim = from_end ? rank - (int32_t)(count - i) : (int32_t)i - 1;
        if (dim < 0 || dim >= rank) return false;
        if (!gg__is_plain_index(in, index)) {
            if (s->count == GG__MAX_WINDOWS || !read_window(in, index, &s->windows[s->count])) return false;
            s->windows[s->count++].dim = dim;
        } else if (number) {
            for (uint32_t k = 0; k < s->count; k++) s->windows[k].numbers++;
        }
    }
    for (uint32_t i = 0; i < s->count; i++) s->windows[i].behind = rank - 1 - s->windows[i].dim - s->windows[i].numbers;
    return s->count > 0;
}

static bool is_near(const gg__part *bound, gg__meta x) {
    return gg_str_equal(bound->bound.device, x.device) || gg_str_is(bound->bound.device, "cpu");
}

bool gg__window_stored(const gg_rule_input *in, gg__window_store *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), assignment = gg__child(statement, 0);
    *out = (gg__window_store){
        .assignment = assignment, .subscript = gg__field(assignment, "left"), .value = gg__field(assignment, "right")};
    out->x = gg__field(out->subscript, "value");
    if (!gg_str_is(in->site->id, "GB0124") || !in->site->first || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(assignment, "assignment") || !gg_node_is(out->subscript, "subscript") ||
        !gg__covers(out->subscript, in->span))
        return false;
    gg__meta x = gg__infer(in, out->x), value = gg__infer(in, out->value);
    bool named = gg_node_is(out->x, "identifier") || gg_node_is(out->x, "attribute");
    if (x.sort != GG__TENSOR || !named || x.vague || gg_str_is(x.layout, "?") || !value.constant)
        return false; /* perhaps expanded: masked_fill_ raises then, a store does not */
    if (!read_indices(in, out, x.rank))
        return gg__hinder(in, out->subscript, "has a bound that is no integer tensor that is known");
    for (uint32_t i = 0; i < out->count; i++) {
        const gg__window *w = &out->windows[i];
        if ((w->has_low && !is_near(&w->low, x)) || (w->has_high && !is_near(&w->high, x)))
            return gg__hinder(in, w->index, "lies on another device than what it slices");
    }
    return gg__holds(x.dtype, value) && !gg__has_comment(in->tree, gg_node_span(assignment)) &&
           gg__can_name(in->tree, out->subscript, "torch");
}

/* x with the indices in which what is between bounds is all of its dimension. */
static gg_str view_text(const gg_rule_input *in, const gg__window_store *s, gg_arena *arena) {
    gg_str x = gg__text(in->tree, s->x), inner = GG_STR_NULL;
    bool whole = true;
    for (uint32_t i = 1; i < gg__child_count(s->subscript); i++) {
        TSNode index = gg__child(s->subscript, i);
        gg_str text = gg__text(in->tree, index);
        for (uint32_t k = 0; k < s->count; k++)
            if (ts_node_eq(index, s->windows[k].index)) text = GG_STR(":");
        whole = whole && (gg_str_is(text, ":") || gg_str_is(text, "..."));
        inner = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(inner), i == 1 ? "" : ", ", GG_STR_ARG(text));
    }
    return whole ? x : gg_arena_printf(arena, "%.*s[%.*s]", GG_STR_ARG(x), GG_STR_ARG(inner));
}

void gg__edit_window_store(const gg_rule_input *in, const gg__window_store *s, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, s->assignment, "torch", arena, edits), mask = GG_STR_NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        const gg__window *w = &s->windows[i];
        for (int end = 0; end < 2; end++) {
            if (end ? !w->has_high : !w->has_low) continue;
            gg__part part = end ? w->high : w->low;
            part.x = s->x;
            part.dim = w->dim;
            part.lower = end == 0;
            mask = gg_arena_printf(arena, "%.*s%s(%.*s)", GG_STR_ARG(mask), mask.len ? " & " : "",
                                   GG_STR_ARG(gg__part_mask(in, &part, w->behind, torch, arena)));
        }
    }
    gg_edits_add(edits, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s.masked_fill_(%.*s, %.*s)", GG_STR_ARG(view_text(in, s, arena)),
                                 GG_STR_ARG(mask), GG_STR_ARG(gg__text(in->tree, s->value))));
}
