/* Sizes and dimensions: broadcasting, reductions, sizes written as a tuple.  See infer.h. */
#include "repair/infer.h"

bool gg__broadcast(gg__sizes *out, gg__meta a, gg__meta b) {
    *out = (gg__sizes){.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int32_t i = 1; i <= out->rank; i++) {
        int64_t x = i <= a.rank ? a.shape[a.rank - i] : 1, y = i <= b.rank ? b.shape[b.rank - i] : 1;
        bool fits = x == GG__FITTING || y == GG__FITTING;
        if (x != y && x != 1 && y != 1 && !fits) return false;
        if (x < 0 && y < 0 && !fits) return false; /* two sizes that nobody knows */
        out->items[out->rank - i] = fits ? GG__FITTING : x == 1 ? y : x;
    }
    return true;
}

gg__meta gg__with_sizes(gg__meta x, const gg__sizes *sizes) {
    x.rank = sizes->rank;
    memcpy(x.shape, sizes->items, sizeof(x.shape));
    return x;
}

bool gg__dim(gg__meta dim, int32_t rank, int32_t *out) {
    int32_t limit = rank ? rank : 1; /* what has no dimension takes 0 and -1 */
    if (dim.sort != GG__SCALAR_INT || !dim.steady || dim.value < -limit || dim.value >= limit) return false;
    *out = (int32_t)dim.value + (dim.value < 0 ? limit : 0);
    return true;
}

static bool append(gg__sizes *out, int64_t size) {
    if (out->rank >= GG__MAX_RANK) return false;
    out->items[out->rank++] = size;
    return true;
}

static bool append_all(gg__sizes *out, const gg__sizes *more) {
    for (int32_t i = 0; i < more->rank; i++)
        if (!append(out, more->items[i])) return false;
    return true;
}

/* One size; -1 stands for the rest, as in `view`. */
static bool append_one(gg__inference *s, TSNode node, gg__sizes *out) {
    gg__sizes inner;
    if (gg_node_is(node, "list_splat")) return gg__sizes_of(s, gg__child(node, 0), &inner) && append_all(out, &inner);
    gg__meta number = gg__infer_node(s, node);
    bool known = number.sort == GG__SCALAR_INT && number.seen && number.value >= -1 && number.value < 1e15;
    return known && append(out, (int64_t)number.value);
}

bool gg__sizes_in(gg__inference *s, TSNode arguments, uint32_t from, gg__sizes *out) {
    *out = (gg__sizes){0};
    TSNode first = {0};
    uint32_t count = 0;
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument") || gg_node_is(argument, "comment")) continue;
        if (count++ == 0) first = argument;
    }
    if (count == 1 && gg__sizes_of(s, first, out)) return true;
    *out = (gg__sizes){0};
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument") || gg_node_is(argument, "comment")) continue;
        if (!append_one(s, argument, out)) return false;
    }
    return true;
}

/* `x.shape` and `x.size()` */
static bool of_tensor(gg__inference *s, TSNode node, gg__sizes *out) {
    const gg_tree *tree = s->in->tree;
    bool call = gg_node_is(node, "call");
    if (call && gg__child_count(gg__field(node, "arguments"))) return false;
    TSNode attribute = call ? gg__field(node, "function") : node;
    if (!gg_node_is(attribute, "attribute")) return false;
    if (!gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), call ? "size" : "shape")) return false;
    gg__meta x = gg__infer_node(s, gg__field(attribute, "object"));
    if (x.sort != GG__TENSOR || gg__elements(x) < 0) return false;
    *out = (gg__sizes){.rank = x.rank};
    memcpy(out->items, x.shape, sizeof(out->items));
    return true;
}

static bool is_colon(TSNode node) {
    return strcmp(ts_node_type(node), ":") == 0;
}

/* `shape[1:]`, `shape[:-1]` */
static bool sliced(gg__inference *s, TSNode node, gg__sizes *out) {
    TSNode slice = gg__field(node, "subscript");
    if (!gg_node_is(slice, "slice") || !gg__sizes_of(s, gg__field(node, "value"), out)) return false;
    int32_t bounds[2] = {0, out->rank}, slot = 0;
    for (uint32_t i = 0; i < ts_node_child_count(slice); i++) {
        TSNode part = ts_node_child(slice, i);
        if (is_colon(part)) {
            if (++slot > 1) return false; /* a step */
            continue;
        }
        gg__meta bound = gg__infer_node(s, part);
        if (bound.sort != GG__SCALAR_INT || !bound.constant || bound.value < -100 || bound.value > 100) return false;
        bounds[slot] = (int32_t)bound.value + (bound.value < 0 ? out->rank : 0);
    }
    int32_t start = bounds[0] < 0 ? 0 : bounds[0], end = bounds[1] > out->rank ? out->rank : bounds[1];
    gg__sizes all = *out;
    *out = (gg__sizes){0};
    for (int32_t i = start; i < end; i++) append(out, all.items[i]);
    return true;
}

bool gg__sizes_of(gg__inference *s, TSNode node, gg__sizes *out) {
    *out = (gg__sizes){0};
    node = gg__strip_parentheses(node);
    if (ts_node_is_null(node) || s->depth > 50) return false;
    if (of_tensor(s, node, out)) return true;
    s->depth++;
    bool known = gg_node_is(node, "subscript") && sliced(s, node, out);
    if (gg_node_is(node, "tuple") || gg_node_is(node, "list")) {
        known = true;
        for (uint32_t i = 0; known && i < gg__child_count(node); i++) known = append_one(s, gg__child(node, i), out);
    }
    if (gg_node_is(node, "binary_operator") && gg_str_is(gg__text(s->in->tree, gg__field(node, "operator")), "+")) {
        gg__sizes more;
        known = gg__sizes_of(s, gg__field(node, "left"), out) && gg__sizes_of(s, gg__field(node, "right"), &more) &&
                append_all(out, &more);
    }
    s->depth--;
    return known;
}

/* Marks what is reduced: a dimension, a tuple of them, all when none is given. */
static bool mark(gg__inference *s, TSNode dims, int32_t rank, bool *marked) {
    bool many = gg_node_is(dims, "tuple") || gg_node_is(dims, "list");
    uint32_t count = many ? gg__child_count(dims) : 1;
    bool all = ts_node_is_null(dims) || gg_node_is(dims, "none");
    if (many && count == 0) return false; /* all of them, or none: it depends on the operation */
    for (int32_t i = 0; all && i < rank; i++) marked[i] = true;
    for (uint32_t i = 0; !all && i < count; i++) {
        int32_t dim;
        if (!gg__dim(gg__infer_node(s, many ? gg__child(dims, i) : dims), rank, &dim) || marked[dim]) return false;
        marked[dim] = true;
    }
    return true;
}

gg__meta gg__reduced(gg__inference *s, gg__meta x, TSNode dims, TSNode keepdim) {
    bool marked[GG__MAX_RANK + 1] = {false}, keep = gg_node_is(keepdim, "true");
    if (!ts_node_is_null(keepdim) && !keep && !gg_node_is(keepdim, "false")) return gg__unknown;
    if (!mark(s, gg__strip_parentheses(dims), x.rank, marked)) return gg__unknown;
    gg__sizes out = {0};
    for (int32_t i = 0; i < x.rank; i++) {
        if (marked[i] && keep) append(&out, 1);
        if (!marked[i]) append(&out, x.shape[i]);
    }
    x = gg__with_sizes(x, &out);
    if (x.layout.len) x.layout = x.rank <= 1 ? GG_STR("") : GG_STR("?");
    x.fresh = true;
    return x;
}
