/* Slices whose bounds are tensors' values, among a subscript's indices.  See parts.h. */
#include "repair/infer.h"
#include "repair/parts.h"

static bool is_place(TSNode node) {
    return gg_node_is(node, "identifier") || gg_node_is(node, "integer");
}

/* `n`, `lengths[i]`, `lengths[i - 1]`: may be written twice */
static bool is_short(TSNode node) {
    if (gg_node_is(node, "identifier")) return true;
    if (!gg_node_is(node, "subscript") || gg__child_count(node) != 2 || !gg_node_is(gg__child(node, 0), "identifier"))
        return false;
    TSNode index = gg__child(node, 1);
    return is_place(index) || (gg_node_is(index, "binary_operator") && is_place(gg__field(index, "left")) &&
                               is_place(gg__field(index, "right")));
}

/* A 0-d tensor, the number taken out of it, or the name that will hold one. */
static bool read_bound(const gg_rule_input *in, TSNode node, const gg__part_bound *known, gg__part_bound *out) {
    gg__extraction e;
    *out = *known;
    out->n = node;
    if (out->named.len) return gg_node_is(node, "identifier") && gg_str_equal(gg__text(in->tree, node), out->named);
    if (gg__match_extraction_loosely(in, node, &e)) { /* it is evaluated as before */
        if (e.scalar.sort != GG__SCALAR_INT || e.widening || e.truncates) return false;
        out->n = e.value;
        out->cuts = e.cuts;
    }
    gg__meta m = gg__infer_loosely(in, out->n);
    bool integer = gg_str_starts_with(m.dtype, GG_STR("torch.int"));
    if (m.sort != GG__TENSOR || m.rank != 0 || m.vague || !integer) return false;
    out->meta = m;
    out->natural = gg__scalar_of(in, m, out->n).natural;
    out->wide = out->cuts || (gg_str_is(m.dtype, "torch.int64") && gg__has_certain_dtype(in, out->n));
    bool wide =
        gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"); /* n + a size is one of its dtype */
    return out->natural || (wide && is_short(out->n));
}

/* `a:b`, `a:`, `:b`; each bound a tensor. */
static bool read_window(const gg_rule_input *in, TSNode index, const gg__part_bound *known, gg__window *w) {
    uint32_t count = gg__child_count(index);
    if (!gg_node_is(index, "slice") || count == 0 || count > 2 || ts_node_child_count(index) != count + 1) return false;
    w->index = index;
    w->has_low = ts_node_eq(ts_node_child(index, 0), gg__child(index, 0));
    w->has_high = count == 2 || !w->has_low;
    return (!w->has_low || read_bound(in, gg__child(index, 0), known, &w->low)) &&
           (!w->has_high || read_bound(in, gg__child(index, count - 1), known, &w->high));
}

/* Does the index make a view, whatever it is: a number of Python's, a slice between such numbers? */
static bool is_plain_index(const gg_rule_input *in, TSNode index) {
    if (!gg_node_is(index, "slice"))
        return gg__infer(in, index).sort == GG__SCALAR_INT || gg__is_counter(in->tree, index);
    for (uint32_t i = 0; i < gg__child_count(index); i++)
        if (gg__infer(in, gg__child(index, i)).sort != GG__SCALAR_INT) return false;
    return true;
}

bool gg__is_colon(TSNode index) {
    return gg_node_is(index, "slice") && gg__child_count(index) == 0 && ts_node_child_count(index) == 1;
}

bool gg__read_windows(const gg_rule_input *in, TSNode subscript, int32_t rank, const gg__part_bound *known,
                      gg__windows *out) {
    uint32_t count = gg__child_count(subscript);
    bool from_end = false;
    *out = (gg__windows){0};
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
            continue;
        }
        int32_t dim = from_end ? rank - (int32_t)(count - i) : (int32_t)i - 1;
        if (dim < 0 || dim >= rank) return false;
        if (is_plain_index(in, index)) {
            for (uint32_t k = 0; k < out->count && !gg_node_is(index, "slice"); k++) out->items[k].behind--;
        } else {
            gg__window *w = &out->items[out->count];
            if (out->count == GG__MAX_WINDOWS || !read_window(in, index, known, w)) return false;
            w->dim = dim;
            w->behind = rank - 1 - dim;
            out->count++;
        }
    }
    return out->count > 0;
}

bool gg__has_one_end(const gg__windows *windows) {
    return windows->count == 1 && windows->items[0].has_low != windows->items[0].has_high;
}

gg_str gg__window_mask(const gg_rule_input *in, TSNode x, const gg__windows *windows, gg_str torch, gg_arena *arena) {
    gg_str mask = GG_STR_NULL;
    bool one = gg__has_one_end(windows);
    for (uint32_t i = 0; i < windows->count; i++) {
        const gg__window *w = &windows->items[i];
        for (int end = 0; end < 2; end++) {
            if (end ? !w->has_high : !w->has_low) continue;
            gg_str side = gg__part_mask(in, x, w->dim, end ? &w->high : &w->low, end == 0, w->behind, torch, arena);
            mask =
                one ? side
                    : gg_arena_printf(arena, "%.*s%s(%.*s)", GG_STR_ARG(mask), mask.len ? " & " : "", GG_STR_ARG(side));
        }
    }
    return mask;
}

gg_str gg__window_view(const gg_rule_input *in, TSNode x, TSNode subscript, uint32_t count, const gg__windows *windows,
                       gg_arena *arena) {
    gg_str out = gg__text(in->tree, x);
    for (uint32_t i = 1; i <= count; i++) {
        TSNode index = gg__child(subscript, i);
        gg_str text = gg__text(in->tree, index);
        for (uint32_t k = 0; windows && k < windows->count; k++)
            if (ts_node_eq(index, windows->items[k].index)) text = GG_STR(":");
        out = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(out), i == 1 ? "[" : ", ", GG_STR_ARG(text));
    }
    return count ? gg_arena_printf(arena, "%.*s]", GG_STR_ARG(out)) : out;
}
