/* What conditions ask of several tensors at once: any(), all(), torch.equal, torch.allclose, `number in tensor`.  See select.h.
 *
 * Each asks no more than Python does, but all of it: what any() and all() do not look at any more is pure and total. */
#include "repair/figures.h"
#include "repair/infer.h"

static gg_str operand_text(gg__select *s, gg__arm *arm, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg__closed(s, gg__text_in(s, arm, node), node);
}

static void join(gg__select *s, bool all, gg__test one, bool first, gg__test *out) {
    *out = first ? one : gg__joined_test(s, *out, all ? '&' : '|', one);
}

/* ---- any() and all() ------------------------------------------------------------------------------------------------- */

static bool is_display(TSNode node) {
    return gg_node_is(node, "list") || gg_node_is(node, "tuple");
}

/* The arm where a name holds something else; false when there is no room, or something in it is to be computed first. */
static bool arm_with(const gg__arm *arm, gg__binding b, gg__arm *out) {
    *out = (gg__arm){.suffix = arm ? arm->suffix : "then"};
    for (size_t i = 0; arm && i < arm->count; i++) {
        if (arm->items[i].pending) return false;
        if (!gg_str_equal(arm->items[i].name, b.name)) out->items[out->count++] = arm->items[i];
    }
    if (out->count == GG__MAX_BINDINGS) return false;
    out->items[out->count++] = b;
    return true;
}

/* `c(t) for t in (a, b)`: for each of them. */
static bool of_each(gg__select *s, gg__arm *arm, TSNode body, gg_str name, TSNode display, bool all, uint32_t depth,
                    gg__test *out) {
    uint32_t count = gg__child_count(display);
    gg__arm *inner = gg_arena_alloc(s->arena, sizeof(*inner));
    for (uint32_t i = 0; i < count; i++) {
        TSNode element = gg__child(display, i);
        gg__binding b = {.name = name, .meta = gg__infer_in(s, arm, element)};
        gg__test one;
        if (gg_node_is(element, "list_splat") || b.meta.sort != GG__TENSOR) return false;
        b.text = gg__text_reading(s, arm, element, &b.reads, &b.flows);
        b.text = gg__closed(s, b.text, element);
        if (!arm_with(arm, b, inner) || !gg__test_at(s, inner, body, depth, &one)) return false;
        join(s, all, one, i == 0, out);
    }
    return count > 0;
}

/* `c(row) for row in x`: a condition of each row, as the elements of one tensor.  There may be no row. */
static bool of_rows(gg__select *s, gg__arm *arm, TSNode body, TSNode target, TSNode rows, bool all, uint32_t depth,
                    gg__test *out) {
    gg__meta m = gg__infer_in(s, arm, rows);
    gg__arm *inner = gg_arena_alloc(s->arena, sizeof(*inner));
    gg__test one;
    if (m.sort != GG__TENSOR || m.rank < 1) return false;
    for (int32_t i = 1; i < m.rank; i++) m.shape[i - 1] = m.shape[i];
    m.rank--;
    m.fresh = false;
    if (m.layout.len) m.layout = GG_STR("?");
    gg_str name = gg__text(s->in->tree, target), x = operand_text(s, arm, rows);
    gg__binding b = {.name = name, .text = name, .meta = m};
    if (!arm_with(arm, b, inner) || !gg__test_at(s, inner, body, depth, &one)) return false;
    gg_str first = gg_arena_printf(s->arena, "%.*s.new_%s((), dtype=%.*s.bool)", GG_STR_ARG(x), all ? "ones" : "zeros",
                                   GG_STR_ARG(s->torch));
    out->text = gg_arena_printf(s->arena, "%.*s.stack([%.*s, *(%.*s for %.*s in %.*s)]).%s()", GG_STR_ARG(s->torch),
                                GG_STR_ARG(first), GG_STR_ARG(gg__test_text(s, one)), GG_STR_ARG(name), GG_STR_ARG(x),
                                all ? "all" : "any");
    out->negated = false;
    out->atom = true;
    out->loose = false;
    return true;
}

static bool of_comprehension(gg__select *s, gg__arm *arm, TSNode node, bool all, uint32_t depth, gg__test *out) {
    TSNode body = gg__field(node, "body"), clause = gg__child(node, 1);
    TSNode target = gg__field(clause, "left"), source = gg__strip_parentheses(gg__field(clause, "right"));
    if (gg__child_count(node) != 2 || !gg_node_is(clause, "for_in_clause") || !gg_node_is(target, "identifier") ||
        gg_str_starts_with(gg__text(s->in->tree, clause), GG_STR("async")))
        return false;
    if (is_display(source)) return of_each(s, arm, body, gg__text(s->in->tree, target), source, all, depth, out);
    return of_rows(s, arm, body, target, source, all, depth, out);
}

static bool of_builtin(gg__select *s, gg__arm *arm, TSNode call, bool all, uint32_t depth, gg__test *out) {
    TSNode arguments = gg__field(call, "arguments"), value = gg__child(arguments, 0);
    if (!gg__names_builtin(s->in->tree, gg__field(call, "function"), all ? "all" : "any")) return false;
    if (gg__test_of_list(s, arm, gg_node_is(arguments, "argument_list") ? value : arguments, all, out))
        return gg_node_is(arguments, "generator_expression") || gg__child_count(arguments) == 1;
    if (gg_node_is(arguments, "generator_expression")) return of_comprehension(s, arm, arguments, all, depth, out);
    if (gg__child_count(arguments) != 1) return false;
    if (gg_node_is(value, "list_comprehension") || gg_node_is(value, "generator_expression"))
        return of_comprehension(s, arm, value, all, depth, out);
    if (is_display(value)) {
        for (uint32_t i = 0; i < gg__child_count(value); i++) {
            gg__test one;
            if (!gg__test_at(s, arm, gg__child(value, i), depth, &one)) return false;
            join(s, all, one, i == 0, out);
        }
        return gg__child_count(value) > 0;
    }
    gg__meta m = gg__infer_in(s, arm, value);
    if (m.sort != GG__TENSOR || m.rank != 1 || gg_str_is(m.dtype, "torch.uint8")) return false;
    gg_str text = operand_text(s, arm, value);
    *out =
        (gg__test){gg_arena_printf(s->arena, "%.*s.%s()", GG_STR_ARG(text), all ? "all" : "any"), false, true, false};
    return true;
}

/* ---- two tensors ------------------------------------------------------------------------------------------------------- */

/* `torch.f(a, b, …)`, `a.f(b, …)`: a and b, of one dtype, and the index of the first other argument. */
static bool two_tensors(gg__select *s, gg__arm *arm, TSNode call, const char *name, TSNode *a, TSNode *b,
                        uint32_t *from) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str path = gg_arena_printf(s->arena, "torch.%s", name);
    bool free = gg__refers_to(s->in->tree, function, gg_arena_z(s->arena, path));
    bool method = !free && gg_node_is(function, "attribute") &&
                  gg_str_is(gg__text(s->in->tree, gg__field(function, "attribute")), name);
    *from = free ? 2 : 1;
    if ((!free && !method) || gg__child_count(arguments) < *from) return false;
    *a = free ? gg__child(arguments, 0) : gg__field(function, "object");
    *b = gg__child(arguments, *from - 1);
    gg__meta x = gg__infer_in(s, arm, *a), y = gg__infer_in(s, arm, *b);
    return x.sort == GG__TENSOR && y.sort == GG__TENSOR && gg_str_equal(x.dtype, y.dtype) && !x.vague && !y.vague &&
           gg_str_equal(x.device, y.device);
}

/* Tensors of other sizes are not equal, and must not be compared. */
static bool of_equal(gg__select *s, gg__arm *arm, TSNode call, gg__test *out) {
    TSNode a, b;
    uint32_t from;
    if (!two_tensors(s, arm, call, "equal", &a, &b, &from) || gg__child_count(gg__field(call, "arguments")) != from)
        return false;
    gg__meta m = gg__infer_in(s, arm, a);
    if (!gg__same_shape(m, gg__infer_in(s, arm, b))) return false;
    gg_str x = operand_text(s, arm, a), y = operand_text(s, arm, b);
    out->text = gg_arena_printf(
        s->arena, "((%.*s == %.*s).all() if %.*s.shape == %.*s.shape else %.*s.new_zeros((), dtype=%.*s.bool))",
        GG_STR_ARG(x), GG_STR_ARG(y), GG_STR_ARG(x), GG_STR_ARG(y), GG_STR_ARG(x), GG_STR_ARG(s->torch));
    out->negated = false;
    out->atom = true;
    out->loose = false;
    return true;
}

/* isclose(…).all(), which it is */
static bool of_allclose(gg__select *s, gg__arm *arm, TSNode call, gg__test *out) {
    TSNode a, b, arguments = gg__field(call, "arguments");
    uint32_t from;
    if (!two_tensors(s, arm, call, "allclose", &a, &b, &from) ||
        !gg__same_shape(gg__infer_in(s, arm, a), gg__infer_in(s, arm, b)))
        return false;
    gg_str text = gg_arena_printf(s->arena, "%.*s.isclose(%.*s, %.*s", GG_STR_ARG(s->torch),
                                  GG_STR_ARG(gg__text_in(s, arm, a)), GG_STR_ARG(gg__text_in(s, arm, b)));
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        TSNode value = gg_node_is(argument, "keyword_argument") ? gg__field(argument, "value") : argument;
        gg__meta m = gg__infer_in(s, arm, value);
        bool constant = m.sort != GG__UNKNOWN && m.sort != GG__TENSOR && m.constant && m.value >= 0;
        bool truth = gg_node_is(value, "true") || gg_node_is(value, "false");
        if (!constant && !truth) return false; /* a tolerance below zero raises */
        text = gg_arena_printf(s->arena, "%.*s, %.*s", GG_STR_ARG(text), GG_STR_ARG(gg__text(s->in->tree, argument)));
    }
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s).all()", GG_STR_ARG(text)), false, true, false};
    return true;
}

bool gg__test_of_call(gg__select *s, gg__arm *arm, TSNode call, uint32_t depth, gg__test *out) {
    return of_builtin(s, arm, call, true, depth, out) || of_builtin(s, arm, call, false, depth, out) ||
           of_equal(s, arm, call, out) || of_allclose(s, arm, call, out);
}

bool gg__test_of_member(gg__select *s, gg__arm *arm, TSNode comparison, gg__test *out) {
    TSNode left = gg__child(comparison, 0), right = gg__child(comparison, 1);
    gg_str op = gg__text(s->in->tree, ts_node_child(comparison, 1));
    bool absent = gg_str_is(op, "not in");
    if (ts_node_child_count(comparison) != 3 || (!absent && !gg_str_is(op, "in"))) return false;
    if (gg__test_of_listed_member(s, arm, left, right, out)) {
        out->negated = absent;
        return true;
    }
    gg__meta element = gg__infer_in(s, arm, left), m = gg__infer_in(s, arm, right);
    bool number = gg__is_number(element) || (element.sort == GG__TENSOR && element.rank == 0);
    if (!number || m.sort != GG__TENSOR || gg__compare(element, m).sort != GG__TENSOR) return false;
    gg_str x = operand_text(s, arm, left), y = operand_text(s, arm, right);
    *out = (gg__test){gg_arena_printf(s->arena, "(%.*s == %.*s).any()", GG_STR_ARG(x), GG_STR_ARG(y)), absent, true,
                      false};
    return true;
}
