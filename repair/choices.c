/* An element of a list of tensors, chosen by a tensor's value.  See choices.h. */
#include "repair/choices.h"

#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/ranges.h"
#include "repair/strides.h"

#include <math.h>

static bool read_index(const gg_rule_input *in, TSNode node, gg__choice *c) {
    gg__extraction e;
    c->index = node;
    if (gg__match_extraction(in, node, &e)) {
        if (e.truncates || e.truth || e.scalar.sort == GG__SCALAR_FLOAT) return false;
        c->index = e.value;
    }
    gg__meta m = gg__infer(in, c->index);
    c->truth = gg__is_bool(m.dtype);
    return m.sort == GG__TENSOR && m.rank == 0 && !m.vague &&
           (c->truth || gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"));
}

static bool is_there(const gg_rule_input *in, const gg__choice *c) {
    gg__range range;
    double count = gg__child_count(c->display); /* with comments, there is no choice */
    return gg__range_of(in, c->index, &range) && range.low >= -count && range.high < count;
}

typedef struct search {
    const gg_tree *tree;
    const gg__choice *c;
    gg_str name;
} search;

/* Is the list used nowhere else, and what its elements read bound no more behind it? */
static bool is_settled(TSNode node, void *data) {
    const search *s = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str text = gg__text(s->tree, node);
    uint32_t start = ts_node_start_byte(node);
    if (gg__watches_names(s->tree, node)) return false;
    bool its_own = start == ts_node_start_byte(s->c->list) ||
                   start == ts_node_start_byte(gg__field(gg__parent(s->c->display), "left"));
    if (gg_str_equal(text, s->name)) return its_own;
    return start < ts_node_start_byte(s->c->display) || !gg__is_binding(node) ||
           !gg__reads(s->tree, s->c->display, text);
}

/* The list's assignment, which has run just once whenever the element is chosen. */
static TSNode display_of(const gg_tree *tree, TSNode use, gg_str name) {
    TSNode function = gg__function(use);
    for (TSNode at = gg__statement(use); !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at)) {
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) return (TSNode){0};
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode assignment = gg__child(before, 0), right = gg__field(assignment, "right");
            if (gg_node_is(before, "expression_statement") && gg_node_is(assignment, "assignment") &&
                gg_str_equal(gg__text(tree, gg__field(assignment, "left")), name))
                return gg_node_is(right, "list") || gg_node_is(right, "tuple") ? right : (TSNode){0};
        }
    }
    return (TSNode){0};
}

/* What requires gradients is the same for both: they read the same tensors, and none is cut off. */
static bool same_sources(const gg_rule_input *in, TSNode a, TSNode b) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++) {
        gg_str name = record->facts[i].name;
        if (record->facts[i].kind != GG_VALUE_TENSOR) continue;
        if (gg__reads_path(in->tree, a, name) != gg__reads_path(in->tree, b, name)) return false;
    }
    return !gg_str_contains(gg__text(in->tree, b), GG_STR("detach"));
}

static bool are_alike(const gg_rule_input *in, TSNode display) {
    TSNode first = gg__child(display, 0);
    gg__meta m = gg__infer(in, first);
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode element = gg__child(display, i);
        gg__meta other = gg__infer(in, element);
        if (!gg__same_tensor(m, other) || other.layout.len || other.vague || !other.fresh || !other.smooth ||
            !same_sources(in, first, element))
            return false;
    }
    return gg__child_count(display) > 0;
}

/* A row of a stack lies in order. */
static bool lie_in_order(const gg_rule_input *in, TSNode display) {
    for (uint32_t i = 0; i < gg__child_count(display); i++)
        if (gg__lies(in, gg__child(display, i)) != GG__IN_ORDER) return false;
    return true;
}

/* ---- of numbers ---------------------------------------------------------------------------------------------------------- */

static gg__replacement replacement(const gg__choice *c) {
    gg_str dtype = c->number.sort == GG__SCALAR_FLOAT ? GG_STR("torch.float64") : GG_STR("torch.int64");
    return (gg__replacement){.node = c->subscript, .scalar = c->number, .dtype = dtype};
}

/* What is known of each number of the display: all floating ones, or all integers. */
static bool read_numbers(const gg_rule_input *in, gg__choice *c) {
    gg__scalar s = {.counted = true, .natural = true, .positive = true, .nonzero = true, .magnitude = INFINITY};
    double most = 0;
    uint32_t count = gg__child_count(c->display);
    for (uint32_t i = 0; i < count; i++) {
        gg__meta m = gg__infer(in, gg__child(c->display, i));
        if (!gg__is_number(m) || m.sort == GG__SCALAR_BOOL || !m.constant || !isfinite(m.value) ||
            (i && m.sort != s.sort))
            return false;
        s.sort = m.sort;
        s.natural = s.natural && m.value >= 0 && !signbit(m.value);
        s.positive = s.positive && m.value > 0;
        s.nonzero = s.nonzero && m.value != 0;
        most = fmax(most, fabs(m.value));
        if (count <= GG__MAX_VALUES) s.values[s.value_count++] = m.value;
    }
    if (s.sort == GG__SCALAR_INT) s.magnitude = most;
    if (s.sort == GG__SCALAR_FLOAT) s.largest = most;
    c->number = s;
    c->numbers = true;
    return count > 0 && most < 0x1p53;
}

static bool numbers_fit(const gg_rule_input *in, gg__choice *c) {
    if (!read_numbers(in, c)) return false;
    gg__replacement r = replacement(c);
    return gg__scalar_replace(in, &r, NULL, NULL);
}

static void edit_number(const gg_rule_input *in, const gg__choice *c, gg_str torch, gg_str index, gg_arena *arena,
                        gg_edits *edits) {
    gg__replacement r = replacement(c);
    if (!gg__scalar_replace(in, &r, arena, edits)) return;
    gg_str device = GG_STR_NULL;
    if (!gg__facts_on_cpu(in))
        device = gg_arena_printf(arena, ", device=%.*s.device", GG_STR_ARG(gg__operand_text(in, c->index, arena)));
    bool doubles = r.widening == GG__TO_DOUBLE && c->number.sort == GG__SCALAR_INT;
    gg_edits_add(edits, gg_node_span(c->subscript),
                 gg_arena_printf(arena, "%.*s.tensor(%.*s, dtype=%.*s.%s%.*s)[%.*s[None]][0]", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__text(in->tree, c->list)), GG_STR_ARG(torch),
                                 c->number.sort == GG__SCALAR_FLOAT || doubles ? "float64" : "int64",
                                 GG_STR_ARG(device), GG_STR_ARG(index)));
}

/* ---- either -------------------------------------------------------------------------------------------------------------- */

static bool tensors_fit(const gg_rule_input *in, gg__choice *c) {
    gg_str name = gg__text(in->tree, c->list);
    if (!gg_node_is(c->list, "identifier")) return false;
    c->display = display_of(in->tree, c->subscript, name);
    search s = {in->tree, c, name};
    return !ts_node_is_null(c->display) && gg__visit(gg__function(c->subscript), is_settled, &s) &&
           are_alike(in, c->display) && (lie_in_order(in, c->display) || !gg__strides_show(in, c->subscript));
}

bool gg__tensor_choice(const gg_rule_input *in, bool in_range, gg__choice *c) {
    TSNode at = gg_node_at(in->tree, in->span);
    if (!gg_str_is(in->site->id, "GB0124")) return false;
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    if (!gg_node_is(at, "subscript") || in->site->first == NULL || gg__child_count(at) != 2 ||
        !gg_node_is(gg__function(at), "function_definition"))
        return false;
    *c = (gg__choice){.subscript = at, .list = gg__field(at, "value")};
    if (!read_index(in, gg__field(at, "subscript"), c)) return false;
    c->display = gg__number_display(in, c->list);
    bool fits = ts_node_is_null(c->display) ? tensors_fit(in, c) : numbers_fit(in, c);
    return fits && is_there(in, c) == in_range && (in_range || !gg__is_watched(in->tree, gg__statement(at))) &&
           !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch") && !gg__is_target(at);
}

void gg__edit_choice(const gg_rule_input *in, const gg__choice *c, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, c->subscript, "torch", arena, edits);
    bool loose = gg__is_operator(c->index);
    gg_str index = gg_arena_printf(arena, "%s%.*s%s%s", loose ? "(" : "", GG_STR_ARG(gg__text(in->tree, c->index)),
                                   loose ? ")" : "", c->truth ? ".long()" : "");
    if (c->numbers) {
        edit_number(in, c, torch, index, arena, edits);
        return;
    }
    /* With one dimension, since Dynamo makes a number of an index without. */
    gg_edits_add(edits, gg_node_span(c->subscript),
                 gg_arena_printf(arena, "%.*s.stack(%.*s)[%.*s[None]][0]", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__text(in->tree, c->list)), GG_STR_ARG(index)));
}
