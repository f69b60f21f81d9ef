/* Blocks as functions of their own.  See outline.h. */
#include "repair/outline.h"

#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"

gg__stretch gg__stretch_of(TSNode block) {
    return (gg__stretch){block, 0, gg__child_count(block)};
}

enum { MAX_ASKED = 3 }; /* tensors that are asked for gradients, one by one */

void gg__names_add(gg__names *names, gg_str name) {
    if (gg__names_have(names, name)) return;
    names->full = names->full || names->count == GG__MAX_OUTLINED;
    if (!names->full) names->items[names->count++] = name;
}

bool gg__names_have(const gg__names *names, gg_str name) {
    for (size_t i = 0; i < names->count; i++)
        if (gg_str_equal(names->items[i], name)) return true;
    return false;
}

gg_str gg__names_text(const gg__names *names, gg_arena *arena) {
    gg_str out = GG_STR("");
    for (size_t i = 0; i < names->count; i++)
        out = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(out), i ? ", " : "", GG_STR_ARG(names->items[i]));
    return out;
}

/* ---- what a function may hold ------------------------------------------------------------------------------------------------ */

typedef struct outlining {
    const gg_rule_input *in;
    gg__stretch body;
    TSNode last;
} outlining;

static bool is_inside_loop(const outlining *o, TSNode node) {
    for (TSNode at = gg__parent(node); !ts_node_eq(at, o->body.block) && !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) return true;
    return false;
}

/* `y[0] = v`, `y[0] += v` of a tensor that the block made. */
static bool stores_in_own(const outlining *o, TSNode target) {
    TSNode base = gg__root_of(target);
    gg__names bound = {0};
    gg__names_bound(o->in->tree, o->body, &bound);
    return gg_node_is(target, "subscript") && gg_node_is(base, "identifier") &&
           gg__names_have(&bound, gg__text(o->in->tree, base)) &&
           !gg__takes(o->in->tree, o->body, gg__text(o->in->tree, base));
}

static bool is_pattern(TSNode target) {
    return gg_node_is(target, "identifier") || gg_node_is(target, "pattern_list") ||
           gg_node_is(target, "tuple_pattern");
}

/* Python's random numbers would be drawn for both ways. */
static bool draws(const gg_tree *tree, TSNode call) {
    static const char *const modules[] = {"random", "numpy.random"};
    gg_str object = gg__text(tree, gg__field(gg__field(call, "function"), "object"));
    for (size_t i = 0; object.len && i < GG_COUNT(modules); i++)
        if (gg_str_equal(object, gg__module_alias(tree, call, modules[i]))) return true;
    return gg_str_is(object, "np.random") || gg__refers_to(tree, gg__field(call, "function"), "random.randint");
}

bool gg__may_fail_of_few(const gg_rule_input *in, TSNode node) {
    static const char *const reductions[] = {"max",    "min",       "argmax", "argmin",   "amax",        "amin",
                                             "median", "nanmedian", "mode",   "quantile", "nanquantile", "aminmax"};
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"),
           x = gg__field(function, "object");
    if (gg_node_is(node, "subscript"))
        return gg__child_count(node) == 2 && gg_node_is(gg__field(node, "subscript"), "integer") &&
               gg__infer_loosely(in, gg__field(node, "value")).sort == GG__TENSOR;
    if (!gg_node_is(node, "call") ||
        !gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), reductions, GG_COUNT(reductions)))
        return false;
    bool torchs = gg__refers_to(tree, x, "torch");
    uint32_t first = torchs ? 1 : 0, count = gg__child_count(arguments);
    if (torchs) x = gg__child(arguments, 0);
    gg__meta m = gg__infer_loosely(in, x);
    if (m.sort == GG__TENSOR && m.rank == 0) return false;
    TSNode dim = gg__child(arguments, first);
    if (gg_node_is(dim, "keyword_argument")) dim = gg__field(dim, "value");
    return count == first || gg_str_is(gg__text(tree, dim), "0");
}

static bool may_stand(TSNode node, void *data) {
    static const char *const never[] = {"return_statement",
                                        "raise_statement",
                                        "yield",
                                        "await",
                                        "global_statement",
                                        "nonlocal_statement",
                                        "delete_statement",
                                        "try_statement",
                                        "with_statement",
                                        "import_statement",
                                        "assert_statement",
                                        "named_expression",
                                        "match_statement",
                                        "class_definition",
                                        "function_definition",
                                        "import_from_statement"};
    const outlining *o = data;
    const gg_tree *tree = o->in->tree;
    if (ts_node_eq(node, o->last)) return false; /* the last that is looked at */
    if (gg__may_fail_of_few(o->in, node)) return false;
    for (size_t i = 0; i < GG_COUNT(never); i++)
        if (gg_node_is(node, never[i])) return false;
    if (gg_node_is(node, "break_statement") || gg_node_is(node, "continue_statement")) return is_inside_loop(o, node);
    if (gg_node_is(node, "call") &&
        (draws(tree, node) || gg__names_builtin(tree, gg__field(node, "function"), "super") ||
         gg__names_builtin(tree, gg__field(node, "function"), "locals")))
        return false;
    if (gg_node_is(node, "assignment") || gg_node_is(node, "augmented_assignment")) {
        TSNode target = gg__field(node, "left");
        bool names = is_pattern(target);
        for (uint32_t i = 0; names && i < gg__child_count(target); i++)
            names = gg_node_is(gg__child(target, i), "identifier");
        return names || stores_in_own(o, target);
    }
    return !gg_node_is(node, "expression_statement") || gg_node_is(gg__child(node, 0), "assignment") ||
           gg_node_is(gg__child(node, 0), "augmented_assignment") || gg_node_is(gg__child(node, 0), "string");
}

bool gg__may_outline(const gg_rule_input *in, gg__stretch body, TSNode last) {
    outlining o = {in, body, last};
    for (uint32_t i = body.from; i < body.to; i++) {
        TSNode statement = gg__child(body.block, i);
        if (!ts_node_eq(statement, last) && !gg__visit(statement, may_stand, &o))
            return gg__hinder(in, statement, "cannot be in a branch of a graph");
    }
    return true;
}

bool gg__may_define(const gg_tree *tree, TSNode statement) {
    static const char *const scripting[] = {"script", "script_method"}; /* TorchScript knows no functions inside */
    if (gg__has_word(tree, gg_tree_root(tree), scripting, GG_COUNT(scripting))) return false;
    TSNode function = gg__function(statement), around = gg__parent(function);
    if (!gg_node_is(function, "function_definition")) return false;
    for (uint32_t i = 0; gg_node_is(around, "decorated_definition") && i < gg__child_count(around); i++)
        if (gg_node_is(gg__child(around, i), "decorator") &&
            gg_str_contains(gg__text(tree, gg__child(around, i)), GG_STR("jit")))
            return false;
    return true;
}

typedef struct inner_use {
    const gg_tree *tree;
    gg_str name;
    TSNode function;
} inner_use;

static bool is_no_inner_use(TSNode node, void *data) {
    const inner_use *u = data;
    bool use = gg_node_is(node, "identifier") && !gg__is_member_name(node) && !gg__is_binding(node) &&
               gg_str_equal(gg__text(u->tree, node), u->name);
    return !use || !gg__is_in_inner_function(node, u->function);
}

bool gg__is_unread_inside(const gg_rule_input *in, TSNode statement, gg_str name) {
    inner_use u = {in->tree, name, gg__function(statement)};
    return gg__visit(gg__field(u.function, "body"), is_no_inner_use, &u) ||
           gg__hinder(in, statement, "`%.*s` is read by a function inside, which would see another one",
                      GG_STR_ARG(name));
}

/* ---- names ---------------------------------------------------------------------------------------------------------------------- */

typedef struct binding_search {
    const gg_tree *tree;
    gg__names *out;
} binding_search;

static bool note_bound(TSNode node, void *data) {
    const binding_search *b = data;
    if (gg__is_comprehension(node) || gg_node_is(node, "lambda")) return true;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node)) return true;
    for (TSNode at = gg__parent(node); !gg_node_is(at, "block") && !ts_node_is_null(at); at = gg__parent(at))
        if (gg__is_comprehension(at) || gg_node_is(at, "lambda")) return true;
    gg__names_add(b->out, gg__text(b->tree, node));
    return true;
}

static void note_all_bound(const gg_tree *tree, TSNode statement, gg__names *out) {
    binding_search b = {tree, out};
    gg__visit(statement, note_bound, &b);
}

void gg__names_bound(const gg_tree *tree, gg__stretch body, gg__names *out) {
    for (uint32_t i = body.from; i < body.to; i++) note_all_bound(tree, gg__child(body.block, i), out);
}

/* Of an assignment that is a statement: its target has the name. */
static bool binds_for_certain(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment") ||
        ts_node_is_null(gg__field(assignment, "right")))
        return false;
    if (gg_node_is(left, "identifier")) return gg_str_equal(gg__text(tree, left), name);
    return is_pattern(left) && gg__reads(tree, left, name);
}

bool gg__takes(const gg_tree *tree, gg__stretch body, gg_str name) {
    for (uint32_t i = body.from; i < body.to; i++) {
        TSNode statement = gg__child(body.block, i);
        if (!binds_for_certain(tree, statement, name)) {
            if (gg__reads(tree, statement, name)) return true;
        } else {
            return gg__reads(tree, gg__field(gg__child(statement, 0), "right"), name);
        }
    }
    return true;
}

bool gg__reads_first(const gg_tree *tree, gg__stretch body, gg_str name) {
    for (uint32_t i = body.from; i < body.to; i++) {
        TSNode statement = gg__child(body.block, i), target = gg__field(statement, "left");
        if (gg_node_is(statement, "for_statement") && gg__reads(tree, target, name))
            return gg__reads(tree, gg__field(statement, "right"), name);
        if (binds_for_certain(tree, statement, name))
            return gg__reads(tree, gg__field(gg__child(statement, 0), "right"), name);
        if (gg__reads(tree, statement, name)) return true;
    }
    return false;
}

TSNode gg__left_in(const gg_tree *tree, gg__stretch body, gg_str name) {
    TSNode value = {0};
    for (uint32_t i = body.from; i < body.to; i++) {
        TSNode statement = gg__child(body.block, i), assignment = gg__child(statement, 0);
        if (gg_node_is(gg__field(assignment, "left"), "identifier") && binds_for_certain(tree, statement, name))
            value = gg__field(assignment, "right");
        else if (gg__binds(tree, statement, name))
            value = (TSNode){0};
    }
    return value;
}

gg__meta gg__outlined_meta(gg__select *s, const gg__arm *arm, TSNode value) {
    bool as_before = s->as_before;
    s->as_before = true;
    gg__meta m = gg__infer_in(s, arm, gg__strip_parentheses(value));
    s->as_before = as_before;
    return m;
}

bool gg__learn_block(gg__select *s, gg__arm *arm, gg__stretch body) {
    const gg_tree *tree = s->in->tree;
    for (uint32_t i = body.from; i < body.to; i++) {
        TSNode statement = gg__child(body.block, i), assignment = gg__assignment(statement);
        gg__names bound = {0};
        TSNode value = gg__strip_parentheses(gg__field(assignment, "right"));
        gg__meta m = ts_node_is_null(assignment) ? gg__unknown : gg__outlined_meta(s, arm, value);
        note_all_bound(tree, statement, &bound);
        for (size_t j = 0; j < bound.count; j++)
            if (!gg__arm_bind(arm,
                              (gg__binding){.name = bound.items[j], .text = bound.items[j], .meta = m, .from = value}))
                return false;
        if (bound.full) return false;
    }
    return true;
}

bool gg__is_held(gg__select *s, const gg__arm *arm, TSNode value) {
    static const char *const parts[] = {"identifier", "attribute", "subscript", "conditional_expression",
                                        "boolean_operator"};
    value = gg__strip_parentheses(value);
    gg__meta m = gg__outlined_meta(s, arm, value);
    if (m.sort == GG__TENSOR && !gg_node_is(value, "identifier")) return !m.fresh;
    for (size_t i = 0; i < GG_COUNT(parts); i++)
        if (gg_node_is(value, parts[i])) return true;
    return false;
}

bool gg__is_made_in(const gg_tree *tree, const gg__arm *arm, TSNode name) {
    for (size_t i = 0; i < arm->count; i++) {
        const gg__binding *own = &arm->items[i];
        bool made = gg_node_is(own->from, "call") || gg_node_is(own->from, "binary_operator");
        if (gg_node_is(name, "identifier") && gg_str_equal(own->name, gg__text(tree, name)))
            return own->meta.sort == GG__TENSOR ? own->meta.fresh : made;
    }
    return false;
}

bool gg__is_no_tensor(gg__select *s, const gg__arm *arm, TSNode value) {
    static const char *const displays[] = {"none", "list",  "dictionary", "set",    "string",
                                           "true", "false", "tuple",      "lambda", "expression_list"};
    value = gg__strip_parentheses(value);
    for (size_t i = 0; i < GG_COUNT(displays); i++)
        if (gg_node_is(value, displays[i])) return true;
    return gg__is_comprehension(value) || gg__is_number(gg__outlined_meta(s, arm, value));
}

bool gg__may_be_alike(gg__select *s, TSNode statement, gg_str name, gg__meta a, TSNode first, gg__meta b,
                      TSNode second) {
    if (a.sort != GG__TENSOR || b.sort != GG__TENSOR) return true;
    bool alike = gg_str_equal(a.dtype, b.dtype) && a.vague == b.vague && a.rank == b.rank;
    for (int32_t i = 0; alike && i < a.rank; i++) alike = a.shape[i] < 0 || b.shape[i] < 0 || a.shape[i] == b.shape[i];
    if (!alike) return gg__hinder_unlike(s->in, statement, name, a, b);
    return !gg__may_broadcast(s->in, a, first, second) ||
           gg__hinder(s->in, statement, "`%.*s` may have other sizes on the other way with other inputs",
                      GG_STR_ARG(name));
}

bool gg__holds_tensor(const gg_rule_input *in, gg_str name) {
    const gg_fact *fact = gg__fact_of(in, name);
    return fact && fact->kind == GG_VALUE_TENSOR && fact->type.len == 0;
}

/* ---- gradients ------------------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const gg_rule_input *in;
    gg__names bound, tensors;
    bool plain; /* nothing else is read that may have a gradient */
} reading;

/* `torch.relu` of a call of it, `len`; `torch.float32` */
static bool names_a_function(const gg_tree *tree, TSNode identifier) {
    TSNode name = identifier, parent = gg__parent(name);
    if (gg__refers_to(tree, identifier, "torch")) return true;
    for (; gg_node_is(parent, "attribute"); parent = gg__parent(name)) name = parent;
    if (!gg_node_is(parent, "call") || !ts_node_eq(gg__field(parent, "function"), name)) return false;
    return gg__is_torchs(tree, parent) || gg__names_builtin(tree, name, "range") ||
           gg__names_builtin(tree, name, "len");
}

static bool note_read(TSNode node, void *data) {
    reading *r = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || gg__is_binding(node)) return true;
    gg_str name = gg__text(r->in->tree, node);
    TSNode parent = gg__parent(node);
    bool keyword = gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node);
    if (keyword || names_a_function(r->in->tree, node)) return true;
    const gg_fact *fact = gg__fact_of(r->in, name);
    if (!fact) {
        r->plain = r->plain && gg__names_have(&r->bound, name);
    } else if (gg__holds_tensor(r->in, name)) {
        gg__names_add(&r->tensors, name);
        r->plain = r->plain && !gg__may_be_none(r->in, node);
    } else {
        /* a number that a caller gives may be a tensor in another call */
        bool given = ts_node_is_null(gg__value_among(r->in->tree, node, name)) && !gg__is_counter(r->in->tree, node);
        r->plain = r->plain && !given &&
                   (fact->kind == GG_VALUE_INT || fact->kind == GG_VALUE_FLOAT || fact->kind == GG_VALUE_BOOL);
    }
    return true;
}

gg_str gg__unless_differentiated(gg__select *s, const gg__names *given, const gg__stretch *bodies, size_t count,
                                 gg_str torch) {
    reading r = {.in = s->in, .plain = true};
    gg_str out = GG_STR("");
    for (size_t i = 0; i < given->count; i++)
        if (gg__holds_tensor(s->in, given->items[i])) gg__names_add(&r.tensors, given->items[i]);
    for (size_t i = 0; i < count; i++) gg__names_bound(s->in->tree, bodies[i], &r.bound);
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = bodies[i].from; j < bodies[i].to; j++)
            gg__visit(gg__child(bodies[i].block, j), note_read, &r);
    if (!r.plain || r.bound.full || r.tensors.count == 0 || r.tensors.count > MAX_ASKED)
        return gg_arena_printf(s->arena, "not %.*s.is_grad_enabled()", GG_STR_ARG(torch));
    for (size_t i = 0; i < r.tensors.count; i++)
        out = gg_arena_printf(s->arena, "%.*s%s%.*s.requires_grad", GG_STR_ARG(out), i ? " or " : "",
                              GG_STR_ARG(r.tensors.items[i]));
    bool several = r.tensors.count > 1;
    return gg_arena_printf(s->arena, "not %s%.*s%s", several ? "(" : "", GG_STR_ARG(out), several ? ")" : "");
}

bool gg__outlined_test(gg__select *s, gg__arm *arm, TSNode condition, gg__test *out) {
    bool known = gg__test_of(s, arm, condition, out);
    if (!known && gg__is_evaluated_whole(condition)) {
        s->as_before = true;
        known = gg__test_of(s, arm, condition, out);
        s->as_before = false;
    }
    if (!known) return gg__untestable(s, condition);
    return s->lines.len == 0;
}
