/* The same elements in other places, in memory of their own: `x.flip(0)`, `torch.roll(x, 1, 0)`.  See infer.h. */
#include "repair/infer.h"

/* A tuple or list of numbers, or one of them.  Dimensions are always the same: with other ones the call may fail. */
static bool read_numbers(gg__inference *s, TSNode node, gg__sizes *out, bool one, bool always) {
    node = gg__strip_parentheses(node);
    bool many = gg_node_is(node, "tuple") || gg_node_is(node, "list");
    uint32_t count = many ? gg__child_count(node) : 1;
    *out = (gg__sizes){0};
    if ((!many && !one) || count > GG__MAX_RANK) return false;
    for (uint32_t i = 0; i < count; i++) {
        gg__meta m = gg__infer_node(s, many ? gg__child(node, i) : node);
        if (m.sort != GG__SCALAR_INT || !(always ? m.constant : m.seen) || m.value < -1e15 || m.value > 1e15)
            return false;
        out->items[out->rank++] = (int64_t)m.value;
    }
    return true;
}

/* Dimensions that are there. */
static bool are_dims(gg__sizes *dims, int32_t rank, bool once) {
    bool taken[GG__MAX_RANK] = {false};
    for (int32_t i = 0; i < dims->rank; i++) {
        int64_t dim = dims->items[i] + (dims->items[i] < 0 ? rank : 0);
        if (dim < 0 || dim >= rank || (once && taken[dim])) return false;
        taken[dim] = true;
    }
    return dims->rank > 0;
}

static gg__meta moved(gg__meta x) {
    x.fresh = true;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

/* `x.flip(0, 1)`, `torch.flip(x, (0, 1))` */
static gg__meta call_flip(gg__inference *s, const gg__call *call) {
    uint32_t count = gg__child_count(call->arguments);
    gg__sizes dims = {0};
    TSNode given;
    if (call->form == GG__METHOD && count && !gg_node_is(gg__child(call->arguments, 0), "keyword_argument") &&
        !gg_node_is(gg__child(call->arguments, 0), "tuple") && !gg_node_is(gg__child(call->arguments, 0), "list")) {
        if (count > GG__MAX_RANK) return gg__unknown;
        for (uint32_t i = 0; i < count; i++) {
            gg__sizes one;
            if (!read_numbers(s, gg__child(call->arguments, i), &one, true, true) || one.rank != 1) return gg__unknown;
            dims.items[dims.rank++] = one.items[0];
        }
    } else if (!gg__bind_arguments(s, call, (const char *const[]){"dims"}, 1, &given) ||
               !read_numbers(s, given, &dims, false, true)) {
        return gg__unknown;
    }
    return are_dims(&dims, call->x.rank, true) ? moved(call->x) : gg__unknown;
}

static gg__meta call_roll(gg__inference *s, const gg__call *call) {
    TSNode given[2];
    gg__sizes shifts, dims;
    if (!gg__bind_arguments(s, call, (const char *const[]){"shifts", "dims"}, 2, given) ||
        !read_numbers(s, given[0], &shifts, true, false))
        return gg__unknown;
    if (ts_node_is_null(given[1])) return shifts.rank == 1 ? moved(call->x) : gg__unknown; /* as one row */
    bool known = read_numbers(s, given[1], &dims, true, true) && shifts.rank == dims.rank;
    return known && are_dims(&dims, call->x.rank, false) ? moved(call->x) : gg__unknown;
}

static gg__meta call_mirrored(gg__inference *s, const gg__call *call) {
    int32_t least = gg_str_is(call->name, "fliplr") ? 2 : 1;
    return gg__bind_arguments(s, call, NULL, 0, NULL) && call->x.rank >= least ? moved(call->x) : gg__unknown;
}

gg__meta gg__moved(gg__inference *s, const gg__call *call, bool *known) {
    static const struct {
        const char *name;
        gg__meta (*infer)(gg__inference *s, const gg__call *call);
    } rows[] = {{"flip", call_flip}, {"roll", call_roll}, {"fliplr", call_mirrored}, {"flipud", call_mirrored}};
    *known = true;
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        if (!gg_str_is(call->name, rows[i].name)) continue;
        gg_str dtype = call->x.dtype;
        bool fits = call->x.rank >= 1 && gg__elements(call->x) >= 1 && call->form != GG__FUNCTIONAL &&
                    (gg__is_floating(dtype) || gg__is_integer(dtype) || gg__is_bool(dtype));
        return fits ? rows[i].infer(s, call) : gg__unknown;
    }
    *known = false;
    return gg__unknown;
}
