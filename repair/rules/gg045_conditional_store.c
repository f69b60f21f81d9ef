/* GG045 conditional-store: `if c:` on a tensor's value around changes of a module's own tensors, in place.
 * Offers: self.t.copy_(torch.where(c, new, self.t)).  Refuses: unless the new value is proven pure, of the tensor's dtype, and no part of a gradient;
 * and a tensor that the function read before, since autograd may have kept it.  Safety: exact.  Page: docs/rules/GG045.md
 *
 * DESIGN  Not `self.t = torch.where(…)`: another tensor under the name is compiled anew on the next call, and who holds the old one would not see the
 * change. */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/select.h"
#include "repair/truth.h"

enum { MAX_STORES = 8 };

typedef struct store {
    TSNode expression, target; /* `self.n += 1`; `self.n` */
    TSNode place;              /* `self.t[0]` of `self.t[0] = v`; else the target */
    TSNode value;              /* what is stored, or the operand; null for zero_() */
    gg_str op;                 /* "+" of `+=`; else empty */
    TSNode chain;              /* `self.t.mul_(2).add_(x)`: the call; else null */
    gg__meta of;               /* the target */
} store;

typedef struct branch {
    TSNode node;
    store stores[MAX_STORES];
    size_t count;
} branch;

static bool requires_grad(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++)
        if (gg_str_equal(record->facts[i].name, name)) return record->facts[i].requires_grad;
    return true;
}

static bool is_target(const gg_rule_input *in, TSNode node, store *s) {
    s->target = node;
    s->of = gg__infer(in, node);
    return gg_node_is(node, "attribute") && gg_node_is(gg__field(node, "object"), "identifier") &&
           s->of.sort == GG__TENSOR && !s->of.vague && !requires_grad(in, gg__text(in->tree, node));
}

/* ---- what is stored ------------------------------------------------------------------------------------------------------------ */

static bool without_gradients(const gg_tree *tree, TSNode node) {
    gg_str torch = gg__module_alias(tree, node, "torch");
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at)) {
        TSNode outer = gg__parent(at);
        bool with = gg_node_is(at, "with_statement");
        if (!with && !(gg_node_is(at, "function_definition") && gg_node_is(outer, "decorated_definition"))) continue;
        TSNode clause = with ? gg__child(at, 0) : outer;
        for (uint32_t i = 0; i < gg__child_count(clause); i++) {
            gg_str text = gg__text(tree, gg__child(clause, i));
            if (text.len && text.ptr[0] == '@') text = gg_str_slice(text, 1, text.len);
            if (torch.len && gg_str_starts_with(text, torch) &&
                gg_str_is(gg_str_slice(text, torch.len, text.len), ".no_grad()"))
                return true;
        }
        if (!with) return false;
    }
    return false;
}

static bool is_no_detach(TSNode node, void *data) {
    const gg_tree *tree = data;
    TSNode function = gg__field(node, "function");
    return !gg_node_is(node, "call") || !gg_str_is(gg__text(tree, gg__field(function, "attribute")), "detach");
}

/* Does no gradient flow through it?  Of a method chain, one detach() is enough. */
static bool is_detached(const gg_rule_input *in, TSNode node, gg__meta m) {
    if (m.sort != GG__TENSOR || !gg__is_floating(m.dtype) || without_gradients(in->tree, node)) return true;
    node = gg__strip_parentheses(node);
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right"), of = gg__field(node, "argument");
    if (gg_node_is(node, "unary_operator")) return is_detached(in, of, gg__infer(in, of));
    if (gg_node_is(node, "binary_operator"))
        return is_detached(in, left, gg__infer(in, left)) && is_detached(in, right, gg__infer(in, right));
    for (TSNode at = gg__strip_parentheses(node); gg_node_is(at, "call");
         at = gg__strip_parentheses(gg__field(gg__field(at, "function"), "object")))
        if (!is_no_detach(at, (void *)in->tree)) return true;
    return false;
}

/* Can it be stored into, or combined with, the target and give its dtype and shape?  `whole`: without a target of fewer elements. */
static bool fits(const gg_rule_input *in, const store *s, TSNode node, bool whole) {
    gg__meta m = gg__infer(in, node);
    if (m.sort == GG__SCALAR_BOOL && gg__is_bool(s->of.dtype)) return true;
    if (gg__is_number(m))
        return gg__is_floating(s->of.dtype) || (m.sort == GG__SCALAR_INT && !gg__is_bool(s->of.dtype));
    if (m.sort != GG__TENSOR || m.vague || !gg_str_equal(m.dtype, s->of.dtype) || !is_detached(in, node, m))
        return false;
    if (m.rank == 0) return true;
    bool alike = whole && m.rank == s->of.rank;
    for (int32_t i = 0; alike && i < m.rank; i++) alike = m.shape[i] == s->of.shape[i] && m.shape[i] >= 0;
    return alike;
}

/* `self.t.mul_(0.9).add_(x)`: each of them with numbers and tensors that fit. */
static bool is_chain(const gg_rule_input *in, TSNode call, store *s) {
    static const char *const methods[] = {"add_", "sub_", "mul_", "lerp_", "clamp_", "clamp_min_", "clamp_max_"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    bool known = false;
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return false;
    if (gg_node_is(object, "call") ? !is_chain(in, object, s) : !is_target(in, object, s)) return false;
    for (size_t i = 0; i < GG_COUNT(methods); i++) known = known || gg_str_is(name, methods[i]);
    if (!known || !gg__child_count(arguments)) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) {
            gg_str keyword = gg__text(in->tree, gg__field(argument, "name"));
            argument = gg__field(argument, "value");
            bool number = gg_str_is(keyword, "alpha") || gg_str_is(keyword, "min") || gg_str_is(keyword, "max");
            if (!number || !gg__is_number(gg__infer(in, argument))) return false;
        }
        if (!fits(in, s, argument, true)) return false;
    }
    return true;
}

/* `self.t.copy_(v)`, `.fill_(v)`, `.zero_()` */
static bool is_whole(const gg_rule_input *in, TSNode call, store *s) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    uint32_t count = gg__child_count(arguments);
    bool zero = gg_str_is(name, "zero_");
    if (!gg_node_is(call, "call") || !is_target(in, gg__field(function, "object"), s)) return false;
    s->value = gg__child(arguments, 0);
    if (zero) return count == 0 && !gg__is_bool(s->of.dtype);
    return (gg_str_is(name, "copy_") || gg_str_is(name, "fill_")) && count == 1 && fits(in, s, s->value, true);
}

static bool match_store(const gg_rule_input *in, TSNode statement, store *s) {
    TSNode e = gg__child(statement, 0), left = gg__field(e, "left");
    *s = (store){.expression = e, .value = gg__field(e, "right")};
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    if (gg_node_is(e, "augmented_assignment")) {
        gg_str op = gg__text(in->tree, gg__field(e, "operator"));
        s->op = gg_str_slice(op, 0, op.len - 1);
        s->place = left;
        bool known = gg_str_is(s->op, "+") || gg_str_is(s->op, "-") || gg_str_is(s->op, "*");
        return known && is_target(in, left, s) && fits(in, s, s->value, true) && !gg__is_bool(s->of.dtype);
    }
    if (gg_node_is(e, "assignment")) {
        s->place = left;
        bool stored = gg_node_is(left, "subscript") && is_target(in, gg__field(left, "value"), s);
        return stored && gg__infer(in, left).sort == GG__TENSOR && fits(in, s, s->value, false);
    }
    if (is_whole(in, e, s)) {
        s->place = s->target;
        return true;
    }
    *s = (store){.expression = e, .chain = e};
    if (!is_chain(in, e, s)) return false;
    s->place = s->target;
    return true;
}

/* ---- who may have kept it ------------------------------------------------------------------------------------------------------- */

typedef struct reads {
    const gg_tree *tree;
    gg_str text;
    gg_span from;
    gg_span branch;
} reads;

/* In a comparison nothing is kept. */
static bool is_not_kept(TSNode node, void *data) {
    const reads *r = data;
    uint32_t start = ts_node_start_byte(node);
    if (!gg_node_is(node, "attribute") || start >= r->from.end || (start >= r->branch.start && start < r->branch.end) ||
        !gg_str_equal(gg__text(r->tree, node), r->text))
        return true;
    for (TSNode at = gg__parent(node); !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at))
        if (gg_node_is(at, "comparison_operator")) return true;
    return false;
}

/* Was the tensor read before, as far as the function says?  In a loop what is behind comes before, too. */
static bool may_be_kept(const gg_rule_input *in, const branch *b, const store *s) {
    TSNode function = gg__function(b->node);
    gg_span span = gg_node_span(b->node);
    reads r = {in->tree, gg__text(in->tree, s->target), {0, span.start}, span};
    for (TSNode at = b->node; !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) r.from.end = ts_node_end_byte(at);
    return !gg__visit(function, is_not_kept, &r);
}

/* The condition as a tensor; `flags` is what stays an `if` of Python's around it, as `self.training` of `self.training and not self.ready`. */
static bool read_condition(const gg_rule_input *in, TSNode node, gg_str torch, gg_arena *arena, gg_str *flags,
                           gg_str *out) {
    TSNode condition = gg__field(node, "condition");
    *flags = GG_STR_NULL;
    *out = gg__truth(in, condition, false, torch, arena);
    if (out->len) return true;
    gg__select s;
    gg__test test;
    gg__select_init(&s, in, node, arena);
    s.torch = torch;
    bool done = gg__split_condition(&s, condition, flags, &test) && !s.draws && !s.on_cpu && s.lines.len == 0;
    if (done) *out = gg__test_text(&s, test);
    gg__select_clear(&s);
    return done;
}

static bool has_condition(const gg_rule_input *in, TSNode node) {
    gg_arena *arena = gg_arena_new();
    gg_str flags, text;
    bool found = read_condition(in, node, GG_STR("torch"), arena, &flags, &text);
    gg_arena_free(arena);
    return found;
}

static bool match_branch(const gg_rule_input *in, branch *b) {
    *b = (branch){.node = gg__statement(gg_node_at(in->tree, in->span))};
    TSNode condition = gg__field(b->node, "condition"), body = gg__field(b->node, "consequence");
    if (!gg__is_branch(in) || in->site->first == NULL || !gg_node_is(b->node, "if_statement") ||
        !ts_node_is_null(gg__field(b->node, "alternative")) || in->span.end > ts_node_end_byte(condition) ||
        !gg__starts_line(in->tree, ts_node_start_byte(b->node)) || !has_condition(in, b->node) ||
        !gg_node_is(gg__function(b->node), "function_definition"))
        return false;
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i);
        if (gg_node_is(statement, "comment")) continue;
        if (b->count == MAX_STORES || !match_store(in, statement, &b->stores[b->count]) ||
            may_be_kept(in, b, &b->stores[b->count]))
            return false;
        b->count++;
    }
    /* with several, the condition is asked once, under a name */
    TSNode function = gg__function(b->node);
    return b->count == 1 || (b->count > 1 && !gg__reads(in->tree, function, GG_STR("condition")));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    branch b;
    bool matches = match_branch(in, &b);
    out->node = b.node;
    return matches && gg__can_name(in->tree, b.node, "torch");
}

/* ---- the edit --------------------------------------------------------------------------------------------------------------------- */

/* The chain with methods that give a new tensor: without their last underscores. */
static gg_str chain_text(const gg_tree *tree, TSNode call, gg_arena *arena) {
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    gg_str head = gg_node_is(object, "call") ? chain_text(tree, object, arena) : gg__text(tree, object);
    return gg_arena_printf(arena, "%.*s.%.*s%.*s", GG_STR_ARG(head), (int)name.len - 1, name.ptr,
                           GG_STR_ARG(gg__text(tree, gg__field(call, "arguments"))));
}

static gg_str new_value(const gg_rule_input *in, const store *s, gg_arena *arena) {
    if (!ts_node_is_null(s->chain)) return chain_text(in->tree, s->chain, arena);
    if (ts_node_is_null(s->value)) return GG_STR("0");
    gg_str text = gg__text(in->tree, s->value);
    if (s->op.len == 0) return text;
    bool wrap = gg_node_is(s->value, "binary_operator") || gg_node_is(s->value, "unary_operator");
    return gg_arena_printf(arena, "%.*s %.*s %s%.*s%s", GG_STR_ARG(gg__text(in->tree, s->target)), GG_STR_ARG(s->op),
                           wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    branch b;
    if (!match_branch(in, &b)) return gg_fail(err, GG_ENOMATCH, "what is stored is not proven to fit");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    gg_span span = gg_node_span(b.node);
    gg_str newline = gg__newline(in->tree), indent = gg__indent(in->tree, span.start), text = GG_STR_NULL;
    gg_str condition, flags;
    if (!read_condition(in, b.node, torch, arena, &flags, &condition))
        return gg_fail(err, GG_ENOMATCH, "the condition is no tensor's");
    if (flags.len) {
        indent = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(indent), GG_STR_ARG(gg__indent_unit(in->tree)));
        text = gg_arena_printf(arena, "if %.*s:%.*s%.*s", GG_STR_ARG(flags), GG_STR_ARG(newline), GG_STR_ARG(indent));
    }
    TSNode kept[MAX_STORES + 1] = {gg__field(b.node, "condition")};
    for (size_t i = 0; i < b.count; i++) kept[i + 1] = b.stores[i].expression;
    gg_str comments = gg__comments(in->tree, span, kept, b.count + 1, arena);
    if (b.count > 1) {
        text = gg_arena_printf(arena, "%.*scondition = %.*s%.*s%.*s", GG_STR_ARG(text), GG_STR_ARG(condition),
                               GG_STR_ARG(newline), GG_STR_ARG(indent));
        condition = GG_STR("condition");
    }
    for (size_t i = 0; i < b.count; i++) {
        const store *s = &b.stores[i];
        gg_str place = gg__text(in->tree, s->place);
        bool assigned = gg_node_is(s->place, "subscript");
        if (i) text = gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(text), GG_STR_ARG(newline), GG_STR_ARG(indent));
        text = gg_arena_printf(arena, "%.*s%.*s%s%.*s.where(%.*s, %.*s, %.*s)%s", GG_STR_ARG(text), GG_STR_ARG(place),
                               assigned ? " = " : ".copy_(", GG_STR_ARG(torch), GG_STR_ARG(condition),
                               GG_STR_ARG(new_value(in, s, arena)), GG_STR_ARG(place), assigned ? "" : ")");
    }
    gg_edits_add(out, span, gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(comments), GG_STR_ARG(text)));
    return 0;
}

const gg_rule gg_rule_conditional_store = {
    .code = "GG045",
    .name = "conditional-store",
    .title = "Select what is stored with torch.where",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
