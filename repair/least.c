/* How large a dimension is at least, in every call: what makes an index that is there in the capture be there.  See infer.h.
 *
 * A capture sees the sizes of one call.  Those that layers, attributes and literals make are the same in all; those of arguments are not, unless the
 * program has read an element, or asked for the size, before.  Dimensions are counted from the last one, as broadcasting does. */
#include "repair/built.h"
#include "repair/infer.h"
#include "repair/scalar.h"

#include <math.h>

enum { MAX_DEPTH = 24, MAX_STEPS = 2000 };

typedef struct place { /* of an expression */
    const gg_rule_input *in;
    int32_t rank, behind; /* how many dimensions it has, and how many of them are behind this one */
    uint32_t depth;
    TSNode use;      /* where the element is read: what is known of a name there, unless it is another one's by then */
    bool exact;      /* only what makes the size tells */
    uint32_t *steps; /* all expressions looked at: a name may be read twice by each that is made of it */
} place;

static int64_t least(const place *p, TSNode node);

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The same dimension of an operand that has `more` dimensions, `behind` of them behind it. */
static place moved(const place *p, int32_t more, int32_t behind) {
    return (place){p->in, p->rank + more, behind, p->depth + 1, p->use, p->exact, p->steps};
}

/* A literal, or a number that an attribute has from the start. */
static int64_t size_of(const place *p, TSNode node) {
    int64_t value = 0;
    if (gg__whole_literal(p->in->tree, node, &value)) return larger(value, 0);
    const gg_fact *fact = gg_node_is(node, "attribute") ? gg__fact_of(p->in, gg__text(p->in->tree, node)) : NULL;
    bool known = fact && fact->kind == GG_VALUE_INT && fact->has_number && gg__is_set_up_once(p->in->tree, node);
    return known ? larger((int64_t)fact->number, 0) : 0;
}

/* ---- expressions ----------------------------------------------------------------------------------------------------------------- */

static int64_t of_name(const place *p, TSNode node) {
    const gg_tree *tree = p->in->tree;
    gg_str name = gg__text(tree, node);
    int64_t found, later;
    TSNode value = gg__read_since(p->in, node, name, p->rank, p->behind, &found);
    TSNode then = gg__read_since(p->in, p->use, name, p->rank, p->behind, &later);
    bool given = ts_node_is_null(value) && ts_node_is_null(then) &&
                 !gg__binds(tree, gg__field(gg__function(node), "body"), name);
    if (given || (!ts_node_is_null(value) && ts_node_eq(value, then))) found = larger(found, later);
    place inner = moved(p, 0, p->behind);
    return larger(p->exact ? 0 : found, ts_node_is_null(value) ? 0 : least(&inner, value));
}

/* A tensor that an object has; not one that a call gives it. */
static int64_t of_attribute(const place *p, TSNode node) {
    const gg_tree *tree = p->in->tree;
    const gg_fact *fact = gg__fact_of(p->in, gg__text(tree, node));
    if (!fact || fact->kind != GG_VALUE_TENSOR || p->behind >= fact->rank || fact->rank > GG__MAX_RANK) return 0;
    bool set = gg_str_is(fact->type, "Parameter") || gg_str_is(gg__text(tree, gg__field(node, "object")), "self");
    return set && gg__is_set_up_once(tree, node) ? fact->shape[fact->rank - 1 - p->behind] : 0;
}

static int64_t of_module(const place *p, const gg_fact *fact, TSNode argument) {
    for (size_t i = fact->step_count; i-- > 0;) {
        const gg_step *step = &fact->steps[i];
        if (step->op == GG_STEP_LINEAR && p->behind == 0) return step->size_count == 2 ? step->sizes[1] : 0;
        if (step->op == GG_STEP_TAIL && p->behind < (int32_t)step->size_count)
            return step->sizes[step->size_count - 1 - (size_t)p->behind];
        if (step->op != GG_STEP_CONV) continue;
        return p->behind == p->rank - 2 && step->size_count > 1 ? step->sizes[1] : 0;
    }
    place inner = moved(p, 0, p->behind);
    return least(&inner, argument);
}

/* `view(b, 4, 8)`, `zeros(4, 8)`, `expand(-1, 4)`: sizes as they are written */
static int64_t of_sizes(const place *p, TSNode arguments, uint32_t from) {
    TSNode first = gg__child(arguments, from);
    bool listed = gg_node_is(first, "tuple") || gg_node_is(first, "list");
    if (listed) {
        arguments = first;
        from = 0;
    }
    uint32_t count = 0;
    while (from + count < gg__child_count(arguments) &&
           !gg_node_is(gg__child(arguments, from + count), "keyword_argument"))
        count++;
    return p->behind < (int32_t)count ? size_of(p, gg__child(arguments, from + count - 1 - (uint32_t)p->behind)) : 0;
}

/* A dimension that is written, counted from the last of `rank`; -1 when it is none. */
static int32_t written(const gg_tree *tree, TSNode node, int32_t rank) {
    int64_t dim = 0;
    if (gg_node_is(node, "keyword_argument")) node = gg__field(node, "value");
    if (!gg__whole_literal(tree, node, &dim) || dim >= rank || dim < -rank) return -1;
    return (int32_t)(dim < 0 ? -1 - dim : rank - 1 - dim);
}

/* torch.stack((a, b)), torch.cat((a, b), 1) */
static int64_t of_joined(const place *p, TSNode arguments, bool stack) {
    TSNode list = gg__child(arguments, 0), dim = gg__child(arguments, 1);
    int32_t at = ts_node_is_null(dim) ? p->rank - 1 : written(p->in->tree, dim, p->rank);
    if ((!gg_node_is(list, "list") && !gg_node_is(list, "tuple")) || at < 0) return 0;
    int64_t most = 0, all = 0;
    for (uint32_t i = 0; i < gg__child_count(list); i++)
        if (gg_node_is(gg__child(list, i), "list_splat") || gg_node_is(gg__child(list, i), "comment")) return 0;
    place inner = moved(p, stack ? -1 : 0, stack && p->behind > at ? p->behind - 1 : p->behind);
    if (stack && p->behind == at) return gg__child_count(list);
    for (uint32_t i = 0; i < gg__child_count(list); i++) {
        int64_t one = least(&inner, gg__child(list, i));
        most = larger(most, one);
        if (p->exact && one == 0) all = INT32_MIN; /* nobody knows */
        all += one;
    }
    return p->behind == at ? larger(all, 0) : most;
}

/* `x.sum(1)`: one dimension goes away; of what keeps it, or of a tuple, nothing is known. */
static int64_t of_reduced(const place *p, TSNode x, TSNode arguments, uint32_t from) {
    if (gg__child_count(arguments) != from + 1) return 0;
    int32_t at = written(p->in->tree, gg__child(arguments, from), p->rank + 1);
    place inner = moved(p, 1, p->behind >= at ? p->behind + 1 : p->behind);
    return at < 0 ? 0 : least(&inner, x);
}

static int64_t of_transposed(const place *p, TSNode x, TSNode arguments, uint32_t from) {
    int32_t a = written(p->in->tree, gg__child(arguments, from), p->rank);
    int32_t b = written(p->in->tree, gg__child(arguments, from + 1), p->rank);
    if (a < 0 || b < 0) return 0;
    place inner = moved(p, 0, p->behind == a ? b : p->behind == b ? a : p->behind);
    return least(&inner, x);
}

static int64_t of_unsqueezed(const place *p, TSNode x, TSNode arguments, uint32_t from) {
    int32_t at = written(p->in->tree, gg__child(arguments, from), p->rank);
    if (at < 0) return 0;
    place inner = moved(p, -1, p->behind > at ? p->behind - 1 : p->behind);
    return p->behind == at ? 1 : least(&inner, x);
}

static int64_t of_call(const place *p, TSNode node) {
    static const char *const made[] = {"zeros", "ones", "rand", "randn", "full", "empty"};
    static const char *const sized[] = {"view", "reshape", "expand", "new_zeros", "new_ones", "new_full"};
    static const char *const same[] = {
        "relu",       "sigmoid",    "tanh",        "abs",        "neg",       "exp",       "log",         "sqrt",
        "clone",      "detach",     "float",       "half",       "double",    "long",      "to",          "type",
        "contiguous", "clamp",      "square",      "softmax",    "gelu",      "silu",      "log_softmax", "dropout",
        "normalize",  "layer_norm", "masked_fill", "add",        "sub",       "mul",       "div",         "pow",
        "cumsum",     "flip",       "roll",        "zeros_like", "ones_like", "rand_like", "randn_like",  "full_like",
        "bool",       "int",        "sin",         "cos",        "round",     "floor",     "nan_to_num"};
    static const char *const reduces[] = {"sum", "mean", "amax", "amin", "argmax", "argmin", "any", "all", "norm"};
    const gg_tree *tree = p->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    const gg_fact *fact = gg__fact_of(p->in, gg__text(tree, function));
    if (fact && fact->kind == GG_VALUE_MODULE)
        return fact->step_count ? of_module(p, fact, gg__child(arguments, 0)) : 0;
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return 0;
    gg__inference s = {.in = p->in};
    gg__call call = gg__read_call(&s, node);
    TSNode x = call.from ? gg__child(arguments, 0) : gg__field(function, "object");
    gg_str name = call.name;
    place inner = moved(p, 0, p->behind);
    if (gg__is_one_of(name, made, GG_COUNT(made))) return of_sizes(p, arguments, 0);
    if (gg__is_one_of(name, sized, GG_COUNT(sized))) return of_sizes(p, arguments, call.from);
    if (gg__is_one_of(name, same, GG_COUNT(same))) return least(&inner, x);
    if (gg__is_one_of(name, reduces, GG_COUNT(reduces))) return of_reduced(p, x, arguments, call.from);
    if (gg_str_is(name, "transpose")) return of_transposed(p, x, arguments, call.from);
    if (gg_str_is(name, "unsqueeze")) return of_unsqueezed(p, x, arguments, call.from);
    if (call.form == GG__TORCH && (gg_str_is(name, "stack") || gg_str_is(name, "cat")))
        return of_joined(p, arguments, gg_str_is(name, "stack"));
    if (call.form == GG__TORCH && gg_str_is(name, "where"))
        return larger(least(&inner, gg__child(arguments, 1)), least(&inner, gg__child(arguments, 2)));
    TSNode second = gg__child(arguments, 1);
    bool counts = ts_node_is_null(second) || gg_node_is(second, "keyword_argument");
    if (call.form == GG__TORCH && gg_str_is(name, "arange") && counts) return size_of(p, gg__child(arguments, 0));
    return 0;
}

/* `x[:, 0]`, `x[None]`: whole dimensions of it */
static int64_t of_subscript(const place *p, TSNode node) {
    TSNode indices[GG__MAX_RANK];
    uint32_t count = gg__indices_of(node, indices, GG__MAX_RANK);
    int32_t front = p->rank - 1 - p->behind, dims = 0, from = 0, added = 0, at = -1;
    for (uint32_t i = 0; i < count; i++) {
        bool slice = gg_node_is(indices[i], "slice"), none = gg_node_is(indices[i], "none");
        if (gg_node_is(indices[i], "ellipsis")) return 0;
        bool number = !slice && !none && gg__infer_loosely(p->in, indices[i]).sort == GG__SCALAR_INT;
        if (!slice && !none && !number) return 0;
        if ((slice || none) && dims++ == front) {
            at = from;
            if (none || gg__child_count(indices[i])) return 0;
        }
        added += number ? 1 : none ? -1 : 0;
        from += !none;
    }
    if (count == 0) return 0;
    place inner = moved(p, added, p->rank + added - 1 - at);
    if (at < 0) inner.behind = p->behind; /* behind all of the indices */
    return least(&inner, gg__field(node, "value"));
}

static int64_t of_operator(const place *p, TSNode node) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    place inner = moved(p, 0, p->behind);
    if (!gg_str_is(gg__text(p->in->tree, gg__field(node, "operator")), "@"))
        return larger(least(&inner, left), least(&inner, right));
    if (gg__infer_loosely(p->in, left).rank != p->rank || gg__infer_loosely(p->in, right).rank != p->rank) return 0;
    return p->behind == 0 ? least(&inner, right) : p->behind == 1 ? least(&inner, left) : 0;
}

static int64_t least(const place *p, TSNode node) {
    node = gg__strip_parentheses(node);
    if (ts_node_is_null(node) || p->depth > MAX_DEPTH || p->behind < 0 || p->behind >= p->rank) return 0;
    if (++*p->steps > MAX_STEPS) return 0;
    place inner = moved(p, 0, p->behind);
    if (gg_node_is(node, "identifier")) return of_name(p, node);
    if (gg_node_is(node, "attribute")) return of_attribute(p, node);
    if (gg_node_is(node, "call")) return of_call(p, node);
    if (gg_node_is(node, "subscript")) return of_subscript(p, node);
    if (gg_node_is(node, "binary_operator")) return of_operator(p, node);
    if (gg_node_is(node, "comparison_operator"))
        return larger(least(&inner, gg__child(node, 0)), least(&inner, gg__child(node, 1)));
    return gg_node_is(node, "unary_operator") ? least(&inner, gg__field(node, "argument")) : 0;
}

bool gg__has_at_least(const gg_rule_input *in, TSNode node, int32_t rank, int32_t dim, int64_t count) {
    uint32_t steps = 0;
    place p = {in, rank, rank - 1 - dim, 0, node, false, &steps};
    return count < 2 || least(&p, node) >= count;
}

bool gg__has_a_multiple(const gg_rule_input *in, TSNode node, int32_t rank, int64_t of) {
    int64_t product = 1;
    for (int32_t dim = 0; dim < rank && of > 1; dim++) {
        uint32_t steps = 0;
        place p = {in, rank, rank - 1 - dim, 0, node, true, &steps};
        int64_t size = least(&p, node);
        if (size > 0 && size < INT32_MAX && product < INT32_MAX) product *= size;
    }
    return of < 2 || product % of == 0;
}
