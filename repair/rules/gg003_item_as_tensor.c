/* GG003 item-as-tensor: `.item()` and float() bring a value to Python, which a graph cannot do.
 * Offers: the 0-d tensor itself, detached, where the number only meets floating tensors in arithmetic; in double precision, as Python counts,
 * where it meets other numbers first.  Refuses: any other use, operands that a 0-d tensor would promote, integers, what raises in Python
 * (division by zero).
 * Safety: exact.  Page: docs/rules/GG003.md
 *
 * DESIGN  Facts are of the moment Dynamo stopped.  An assigned number is used later, so its uses are looked at statement by statement with
 * facts that follow the assignments between (`flow`). */
#include "repair/syntax.h"

enum { MAX_FACTS = 128, MAX_DIGITS = 15 };

typedef struct extraction {
    TSNode call;  /* E.item() or float(E) */
    TSNode value; /* E */
    gg__meta meta;
} extraction;

static bool match_extraction(const gg_rule_input *in, extraction *out) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        if (!gg_node_is(at, "call")) continue;
        TSNode function = gg__field(at, "function"), arguments = gg__field(at, "arguments");
        uint32_t count = gg__child_count(arguments);
        gg_str name = gg__text(in->tree, function);
        *out = (extraction){.call = at};
        if (gg_node_is(function, "attribute") &&
            gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item") && count == 0)
            out->value = gg__field(function, "object");
        else if (gg_node_is(function, "identifier") && gg_str_is(name, "float") && count == 1 &&
                 !gg__is_local(in->tree, at, name) && !gg__is_bound_in_module(in->tree, name))
            out->value = gg__child(arguments, 0);
        else
            return false;
        out->meta = gg__infer(in, out->value);
        return out->meta.sort == GG__TENSOR && out->meta.rank == 0 && gg__is_floating(out->meta.dtype) &&
               !out->meta.vague;
    }
    return false;
}

/* ---- one use ----------------------------------------------------------------------------------------------------------- */

/* What the number does: how it is to be handed on. */
typedef struct usage {
    const extraction *e;
    bool counts; /* Python computes with it before a tensor does: in double precision */
    bool on_cpu;
} usage;

static bool is_half(const usage *u, gg_str dtype) {
    return gg__is_half(dtype) && (u->counts || !gg_str_equal(dtype, u->e->meta.dtype));
}

/* A tensor that decides the dtype alone, whatever the precision of the number is. */
static bool absorbs(const usage *u, gg__meta other) {
    return other.sort == GG__TENSOR && other.rank >= 1 && gg__is_floating(other.dtype) && !other.vague &&
           !is_half(u, other.dtype);
}

/* A literal other than zero that a double holds. */
static bool is_divisor(const gg_tree *tree, TSNode node) {
    gg_str text = gg__text(tree, gg__strip_parentheses(node));
    bool nonzero = false;
    for (size_t i = 0; i < text.len; i++) {
        if ((text.ptr[i] < '0' || text.ptr[i] > '9') && text.ptr[i] != '.') return false;
        nonzero = nonzero || (text.ptr[i] != '0' && text.ptr[i] != '.');
    }
    return nonzero && text.len <= MAX_DIGITS;
}

static TSNode climb(TSNode *use) {
    TSNode parent = gg__parent(*use);
    while (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "unary_operator")) {
        *use = parent;
        parent = gg__parent(parent);
    }
    return parent;
}

/* `h *= s` for a tensor that keeps its dtype */
static bool in_place_use(const gg_rule_input *in, TSNode statement, TSNode use, usage *u) {
    gg_str op = gg__text(in->tree, gg__field(statement, "operator"));
    TSNode left = gg__field(statement, "left");
    bool known =
        gg_str_is(op, "+=") || gg_str_is(op, "-=") || gg_str_is(op, "*=") || (gg_str_is(op, "/=") && u->on_cpu);
    return known && ts_node_eq(gg__field(statement, "right"), use) && gg_node_is(left, "identifier") &&
           absorbs(u, gg__infer(in, left));
}

/* Is this use an operand of + - * / whose other operand decides the dtype?  `tensor / s` is exact, but on CUDA, where division by a number
 * multiplies by its reciprocal, and so does `s / tensor` everywhere. */
static bool arithmetic_use(const gg_rule_input *in, TSNode use, usage *u) {
    for (;;) {
        TSNode parent = climb(&use);
        if (gg_node_is(parent, "augmented_assignment")) return in_place_use(in, parent, use, u);
        if (!gg_node_is(parent, "binary_operator")) return false;
        gg_str op = gg__text(in->tree, gg__field(parent, "operator"));
        bool divides = gg_str_is(op, "/");
        if (!gg_str_is(op, "+") && !gg_str_is(op, "-") && !gg_str_is(op, "*") && !divides) return false;
        TSNode left = gg__field(parent, "left"), right = gg__field(parent, "right");
        bool is_left = ts_node_eq(left, use);
        TSNode other_node = is_left ? right : left;
        gg__meta other = gg__infer(in, other_node);
        if (other.sort == GG__TENSOR) return absorbs(u, other) && (!divides || (!is_left && u->on_cpu));
        if (other.sort != GG__SCALAR_INT && other.sort != GG__SCALAR_FLOAT) return false;
        if (divides && (!is_left || !is_divisor(in->tree, other_node))) return false; /* Python raises on zero */
        u->counts = true;
        use = parent;
    }
}

/* ---- an assigned number --------------------------------------------------------------------------------------------------- */

typedef struct flow {
    gg_rule_input in; /* its site's record holds the facts as they are now */
    gg_site site;
    gg_break record;
    gg_fact facts[MAX_FACTS];
    int64_t shapes[MAX_FACTS][GG__MAX_RANK]; /* of what was learned */
    gg_str name;
    uint32_t bound; /* where the one assignment's left side is */
    usage *usage;
    uint32_t uses;
} flow;

static void forget(flow *f, gg_str name) {
    for (size_t i = 0; i < f->record.fact_count; i++)
        if (gg_str_equal(f->facts[i].name, name)) f->facts[i].name = GG_STR_NULL;
}

static void learn(flow *f, gg_str name, gg__meta m) {
    static const gg_value_kind kinds[] = {[GG__UNKNOWN] = GG_VALUE_UNKNOWN,
                                          [GG__SCALAR_INT] = GG_VALUE_INT,
                                          [GG__SCALAR_FLOAT] = GG_VALUE_FLOAT,
                                          [GG__SCALAR_BOOL] = GG_VALUE_BOOL,
                                          [GG__TENSOR] = GG_VALUE_TENSOR};
    forget(f, name);
    if (m.vague || f->record.fact_count >= MAX_FACTS) return;
    size_t at = f->record.fact_count++;
    memcpy(f->shapes[at], m.shape, sizeof(f->shapes[at]));
    f->facts[at] = (gg_fact){.name = name, .kind = kinds[m.sort], .dtype = m.dtype, .device = m.device, .rank = m.rank};
    f->facts[at].shape = f->shapes[at];
    f->facts[at].layout = m.layout.len ? GG_LAYOUT_STRIDED : GG_LAYOUT_CONTIGUOUS;
}

static bool forget_bound(TSNode node, void *data) {
    flow *f = data;
    if (gg_node_is(node, "identifier") && gg__is_binding(node)) forget(f, gg__text(f->in.tree, node));
    return true;
}

static bool check_use(TSNode node, void *data) {
    flow *f = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(f->in.tree, node), f->name)) return true;
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) return true;
    f->uses++;
    return arithmetic_use(&f->in, node, f->usage);
}

static bool binds_nothing(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "identifier") || !gg__is_binding(node);
}

/* The uses in one statement, with the facts that hold there; then what it assigns. */
static bool follow(flow *f, TSNode statement) {
    TSNode inner = gg__child(statement, 0), left = gg__field(inner, "left"), right = gg__field(inner, "right");
    bool expression = gg_node_is(statement, "expression_statement"),
         returns = gg_node_is(statement, "return_statement");
    bool plain = expression && gg_node_is(inner, "assignment") && gg_node_is(left, "identifier");
    bool augmented = expression && gg_node_is(inner, "augmented_assignment");
    TSNode evaluated = plain || augmented ? right : statement; /* what is bound in there is bound before it is used */
    bool simple = (expression || returns) && !ts_node_is_null(evaluated) && gg__visit(evaluated, binds_nothing, NULL);
    if (!simple) gg__visit(statement, forget_bound, f);
    if (!gg__visit(statement, check_use, f)) return false;
    if (plain && simple)
        learn(f, gg__text(f->in.tree, left), gg__infer(&f->in, right));
    else
        gg__visit(statement, forget_bound, f);
    return true;
}

typedef struct outside {
    const flow *f;
    uint32_t from, scope;
} outside;

/* Is the name used anywhere but behind its assignment, in the function's own scope? */
static bool is_inside(TSNode node, void *data) {
    const outside *o = data;
    static const char *const watching[] = {"locals", "vars", "eval", "exec"};
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(o->f->in.tree, node);
    TSNode scope = gg__function(node), parent = gg__parent(node);
    for (size_t i = 0; i < GG_COUNT(watching); i++)
        if (gg_str_is(text, watching[i]) && gg_node_is(parent, "call")) return false;
    if (!gg_str_equal(text, o->f->name) || ts_node_start_byte(node) == o->f->bound) return true;
    bool named = (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) ||
                 (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node));
    return named || (ts_node_start_byte(node) >= o->from && ts_node_start_byte(scope) == o->scope);
}

/* `s = E.item()`, s bound once, every use arithmetic. */
static bool assigned_use(const gg_rule_input *in, TSNode call, usage *u) {
    TSNode assignment = gg__parent(call), statement = gg__parent(assignment), function = gg__function(call);
    TSNode left = gg__field(assignment, "left");
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(left, "identifier") || !ts_node_is_null(gg__field(assignment, "type")) ||
        !gg_node_is(function, "function_definition") || in->site->first->fact_count > MAX_FACTS)
        return false;
    flow f = {.in = *in, .site = *in->site, .record = *in->site->first, .usage = u, .bound = ts_node_start_byte(left)};
    f.name = gg__text(in->tree, left);
    if (f.record.fact_count) memcpy(f.facts, in->site->first->facts, f.record.fact_count * sizeof(gg_fact));
    f.record.facts = f.facts;
    f.site.first = &f.record;
    f.in.site = &f.site;
    outside o = {&f, ts_node_end_byte(statement), ts_node_start_byte(function)};
    if (!gg__visit(function, is_inside, &o)) return false;
    learn(&f, f.name, (gg__meta){.sort = GG__SCALAR_FLOAT});
    for (TSNode at = statement; !ts_node_eq(at, gg__field(function, "body")); at = gg__parent(at)) {
        for (TSNode next = ts_node_next_named_sibling(at); !ts_node_is_null(next);
             next = ts_node_next_named_sibling(next))
            if (!follow(&f, next)) return false;
        gg__visit(gg__parent(at), forget_bound, &f); /* a loop comes back, a branch may not have been taken */
        learn(&f, f.name, (gg__meta){.sort = GG__SCALAR_FLOAT});
    }
    return f.uses > 0;
}

static bool is_on_cpu(const gg_rule_input *in) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++)
        if (record->facts[i].kind == GG_VALUE_TENSOR && record->facts[i].device.len &&
            !gg_str_is(record->facts[i].device, "cpu"))
            return false;
    return true;
}

static bool look(const gg_rule_input *in, extraction *e, usage *u) {
    if (!gg_str_is(in->site->id, "GB0124") || in->site->first == NULL || !match_extraction(in, e)) return false;
    *u = (usage){.e = e, .on_cpu = is_on_cpu(in)};
    if (gg__has_comment(in->tree, gg_node_span(e->call))) return false;
    if (!arithmetic_use(in, e->call, u)) {
        u->counts = false;
        if (!assigned_use(in, e->call, u)) return false;
    }
    usage once_more = *u; /* now that it is known whether Python computes with it */
    return !u->counts || arithmetic_use(in, e->call, &once_more) || assigned_use(in, e->call, &once_more);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    extraction e;
    usage u;
    if (!look(in, &e, &u)) return false;
    out->node = e.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    extraction e;
    usage u;
    if (!look(in, &e, &u)) return gg_fail(err, GG_ENOMATCH, "the value is not proven to be a 0-d floating tensor");
    /* detach() shares memory with its source, which may be changed in place later, also by what autograd does not see. */
    TSNode value = gg__strip_parentheses(e.value);
    bool copy = !e.meta.fresh, widen = u.counts && !gg_str_is(e.meta.dtype, "torch.float64");
    bool simple = gg_node_is(value, "identifier") || gg_node_is(value, "call") || gg_node_is(value, "attribute");
    gg_str text = gg__text(in->tree, simple ? value : e.value);
    bool wrap = !simple && !gg_node_is(e.value, "parenthesized_expression");
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%s%.*s%s.detach()%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                                 widen  ? ".double()"
                                 : copy ? ".clone()"
                                        : ""));
    return 0;
}

const gg_rule gg_rule_item_as_tensor = {
    .code = "GG003",
    .name = "item-as-tensor",
    .title = "Keep the value as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
