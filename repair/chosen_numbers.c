/* Numbers of Python's that a tensor decides about, as tensors: constants, and counts.  See select.h.
 *
 * DESIGN  What reads them behind the branch has to be fine with a tensor (scalar.h), so that is asked when the selections are written: by then what the
 * other names hold there is known. */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

enum { MOST_DIGITS = 6 };                  /* of what a count begins with, and of its steps */
static const double most_counted = 0x1p48; /* no loop comes there */

static bool is_single(gg__meta number) {
    return (double)(float)number.value == number.value;
}

static bool is_constant(gg__meta m) {
    return (m.sort == GG__SCALAR_FLOAT || m.sort == GG__SCALAR_INT) && m.constant && isfinite(m.value);
}

TSNode gg__given_before(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode value = gg__value_among(tree, statement, name), from = gg__statement(value), none = {0};
    bool typed = !ts_node_is_null(gg__field(gg__child(from, 0), "type"));
    return !typed && ts_node_eq(gg__parent(from), gg__parent(statement)) ? value : none;
}

/* ---- constants ---------------------------------------------------------------------------------------------------------------- */

static gg__scalar scalar_of(gg__meta m) {
    return (gg__scalar){.sort = m.sort,
                        .magnitude = fabs(m.value),
                        .natural = m.natural,
                        .positive = m.value > 0,
                        .values = {m.value},
                        .value_count = 1};
}

static bool add_values(gg__scalar *s, const gg__scalar *more) {
    if (s->sort != more->sort || s->value_count + more->value_count > GG__MAX_VALUES) return false;
    s->magnitude = fmax(s->magnitude, more->magnitude);
    s->natural = s->natural && more->natural;
    s->positive = s->positive && more->positive;
    for (size_t i = 0; i < more->value_count; i++) s->values[s->value_count++] = more->values[i];
    return true;
}

static void name_dtype(gg__replacement *r, bool wide) {
    r->dtype = r->scalar.sort == GG__SCALAR_INT ? GG_STR("torch.int64")
               : wide                           ? GG_STR("torch.float64")
                                                : GG_STR("torch.float32");
}

bool gg__of_constants(gg__meta a, gg__meta b, gg__replacement *r, bool *wide) {
    if (!is_constant(a) || !is_constant(b)) return false;
    gg__scalar other = scalar_of(b);
    r->scalar = scalar_of(a);
    if (!add_values(&r->scalar, &other)) return false;
    bool single = is_single(a) && is_single(b);
    *wide = !single && a.sort == GG__SCALAR_FLOAT;
    name_dtype(r, *wide);
    return single || *wide;
}

gg_str gg__wide_text(gg_str torch, gg_str text, gg_arena *arena) {
    return gg_arena_printf(arena, "%.*s.tensor(%.*s, dtype=%.*s.float64)", GG_STR_ARG(torch), GG_STR_ARG(text),
                           GG_STR_ARG(torch));
}

/* What an arm leaves the name: a constant, also from in front of the branch, or numbers that were chosen in it. */
static bool value_of(const gg__select *s, const gg__binding *b, gg__scalar *out, bool *single, bool *wide) {
    gg__meta m = b->meta;
    *single = true;
    *wide = false;
    if (b->number) {
        *out = b->number->scalar;
        *wide = gg_str_is(b->number->dtype, "torch.float64");
        return b->number->scalar.value_count > 0;
    }
    if (gg_str_equal(b->text, b->name)) m = gg__infer(s->in, gg__given_before(s->in->tree, s->statement, b->name));
    *out = scalar_of(m);
    *single = is_single(m) || m.sort == GG__SCALAR_INT;
    return is_constant(m) && (is_single(m) || m.sort == GG__SCALAR_FLOAT);
}

static bool choose_constants(gg__select *s, gg__test test, const gg__binding *a, const gg__binding *b,
                             gg__binding *out) {
    gg__scalar x, y;
    bool x_single, y_single, x_wide, y_wide;
    if (!value_of(s, a, &x, &x_single, &x_wide) || !value_of(s, b, &y, &y_single, &y_wide) || !add_values(&x, &y))
        return false;
    bool wide = !x_single || !y_single || x_wide || y_wide;
    if (wide && ((a->number && !x_wide) || (b->number && !y_wide))) return false; /* rounded already */
    bool widens = wide && !x_wide && !y_wide;
    out->number->scalar = x;
    name_dtype(out->number, wide);
    out->text = gg__where(s, test, widens ? gg__wide_text(s->torch, a->text, s->arena) : a->text, b->text);
    return true;
}

/* ---- counts ------------------------------------------------------------------------------------------------------------------- */

typedef struct counting {
    const gg_tree *tree;
    TSNode statement, first; /* first: the binding in front of it */
    gg_str name;
    uint32_t firsts;
} counting;

/* `n = 0`, once, in front of the branch, and `n += 1` in it: nothing else binds the name. */
static bool counts(TSNode node, void *data) {
    counting *c = data;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node) || !gg_str_equal(gg__text(c->tree, node), c->name))
        return true;
    TSNode assignment = gg__parent(node), right = gg__field(assignment, "right");
    if (!gg_node_is(right, "integer") || gg__text(c->tree, right).len > MOST_DIGITS) return false;
    if (gg_node_is(assignment, "augmented_assignment"))
        return gg__covers(c->statement, gg_node_span(node)) &&
               gg_str_is(gg__text(c->tree, gg__field(assignment, "operator")), "+=");
    c->first = right;
    return ts_node_eq(gg__assigned(node), assignment) && c->firsts++ == 0 &&
           ts_node_end_byte(assignment) <= ts_node_start_byte(c->statement);
}

static bool choose_counts(gg__select *s, gg__test test, const gg__binding *a, const gg__binding *b, gg__binding *out) {
    counting c = {.tree = s->in->tree, .statement = s->statement, .name = out->name};
    gg__test other = {.text = test.text, .negated = !test.negated, .atom = test.atom, .loose = test.loose};
    const gg__binding *more = gg_str_equal(a->text, a->name) ? b : a, *same = more == a ? b : a;
    gg_str start = gg_arena_printf(s->arena, "%.*s + ", GG_STR_ARG(out->name));
    if (a->meta.sort != GG__SCALAR_INT || b->meta.sort != GG__SCALAR_INT || !gg_str_equal(same->text, same->name) ||
        !gg_str_starts_with(more->text, start) || !gg__visit(gg__function(s->statement), counts, &c) || c.firsts != 1)
        return false;
    out->number->scalar = (gg__scalar){.sort = GG__SCALAR_INT,
                                       .counted = true,
                                       .magnitude = most_counted,
                                       .largest = most_counted,
                                       .finite = true,
                                       .natural = true};
    out->number->inside = true;
    out->number->first = c.first;
    name_dtype(out->number, false);
    out->text = gg__where(s, more == a ? test : other, more->text, same->text);
    return true;
}

bool gg__choose_number(gg__select *s, gg__test test, const gg__binding *a, const gg__binding *b, gg__binding *out) {
    gg__replacement *r = GG_ARENA_NEW(s->arena, gg__replacement);
    *r = (gg__replacement){0};
    *out = (gg__binding){.name = a->name, .number = r, .pending = true, .reads = a->reads & b->reads};
    return choose_constants(s, test, a, b, out) || choose_counts(s, test, a, b, out);
}

/* ---- what reads them -------------------------------------------------------------------------------------------------------------- */

/* The assignment of the name in the branch: where it is tracked from. */
typedef struct binding_search {
    const gg_tree *tree;
    gg_str name;
    TSNode found;
} binding_search;

static bool is_not_bound(TSNode node, void *data) {
    binding_search *search = data;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node) ||
        !gg_str_equal(gg__text(search->tree, node), search->name))
        return true;
    search->found = node;
    return false;
}

bool gg__fits_number(const gg__select *s, const gg__arm *arm, const gg__binding *b, bool always) {
    gg__replacement *r = b->number;
    binding_search search = {.tree = s->in->tree, .name = b->name};
    gg__known_name *known = gg_arena_calloc(s->arena, arm->count, sizeof(*known));
    if (s->skips || gg__visit(s->statement, is_not_bound, &search)) return false;
    r->node = s->statement;
    r->name = search.found;
    r->known = known;
    for (size_t i = 0; i < arm->count; i++) {
        const gg__binding *other = &arm->items[i];
        gg__meta m = other->number ? (gg__meta){.sort = other->number->scalar.sort} : other->meta;
        if (other != b) known[r->known_count++] = (gg__known_name){other->name, m};
    }
    r->widening = GG__AS_IS;
    if (!gg__scalar_replace(s->in, r, s->arena, NULL)) return false;
    return !r->rewrites || (always && (ts_node_is_null(r->first) || gg__facts_on_cpu(s->in)));
}

gg_str gg__number_text(const gg__select *s, const gg__binding *b) {
    bool widens = b->number->widening == GG__TO_DOUBLE && !gg_str_is(b->number->dtype, "torch.float64");
    return widens ? gg_arena_printf(s->arena, "%.*s.double()", GG_STR_ARG(b->text)) : b->text;
}

void gg__edit_numbers(const gg_rule_input *in, const gg__branch *branch, gg_str torch, gg_arena *arena, gg_edits *out) {
    for (size_t i = 0; i < branch->number_count; i++) {
        gg__replacement r = *branch->numbers[i];
        r.widening = GG__AS_IS;
        if (!gg__scalar_replace(in, &r, arena, out) || !r.rewrites || ts_node_is_null(r.first)) continue;
        gg_edits_add(
            out, gg_node_span(r.first),
            gg_arena_printf(arena, "%.*s.tensor(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(gg__text(in->tree, r.first))));
    }
}
