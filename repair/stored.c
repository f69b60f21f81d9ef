/* Stores in arms of a branch: what is stored, and whether it may be stored in any case.  See select.h.
 *
 * DESIGN  Not `self.n = torch.where(…)`: another tensor under the name is compiled anew on the next call, and who holds the old one would not see the
 * change.  So the tensor is changed in place, as before, and nobody may mind that it is: kept.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/kept.h"
#include "repair/select.h"

typedef enum kind { ASSIGN, AUGMENT, WHOLE, CHAIN } kind; /* WHOLE: copy_, fill_, zero_ */

typedef struct store {
    kind kind;
    TSNode expression;
    TSNode place, base; /* `out[i]`, out */
    TSNode value;       /* null for zero_() and chains */
    gg_str op;          /* "+" of `+=` */
    bool detached;      /* through `.data`: nothing notices */
    bool converts;      /* copy_() of another dtype, or from a device that may be another */
    gg__meta of;        /* the place */
    gg__event event;
} store;

/* ---- the form of a store --------------------------------------------------------------------------------------------------------- */

static bool is_in_place(const gg_tree *tree, TSNode call) {
    gg_str name = gg__text(tree, gg__field(gg__field(call, "function"), "attribute"));
    return gg_node_is(call, "call") && gg_str_ends_with(name, GG_STR("_")) && !gg_str_ends_with(name, GG_STR("__"));
}

bool gg__is_store(const gg_tree *tree, TSNode statement) {
    TSNode e = gg__child(statement, 0), left = gg__field(e, "left");
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    if (gg_node_is(e, "augmented_assignment")) return true;
    bool stored = gg_node_is(left, "subscript") || gg_node_is(left, "attribute");
    if (gg_node_is(e, "assignment")) return stored && ts_node_is_null(gg__field(e, "type"));
    return is_in_place(tree, e);
}

static TSNode base_of(TSNode place) {
    while (gg_node_is(place, "subscript")) place = gg__field(place, "value");
    return place;
}

TSNode gg__stored_base(const gg_tree *tree, TSNode statement) {
    TSNode e = gg__child(statement, 0);
    if (!gg__is_store(tree, statement)) return (TSNode){0};
    if (!gg_node_is(e, "call")) return base_of(gg__field(e, "left"));
    while (is_in_place(tree, e)) e = gg__field(gg__field(e, "function"), "object");
    return base_of(e);
}

static bool read_form(const gg_tree *tree, TSNode statement, store *out) {
    TSNode e = gg__child(statement, 0);
    *out = (store){.expression = e, .place = gg__field(e, "left"), .value = gg__field(e, "right")};
    if (gg_node_is(e, "augmented_assignment")) {
        gg_str op = gg__text(tree, gg__field(e, "operator"));
        out->kind = AUGMENT;
        out->op = gg_str_slice(op, 0, op.len - 1);
        return !gg_str_is(out->op, "@"); /* not in place */
    }
    if (gg_node_is(e, "assignment")) return true;
    TSNode function = gg__field(e, "function"), arguments = gg__field(e, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    bool zero = gg_str_is(name, "zero_"), whole = gg_str_is(name, "copy_") || gg_str_is(name, "fill_");
    out->kind = whole || zero ? WHOLE : CHAIN;
    out->place = gg__field(function, "object");
    if (!gg_node_is(arguments, "argument_list") || (zero && gg__child_count(arguments))) return false;
    if (whole) {
        out->value = gg__child(arguments, 0);
        return gg__child_count(arguments) == 1 && !gg_node_is(out->value, "keyword_argument");
    }
    while (out->kind == CHAIN && is_in_place(tree, out->place))
        out->place = gg__field(gg__field(out->place, "function"), "object");
    return true;
}

/* ---- what is stored ---------------------------------------------------------------------------------------------------------------- */

typedef struct search {
    const gg__select *s;
    const gg__arm *arm;
    const store *store;
} search;

static bool is_no_change(TSNode node, void *data) {
    const search *x = data;
    return !is_in_place(x->s->in->tree, node);
}

/* No methods in place in the arguments: they would lose their underscores. */
static bool is_plain_chain(const search *x) {
    for (TSNode at = x->store->expression; is_in_place(x->s->in->tree, at);
         at = gg__field(gg__field(at, "function"), "object"))
        if (!gg__visit(gg__field(at, "arguments"), is_no_change, (void *)x)) return false;
    return true;
}

/* `t.mul_(0.9).add_(x, alpha=0.1)`: methods whose arguments are numbers and tensors that the place's dtype and shape stay with. */
static gg__meta simple_chain(const search *x, TSNode at) {
    static const char *const methods[] = {"add_", "sub_", "mul_", "lerp_", "clamp_", "clamp_min_", "clamp_max_"};
    const gg_tree *tree = x->s->in->tree;
    if (!is_in_place(tree, at)) return x->store->of;
    TSNode function = gg__field(at, "function"), arguments = gg__field(at, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    gg__meta out = simple_chain(x, gg__field(function, "object")), unknown = {.sort = GG__UNKNOWN};
    bool lerps = gg_str_is(name, "lerp_"), clamps = gg_str_starts_with(name, GG_STR("clamp"));
    bool scales = lerps || gg_str_is(name, "mul_");
    if (out.sort != GG__TENSOR || !gg__is_one_of(name, methods, GG_COUNT(methods)) || !gg__child_count(arguments) ||
        gg__is_bool(out.dtype) || (lerps && !gg__is_floating(out.dtype)))
        return unknown;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        gg_str keyword = gg__text(tree, gg__field(argument, "name"));
        bool named = gg_node_is(argument, "keyword_argument");
        if (named) argument = gg__field(argument, "value");
        gg__meta m = gg__infer_in(x->s, x->arm, argument);
        bool number = gg__is_number(m) && gg__holds(out.dtype, m);
        bool fine = named ? gg_str_is(keyword, "alpha") || gg_str_is(keyword, "min") || gg_str_is(keyword, "max")
                          : number || m.sort == GG__TENSOR;
        bool alike = m.sort == GG__TENSOR && !m.vague && gg_str_equal(m.dtype, out.dtype) &&
                     (m.rank == 0 || gg__same_shape(m, out));
        if (!fine || (!number && (named || !alike))) return unknown;
        if (number) continue;
        out.smooth = out.smooth && m.smooth;
        out.linear = out.linear && m.linear && !(scales && (!lerps || i > 0));
    }
    out.linear = out.linear && !clamps;
    out.fresh = true;
    return out;
}

static bool read_value(gg__select *s, gg__arm *arm, store *out) {
    gg__event *e = &out->event;
    if (out->kind == CHAIN) {
        search x = {s, arm, out};
        if (!is_plain_chain(&x)) return gg__hinder(s->in, out->expression, "changes more than one tensor in place");
        s->in_place = true;
        e->meta = gg__infer_in(s, arm, out->expression);
        e->value = gg__text_in(s, arm, out->expression);
        s->in_place = false;
        if (e->meta.sort == GG__UNKNOWN) e->meta = simple_chain(&x, out->expression);
        return e->meta.fresh || gg__hinder(s->in, out->expression, "not known, or not proven to be harmless");
    }
    if (ts_node_is_null(out->value)) {
        bool truth = gg__is_bool(out->of.dtype);
        e->meta = gg__constant(truth ? GG__SCALAR_BOOL : GG__SCALAR_INT, 0);
        e->value = truth ? GG_STR("False") : GG_STR("0");
        return true;
    }
    e->meta = gg__infer_in(s, arm, out->value);
    e->value = gg__text_in(s, arm, out->value);
    if (out->kind == AUGMENT) {
        e->meta = gg__arithmetic(out->op, out->of, e->meta);
        e->value = gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(e->place), GG_STR_ARG(out->op),
                                   GG_STR_ARG(gg__closed(s, e->value, out->value)));
    }
    bool alike = gg_str_equal(e->meta.dtype, out->of.dtype) && !e->meta.vague && !out->of.vague;
    bool placed = e->meta.rank == 0 || e->meta.device.len;
    out->converts = out->kind == WHOLE && e->meta.sort == GG__TENSOR && (!alike || !placed) &&
                    !gg_str_contains(e->meta.dtype, GG_STR("complex"));
    if (out->converts)
        e->value = gg_arena_printf(s->arena, "%.*s.to(%.*s)", GG_STR_ARG(gg__closed(s, e->value, out->value)),
                                   GG_STR_ARG(e->place));
    return e->meta.sort != GG__UNKNOWN || gg__unselectable(s, arm, out->value);
}

/* Another tensor than the one that is stored to, of more than one element: it may be the larger one with other inputs. */
static bool cannot_grow(TSNode node, void *data) {
    const search *x = data;
    if (!gg_node_is(node, "identifier") && !gg_node_is(node, "attribute")) return true;
    gg_str text = gg__text(x->s->in->tree, node), base = gg__text(x->s->in->tree, x->store->base);
    gg__meta m = gg__infer_in(x->s, x->arm, node);
    return m.sort != GG__TENSOR || m.rank == 0 || gg_str_equal(text, base);
}

/* Nothing that has dimensions. */
static bool is_small(TSNode node, void *data) {
    const search *x = data;
    gg__meta m = gg__infer_in(x->s, x->arm, node);
    bool named = gg_node_is(node, "identifier") || gg_node_is(node, "attribute") || gg_node_is(node, "subscript");
    return !named || m.sort != GG__TENSOR || m.rank == 0;
}

/* Does it have the place's own sizes, whatever they are: changed by numbers? */
static bool stays_in_size(const search *x) {
    if (x->store->kind == AUGMENT) return gg__visit(x->store->value, is_small, (void *)x);
    for (TSNode at = x->store->expression; is_in_place(x->s->in->tree, at);
         at = gg__field(gg__field(at, "function"), "object"))
        if (!gg__visit(gg__field(at, "arguments"), is_small, (void *)x)) return false;
    return x->store->kind == CHAIN;
}

/* `x[:1]` of `x[:1].expand(8, 8)` */
static TSNode seen_through(const gg_tree *tree, TSNode value) {
    static const char *const views[] = {"expand",    "expand_as", "view",    "reshape", "unsqueeze", "squeeze",
                                        "transpose", "permute",   "flatten", "detach",  "t",         "to",
                                        "float",     "double",    "half",    "type_as", "contiguous"};
    for (;;) {
        TSNode function = gg__field(value, "function");
        if (gg_node_is(value, "subscript"))
            value = gg__field(value, "value");
        else if (gg_node_is(value, "call") && gg_node_is(function, "attribute") &&
                 gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), views, GG_COUNT(views)))
            value = gg__field(function, "object");
        else
            return value;
    }
}

/* `t[1:] = t[:-1]`: a store in parts would read what it has written.  Of single elements, that is none. */
static bool overlaps(const store *x, const gg_tree *tree) {
    gg__meta m = x->event.meta;
    TSNode value = gg__strip_parentheses(x->value);
    if (x->kind == CHAIN || x->kind == AUGMENT || m.sort != GG__TENSOR || m.fresh) return false;
    TSNode source = seen_through(tree, value);
    if (gg_str_equal(gg__text(tree, value), gg__text(tree, x->place))) return false;
    if (gg_node_is(source, "identifier") || gg_node_is(source, "attribute")) {
        if (!gg_str_equal(gg__text(tree, source), gg__text(tree, x->base)))
            return gg_node_is(source, "attribute") && ts_node_eq(source, value) &&
                   gg__is_member_name(gg__field(source, "object"));
        if (!ts_node_eq(source, base_of(value))) return true; /* another view of itself */
        if (gg__child_count(value) != gg__child_count(x->place)) return true;
        for (uint32_t i = 1; i < gg__child_count(value); i++)
            if (gg_node_is(gg__child(value, i), "slice") || gg_node_is(gg__child(x->place, i), "slice")) return true;
        return false;
    }
    return true;
}

static bool fits(gg__select *s, gg__arm *arm, const store *x) {
    gg__meta of = x->of, m = x->event.meta;
    TSNode node = ts_node_is_null(x->value) ? x->expression : x->value;
    search grown = {s, arm, x};
    if (gg__is_number(m)) {
        bool narrow = gg__is_integer(of.dtype) && !gg_str_is(of.dtype, "torch.int64");
        return (gg__holds(of.dtype, m) && (!narrow || m.constant)) ||
               gg__hinder(s->in, node, "not known to be a number that the tensor can hold");
    }
    bool changed = x->kind == AUGMENT || x->kind == CHAIN;
    bool alone = m.rank == of.rank && stays_in_size(&grown);
    if ((!x->converts && (!gg_str_equal(m.dtype, of.dtype) || m.vague || of.vague)) ||
        (m.rank && !alone && !gg__same_shape(m, of)) ||
        (m.device.len && of.device.len && !gg_str_equal(m.device, of.device)))
        return gg__hinder_unlike(s->in, s->statement, x->event.place, of, m);
    if (overlaps(x, s->in->tree)) return gg__hinder(s->in, node, "may share memory with what it is stored to");
    if ((changed || m.rank > 0) && !alone && (s->unseen || gg__sizes_may_differ(s->in, s->statement, of)) &&
        !gg__visit(node, cannot_grow, &grown))
        return gg__hinder(s->in, node, "may have other sizes on the other way with other inputs");
    return true;
}

/* ---- where it is stored ------------------------------------------------------------------------------------------------------------- */

/* `self.t = v` */
static bool binds(const store *x) {
    return x->kind == ASSIGN && gg_node_is(x->place, "attribute");
}

static bool is_elsewhere(TSNode node, void *data) {
    const search *x = data;
    gg__meta m = gg__infer_in(x->s, x->arm, node), of = x->store->of;
    bool named = gg_node_is(node, "identifier") || gg_node_is(node, "attribute");
    return !named || m.sort != GG__TENSOR || gg_str_equal(m.device, of.device);
}

static bool read_place(gg__select *s, gg__arm *arm, store *x) {
    const gg_tree *tree = s->in->tree;
    TSNode object = gg__field(x->place, "object");
    bool data =
        gg_node_is(x->place, "attribute") && gg_str_is(gg__text(tree, gg__field(x->place, "attribute")), "data");
    x->detached = data && x->kind == WHOLE;
    x->base = base_of(x->place);
    x->of = gg__infer_in(s, arm, x->detached ? object : x->place);
    x->event.place = gg__text_in(s, arm, x->place);
    x->event.assigned = gg_node_is(x->place, "subscript") && (x->kind == ASSIGN || x->kind == AUGMENT);
    x->event.truth = gg__is_bool(x->of.dtype);
    if (!gg_node_is(x->base, "identifier") && !gg_node_is(x->base, "attribute"))
        return gg__hinder(s->in, x->place, "is stored to, and is no name");
    return x->of.sort == GG__TENSOR || binds(x) ||
           gg__hinder(s->in, x->place, "is stored to, and not known to be a tensor");
}

static bool is_on_one_device(gg__select *s, gg__arm *arm, store *x) {
    search at = {s, arm, x};
    if (x->of.sort != GG__TENSOR) x->of.device = x->event.meta.device;
    return (!s->draws && !s->on_cpu && gg__visit(s->statement, is_elsewhere, &at)) ||
           gg__hinder(s->in, x->place, "may be on another device than what decides");
}

/* A tensor that the arm itself has made: whatever is done to it in place, it is selected later. */
static bool store_in_own(gg__select *s, gg__arm *arm, store *x, gg__binding *own, TSNode statement) {
    gg__meta m = x->event.meta;
    if (!own->meta.fresh || ts_node_is_null(own->from) || !gg__may_change_made(s->in, statement, x->base, own->from))
        return gg__hinder(s->in, x->expression, "changes in place what may be kept for a gradient");
    if (!gg__is_number(m) && !gg__selectable(s, m)) return gg__unselectable(s, arm, x->value);
    if (s->divides_safely) return false;
    own->meta.linear = own->meta.linear && (gg__is_number(m) || m.linear);
    gg_str text = gg__text_in(s, arm, x->expression);
    gg_buf_append(&s->lines, text);
    gg_buf_append(&s->lines, s->newline);
    gg_buf_append(&s->lines, s->indent);
    s->stored = true;
    return true;
}

/* `h - self.best`: nobody else gets the tensor itself. */
static bool is_bound_or_consumed(TSNode node, void *data) {
    const search *x = data;
    const gg_rule_input *in = x->s->in;
    TSNode place = x->store->place, parent = gg__parent(node);
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(in->tree, gg__field(node, "attribute")),
                                                        gg__text(in->tree, gg__field(place, "attribute"))))
        return true;
    bool bound = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    return bound || gg__is_consumed(in, node);
}

/* A buffer that keeps its value on the other way: another tensor then. */
static bool may_be_another(gg__select *s, gg__arm *arm, const store *x) {
    gg__meta m = x->event.meta;
    search all = {s, arm, x};
    return m.rank == 0 && gg__same_tensor(x->of, m) && gg__is_registered(s->in->tree, x->place) &&
           gg__is_detached(s, arm, x->value, x->place) &&
           gg__visit(gg_tree_root(s->in->tree), is_bound_or_consumed, &all);
}

static bool bind_attribute(gg__select *s, gg__arm *arm, store *x) {
    gg__meta m = x->event.meta;
    if (!m.fresh || !gg__selectable(s, m)) return gg__unselectable(s, arm, x->value);
    if (!gg_node_is(gg__field(x->place, "object"), "identifier") ||
        gg_str_contains(gg_text_bytes(gg_tree_text(s->in->tree)), GG_STR("__setattr__")))
        return false;
    x->event.assigned = x->event.bound = true;
    x->event.both = !gg__is_made_before(s->in, s->statement, x->place);
    if (x->event.both && may_be_another(s, arm, x)) {
        x->event.both = false;
        s->copies = true;
    }
    if (!x->event.both && !gg__same_tensor(x->of, m))
        return gg__hinder_unlike(s->in, s->statement, x->event.place, x->of, m);
    return true;
}

/* `self.steps += 1` also binds: where the class has the tensor, the object gets an attribute of its own by it. */
static bool binds_as_well(const gg__select *s, const store *x) {
    const gg_tree *tree = s->in->tree;
    return x->kind == AUGMENT && gg_node_is(x->place, "attribute") &&
           (gg__is_of_its_class(tree, x->place) ||
            gg_str_contains(gg_text_bytes(gg_tree_text(tree)), GG_STR("__setattr__")));
}

static bool may_store(gg__select *s, gg__arm *arm, const store *x, TSNode statement) {
    gg__meta m = x->event.meta;
    TSNode node = ts_node_is_null(x->value) ? x->expression : x->value;
    if (x->detached) return true;
    if (binds_as_well(s, x)) return gg__hinder(s->in, x->place, "also makes it an attribute of the object, on one way");
    if (gg_node_is(x->base, "attribute")) {
        if (!gg__is_detached(s, arm, x->kind == CHAIN ? x->expression : x->value, x->base) && m.sort == GG__TENSOR)
            return gg__hinder(s->in, node,
                              "may be part of a gradient, and so would be what it is stored to: detach() it");
        return gg__may_change_attribute(s->in, s->statement, x->base) ||
               gg__hinder(s->in, x->base, "is stored to on one way only, and may be kept for a gradient");
    }
    if (!gg__without_gradients(s->in->tree, statement) && !gg__is_number(m)) {
        if (!gg__selectable(s, m)) return gg__unselectable(s, arm, node);
        if (s->divides_safely && !gg__divisors_are_smooth(s, arm, node)) return false;
    }
    return gg__may_change_local(s->in, s->statement, x->base) ||
           gg__hinder(s->in, x->base, "is stored to on one way only, and other code may hold it, or a gradient");
}

bool gg__store_in(gg__select *s, gg__arm *arm, TSNode statement) {
    store x;
    for (size_t i = 0; i < arm->count; i++) { /* what it reads is as it was before */
        if (!arm->items[i].pending) continue;
        if (gg__is_appended(arm->items[i].name) || gg__is_returned(arm->items[i].name)) return false;
        gg__settle(s, &arm->items[i], arm->suffix);
    }
    if (!read_form(s->in->tree, statement, &x) || !read_place(s, arm, &x) || !read_value(s, arm, &x) ||
        !is_on_one_device(s, arm, &x))
        return false;
    if (!binds(&x) && !fits(s, arm, &x)) return false;
    gg_str name = gg__text(s->in->tree, x.base);
    gg__binding *own = gg_node_is(x.base, "identifier") ? gg__arm_find(arm, name) : NULL;
    if (own) {
        gg__arm before = *s->outer_arm;
        const gg__binding *old = gg__arm_find(&before, name);
        if (old && gg_str_equal(old->text, own->text)) return false; /* of an arm around this one */
        return store_in_own(s, arm, &x, own, statement);
    }
    if (binds(&x) ? !bind_attribute(s, arm, &x) : !may_store(s, arm, &x, statement)) return false;
    gg__flush(s, s->events);
    gg__push(s->events, x.event);
    s->stored = true;
    return true;
}
