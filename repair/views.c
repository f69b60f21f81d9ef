/* The same elements in another form: views.  A view is no new tensor: it shares memory with what it was made of.  See infer.h. */
#include "repair/infer.h"

gg__meta gg__transposed(gg__meta x, int32_t a, int32_t b) {
    a += a < 0 ? x.rank : 0;
    b += b < 0 ? x.rank : 0;
    int64_t kept = x.shape[a];
    x.shape[a] = x.shape[b];
    x.shape[b] = kept;
    if (a != b) x.layout = GG_STR("?");
    return x;
}

/* Sizes with one -1 worked out; false when they do not hold the elements. */
static bool fill_rest(gg__meta x, gg__sizes *sizes) {
    int64_t all = gg__elements(x), rest = -1, product = 1;
    for (int32_t i = 0; i < sizes->rank; i++) {
        if (sizes->items[i] >= 0) {
            product *= sizes->items[i];
            continue;
        }
        if (rest >= 0) return false;
        rest = i;
    }
    if (all <= 0 || product <= 0 || all % product) return false;
    if (rest >= 0) sizes->items[rest] = all / product;
    return rest >= 0 || all == product;
}

static gg__meta reshaped(gg__meta x, gg__sizes *sizes) {
    return x.layout.len == 0 && fill_rest(x, sizes) ? gg__with_sizes(x, sizes) : gg__unknown;
}

static gg__meta expanded(gg__meta x, gg__sizes *sizes) {
    if (sizes->rank < x.rank) return gg__unknown;
    for (int32_t i = 1; i <= sizes->rank; i++) {
        int64_t *size = &sizes->items[sizes->rank - i], own = i <= x.rank ? x.shape[x.rank - i] : 1;
        if (*size < 0) *size = i <= x.rank ? own : -1;
        if (*size < 0 || (own != 1 && own != *size)) return gg__unknown;
    }
    bool same = sizes->rank == x.rank && memcmp(sizes->items, x.shape, (size_t)x.rank * sizeof(int64_t)) == 0;
    if (!same) x.layout = GG_STR("?");
    return gg__with_sizes(x, sizes);
}

static gg__meta flattened(gg__inference *s, gg__meta x, TSNode start, TSNode end) {
    int32_t from = 0, to = x.rank - 1;
    if (!ts_node_is_null(start) && !gg__dim(gg__infer_node(s, start), x.rank, &from)) return gg__unknown;
    if (!ts_node_is_null(end) && !gg__dim(gg__infer_node(s, end), x.rank, &to)) return gg__unknown;
    if (x.rank == 0 || from > to || x.layout.len) return gg__unknown;
    gg__sizes sizes = {0};
    for (int32_t i = 0; i < x.rank; i++) {
        if (x.shape[i] < 0) return gg__unknown;
        if (i <= from || i > to)
            sizes.items[sizes.rank++] = x.shape[i];
        else
            sizes.items[sizes.rank - 1] *= x.shape[i];
    }
    return gg__with_sizes(x, &sizes);
}

static gg__meta unsqueezed(gg__meta x, gg__meta dim) {
    int32_t at;
    if (x.rank >= GG__MAX_RANK || !gg__dim(dim, x.rank + 1, &at)) return gg__unknown;
    for (int32_t i = x.rank++; i > at; i--) x.shape[i] = x.shape[i - 1];
    x.shape[at] = 1;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

/* `only`: a dimension that stays when it is not of size one; -1 for all that are. */
static gg__meta squeezed(gg__meta x, int32_t only) {
    gg__sizes sizes = {0};
    for (int32_t i = 0; i < x.rank; i++) {
        if (x.shape[i] < 0) return gg__unknown;
        if (x.shape[i] != 1 || (only >= 0 && i != only)) sizes.items[sizes.rank++] = x.shape[i];
    }
    if (x.layout.len) x.layout = GG_STR("?");
    return gg__with_sizes(x, &sizes);
}

static gg__meta permuted(gg__meta x, const gg__sizes *dims) {
    bool taken[GG__MAX_RANK] = {false}, same = true;
    gg__sizes sizes = {.rank = x.rank};
    if (dims->rank != x.rank) return gg__unknown;
    for (int32_t i = 0; i < x.rank; i++) {
        int64_t dim = dims->items[i] + (dims->items[i] < 0 ? x.rank : 0);
        if (dim < 0 || dim >= x.rank || taken[dim]) return gg__unknown;
        taken[dim] = true;
        same = same && dim == i;
        sizes.items[i] = x.shape[dim];
    }
    if (!same) x.layout = GG_STR("?");
    return gg__with_sizes(x, &sizes);
}

static gg__meta repeated(gg__meta x, gg__sizes *times) {
    if (times->rank < x.rank) return gg__unknown;
    for (int32_t i = 1; i <= times->rank; i++) {
        int64_t *size = &times->items[times->rank - i], own = i <= x.rank ? x.shape[x.rank - i] : 1;
        if (*size < 0 || own < 0) return gg__unknown;
        *size *= own;
    }
    x.fresh = true;
    x.layout = GG_STR("");
    return gg__with_sizes(x, times);
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* Sizes or dimensions, written out (methods alone take them so) or as a tuple. */
static bool written(gg__inference *s, const gg__call *call, gg__sizes *out) {
    uint32_t count = gg__child_count(call->arguments);
    for (uint32_t i = 0; i < count; i++)
        if (gg_node_is(gg__child(call->arguments, i), "keyword_argument")) return false;
    bool tuple = count == call->from + 1 && gg__sizes_of(s, gg__child(call->arguments, call->from), out);
    if (count <= call->from || (call->form != GG__METHOD && !tuple)) return false;
    return tuple || gg__sizes_in(s, call->arguments, call->from, out);
}

/* Only literals: they hold the elements that there were when the capture was made, and raise for any other number. */
static bool is_fixed(TSNode arguments, uint32_t from) {
    TSNode first = gg__child(arguments, from);
    if (gg_node_is(first, "tuple") || gg_node_is(first, "list")) return is_fixed(first, 0);
    uint32_t count = gg__child_count(arguments);
    for (uint32_t i = from; i < count; i++)
        if (!gg_node_is(gg__child(arguments, i), "integer")) return false;
    return from < count;
}

/* `view(-1, 4)` raises where the elements are no multiple. */
static bool leaves_no_rest(gg__inference *s, const gg__call *call) {
    TSNode first = gg__child(call->arguments, call->from), list = call->arguments;
    bool listed = gg_node_is(first, "tuple") || gg_node_is(first, "list");
    TSNode x = call->from ? gg__child(call->arguments, 0) : gg__field(gg__field(call->node, "function"), "object");
    int64_t product = 1;
    if (listed) list = first;
    for (uint32_t i = listed ? 0 : call->from; i < gg__child_count(list); i++) {
        gg__meta size = gg__literal(s->in->tree, gg__child(list, i));
        if (size.constant && size.value > 0 && size.value < 1e6 && product < 1e9) product *= (int64_t)size.value;
    }
    return s->loose || gg__has_a_multiple(s->in, x, call->x.rank, product);
}

static gg__meta call_reshape(gg__inference *s, const gg__call *call) {
    gg__sizes sizes;
    if (call->x.rank > 0 && is_fixed(call->arguments, call->from)) return gg__unknown;
    return written(s, call, &sizes) && leaves_no_rest(s, call) ? reshaped(call->x, &sizes) : gg__unknown;
}

static gg__meta call_expand(gg__inference *s, const gg__call *call) {
    gg__sizes sizes;
    return written(s, call, &sizes) ? expanded(call->x, &sizes) : gg__unknown;
}

static gg__meta call_repeat(gg__inference *s, const gg__call *call) {
    gg__sizes times;
    return written(s, call, &times) ? repeated(call->x, &times) : gg__unknown;
}

static gg__meta call_permute(gg__inference *s, const gg__call *call) {
    gg__sizes dims;
    return written(s, call, &dims) ? permuted(call->x, &dims) : gg__unknown;
}

static gg__meta call_unsqueeze(gg__inference *s, const gg__call *call) {
    TSNode dim;
    return gg__bind_arguments(s, call, (const char *const[]){"dim"}, 1, &dim)
               ? unsqueezed(call->x, gg__infer_node(s, dim))
               : gg__unknown;
}

static gg__meta call_squeeze(gg__inference *s, const gg__call *call) {
    TSNode dim;
    int32_t only = -1;
    if (!gg__bind_arguments(s, call, (const char *const[]){"dim"}, 1, &dim)) return gg__unknown;
    bool known = ts_node_is_null(dim) || gg__dim(gg__infer_node(s, dim), call->x.rank, &only);
    return known ? squeezed(call->x, only) : gg__unknown;
}

static gg__meta call_flatten(gg__inference *s, const gg__call *call) {
    TSNode dims[2];
    bool known = gg__bind_arguments(s, call, (const char *const[]){"start_dim", "end_dim"}, 2, dims);
    return known ? flattened(s, call->x, dims[0], dims[1]) : gg__unknown;
}

static gg__meta call_transpose(gg__inference *s, const gg__call *call) {
    TSNode dims[2];
    int32_t a, b, rank = call->x.rank;
    bool known = gg__bind_arguments(s, call, (const char *const[]){"dim0", "dim1"}, 2, dims) && rank &&
                 gg__dim(gg__infer_node(s, dims[0]), rank, &a) && gg__dim(gg__infer_node(s, dims[1]), rank, &b);
    return known ? gg__transposed(call->x, a, b) : gg__unknown;
}

static gg__meta call_t(gg__inference *s, const gg__call *call) {
    if (!gg__bind_arguments(s, call, NULL, 0, NULL) || call->x.rank > 2) return gg__unknown;
    return call->x.rank < 2 ? call->x : gg__transposed(call->x, 0, 1);
}

/* Of the first two dimensions, without an offset. */
static gg__meta call_diagonal(gg__inference *s, const gg__call *call) {
    gg__meta x = call->x;
    if (!gg__bind_arguments(s, call, NULL, 0, NULL) || x.rank < 2 || gg__elements(x) < 0) return gg__unknown;
    gg__sizes sizes = {.rank = x.rank - 1};
    for (int32_t i = 2; i < x.rank; i++) sizes.items[i - 2] = x.shape[i];
    sizes.items[x.rank - 2] = x.shape[0] < x.shape[1] ? x.shape[0] : x.shape[1];
    x.layout = GG_STR("?");
    return gg__with_sizes(x, &sizes);
}

/* `x.view_as(y)` */
static gg__meta call_as(gg__inference *s, const gg__call *call) {
    TSNode node;
    if (!gg__bind_arguments(s, call, (const char *const[]){"other"}, 1, &node)) return gg__unknown;
    gg__meta other = gg__infer_node(s, node);
    if (other.sort != GG__TENSOR || gg__elements(other) < 0) return gg__unknown;
    gg__sizes sizes = {.rank = other.rank};
    memcpy(sizes.items, other.shape, sizeof(sizes.items));
    return gg_str_is(call->name, "expand_as") ? expanded(call->x, &sizes) : reshaped(call->x, &sizes);
}

gg__meta gg__view(gg__inference *s, const gg__call *call, bool *known) {
    static const struct {
        const char *name;
        unsigned forms;
        gg__meta (*infer)(gg__inference *s, const gg__call *call);
    } views[] = {
        {"view", GG__METHOD, call_reshape},
        {"reshape", GG__METHOD | GG__TORCH, call_reshape},
        {"expand", GG__METHOD, call_expand},
        {"broadcast_to", GG__METHOD | GG__TORCH, call_expand},
        {"repeat", GG__METHOD, call_repeat},
        {"permute", GG__METHOD | GG__TORCH, call_permute},
        {"unsqueeze", GG__METHOD | GG__TORCH, call_unsqueeze},
        {"squeeze", GG__METHOD | GG__TORCH, call_squeeze},
        {"flatten", GG__METHOD | GG__TORCH, call_flatten},
        {"transpose", GG__METHOD | GG__TORCH, call_transpose},
        {"swapaxes", GG__METHOD | GG__TORCH, call_transpose},
        {"t", GG__METHOD | GG__TORCH, call_t},
        {"diagonal", GG__METHOD | GG__TORCH, call_diagonal},
        {"view_as", GG__METHOD, call_as},
        {"reshape_as", GG__METHOD, call_as},
        {"expand_as", GG__METHOD, call_as},
    };
    for (size_t i = 0; i < GG_COUNT(views); i++) {
        if (!gg_str_is(call->name, views[i].name)) continue;
        *known = true;
        bool fits = call->x.sort == GG__TENSOR && (views[i].forms & (unsigned)call->form);
        return fits ? views[i].infer(s, call) : gg__unknown;
    }
    *known = false;
    return gg__unknown;
}
