/* Indices that count through a tensor: `for i in range(x.shape[0])`, and x[i] in its body is there.  See infer.h. */
#include "repair/infer.h"
#include "repair/scalar.h"

typedef struct keeping {
    const gg_tree *tree;
    TSNode function, target; /* a binding that is fine */
    gg_str name;
    gg_span inside; /* where no binding is */
    bool formed;    /* … and where the name is a tensor's, which keeps its form */
} keeping;

/* `x.resize_(…)`, `x.data = …` */
static bool is_changed_in_form(const keeping *k, TSNode node) {
    static const char *const changers[] = {"resize_",    "resize_as_", "set_",      "squeeze_",    "unsqueeze_", "t_",
                                           "transpose_", "swapaxes_",  "swapdims_", "as_strided_", "data"};
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "object"), node) &&
           gg__is_one_of(gg__text(k->tree, gg__field(parent, "attribute")), changers, GG_COUNT(changers));
}

static bool is_kept(TSNode node, void *data) {
    const keeping *k = data;
    if (!gg_node_is(node, "identifier") || ts_node_eq(node, k->target) || gg__is_member_name(node) ||
        !gg_str_equal(gg__text(k->tree, node), k->name))
        return true;
    if (!gg__is_binding(node)) return !k->formed || !is_changed_in_form(k, node);
    if (gg_node_is(gg__parent(node), "global_statement") || gg_node_is(gg__parent(node), "nonlocal_statement"))
        return false; /* others may bind it meanwhile */
    uint32_t at = ts_node_start_byte(node);
    return (at < k->inside.start || at >= k->inside.end) && !gg__is_in_inner_function(node, k->function);
}

/* `x.shape[0]`, `x.size(0)`, `len(x)`: of that dimension of x */
static bool is_size(const gg_tree *tree, TSNode node, gg_str x, int32_t dim) {
    double at = -1;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"), of = {0}, literal = {0};
    if (gg_node_is(node, "call")) {
        if (gg__child_count(arguments) != 1 || !gg_node_is(arguments, "argument_list")) return false;
        if (gg__names_builtin(tree, function, "len"))
            return dim == 0 && gg_node_is(gg__child(arguments, 0), "identifier") &&
                   gg_str_equal(gg__text(tree, gg__child(arguments, 0)), x);
        if (!gg_str_is(gg__text(tree, gg__field(function, "attribute")), "size")) return false;
        of = gg__field(function, "object");
        literal = gg__child(arguments, 0);
    } else if (gg_node_is(node, "subscript") && gg__child_count(node) == 2) {
        TSNode shape = gg__field(node, "value");
        if (!gg_str_is(gg__text(tree, gg__field(shape, "attribute")), "shape")) return false;
        of = gg__field(shape, "object");
        literal = gg__field(node, "subscript");
    }
    return gg_node_is(of, "identifier") && gg_str_equal(gg__text(tree, of), x) &&
           gg__literal_value(tree, literal, &at) && at == dim;
}

/* The loop whose only target is the name, around it. */
static TSNode loop_of(const gg_tree *tree, TSNode index) {
    gg_str name = gg__text(tree, index);
    TSNode child = index;
    for (TSNode at = gg__parent(index); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda") || gg__is_comprehension(at)) break;
        TSNode left = gg__field(at, "left");
        if (gg_node_is(at, "for_statement") && ts_node_eq(gg__field(at, "body"), child) &&
            gg_node_is(left, "identifier") && gg_str_equal(gg__text(tree, left), name))
            return at;
    }
    return (TSNode){0};
}

bool gg__stays_from(const gg_tree *tree, TSNode function, gg_str name, uint32_t from) {
    keeping k = {tree, function, function, name, {from, ts_node_end_byte(function)}, true};
    return gg__binds(tree, function, name) && gg__visit(function, is_kept, &k);
}

/* `for i in range(…)`, `for i, x in enumerate(…)`: the name of the number; else null. */
static TSNode counter_of(const gg_tree *tree, TSNode loop) {
    TSNode target = gg__field(loop, "left"), call = gg__field(loop, "right"), function = gg__field(call, "function");
    if (!gg_node_is(call, "call")) return (TSNode){0};
    if (gg_node_is(target, "pattern_list") && gg__child_count(gg__field(call, "arguments")) == 1 &&
        gg__names_builtin(tree, function, "enumerate"))
        return gg__child(target, 0);
    return gg__names_builtin(tree, function, "range") ? target : (TSNode){0};
}

/* … of a comprehension, whose names nothing else binds. */
static bool counts_in(const gg_tree *tree, TSNode comprehension, gg_str name) {
    for (uint32_t i = 0; i < gg__child_count(comprehension); i++) {
        TSNode clause = gg__child(comprehension, i), counter = counter_of(tree, clause);
        if (!gg_node_is(clause, "for_in_clause") || !gg__binds(tree, gg__field(clause, "left"), name)) continue;
        return gg_node_is(counter, "identifier") && gg_str_equal(gg__text(tree, counter), name);
    }
    return false;
}

bool gg__is_counter(const gg_tree *tree, TSNode index) {
    gg_str name = gg__text(tree, index);
    TSNode function = gg__function(index);
    for (TSNode at = index; gg_node_is(index, "identifier") && !ts_node_eq(at, function); at = gg__parent(at)) {
        if (gg__is_comprehension(at) && counts_in(tree, at, name)) return true;
        if (!gg_node_is(at, "for_statement") || ts_node_is_null(gg__field(at, "body"))) continue;
        TSNode target = counter_of(tree, at);
        if (!gg_node_is(target, "identifier") || !gg_str_equal(gg__text(tree, target), name)) continue;
        keeping k = {tree, function, target, name, gg_node_span(gg__field(at, "body")), false};
        return gg__visit(function, is_kept, &k);
    }
    return false;
}

/* `range(n)`, `range(1, n)`: n; and where it starts.  Null when it is neither. */
static TSNode end_of(const gg_tree *tree, TSNode range, double *start) {
    TSNode arguments = gg__field(range, "arguments"), none = {0};
    uint32_t count = gg__child_count(arguments);
    *start = 0;
    if (count == 1) return gg__child(arguments, 0);
    bool known = count == 2 && gg__literal_value(tree, gg__child(arguments, 0), start) && *start >= 0;
    return known ? gg__child(arguments, 1) : none;
}

/* `t - 1`: t, and 1 */
static TSNode counter_in(const gg_tree *tree, TSNode index, double *less) {
    *less = 0;
    bool minus = gg_node_is(index, "binary_operator") && gg_str_is(gg__text(tree, gg__field(index, "operator")), "-");
    if (!minus) return index;
    bool known = gg__literal_value(tree, gg__field(index, "right"), less) && *less >= 0;
    return known ? gg__field(index, "left") : (TSNode){0};
}

/* `out = x.clone()`, `torch.zeros_like(x)`: x, whose sizes it has; else the name itself. */
static TSNode made_like(const gg_tree *tree, TSNode name) {
    TSNode value = gg__only_value(tree, name), function = gg__field(value, "function"), block;
    TSNode first = gg__child(gg__field(value, "arguments"), 0);
    block = gg__parent(gg__statement(value));
    bool like = false;
    if (!gg_node_is(value, "call") || ts_node_end_byte(value) > ts_node_start_byte(name) ||
        ts_node_end_byte(block) < ts_node_end_byte(name))
        return name;
    if (gg_str_is(gg__text(tree, gg__field(function, "attribute")), "clone") && ts_node_is_null(first))
        first = gg__field(function, "object");
    else if (!gg__makes_anew(tree, value, &like) || !like)
        return name;
    bool stays = gg_node_is(first, "identifier") && ts_node_eq(gg__function(value), gg__function(name)) &&
                 gg__stays_from(tree, gg__function(name), gg__text(tree, first), ts_node_start_byte(value));
    return stays ? first : name;
}

/* Is it evaluated each time before the loop, in the loop's function? */
static bool comes_before(TSNode value, TSNode loop) {
    TSNode block = gg__parent(gg__statement(value));
    return !ts_node_is_null(value) && ts_node_eq(gg__function(value), gg__function(loop)) &&
           ts_node_end_byte(value) <= ts_node_start_byte(loop) && ts_node_end_byte(block) >= ts_node_end_byte(loop);
}

TSNode gg__unpacked_of(const gg_tree *tree, TSNode name, int32_t *at) {
    TSNode binding = gg__only_binding(tree, name), pattern = gg__parent(binding), none = {0};
    TSNode value = gg__field(gg__parent(pattern), "right"), function = gg__field(value, "function");
    *at = -1;
    if (!gg_node_is(pattern, "pattern_list") || !gg_node_is(gg__parent(pattern), "assignment")) return none;
    for (uint32_t i = 0; i < gg__child_count(pattern); i++) {
        if (!gg_node_is(gg__child(pattern, i), "identifier")) return none;
        if (ts_node_eq(gg__child(pattern, i), binding)) *at = (int32_t)i;
    }
    bool size = gg_node_is(value, "call") && gg__child_count(gg__field(value, "arguments")) == 0 &&
                gg_str_is(gg__text(tree, gg__field(function, "attribute")), "size");
    bool shape = gg_node_is(value, "attribute") && gg_str_is(gg__text(tree, gg__field(value, "attribute")), "shape");
    TSNode of = gg__field(size ? function : value, "object");
    return (size || shape) && gg_node_is(of, "identifier") ? of : none;
}

/* `torch.zeros(2, n)`, `x.new_full((2, n), 0)`: what was given for the dimension; else null. */
static TSNode size_given(const gg_tree *tree, TSNode call, int32_t dim) {
    static const char *const makers[] = {"new_zeros", "new_ones", "new_empty", "new_full", "full"};
    TSNode sizes = gg__field(call, "arguments"), first = gg__child(sizes, 0), none = {0};
    gg_str name = gg__text(tree, gg__field(gg__field(call, "function"), "attribute"));
    bool like = false, known = gg__makes_anew(tree, call, &like) && !like;
    for (size_t i = 0; gg_node_is(call, "call") && i < GG_COUNT(makers); i++) known |= gg_str_is(name, makers[i]);
    if (!known || !gg_node_is(sizes, "argument_list")) return none;
    if (gg_node_is(first, "tuple") || gg_node_is(first, "list"))
        sizes = first;
    else if (gg_str_ends_with(name, GG_STR("full")))
        return none;
    TSNode found = (uint32_t)dim < gg__child_count(sizes) ? gg__child(sizes, (uint32_t)dim) : none;
    for (int32_t i = 0; i <= dim && !ts_node_is_null(found); i++)
        if (!gg__is_positional(gg__child(sizes, (uint32_t)i))) return none;
    return found;
}

/* `out = torch.zeros(B, n)` in front of `for i in range(n)`: is the size what the tensor was made with? */
static bool is_made_with(const gg_tree *tree, TSNode size, TSNode x, int32_t dim, TSNode loop) {
    TSNode made = gg__only_value(tree, x), given = size_given(tree, made, dim), object = gg__field(size, "object");
    if (!comes_before(made, loop) || !gg_str_equal(gg__text(tree, given), gg__text(tree, size))) return false;
    if (gg_node_is(size, "identifier"))
        return ts_node_start_byte(gg__only_binding(tree, size)) < ts_node_start_byte(made) &&
               !ts_node_is_null(gg__only_binding(tree, size));
    if (gg_node_is(size, "attribute"))
        return gg_str_is(gg__text(tree, object), "self") &&
               gg__is_set_once(tree, gg__text(tree, gg__field(size, "attribute")));
    return gg_node_is(size, "integer");
}

/* What the size is one of, or is made with: where that is evaluated; null where it is not that dimension of x. */
static TSNode size_of(const gg_tree *tree, TSNode size, TSNode x, int32_t dim, TSNode loop) {
    TSNode like = made_like(tree, x), none = {0};
    if (is_made_with(tree, size, x, dim, loop)) return gg__only_value(tree, x);
    if (gg_node_is(size, "identifier")) { /* `n = x.shape[0]` */
        int32_t at;
        TSNode of = gg__unpacked_of(tree, size, &at);
        bool own = gg_str_equal(gg__text(tree, of), gg__text(tree, x)) ||
                   gg_str_equal(gg__text(tree, of), gg__text(tree, like));
        if (!ts_node_is_null(of) && at == dim && own) return comes_before(of, loop) ? of : none;
        size = gg__only_value(tree, size);
        if (!comes_before(size, loop)) return none;
    }
    bool sized = is_size(tree, size, gg__text(tree, x), dim) || is_size(tree, size, gg__text(tree, like), dim);
    return sized ? size : none;
}

bool gg__counts_through(const gg_tree *tree, TSNode index, TSNode x, int32_t dim) {
    double less, start;
    index = counter_in(tree, index, &less);
    if (!gg_node_is(index, "identifier") || !gg_node_is(x, "identifier")) return false;
    TSNode loop = loop_of(tree, index), iterable = gg__field(loop, "right"), function = gg__function(loop);
    if (gg__names_builtin(tree, gg__field(iterable, "function"), "reversed") &&
        gg__child_count(gg__field(iterable, "arguments")) == 1)
        iterable = gg__child(gg__field(iterable, "arguments"), 0);
    TSNode end = end_of(tree, iterable, &start);
    if (less > start || ts_node_is_null(end) || !gg_node_is(function, "function_definition") ||
        !gg_node_is(iterable, "call") || !gg__names_builtin(tree, gg__field(iterable, "function"), "range"))
        return false;
    TSNode size = size_of(tree, end, x, dim, loop);
    if (ts_node_is_null(size)) return false;
    gg_span body = gg_node_span(gg__field(loop, "body"));
    gg_span later = {ts_node_end_byte(gg__statement(size)), ts_node_end_byte(function)};
    if (later.start > ts_node_start_byte(loop)) later.start = ts_node_start_byte(size);
    TSNode made = gg__only_value(tree, x), like = made_like(tree, x);
    if (!ts_node_eq(like, x) && !gg__stays_from(tree, function, gg__text(tree, like), later.start)) return false;
    if (comes_before(made, loop) && ts_node_end_byte(made) > later.start) later.start = ts_node_end_byte(made);
    keeping of_index = {tree, function, gg__field(loop, "left"), gg__text(tree, index), body, false};
    keeping of_x = {tree, function, gg__field(loop, "left"), gg__text(tree, x), later, true};
    return gg__binds(tree, function, of_x.name) && gg__visit(function, is_kept, &of_index) &&
           gg__visit(function, is_kept, &of_x);
}
