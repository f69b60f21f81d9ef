/* Elements of a tensor at a place that tensors without dimensions tell.  See indexed.h. */
#include "repair/indexed.h"

#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/ranges.h"
#include "repair/scalar.h"

/* ---- which indices there are ------------------------------------------------------------------------------------------------ */

static bool is_plain_slice(const gg_rule_input *in, TSNode slice) {
    for (uint32_t i = 0; i < gg__child_count(slice); i++)
        if (gg__infer_loosely(in, gg__child(slice, i)).sort != GG__SCALAR_INT) return false;
    return true;
}

typedef enum index_kind { OTHER, SLICE, NUMBER, PLACE, ROWS } index_kind;

static index_kind kind_of(const gg_rule_input *in, TSNode index) {
    if (gg_node_is(index, "none") || gg_node_is(index, "ellipsis")) return SLICE;
    if (gg_node_is(index, "slice")) return is_plain_slice(in, index) ? SLICE : OTHER;
    gg__meta m = gg__infer_loosely(in, index);
    if (m.sort == GG__SCALAR_INT || (gg_node_is(index, "identifier") && gg__is_counter(in->tree, index))) return NUMBER;
    if (m.sort != GG__TENSOR || (!gg_str_is(m.dtype, "torch.int64") && !gg_str_is(m.dtype, "torch.int32")))
        return OTHER;
    return m.rank == 0 ? PLACE : ROWS;
}

/* What is stored there; null where it is read. */
static TSNode stored_at(TSNode node) {
    TSNode parent = gg__parent(node);
    bool assigned = gg_node_is(parent, "assignment") || gg_node_is(parent, "augmented_assignment");
    return assigned && ts_node_eq(gg__field(parent, "left"), node) ? gg__field(parent, "right") : (TSNode){0};
}

/* A number; or, where the dimension that the edit brings comes first, a tensor that broadcasts as before, of the dtype and certainly of other memory,
 * since torch asks for both where elements are chosen. */
static bool may_be_stored(const gg_rule_input *in, const gg__indexed *x, gg__meta to, TSNode value) {
    gg__meta m = gg__infer_loosely(in, value);
    if (to.layout.len || !gg_node_is(gg__parent(gg__parent(x->subscript)), "expression_statement")) return false;
    if (m.sort != GG__TENSOR) return m.sort != GG__UNKNOWN;
    return gg_str_equal(m.dtype, to.dtype) && !m.vague && !to.vague && m.fresh && (m.rank == 0 || x->dim == 0);
}

/* Is no name in it a comprehension's own, which facts are not about? */
static bool is_of_the_function(TSNode node, void *data) {
    const gg_rule_input *in = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(in->tree, node);
    TSNode function = gg__function(node);
    for (TSNode at = gg__parent(node); !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at)) {
        for (uint32_t i = 0; gg__is_comprehension(at) && i < gg__child_count(at); i++)
            if (gg__binds(in->tree, gg__field(gg__child(at, i), "left"), name)) return false;
    }
    return true;
}

static bool match_indexed(const gg_rule_input *in, TSNode subscript, TSNode number, gg__indexed *out) {
    TSNode indices[GG__MAX_RANK];
    uint32_t count = gg_node_is(subscript, "subscript") ? gg__indices_of(subscript, indices, GG__MAX_RANK) : 0;
    *out = (gg__indexed){.subscript = subscript, .value = gg__field(subscript, "value")};
    gg__meta x = gg__infer_loosely(in, out->value);
    int32_t used = 0, slices = 0, behind = 0;
    bool rest = false, rest_before = false, apart = false;
    for (uint32_t i = 0; i < count; i++) {
        index_kind kind = !ts_node_is_null(number) && ts_node_eq(indices[i], number) ? PLACE : kind_of(in, indices[i]);
        bool known =
            kind == NUMBER || ts_node_eq(indices[i], number) || gg__visit(indices[i], is_of_the_function, (void *)in);
        if (kind == OTHER || !known || (gg_node_is(indices[i], "ellipsis") && rest)) return false;
        rest = rest || gg_node_is(indices[i], "ellipsis");
        used += !gg_node_is(indices[i], "ellipsis") && !gg_node_is(indices[i], "none");
        bool chosen = kind == PLACE || kind == ROWS, first = out->place_count == 0 && !out->rows;
        if (kind == SLICE) first ? slices++ : behind++;
        if (chosen && !first && behind) apart = true; /* torch would put the dimension in front */
        if (chosen && first) rest_before = rest;
        if (kind == PLACE) out->places[out->place_count++] = indices[i];
        out->rows = out->rows || kind == ROWS;
    }
    TSNode stored = stored_at(subscript);
    out->stores = !ts_node_is_null(stored);
    out->dim = rest_before ? -1 - behind : slices;
    return count > 0 && out->place_count > 0 && gg__visit(out->value, is_of_the_function, (void *)in) && !apart &&
           x.sort == GG__TENSOR && x.rank >= used &&
           (out->stores ? may_be_stored(in, out, x, stored) : !gg__is_target(subscript)) &&
           !gg__has_comment(in->tree, gg_node_span(subscript));
}

/* ---- a copy in place of a view ------------------------------------------------------------------------------------------------ */

static bool may_be_copied(const gg_rule_input *in, const gg__indexed *x) {
    if (x->rows || x->stores || gg__is_consumed(in, x->subscript) || gg__is_gathered(in, x->subscript)) return true;
    TSNode node = x->subscript, parent = gg__parent(node), statement = gg__statement(node);
    TSNode left = gg__field(parent, "left");
    if (gg_node_is(parent, "return_statement"))
        return !gg__returned_alias_shows(in, statement, node) && !gg__is_copy(in, statement, node, GG_STR_NULL);
    if (!gg_node_is(parent, "assignment") || !gg_node_is(left, "identifier") ||
        !gg_node_is(gg__parent(parent), "expression_statement"))
        return false;
    gg_str name = gg__text(in->tree, left);
    return !gg__alias_shows(in, statement, node, name) && !gg__is_copy(in, statement, node, name);
}

/* ---- places that are there ---------------------------------------------------------------------------------------------------- */

/* The tensor whose largest or smallest element's place it is: `E.argmax()`, `torch.argmin(E)`. */
static TSNode searched(const gg_tree *tree, TSNode place) { /* also where its number is taken out */
    TSNode function = gg__field(place, "function"), object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (gg_str_is(name, "item") && gg_node_is(object, "call")) return searched(tree, object);
    if (!gg_node_is(place, "call") || (!gg_str_is(name, "argmax") && !gg_str_is(name, "argmin"))) return (TSNode){0};
    return gg_str_equal(gg__text(tree, object), gg__module_alias(tree, place, "torch"))
               ? gg__child(gg__field(place, "arguments"), 0)
               : object;
}

/* The break's facts, with a size that no tensor has where `name` has its dimension: what has that size, has it from there. */
static bool has_the_size(const gg_rule_input *in, gg_str name, int32_t dim, TSNode node) {
    enum { SIZE = 1000003 };
    static const int64_t primes[GG__MAX_RANK] = {2, 3, 5, 7, 11, 13, 17, 19}; /* what is flattened has another size */
    const gg_break *first = in->site->first;
    gg_fact facts[GG__MAX_FACTS];
    int64_t shape[GG__MAX_RANK];
    bool found = false;
    if (first == NULL || first->fact_count > GG__MAX_FACTS) return false;
    for (size_t i = 0; i < first->fact_count; i++) {
        facts[i] = first->facts[i];
        if (!gg_str_equal(facts[i].name, name)) {
            if (facts[i].kind == GG_VALUE_TENSOR && gg__reads_path(in->tree, node, facts[i].name))
                return false; /* its size may be the larger one */
            continue;
        }
        if (facts[i].kind != GG_VALUE_TENSOR || facts[i].rank > GG__MAX_RANK || dim >= facts[i].rank) return false;
        for (int32_t d = 0; d < facts[i].rank; d++) shape[d] = d == dim ? SIZE : primes[d];
        facts[i].shape = shape;
        found = true;
    }
    gg_break record = *first;
    gg_site site = *in->site;
    record.facts = facts;
    site.first = &record;
    gg_rule_input other = {.tree = in->tree, .site = &site, .span = in->span};
    gg__meta m = gg__infer_loosely(&other, node);
    return found && m.sort == GG__TENSOR && m.rank == 1 && m.shape[0] == SIZE;
}

static bool is_place_there(const gg_rule_input *in, const gg__indexed *x) {
    TSNode place = gg__strip_parentheses(x->places[0]);
    gg_str name = gg__text(in->tree, x->value);
    if (x->place_count != 1 || x->rows || x->dim < 0 || !gg_node_is(x->value, "identifier")) return false;
    if (gg_node_is(place, "identifier")) place = gg__undisturbed_value(in, place);
    TSNode of = ts_node_is_null(place) ? place : searched(in->tree, place);
    if (gg_node_is(of, "identifier") && !gg_str_equal(gg__text(in->tree, of), name)) of = gg__undisturbed_value(in, of);
    return !ts_node_is_null(of) && has_the_size(in, name, x->dim, of);
}

bool gg__indexed_at_site(const gg_rule_input *in, bool there, gg__indexed *out) {
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "subscript");
    return gg_str_is(in->site->id, "GB0033") && in->site->first && match_indexed(in, at, (TSNode){0}, out) &&
           (there || !gg__is_watched(in->tree, gg__statement(at))) && may_be_copied(in, out) &&
           is_place_there(in, out) == there;
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------------ */

/* In front of what else goes there: what is inside comes later, and ends first. */
static void insert(gg_edits *edits, uint32_t at, gg_str text, gg_arena *arena) {
    for (size_t i = 0; i < edits->list.len; i++) {
        gg_edit *edit = &edits->list.items[i];
        if (edit->span.start != at || edit->span.end != at) continue;
        edit->text = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(text), GG_STR_ARG(edit->text));
        return;
    }
    gg_edits_add(edits, (gg_span){at, at}, text);
}

static void edit_one(const gg__indexed *x, gg_arena *arena, gg_edits *edits) {
    for (size_t i = 0; i < x->place_count; i++) {
        bool loose = gg__is_operator(x->places[i]);
        gg_span span = gg_node_span(x->places[i]);
        if (loose) insert(edits, span.start, GG_STR("("), arena);
        insert(edits, span.end, loose ? GG_STR(")[None]") : GG_STR("[None]"), arena);
    }
    if (x->rows || x->stores) return;
    insert(edits, ts_node_end_byte(x->subscript),
           x->dim == 0 ? GG_STR("[0]") : gg_arena_printf(arena, ".squeeze(%d)", (int)x->dim), arena);
}

typedef struct editing {
    const gg_rule_input *in;
    TSNode function;
    bool there;
    gg_arena *arena;
    gg_edits *edits;
} editing;

static bool edit_each(TSNode node, void *data) {
    const editing *e = data;
    gg__indexed x;
    if (!ts_node_eq(gg__function(node), e->function)) return true; /* a lambda's names are others */
    if (!match_indexed(e->in, node, (TSNode){0}, &x) || !may_be_copied(e->in, &x)) return true;
    if (!e->there || is_place_there(e->in, &x)) edit_one(&x, e->arena, e->edits);
    return true;
}

void gg__edit_indexed(const gg_rule_input *in, const gg__indexed *x, bool there, gg_arena *arena, gg_edits *edits) {
    editing e = {in, gg__function(x->subscript), there, arena, edits};
    TSNode whole = x->subscript, parent = gg__parent(whole);
    while (!gg_str_ends_with(gg_str_from(ts_node_type(parent)), GG_STR("_statement")) && !gg_node_is(parent, "block") &&
           !gg_node_is(parent, "lambda") && !gg__is_comprehension(parent)) {
        whole = parent;
        parent = gg__parent(whole);
    }
    gg__visit(whole, edit_each, &e);
}

bool gg__scalar_in_index(gg__scalar_uses *u, TSNode subscript, TSNode node, gg__scalar s) {
    bool whole = gg_str_is(u->dtype, "torch.int64") || gg_str_is(u->dtype, "torch.int32");
    gg__indexed x;
    if (s.sort != GG__SCALAR_INT || ts_node_eq(gg__field(subscript, "value"), node)) return false;
    if (!whole) gg__scalar_want(u, GG__TO_LONG);
    if (u->settled && u->widening != GG__TO_LONG && (!whole || u->widening != GG__AS_IS)) return false;
    if (!match_indexed(&u->in, subscript, node, &x) || !may_be_copied(&u->in, &x) ||
        (u->indexes ? gg__is_watched(u->in.tree, gg__statement(node)) : !is_place_there(&u->in, &x)))
        return false;
    u->count++;
    u->at_once = u->at_once || ts_node_eq(node, u->taken);
    if (u->edits) edit_one(&x, u->arena, u->edits);
    return true;
}
