/* Do a function's results come from its arguments?  Names that hold something of an argument are followed through assignments, loops and calls, in any
 * order; what is asked only of a tensor's form (its shape, its dtype) is nothing of it, nor is what is multiplied by zero.  Returns that come from no
 * argument may not get more.  See integrity.h. */
#include "repair/llm/integrity.h"

enum { MAX_NAMES = 512, MAX_ROUNDS = 16 };

typedef struct flow {
    const gg__look *look;
    TSNode function;
    gg_str names[MAX_NAMES]; /* "x", "self.buffer" */
    size_t len;
    bool grew;
    size_t free_returns, returns; /* that come from no argument; that do */
    TSNode shown;                 /* the last of the former */
} flow;

static bool has(const flow *f, gg_str name) {
    for (size_t i = 0; i < f->len; i++)
        if (gg_str_equal(f->names[i], name)) return true;
    return false;
}

static void add(flow *f, gg_str name) {
    if (name.len == 0 || f->len == MAX_NAMES || has(f, name)) return;
    f->names[f->len++] = name;
    f->grew = true;
}

static bool is_own_attribute(const flow *f, TSNode node) {
    return gg_node_is(node, "attribute") && gg__is_self(f->look, gg__field(node, "object"));
}

static bool is_zero(const flow *f, TSNode node) {
    static const char *const words[] = {"0", "0.0", "0.", "-0.0", "False", "0e0"};
    return gg__is_one_of(gg__text(f->look->tree, gg__strip_parentheses(node)), words, GG_COUNT(words));
}

/* Is nothing of the values inside left in it? */
static bool forgets(const flow *f, TSNode node) {
    static const char *const forms[] = {"shape",      "dtype",
                                        "device",     "ndim",
                                        "layout",     "size",
                                        "dim",        "numel",
                                        "stride",     "new_zeros",
                                        "new_ones",   "new_full",
                                        "new_empty",  "new_tensor",
                                        "is_cuda",    "requires_grad",
                                        "get_device", "element_size",
                                        "nelement",   "fill_",
                                        "zero_",      "is_floating_point"};
    static const char *const functions[] = {"len", "isinstance", "type", "id", "callable", "hasattr"};
    const gg_tree *tree = f->look->tree;
    if (gg_node_is(node, "attribute"))
        return gg__is_one_of(gg__text(tree, gg__field(node, "attribute")), forms, GG_COUNT(forms));
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
        gg_str name = gg__text(tree, function);
        if (gg_node_is(function, "attribute")) name = gg__text(tree, gg__field(function, "attribute"));
        bool scaled = gg_str_is(name, "mul") || gg_str_is(name, "multiply");
        for (uint32_t i = 0; scaled && i < gg__child_count(arguments); i++)
            if (is_zero(f, gg__child(arguments, i))) return true;
        return gg_str_ends_with(name, GG_STR("_like")) ||
               gg__is_one_of(gg__text(tree, function), functions, GG_COUNT(functions));
    }
    if (!gg_node_is(node, "binary_operator")) return false;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str sign = gg__text(tree, gg__field(node, "operator"));
    if (gg_str_is(sign, "**")) return is_zero(f, right);
    if (gg_str_is(sign, "*")) return is_zero(f, left) || is_zero(f, right);
    return gg_str_is(sign, "-") && gg__same_code(tree, left, tree, right);
}

static bool is_full_like(const flow *f, TSNode node) {
    TSNode function = gg__field(node, "function");
    return gg_node_is(node, "call") && gg_str_ends_with(gg__text(f->look->tree, function), GG_STR("full_like"));
}

/* Does it hold something of an argument? */
static bool holds(const flow *f, TSNode node) {
    if (ts_node_is_null(node)) return false;
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    bool found = false, more = true;
    while (more && !found) {
        TSNode at = ts_tree_cursor_current_node(&cursor);
        bool inside = !forgets(f, at);
        if (is_own_attribute(f, at)) {
            found = inside && has(f, gg__text(f->look->tree, at));
            inside = false;
        } else if (is_full_like(f, at)) { /* of its first argument only the form is asked */
            found = holds(f, gg__child(gg__field(at, "arguments"), 1));
            inside = false;
        } else if (gg_node_is(at, "identifier")) {
            found = !gg__is_member_name(at) && has(f, gg__text(f->look->tree, at));
        }
        if (found || (inside && ts_tree_cursor_goto_first_child(&cursor))) continue;
        while (!ts_tree_cursor_goto_next_sibling(&cursor))
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                more = false;
                break;
            }
    }
    ts_tree_cursor_delete(&cursor);
    return found;
}

static void bind(flow *f, TSNode target) {
    while (gg_node_is(target, "subscript")) target = gg__field(target, "value");
    if (gg_node_is(target, "identifier") || is_own_attribute(f, target)) {
        add(f, gg__text(f->look->tree, target));
        return;
    }
    if (gg_node_is(target, "attribute")) {
        bind(f, gg__field(target, "object"));
        return;
    }
    for (uint32_t i = 0; i < gg__child_count(target); i++) {
        TSNode child = gg__child(target, i);
        if (gg_node_is(child, "list_splat_pattern")) child = gg__child(child, 0);
        if (gg_node_is(child, "identifier") || is_own_attribute(f, child)) add(f, gg__text(f->look->tree, child));
        for (uint32_t k = 0; k < gg__child_count(child); k++) /* one pattern in another */
            if (gg_node_is(gg__child(child, k), "identifier")) add(f, gg__text(f->look->tree, gg__child(child, k)));
    }
}

/* One step of the flow through this node. */
static bool step(TSNode node, void *data) {
    flow *f = data;
    if (gg_node_is(node, "assignment") || gg_node_is(node, "augmented_assignment")) {
        if (holds(f, gg__field(node, "right"))) bind(f, gg__field(node, "left"));
    } else if (gg_node_is(node, "for_statement") || gg_node_is(node, "for_in_clause")) {
        if (holds(f, gg__field(node, "right"))) bind(f, gg__field(node, "left"));
    } else if (gg_node_is(node, "named_expression")) {
        if (holds(f, gg__field(node, "value"))) bind(f, gg__field(node, "name"));
    } else if (gg_node_is(node, "as_pattern")) {
        if (holds(f, gg__child(node, 0))) bind(f, gg__child(gg__child(node, 1), 0));
    } else if (gg_node_is(node, "call")) { /* its object, and `out=`, may have got something of the arguments */
        TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
        if (!holds(f, arguments)) return true;
        if (gg_node_is(function, "attribute") && !gg__is_self(f->look, gg__field(function, "object")) &&
            gg__path_of(f->look, gg__field(function, "object")).len == 0)
            bind(f, gg__field(function, "object"));
        for (uint32_t i = 0; i < gg__child_count(arguments); i++)
            if (gg_str_is(gg__text(f->look->tree, gg__field(gg__child(arguments, i), "name")), "out"))
                bind(f, gg__field(gg__child(arguments, i), "value"));
    } else if (gg_node_is(node, "function_definition") && !ts_node_eq(node, f->function)) {
        if (holds(f, gg__field(node, "body"))) add(f, gg__definition_name(f->look->tree, node));
    }
    return true;
}

static bool count_return(TSNode node, void *data) {
    flow *f = data;
    if (!gg_node_is(node, "return_statement")) return true;
    TSNode value = gg__child(node, 0);
    bool inner = gg__is_in_inner_function(node, f->function);
    if (inner || ts_node_is_null(value) || gg_node_is(value, "none")) return true;
    if (holds(f, value)) {
        f->returns++;
    } else {
        f->free_returns++;
        f->shown = node;
    }
    return true;
}

/* false: it has no arguments that results could come from. */
static bool follow(flow *f) {
    TSNode parameters = gg__field(f->function, "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode p = gg__child(parameters, i), name = gg__field(p, "name");
        if (ts_node_is_null(name)) name = gg_node_is(p, "typed_parameter") ? gg__child(p, 0) : p;
        if (gg_node_is(name, "list_splat_pattern") || gg_node_is(name, "dictionary_splat_pattern"))
            name = gg__child(name, 0);
        if (gg_node_is(name, "identifier") &&
            !gg_str_equal(gg__text(f->look->tree, name), gg__self_name(f->look, name)))
            add(f, gg__text(f->look->tree, name));
    }
    if (f->len == 0) return false;
    f->grew = true;
    for (int round = 0; f->grew && round < MAX_ROUNDS; round++) { /* code that runs downwards takes two */
        f->grew = false;
        gg__visit(gg__field(f->function, "body"), step, f);
    }
    gg__visit(gg__field(f->function, "body"), count_return, f);
    return true;
}

static gg__cheat compare(gg__look *before, TSNode a, gg__look *after, TSNode b, gg_str *shown) {
    if (ts_node_is_null(b)) return GG__CHEAT_OK;
    flow *x = gg_calloc(1, sizeof(flow)), *y = gg_calloc(1, sizeof(flow));
    x->look = before;
    x->function = a;
    y->look = after;
    y->function = b;
    bool follows = follow(x), followed = follow(y);
    gg__cheat cheat = GG__CHEAT_OK;
    if (follows && followed && (y->free_returns > x->free_returns || (x->returns && !y->returns))) {
        cheat = GG__CHEAT_CONSTANT;
        if (!ts_node_is_null(y->shown)) *shown = gg__text(after->tree, y->shown);
    }
    gg_free(x);
    gg_free(y);
    return cheat;
}

gg__cheat gg__compare_flow(gg__look *before, gg__look *after, gg_str *shown) {
    return gg__each_pair(before, after, "function_definition", compare, shown);
}
