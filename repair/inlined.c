/* Calls of functions of the file, `self.residual(a, x)`, `soft_clip(h, limit)`: what they give, where their bodies are assignments to names and one
 * return.  See infer.h.
 *
 * DESIGN  Dynamo inlines them, too.  The body is inferred with the arguments as facts.  Of those of the caller only attributes of self stay, and of
 * these only what nobody sets but __init__: so a call gives the same wherever an edit puts it. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/infer.h"
#include "repair/select.h"

enum { MAX_CALLS = 3, MAX_INLINED_FACTS = 64 };

typedef struct inlined {
    gg__inference *caller;
    gg_rule_input in;
    gg_site site;
    gg_break record;
    gg_fact facts[MAX_INLINED_FACTS];
    int64_t shapes[MAX_INLINED_FACTS][GG__MAX_RANK];
    bool fresh[MAX_INLINED_FACTS];
    bool smooth, linear; /* of all tensors that take part */
} inlined;

/* ---- the function ------------------------------------------------------------------------------------------------------------ */

typedef struct definition_search {
    TSNode found;
    uint32_t count;
} definition_search;

static bool note_definition(TSNode node, void *data) {
    definition_search *d = data;
    d->found = node;
    return ++d->count < 2;
}

typedef struct member_search {
    const gg_tree *tree;
    gg_str name;
} member_search;

/* Does no statement bind `….name`, or change it in place? */
static bool is_left_alone(TSNode node, void *data) {
    const member_search *m = data;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(m->tree, gg__field(node, "attribute")), m->name) ||
        gg_str_is(gg__text(m->tree, gg__field(gg__function(node), "name")), "__init__"))
        return true;
    TSNode at = node, parent = gg__parent(node);
    while (gg_node_is(parent, "attribute") || gg_node_is(parent, "subscript") || gg_node_is(parent, "call")) {
        gg_str called = gg__text(m->tree, gg__field(parent, "attribute"));
        if (gg_str_ends_with(called, GG_STR("_"))) return false;
        at = parent;
        parent = gg__parent(parent);
    }
    bool assigns = gg_node_is(parent, "assignment") || gg_node_is(parent, "augmented_assignment");
    bool listed = gg_node_is(parent, "pattern_list") || gg_node_is(parent, "tuple_pattern") ||
                  gg_node_is(parent, "delete_statement") || gg_node_is(parent, "keyword_argument");
    return !listed && !(assigns && ts_node_eq(gg__field(parent, "left"), at));
}

bool gg__is_set_once(const gg_tree *tree, gg_str attribute) {
    member_search m = {tree, attribute};
    return gg__visit(gg_tree_root(tree), is_left_alone, &m);
}

TSNode gg__only_definition(const gg_tree *tree, gg_str name) {
    definition_search d = {0};
    bool one = gg__each_definition(tree, name, note_definition, &d) && d.count == 1 && gg__is_set_once(tree, name) &&
               gg_str_starts_with(gg__text(tree, d.found), GG_STR("def"));
    return one ? d.found : (TSNode){0};
}

gg_str gg__decorator_of(const gg_tree *tree, TSNode definition) {
    TSNode parent = gg__parent(definition);
    if (!gg_node_is(parent, "decorated_definition")) return GG_STR_NULL;
    return gg__child_count(parent) == 2 ? gg__text(tree, gg__child(parent, 0)) : GG_STR("@ @");
}

/* Is it a method of the very class that the node stands in? */
static bool is_method_here(const gg_tree *tree, TSNode definition, TSNode node) {
    TSNode class = gg__class_around(definition), at = gg__parent(definition);
    if (gg__decorator_of(tree, definition).len) at = gg__parent(at);
    return !ts_node_is_null(class) && ts_node_eq(class, gg__class_around(node)) && ts_node_eq(gg__parent(at), class);
}

/* The one function of the file that the call means; `*bound`: its first parameter is self. */
static TSNode callee_of(const gg_tree *tree, TSNode call, bool *bound) {
    TSNode function = gg__field(call, "function"), none = {0};
    bool method = gg_node_is(function, "attribute");
    gg_str name = gg__text(tree, method ? gg__field(function, "attribute") : function);
    if (!method && (!gg_node_is(function, "identifier") || gg__is_local(tree, call, name))) return none;
    if (method && !gg_str_is(gg__text(tree, gg__field(function, "object")), "self")) return none;
    TSNode found = gg__only_definition(tree, name);
    if (ts_node_is_null(found)) return none;
    gg_str decorator = gg__decorator_of(tree, found);
    bool alone = gg_str_is(decorator, "@staticmethod");
    *bound = method && !alone;
    if (decorator.len && !(alone && method)) return none;
    if (!method) return gg_node_is(gg__parent(found), "module") ? found : none;
    return is_method_here(tree, found, call) ? found : none;
}

/* The property that `self.ready` asks. */
static TSNode property_of(const gg_tree *tree, TSNode attribute) {
    TSNode none = {0};
    if (!gg_str_is(gg__text(tree, gg__field(attribute, "object")), "self")) return none;
    TSNode found = gg__only_definition(tree, gg__text(tree, gg__field(attribute, "attribute")));
    bool asks = !ts_node_is_null(found) && gg_str_is(gg__decorator_of(tree, found), "@property");
    return asks && is_method_here(tree, found, attribute) ? found : none;
}

/* ---- what is known in it ------------------------------------------------------------------------------------------------------- */

static bool learn(inlined *f, gg_str name, gg__meta m) {
    size_t at = 0;
    while (at < f->record.fact_count && !gg_str_equal(f->facts[at].name, name)) at++;
    if (at == MAX_INLINED_FACTS) return false;
    if (at == f->record.fact_count) f->record.fact_count++;
    memcpy(f->shapes[at], m.shape, sizeof(f->shapes[at]));
    f->facts[at] = gg__as_fact(name, &m);
    f->facts[at].shape = f->shapes[at];
    f->fresh[at] = m.fresh;
    if (m.sort != GG__TENSOR) return true;
    f->smooth = f->smooth && m.smooth;
    f->linear = f->linear && m.linear;
    return true;
}

static bool keep_attributes(inlined *f, TSNode callee) {
    const gg_rule_input *in = f->caller->in;
    gg_str body = gg__text(in->tree, callee);
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++) {
        gg_str name = record->facts[i].name;
        gg_str attribute = gg_str_slice(name, sizeof("self.") - 1, name.len);
        if (!gg_str_starts_with(name, GG_STR("self.")) || gg_str_contains(attribute, GG_STR(".")) ||
            !gg_str_contains(body, name) || !gg__is_set_once(in->tree, attribute))
            continue;
        if (f->record.fact_count == MAX_INLINED_FACTS) return false;
        f->facts[f->record.fact_count++] = record->facts[i];
    }
    return true;
}

static gg__meta infer_inside(const inlined *f, TSNode node) {
    const gg__inference *c = f->caller;
    if (gg__may_be_none(&f->in, node)) return gg__unknown;
    gg__inference s = {.in = &f->in, .depth = c->depth, .steps = c->steps, .loose = c->loose, .draws = c->draws};
    s.calls = c->calls + 1;
    gg__meta out = gg__infer_node(&s, node);
    f->caller->steps = s.steps;
    return out;
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------- */

/* Is it a plain parameter?  Its name, and its default or null. */
static bool read_parameter(TSNode parameter, TSNode *name, TSNode *fallback) {
    *fallback = gg__field(parameter, "value");
    *name = gg__field(parameter, "name");
    if (gg_node_is(parameter, "identifier")) *name = parameter;
    if (gg_node_is(parameter, "typed_parameter")) *name = gg__child(parameter, 0);
    return gg_node_is(*name, "identifier");
}

static bool bind(inlined *f, TSNode callee, TSNode call, bool bound) {
    const gg_tree *tree = f->caller->in->tree;
    TSNode parameters = gg__field(callee, "parameters"), arguments = gg__field(call, "arguments");
    uint32_t taken = 0, position = 0;
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode name, value = {0}, fallback;
        if (!read_parameter(gg__child(parameters, i), &name, &fallback)) return false;
        if (bound && i == 0) {
            if (!gg_str_is(gg__text(tree, name), "self")) return false;
            continue;
        }
        TSNode argument = gg__child(arguments, position);
        if (position < gg__child_count(arguments) && gg__is_positional(argument)) {
            value = argument;
            position++;
        }
        for (uint32_t k = 0; ts_node_is_null(value) && k < gg__child_count(arguments); k++) {
            TSNode named = gg__child(arguments, k);
            if (gg_node_is(named, "keyword_argument") &&
                gg_str_equal(gg__text(tree, gg__field(named, "name")), gg__text(tree, name)))
                value = gg__field(named, "value");
        }
        taken += !ts_node_is_null(value);
        gg__meta m = ts_node_is_null(value) ? gg__literal(tree, fallback) : gg__infer_node(f->caller, value);
        if (!learn(f, gg__text(tree, name), m)) return false;
    }
    return taken == gg__child_count(arguments); /* no splats, no comments, nothing left over */
}

/* `h = f(x)`, of a name that it does not have from elsewhere. */
static bool assign(inlined *f, TSNode statement) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment") ||
        !gg_node_is(left, "identifier"))
        return false;
    gg__meta m = infer_inside(f, gg__field(assignment, "right"));
    return m.sort != GG__UNKNOWN && learn(f, gg__text(f->in.tree, left), m);
}

static gg__meta returned(const inlined *f, TSNode value) {
    gg__meta out = infer_inside(f, value);
    for (size_t i = 0; i < f->record.fact_count; i++)
        if (gg_node_is(value, "identifier") && gg_str_equal(f->facts[i].name, gg__text(f->in.tree, value)))
            out.fresh = f->fresh[i];
    if (out.sort == GG__TENSOR && !out.fresh) return gg__unknown; /* whose memory it is, the caller cannot see */
    out.smooth = out.smooth && f->smooth;
    out.linear = out.linear && f->linear;
    out.source = (TSNode){0};
    return out;
}

static gg__meta run(inlined *f, TSNode body) {
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i);
        if (gg_node_is(statement, "comment") || gg_node_is(gg__child(statement, 0), "string")) continue;
        if (gg_node_is(statement, "return_statement"))
            return gg__child_count(statement) == 1 ? returned(f, gg__child(statement, 0)) : gg__unknown;
        if (!assign(f, statement)) return gg__unknown;
    }
    return gg__unknown;
}

static gg__meta inlined_as(gg__inference *s, TSNode callee, TSNode call, bool bound) {
    if (GG_NEVER(s->in->site == NULL || s->in->site->first == NULL)) return gg__unknown;
    inlined f = {.caller = s, .in = *s->in, .site = *s->in->site, .smooth = true, .linear = true};
    f.record = *s->in->site->first;
    f.record.facts = f.facts;
    f.record.fact_count = 0;
    f.site.first = &f.record;
    f.in.site = &f.site;
    if (!keep_attributes(&f, callee) || !bind(&f, callee, call, bound)) return gg__unknown;
    return run(&f, gg__field(callee, "body"));
}

static bool may_inline(const gg__inference *s) {
    return s->calls < MAX_CALLS && s->in->site && s->in->site->first;
}

gg__meta gg__inlined_call(gg__inference *s, TSNode call, bool *known) {
    bool bound = false;
    *known = false;
    if (!may_inline(s)) return gg__unknown;
    TSNode callee = callee_of(s->in->tree, call, &bound);
    if (ts_node_is_null(callee)) return gg__unknown;
    *known = true;
    return inlined_as(s, callee, call, bound);
}

gg__meta gg__inlined_property(gg__inference *s, TSNode attribute) {
    TSNode callee = may_inline(s) ? property_of(s->in->tree, attribute) : (TSNode){0};
    return ts_node_is_null(callee) ? gg__unknown : inlined_as(s, callee, attribute, true);
}

bool gg__makes_by_own(const gg_rule_input *in, TSNode call) {
    bool bound;
    if (!gg_node_is(call, "call") || ts_node_is_null(callee_of(in->tree, call, &bound))) return false;
    gg__meta m = gg__infer(in, call);
    return m.sort == GG__TENSOR && m.fresh;
}
