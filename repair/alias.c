/* Does it show that a tensor is a copy?  See syntax.h and alias.h.
 *
 * DESIGN  A rewrite that makes a copy where the program had the tensor itself shows when either is changed in place later.  Whether two names share
 * memory is not known from syntax, so a change counts unless the changed name certainly holds a tensor of its own.  The function's callers in the
 * file get the copy, too, and are looked at in the same way; those outside cannot count on what depends on values, and are told (gg_edits.copies). */
#include "repair/alias.h"
#include "repair/strides.h"

enum { MAX_NAMES = 8, MAX_CALLERS = 4 };

typedef struct sharing {
    const gg_rule_input *in;
    TSNode function;
    uint32_t from;
    gg_str names[MAX_NAMES]; /* those that are an alias now and would not be after the edit */
    size_t count;
    bool selfs;    /* … and `self` may hold their memory */
    uint32_t anew; /* what is bound to a new tensor from there on is none of them; 0: nothing is */
} sharing;

static bool add_name(sharing *s, gg_str name) {
    for (size_t i = 0; i < s->count; i++)
        if (gg_str_equal(s->names[i], name)) return true;
    if (name.len == 0) return true;
    if (s->count == MAX_NAMES) return false;
    s->names[s->count++] = name;
    return true;
}

/* ---- one change ---------------------------------------------------------------------------------------------------------------- */

typedef struct rebinding {
    const gg_tree *tree;
    gg_str name;
    uint32_t from;
} rebinding;

static bool is_not_bound_anew(TSNode node, void *data) {
    const rebinding *r = data;
    return !gg_node_is(node, "identifier") || ts_node_start_byte(node) < r->from ||
           !gg_str_equal(gg__text(r->tree, node), r->name) || !gg__is_binding(node) ||
           gg_node_is(gg__parent(node), "augmented_assignment");
}

/* `y = x.clone()`, inside the statement or behind it, and then y is changed. */
static bool is_bound_anew(const sharing *s, TSNode node, gg_str name) {
    TSNode value = s->anew ? gg__strip_parentheses(gg__value_at(s->in->tree, node, name)) : (TSNode){0};
    return !ts_node_is_null(value) && ts_node_start_byte(value) >= s->anew && gg__makes_new(s->in, value) &&
           gg__infer(s->in, value).sort == GG__TENSOR;
}

/* A number, as the capture has it, and no other value since. */
static bool is_number(const sharing *s, TSNode node, gg_str name) {
    rebinding r = {s->in->tree, name, s->from};
    gg__meta m = gg__infer(s->in, node);
    return m.sort != GG__UNKNOWN && m.sort != GG__TENSOR && gg__visit(s->function, is_not_bound_anew, &r);
}

static bool is_container(TSNode value) {
    static const char *const types[] = {"list", "tuple", "dictionary", "set", "list_comprehension"};
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_node_is(value, types[i])) return true;
    return false;
}

typedef struct change {
    const sharing *s;
    TSNode changed;
} change;

static bool is_none_of_them(TSNode node, void *data) {
    const change *c = data;
    const sharing *s = c->s;
    const gg_tree *tree = s->in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(tree, node);
    if (!ts_node_eq(node, c->changed) && gg__is_consumed(s->in, node)) return true;
    if (is_bound_anew(s, node, name)) return true;
    for (size_t i = 0; i < s->count; i++)
        if (gg_str_equal(s->names[i], name)) return false;
    if (gg_str_is(name, "self")) return !s->selfs;
    TSNode value = gg__value_among(tree, node, name);
    if (ts_node_is_null(value)) value = gg__only_value(tree, node); /* `out` in a loop, made in front of it */
    value = gg__strip_parentheses(value);
    if (ts_node_is_null(value)) return is_number(s, node, name);
    if (!gg__makes_new(s->in, value)) return is_number(s, node, name);
    bool whole = ts_node_eq(node, c->changed) && gg__changes_itself(c->changed);
    if (is_container(value)) return whole;
    bool list = gg_node_is(value, "binary_operator") && gg__infer(s->in, node).sort == GG__UNKNOWN;
    return (whole || !list || ts_node_eq(node, c->changed)) &&
           gg__is_never_shared(s->in, s->function, name, (gg_span){0}, true);
}

static bool does_not_show(TSNode changed, void *data) {
    const sharing *s = data;
    change c = {s, gg__strip_parentheses(changed)};
    TSNode root = gg__root_of(changed);
    if (gg_node_is(changed, "attribute") && gg_node_is(root, "identifier") &&
        is_number(s, changed, gg__text(s->in->tree, root)))
        return true; /* self.count += 1 */
    return gg__visit(c.changed, is_none_of_them, &c);
}

/* ---- callers in the file -------------------------------------------------------------------------------------------------------- */

static bool callers_see(const gg_rule_input *in, TSNode function, uint32_t depth);

typedef struct site_names {
    sharing *s;
    bool complete;
} site_names;

static bool note_argument(TSNode node, void *data) {
    site_names *n = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (!gg__is_binding(node) && gg__is_consumed(n->s->in, node)) return true;
    n->complete = n->complete && add_name(n->s, gg__text(n->s->in->tree, node));
    return true;
}

/* May what the call gives, or what it was given, be changed in place while the other is still used? */
static bool is_seen_at(const gg_rule_input *in, TSNode call, uint32_t depth) {
    TSNode scope = gg__function(call), statement = gg__statement(call), assignment = gg__child(statement, 0);
    if (gg__lists_inputs(in->tree, scope)) return false;
    if (gg__is_consumed(in, call)) return false;
    if (gg_node_is(scope, "lambda")) return !gg__changes_nothing(in); /* called by who knows whom */
    sharing s = {.in = in, .function = scope, .from = gg__runs_from(statement)};
    site_names n = {&s, true};
    gg__visit(gg__field(call, "arguments"), note_argument, &n);
    if (gg_str_is(gg__text(in->tree, gg__root_of(call)), "self")) add_name(&s, GG_STR("self"));
    if (s.count == 0) return !gg__changes_nothing(in); /* it may give what it has from elsewhere */
    if (gg_node_is(assignment, "assignment") || gg_node_is(assignment, "augmented_assignment")) {
        TSNode left = gg__field(assignment, "left");
        if (gg_node_is(left, "attribute") || gg_node_is(left, "subscript")) return true; /* kept for others */
        gg__visit(left, note_argument, &n);
    }
    s.selfs = gg__may_be_selfs(in, scope, s.names, s.count);
    return !n.complete || !gg__each_change(in, scope, s.from, does_not_show, &s) || callers_see(in, scope, depth + 1);
}

typedef struct callers {
    const gg_rule_input *in;
    TSNode function;
    gg_str name, owner; /* the function's; its class's, when a call of an instance is one of it */
    uint32_t depth;
} callers;

static bool is_met(TSNode node, void *data) {
    (void)node, (void)data;
    return false;
}

static bool is_defined(const gg_tree *tree, gg_str name) {
    return !gg__each_definition(tree, name, is_met, NULL);
}

/* `self.block(x)`, `layer(x)`, `self.blocks.first(x)`: may call the forward() of a module of the file? */
static bool may_call_an_instance(const callers *c, TSNode call) {
    static const char *const known[] = {"print", "len", "range", "super", "float", "int", "isinstance"};
    const gg_tree *tree = c->in->tree;
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    gg_str name = gg__called_name(tree, call);
    if (gg_str_equal(name, c->owner)) return false;
    for (size_t i = 0; i < GG_COUNT(known); i++)
        if (gg__names_builtin(tree, function, known[i])) return false;
    if (gg_node_is(function, "attribute") && !gg_str_is(gg__text(tree, object), "self") &&
        (gg__is_torchs(tree, call) || gg__is_consumed(c->in, object) || gg__reads_only(tree, call) ||
         is_defined(tree, name)))
        return false;
    return gg_node_is(gg__function(call), "function_definition");
}

typedef struct instances {
    const gg_tree *tree;
    gg_str owner, held; /* the class; the attribute that may hold one */
} instances;

static bool is_no_instance(TSNode node, void *data) {
    const instances *i = data;
    return !gg_node_is(node, "call") || !gg_str_equal(gg__called_name(i->tree, node), i->owner);
}

static bool holds_none(TSNode node, void *data) {
    const instances *i = data;
    TSNode left = gg__field(node, "left");
    return !gg_node_is(node, "assignment") || !gg_node_is(left, "attribute") ||
           !gg_str_equal(gg__text(i->tree, gg__field(left, "attribute")), i->held) ||
           gg__visit(gg__field(node, "right"), is_no_instance, data);
}

/* `checkpoint(self.block, x)`: an instance, handed on? */
static bool is_an_instance_handed_on(const callers *c, TSNode node) {
    instances i = {c->in->tree, c->owner, gg__text(c->in->tree, gg__field(node, "attribute"))};
    return c->owner.len && gg_node_is(node, "attribute") && gg_node_is(gg__parent(node), "argument_list") &&
           !gg__visit(gg_tree_root(c->in->tree), holds_none, &i);
}

/* Outside functions, where `if __name__ == "__main__":` is no part of what others use. */
static bool is_of_the_module(const gg_tree *tree, TSNode node) {
    if (gg_node_is(gg__function(node), "function_definition")) return false;
    for (TSNode at = gg__parent(node); !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "if_statement") &&
            gg_str_contains(gg__text(tree, gg__field(at, "condition")), GG_STR("__main__")))
            return false;
    return true;
}

static bool is_not_seen(TSNode node, void *data) {
    const callers *c = data;
    const gg_tree *tree = c->in->tree;
    if (gg_node_is(node, "call") &&
        (gg_str_equal(gg__called_name(tree, node), c->name) || (c->owner.len && may_call_an_instance(c, node))))
        return !is_seen_at(c->in, node, c->depth);
    if (is_an_instance_handed_on(c, node)) return gg__changes_nothing(c->in);
    /* handed on as a value: called by who knows whom */
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), c->name) || gg__is_binding(node))
        return true;
    TSNode use = gg_node_is(gg__parent(node), "attribute") && gg__is_member_name(node) ? gg__parent(node) : node;
    TSNode parent = gg__parent(use), scope = gg__function(use);
    if (gg__is_member_name(use) || (gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), use)))
        return true;
    if (is_of_the_module(tree, use)) return gg__changes_nothing(c->in);
    return !gg_node_is(scope, "function_definition") || gg__lists_inputs(tree, scope);
}

/* What makes one, but for the list of inputs. */
static bool makes_none(TSNode node, void *data) {
    const instances *i = data;
    TSNode scope = gg__function(node);
    if (is_no_instance(node, data)) return true;
    if (is_of_the_module(i->tree, node)) return false;
    return !gg_node_is(scope, "function_definition") || gg__lists_inputs(i->tree, scope);
}

typedef struct spelling {
    const gg_tree *tree;
    gg_str name;
} spelling;

static bool is_another_text(TSNode node, void *data) {
    const spelling *s = data;
    return !gg_node_is(node, "string_content") || !gg_str_equal(gg__text(s->tree, node), s->name) ||
           gg__lists_inputs(s->tree, gg__function(node));
}

static bool is_in_a_string(const gg_tree *tree, gg_str name) {
    spelling s = {tree, name};
    return !gg__visit(gg_tree_root(tree), is_another_text, &s);
}

static bool callers_see(const gg_rule_input *in, TSNode function, uint32_t depth) {
    gg_site nowhere;
    gg_rule_input blind = gg__blind(in, &nowhere);
    if (gg_node_is(function, "lambda")) return !gg__changes_nothing(&blind);
    if (!gg_node_is(function, "function_definition")) return false;
    if (depth == MAX_CALLERS) return true;
    callers c = {&blind, function, gg__text(in->tree, gg__field(function, "name")), GG_STR_NULL, depth};
    bool called = gg_str_is(c.name, "forward") || gg_str_is(c.name, "__call__");
    bool hidden = (!called && gg_str_starts_with(c.name, GG_STR("__"))) || is_in_a_string(in->tree, c.name);
    if (hidden && !gg__changes_nothing(&blind)) return true; /* an operator calls it, or getattr */
    if (called) {
        TSNode owner = gg__parent(gg__parent(function));
        if (gg_node_is(owner, "decorated_definition")) owner = gg__parent(gg__parent(owner));
        instances i = {.tree = in->tree, .owner = gg__text(in->tree, gg__field(owner, "name"))};
        if (!gg__visit(gg_tree_root(in->tree), makes_none, &i)) c.owner = i.owner;
    }
    return !gg__visit(gg_tree_root(in->tree), is_not_seen, &c);
}

/* ---- the question ---------------------------------------------------------------------------------------------------------------- */

typedef struct keeping {
    const gg_rule_input *in;
    gg_str name;
    uint32_t from;
} keeping;

static bool is_not_kept(TSNode node, void *data) {
    const keeping *k = data;
    if (gg_node_is(node, "yield") || gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement"))
        return false;
    TSNode left = gg__field(node, "left");
    if (!gg_node_is(node, "assignment") || !(gg_node_is(left, "attribute") || gg_node_is(left, "subscript")))
        return true;
    return gg__is_unshared_in(k->in, gg__field(node, "right"), k->name);
}

static TSNode source_of(const gg_rule_input *in, TSNode arm) {
    TSNode source = gg__infer(in, arm).source;
    return gg__root_of(ts_node_is_null(source) ? arm : source);
}

bool gg__alias_shows(const gg_rule_input *in, TSNode statement, TSNode arm, gg_str target) {
    if (gg__infer(in, arm).fresh) return false;
    TSNode source = source_of(in, arm), function = gg__function(statement);
    if (!gg_node_is(source, "identifier")) return true;
    gg_str name = gg__text(in->tree, source);
    bool own = gg__owns(in, statement, name);
    if (own && gg_str_equal(name, target)) return false; /* nobody else has it */
    if (gg__lies(in, arm) == GG__ANYHOW && gg__strides_of_show(in, function, target, false)) return true;
    sharing s = {.in = in, .function = function, .from = gg__runs_from(statement)};
    s.anew = ts_node_start_byte(statement);
    add_name(&s, target);
    add_name(&s, name);
    s.selfs = gg__may_be_selfs(in, function, s.names, s.count);
    if (!gg__each_change(in, function, s.from, does_not_show, &s)) return true;
    if (own && target.len == 0) return false; /* it has no other name, and the function ends */
    if (target.len && gg__is_never_shared(in, function, target, gg_node_span(statement), false)) return false;
    for (size_t i = 0; i < s.count; i++) {
        keeping k = {in, s.names[i], s.from};
        bool kept = !gg__visit(function, is_not_kept, &k);
        if (kept && !gg__changes_nothing(in)) return true;
    }
    return callers_see(in, function, 0);
}

bool gg__returned_alias_shows(const gg_rule_input *in, TSNode statement, TSNode arm) {
    if (gg__infer(in, arm).fresh) return false;
    TSNode source = source_of(in, arm), function = gg__function(statement);
    if (!gg_node_is(source, "identifier")) return true;
    gg_str name = gg__text(in->tree, source);
    if (gg__owns(in, statement, name)) return false;
    keeping k = {in, name, 0};
    bool kept = !gg__visit(function, is_not_kept, &k);
    return (kept && !gg__changes_nothing(in)) || callers_see(in, function, 0);
}

/* The name of a local tensor that was made just before, and is nobody else's. */
static bool is_own(const gg_rule_input *in, TSNode statement, TSNode source) {
    return gg_node_is(source, "identifier") && gg__owns(in, statement, gg__text(in->tree, source));
}

bool gg__may_be_one(const gg_rule_input *in, TSNode statement, TSNode a, TSNode b) {
    if (gg__infer(in, a).fresh || gg__infer(in, b).fresh) return false;
    TSNode first = source_of(in, a), second = source_of(in, b), function = gg__function(statement);
    gg_str x = gg__text(in->tree, first), y = gg__text(in->tree, second);
    if (gg_str_equal(x, y)) return true;
    if (is_own(in, statement, first) || is_own(in, statement, second)) return false;
    TSNode parameters = gg__field(function, "parameters"), body = gg__field(function, "body");
    bool given = gg_node_is(first, "identifier") && gg_node_is(second, "identifier");
    return !given || !gg__binds(in->tree, parameters, x) || !gg__binds(in->tree, parameters, y) ||
           gg__binds(in->tree, body, x) || gg__binds(in->tree, body, y);
}

bool gg__is_copy(const gg_rule_input *in, TSNode statement, TSNode arm, gg_str target) {
    if (gg__infer(in, arm).fresh) return false;
    TSNode source = source_of(in, arm), function = gg__function(statement);
    gg_str name = gg__text(in->tree, source);
    gg_span own = gg_node_span(statement);
    if (target.len && gg__is_never_shared(in, function, target, own, false)) return false; /* it stays here */
    return !is_own(in, statement, source) ||
           (!gg_str_equal(name, target) && !gg__is_never_shared(in, function, name, own, target.len == 0));
}
