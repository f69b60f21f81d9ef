/* An element of a list of tensors, chosen by a tensor's value.  See choices.h. */
#include "repair/choices.h"

#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/ranges.h"
#include "repair/strides.h"

#include <math.h>
#include <stdio.h>

/* It is evaluated as before, where it may fail as before: `n[1]`. */
static bool read_index(const gg_rule_input *in, TSNode node, gg__choice *c) {
    gg__extraction e;
    c->index = node;
    if (gg__match_extraction_loosely(in, node, &e)) {
        if (e.truncates || e.truth || e.scalar.sort == GG__SCALAR_FLOAT) return false;
        c->index = e.value;
        c->cuts = e.cuts;
    }
    gg__meta m = gg__infer_loosely(in, c->index);
    c->truth = gg__is_bool(m.dtype);
    return m.sort == GG__TENSOR && m.rank == 0 && !m.vague &&
           (c->truth || gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"));
}

static TSNode element(TSNode display, uint32_t i) {
    TSNode child = gg__child(display, i);
    return gg_node_is(child, "pair") ? gg__field(child, "value") : child;
}

/* Are the keys of the dictionary the places of a list? */
static bool has_places(const gg_tree *tree, TSNode dictionary) {
    for (uint32_t i = 0; i < gg__child_count(dictionary); i++) {
        char place[16];
        snprintf(place, sizeof place, "%u", i);
        TSNode pair = gg__child(dictionary, i);
        if (!gg_node_is(pair, "pair") || !gg_str_is(gg__text(tree, gg__field(pair, "key")), place)) return false;
    }
    return true;
}

static bool is_dictionary(const gg__choice *c) {
    return gg_node_is(c->display, "dictionary");
}

/* Has a dictionary a value there?  It raises below zero, where a list counts from its end. */
static bool is_in_dictionary(const gg_rule_input *in, const gg__choice *c) {
    gg__range range;
    return has_places(in->tree, c->display) && gg__range_of(in, c->index, &range) && range.low >= 0;
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

static const char *const displays[] = {"list", "tuple", "dictionary"};

/* The list's assignment, which has run just once whenever the element is chosen. */
static TSNode display_of(const gg_tree *tree, TSNode use, gg_str name) {
    TSNode function = gg__function(use), none = {0};
    for (TSNode at = gg__statement(use); !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at)) {
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode assignment = gg__child(before, 0), right = gg__field(assignment, "right");
            if (gg_node_is(before, "expression_statement") && gg_node_is(assignment, "assignment") &&
                gg_str_equal(gg__text(tree, gg__field(assignment, "left")), name))
                return gg__is_one_of(gg_str_from(ts_node_type(right)), displays, GG_COUNT(displays)) ? right : none;
        }
    }
    return none;
}

/* May it run more than once in a call?  Then it is the same tensor each time, which rows of a stack are not. */
static bool is_repeated(TSNode use) {
    static const char *const types[] = {"for_statement", "while_statement", "lambda"};
    TSNode function = gg__function(use);
    for (TSNode at = use; !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        if (gg__is_comprehension(at) || gg__is_one_of(gg_str_from(ts_node_type(at)), types, GG_COUNT(types)))
            return true;
    return gg_node_is(function, "lambda");
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
    TSNode first = element(display, 0);
    gg__meta m = gg__infer(in, first);
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode other_element = element(display, i);
        gg__meta other = gg__infer(in, other_element);
        if (!gg__same_tensor(m, other) || other.layout.len || other.vague || !other.fresh || !other.smooth ||
            !same_sources(in, first, other_element))
            return false;
    }
    return gg__child_count(display) > 0;
}

/* A row of a stack lies in order. */
static bool lie_in_order(const gg_rule_input *in, TSNode display) {
    for (uint32_t i = 0; i < gg__child_count(display); i++)
        if (gg__lies(in, element(display, i)) != GG__IN_ORDER) return false;
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

/* Is the list written out where it is indexed, or held by a name that is used for nothing else? */
static bool find_display(const gg_rule_input *in, gg__choice *c) {
    TSNode list = gg__strip_parentheses(c->list);
    search s = {in->tree, c, gg__text(in->tree, c->list)};
    if (gg__is_one_of(gg_str_from(ts_node_type(list)), displays, GG_COUNT(displays))) {
        c->display = list;
        return ts_node_is_null(c->taken);
    }
    if (!gg_node_is(c->list, "identifier")) return false;
    c->display = display_of(in->tree, c->subscript, s.name);
    return !ts_node_is_null(c->display) && gg__visit(gg__function(c->subscript), is_settled, &s);
}

static bool tensors_fit(const gg_rule_input *in, gg__choice *c) {
    if (is_repeated(c->subscript) || !find_display(in, c)) return false;
    return are_alike(in, c->display) && (!is_dictionary(c) || is_in_dictionary(in, c)) &&
           (lie_in_order(in, c->display) || !gg__strides_show(in, c->subscript));
}

typedef struct only_use {
    TSNode node;
    uint32_t count;
} only_use;

static bool note_use(TSNode node, void *data) {
    only_use *u = data;
    u->node = node;
    return ++u->count == 1;
}

/* `i = n.item()`, and behind it `l[i]`, in the same block, as the only use of i; l was made before. */
static bool find_named(const gg_rule_input *in, TSNode call, gg__choice *c) {
    TSNode assignment = gg__parent(call), name = gg__field(assignment, "left"), statement = gg__statement(call);
    only_use u = {.count = 0};
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(name, "identifier") ||
        !ts_node_is_null(gg__field(assignment, "type")) || !ts_node_eq(gg__only_value(in->tree, name), call) ||
        !gg__each_use(in->tree, name, note_use, &u) || u.count != 1)
        return false;
    TSNode at = gg__parent(u.node), use = gg__statement(at);
    *c = (gg__choice){.subscript = at, .list = gg__field(at, "value"), .taken = call};
    if (!gg_node_is(at, "subscript") || !ts_node_eq(gg__field(at, "subscript"), u.node) || gg__child_count(at) != 2 ||
        !ts_node_eq(gg__parent(use), gg__parent(statement)) || ts_node_start_byte(use) < ts_node_end_byte(statement) ||
        gg__has_comment(in->tree, gg_node_span(call)) || !read_index(in, call, c) || ts_node_eq(c->index, call) ||
        !tensors_fit(in, c))
        return false;
    return ts_node_end_byte(c->display) <= ts_node_start_byte(statement);
}

static bool find_subscript(const gg_rule_input *in, TSNode at, gg__choice *c) {
    *c = (gg__choice){.subscript = at, .list = gg__field(at, "value")};
    if (gg__child_count(at) != 2 || !read_index(in, gg__field(at, "subscript"), c)) return false;
    c->display = gg__number_display(in, c->list);
    if (!ts_node_is_null(c->display)) return numbers_fit(in, c);
    bool number = !ts_node_eq(c->index, gg__field(at, "subscript"));
    return tensors_fit(in, c) && (number || !is_dictionary(c)); /* a tensor is no key */
}

bool gg__tensor_choice(const gg_rule_input *in, bool in_range, gg__choice *c) {
    TSNode asked = gg__strip_parentheses(gg_node_at(in->tree, in->span)), at = asked;
    if (!gg_str_is(in->site->id, "GB0124") || in->site->first == NULL) return false;
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    if (!gg_node_is(gg__function(asked), "function_definition") ||
        !(gg_node_is(at, "subscript") ? find_subscript(in, at, c) : find_named(in, asked, c)))
        return false;
    at = c->subscript;
    return is_there(in, c) == in_range && (in_range || !gg__is_watched(in->tree, gg__statement(at))) &&
           !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch") && !gg__is_target(at);
}

/* The tensor itself; its memory may be another's, which may be changed until it is read. */
static void edit_taken(const gg_rule_input *in, const gg__choice *c, gg_arena *arena, gg_edits *edits) {
    if (ts_node_is_null(c->taken)) return;
    bool fresh = gg__infer_loosely(in, c->index).fresh;
    gg_str value = fresh ? gg__text(in->tree, gg__strip_parentheses(c->index)) : gg__operand_text(in, c->index, arena);
    gg_edits_add(edits, gg_node_span(c->taken),
                 gg_arena_printf(arena, "%.*s%s", GG_STR_ARG(value), fresh ? "" : ".clone()"));
}

void gg__edit_choice(const gg_rule_input *in, const gg__choice *c, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, c->subscript, "torch", arena, edits);
    TSNode by = ts_node_is_null(c->taken) ? c->index : gg__field(c->subscript, "subscript");
    bool loose = gg__is_operator(by), values = is_dictionary(c);
    gg_str index = gg_arena_printf(arena, "%s%.*s%s%s", loose ? "(" : "", GG_STR_ARG(gg__text(in->tree, by)),
                                   loose ? ")" : "", c->truth || c->cuts ? ".long()" : "");
    if (c->numbers) {
        edit_number(in, c, torch, index, arena, edits);
        return;
    }
    edit_taken(in, c, arena, edits);
    /* With one dimension, since Dynamo makes a number of an index without. */
    gg_edits_add(edits, gg_node_span(c->subscript),
                 gg_arena_printf(arena, "%.*s.stack(%s%.*s%s)[%.*s[None]][0]", GG_STR_ARG(torch), values ? "[*" : "",
                                 GG_STR_ARG(gg__text(in->tree, c->list)), values ? ".values()]" : "",
                                 GG_STR_ARG(index)));
}
