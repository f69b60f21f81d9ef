/* Conditions that draw a random number.  See select.h.
 *
 * DESIGN  A number of torch.rand is a tensor.  One that random.randint() or random.randrange() gives is Python's, but to Dynamo an input of the graph that
 * is drawn anew at each call: a tensor without dimensions, of int64, as long as nothing but comparisons meets it.  The comparison is Python's in the source,
 * and torch.as_tensor makes a condition of it.  Its device is told, since the default one may be another than that of the arms: a condition
 * without dimensions on the CPU fits them all.
 * Not the floating numbers of random.random() and random.uniform(): Dynamo says they are float32 and gives a float64, which Inductor reads as float32
 * (pytorch/pytorch#198187).  What is mended so would be wrong.  The verification looks for that too (the worker's capture.py), and refuses any edit
 * that leaves no break between such a number and its use. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

#include <math.h>

/* ---- torch's ------------------------------------------------------------------------------------------------------------ */

/* torch.rand(1), torch.rand([]): one number, at a device. */
static bool is_draw(const gg_tree *tree, TSNode call, bool *zero_d) {
    static const char *const none[] = {"[]", "()"}, *const one[] = {"1", "(1,)", "[1]"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    if (!gg__refers_to(tree, function, "torch.rand") && !gg__refers_to(tree, function, "torch.randn")) return false;
    if (gg__child_count(arguments) == 2) {
        TSNode option = gg__child(arguments, 1);
        bool device = gg_node_is(option, "keyword_argument") && gg_node_is(gg__field(option, "value"), "attribute") &&
                      gg_str_is(gg__text(tree, gg__field(option, "name")), "device");
        if (!device) return false;
    } else if (gg__child_count(arguments) != 1) {
        return false;
    }
    gg_str size = gg__text(tree, gg__child(arguments, 0));
    *zero_d = gg_str_is(size, none[0]) || gg_str_is(size, none[1]);
    return *zero_d || gg_str_is(size, one[0]) || gg_str_is(size, one[1]) || gg_str_is(size, one[2]);
}

static bool of_torch(gg__select *s, TSNode node, gg__test *out) {
    const gg_tree *tree = s->in->tree;
    TSNode left = gg__strip_parentheses(gg__child(node, 0)), right = gg__child(node, 1);
    if (!gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2 || !gg_node_is(left, "call"))
        return false;
    gg_str op = gg__text(tree, ts_node_child(node, 1));
    gg__meta number = gg__infer(s->in, right);
    bool zero_d, taken = false, counted = number.sort == GG__SCALAR_INT || number.sort == GG__SCALAR_FLOAT;
    TSNode function = gg__field(left, "function");
    if (gg_node_is(function, "attribute") && gg_str_is(gg__text(tree, gg__field(function, "attribute")), "item") &&
        gg__child_count(gg__field(left, "arguments")) == 0) {
        left = gg__field(function, "object");
        taken = true; /* Python compares doubles */
    }
    if (!gg__is_order(op) || !counted || !is_draw(tree, left, &zero_d)) return false;
    gg_str draw = gg__text(tree, left), value = gg__text(tree, right);
    out->text =
        gg_arena_printf(s->arena, "%s%.*s%s %.*s %.*s%s", zero_d ? "" : "(", GG_STR_ARG(draw), taken ? ".double()" : "",
                        GG_STR_ARG(op), GG_STR_ARG(value), zero_d ? "" : ").squeeze()");
    out->negated = false;
    out->atom = !zero_d;
    out->loose = false;
    return true;
}

/* ---- Python's ----------------------------------------------------------------------------------------------------------- */

/* An int that int64 holds, as far as it is known. */
static bool is_whole(gg__meta m) {
    return m.sort == GG__SCALAR_INT && !(m.constant && fabs(m.value) > 0x1p62);
}

/* random.randint(a, b), random.randrange(…), of integers. */
static bool is_pythons(const gg__select *s, TSNode call) {
    const gg_tree *tree = s->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    uint32_t count = gg__child_count(arguments);
    bool both = gg__refers_to(tree, function, "random.randint");
    if (!gg_node_is(call, "call") || (!both && !gg__refers_to(tree, function, "random.randrange"))) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!is_whole(gg__infer(s->in, gg__child(arguments, i)))) return false;
    return gg_node_is(arguments, "argument_list") && (both ? count == 2 : count >= 1 && count <= 3);
}

static bool is_compared(const gg__select *s, const gg__arm *arm, gg_str op, TSNode other) {
    return gg__is_order(op) && is_whole(gg__infer_in(s, arm, other));
}

typedef struct binding_search {
    const gg_tree *tree;
    gg_str name;
    uint32_t count;
    TSNode found;
} binding_search;

static bool count_bindings(TSNode node, void *data) {
    binding_search *search = data;
    bool own = gg_node_is(node, "identifier") && gg_str_equal(gg__text(search->tree, node), search->name);
    if (!own || !gg__is_binding(node)) return true;
    search->found = node;
    return search->count++ == 0;
}

/* What a local name holds that is bound at one place, before: the expression; else null. */
static TSNode only_value(const gg__select *s, TSNode name) {
    TSNode none = {0}, function = gg__function(name);
    binding_search search = {.tree = s->in->tree, .name = gg__text(s->in->tree, name)};
    if (!gg_node_is(name, "identifier") || !gg_node_is(function, "function_definition")) return none;
    if (!gg__visit(function, count_bindings, &search) || search.count != 1) return none;
    if (!gg__bound_before(s->in->tree, gg__statement(name), search.name)) return none;
    TSNode assignment = gg__assigned(search.found);
    if (ts_node_is_null(assignment) || !ts_node_eq(gg__function(assignment), function)) return none;
    return gg__strip_parentheses(gg__field(assignment, "right"));
}

static bool is_any(TSNode node, const char *const *types, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_node_is(node, types[i])) return true;
    return false;
}

/* Is a name only asked for, or returned?  Where it meets tensors, it is one without dimensions once no break hands it on as a number: `n ** r` and
 * `r / n` may be other values then, and the product with an integer without dimensions one of another dtype. */
static bool is_only_asked(TSNode node, void *data) {
    static const char *const inside[] = {"parenthesized_expression", "comparison_operator", "not_operator",
                                         "boolean_operator"};
    const binding_search *search = data;
    bool own = gg_node_is(node, "identifier") && gg_str_equal(gg__text(search->tree, node), search->name);
    if (!own || gg__is_member_name(node) || gg__is_binding(node)) return true;
    TSNode parent = gg__parent(node), list = gg__parent(parent);
    if (gg_node_is(gg_node_is(parent, "expression_list") ? list : parent, "return_statement")) return true;
    while (is_any(parent, inside, GG_COUNT(inside))) {
        node = parent;
        parent = gg__parent(parent);
    }
    if (gg_node_is(parent, "conditional_expression")) return ts_node_eq(gg__child(parent, 1), node);
    return (gg_node_is(parent, "if_statement") || gg_node_is(parent, "elif_clause")) &&
           ts_node_eq(gg__field(parent, "condition"), node);
}

typedef enum held { NOTHING, NUMBER, TRUTH } held;

/* A name that holds a drawn integer, or what a comparison with one said. */
static held what_is(const gg__select *s, TSNode name) {
    name = gg__strip_parentheses(name);
    TSNode value = only_value(s, name);
    binding_search search = {.tree = s->in->tree, .name = gg__text(s->in->tree, name)};
    if (ts_node_is_null(value) || !gg__visit(gg__function(name), is_only_asked, &search)) return NOTHING;
    if (is_pythons(s, value)) return NUMBER;
    if (!gg_node_is(value, "comparison_operator") || gg__child_count(value) != 2) return NOTHING;
    gg_str op = gg__text(s->in->tree, ts_node_child(value, 1));
    TSNode a = gg__child(value, 0), b = gg__child(value, 1);
    bool drawn = (is_pythons(s, gg__strip_parentheses(a)) && is_compared(s, NULL, op, b)) ||
                 (is_pythons(s, gg__strip_parentheses(b)) && is_compared(s, NULL, op, a));
    return drawn ? TRUTH : NOTHING;
}

static bool is_no_float(TSNode node, void *data) {
    const gg__select *s = data;
    TSNode function = gg__field(node, "function");
    if (!gg_node_is(node, "call")) return true;
    return !gg__refers_to(s->in->tree, function, "random.random") &&
           !gg__refers_to(s->in->tree, function, "random.uniform");
}

/* Does the function draw floating numbers as well?  A break that is gone may have handed them on as Python's. */
static bool is_beside_a_float(const gg__select *s, TSNode node) {
    TSNode function = node;
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "function_definition")) function = at;
    return !gg__visit(function, is_no_float, (void *)s);
}

/* Quotes in an f-string may be those that it is written in. */
static bool is_in_string(TSNode node) {
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "string")) return true;
    return false;
}

static void as_tensor(gg__select *s, gg_str text, gg__test *out) {
    *out = (gg__test){.atom = true};
    s->on_cpu = true;
    out->text =
        gg_arena_printf(s->arena, "%.*s.as_tensor(%.*s, device=\"cpu\")", GG_STR_ARG(s->torch), GG_STR_ARG(text));
}

bool gg__test_of_drawn(gg__select *s, gg__arm *arm, TSNode left, gg_str op, TSNode right, gg__test *out) {
    if (is_in_string(left) || is_beside_a_float(s, left)) return false;
    held a = what_is(s, left), b = ts_node_is_null(right) ? NOTHING : what_is(s, right);
    gg_str x = gg__text_in(s, arm, left);
    if (ts_node_is_null(right)) {
        if (a == NOTHING) return false;
        as_tensor(s, a == TRUTH ? x : gg_arena_printf(s->arena, "%.*s != 0", GG_STR_ARG(x)), out);
        return true;
    }
    bool fits = a == NUMBER ? is_compared(s, arm, op, right) : b == NUMBER && is_compared(s, arm, op, left);
    if (!fits) return false;
    gg_str y = gg__text_in(s, arm, right);
    as_tensor(s, gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(x), GG_STR_ARG(op), GG_STR_ARG(y)), out);
    return true;
}

bool gg__is_drawn(const gg__select *s, TSNode node) {
    node = gg__strip_parentheses(node);
    while (gg_node_is(node, "not_operator")) node = gg__strip_parentheses(gg__field(node, "argument"));
    if (gg_node_is(node, "comparison_operator"))
        return what_is(s, gg__child(node, 0)) == NUMBER || what_is(s, gg__child(node, 1)) == NUMBER;
    return what_is(s, node) != NOTHING;
}

static bool of_python(gg__select *s, TSNode node, gg__test *out) {
    gg_str text = gg__text(s->in->tree, node);
    if (is_in_string(node) || is_beside_a_float(s, node)) return false;
    if (is_pythons(s, node)) {
        as_tensor(s, gg_arena_printf(s->arena, "%.*s != 0", GG_STR_ARG(text)), out);
        return true;
    }
    if (!gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2) return false;
    gg_str op = gg__text(s->in->tree, ts_node_child(node, 1));
    TSNode a = gg__strip_parentheses(gg__child(node, 0)), b = gg__strip_parentheses(gg__child(node, 1));
    if (!(is_pythons(s, a) && is_compared(s, NULL, op, b)) && !(is_pythons(s, b) && is_compared(s, NULL, op, a)))
        return false;
    as_tensor(s, text, out);
    return true;
}

bool gg__test_drawn(gg__select *s, TSNode node, gg__test *out) {
    bool negated = false;
    node = gg__strip_parentheses(node);
    while (gg_node_is(node, "not_operator")) {
        node = gg__strip_parentheses(gg__field(node, "argument"));
        negated = !negated;
    }
    if (!of_torch(s, node, out) && !of_python(s, node, out)) return false;
    out->negated = negated;
    s->draws = true;
    return true;
}

/* ---- what is not mended ------------------------------------------------------------------------------------------------- */

bool gg__draws_a_float(const gg__select *s, TSNode condition) {
    TSNode left = gg__child(condition, 0);
    TSNode value = only_value(s, gg_node_is(condition, "comparison_operator") ? left : condition);
    bool none = gg__visit(condition, is_no_float, (void *)s);
    return !none || (!ts_node_is_null(value) && !gg__visit(value, is_no_float, (void *)s));
}
