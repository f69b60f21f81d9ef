/* gg_predict() and gg_predictor: which pieces a file has, which of them an edit leaves as they were, and what they find together.
 *
 * DESIGN  A piece is what one walk from outside finds: of the inputs that are declared, or of one class or function of which none are.  It keeps what it
 * found, with places counted in units (units.h), and what it rests on (uses.h).  The module's own statements are walked at each run, since all
 * that is known of a file's names is bound to its tree; they are few, and nothing is found in them.
 * A piece has a budget of steps, and all of them together: what a piece found within its budget holds for any budget as large. */
#include <stdlib.h>

#include "analysis/predict/pieces.h"

struct gg_predictions {
    gg_prediction_list list;
    gg__facts **held;
    size_t held_count;
};

static bool is_covered(const gg__run *r, TSNode node) {
    for (size_t i = 0; i < r->covered.len; i++)
        if (r->covered.items[i] == ts_node_start_byte(node)) return true;
    return false;
}

/* What the module's names stand for, in the order they came up. */
static gg__source named(const gg__run *r, uint32_t i, uint64_t kind) {
    const gg__binding *binding = &r->walk.module->items[i];
    return (gg__source){
        .key = gg__mix(gg__print_of(binding->name), kind), .name = binding->name, .value = binding->value};
}

static void take_undeclared(gg__run *r, gg__kind kind) {
    for (uint32_t i = 0; i < r->walk.module->len; i++) {
        gg__source of = named(r, i, kind);
        of.walk = gg__walk_undeclared;
        if (of.value.kind == kind && !is_covered(r, of.value.node)) gg__take_piece(r, &of);
    }
}

static bool knows_torch(const gg__scope *module) {
    for (uint32_t i = 0; i < module->len; i++) {
        const gg__value *value = &module->items[i].value;
        if (value->kind == GG__DOTTED && gg_str_starts_with(value->path, GG_STR("torch"))) return true;
    }
    return false;
}

/* Which of a class's methods the entries go into. */
static uint64_t print_of_reached(const gg__run *r, TSNode definition) {
    const gg__statement *statements;
    (void)gg__units_statements(r->uses.units, &statements);
    uint32_t unit = gg__units_at(r->uses.units, ts_node_start_byte(definition));
    if (unit == UINT32_MAX) return 0;
    const gg__statement *s = &statements[gg__units_get(r->uses.units, unit)->statement];
    return gg__print_of((gg_str){(const char *)&r->uses.reached[s->first], s->count * sizeof(bool)});
}

static void take_uncalled(gg__run *r) {
    for (uint32_t i = 0; i < r->walk.module->len; i++) {
        gg__source of = named(r, i, GG__OTHER);
        of.walk = gg__walk_uncalled;
        bool function = of.value.kind == GG__FUNCTION && gg__node_of(of.value.node) == GG__NODE_function_definition;
        if (of.value.kind == GG__CLASS) of.circumstances = print_of_reached(r, of.value.node);
        if (of.value.kind == GG__CLASS || (function && !gg__is_reached(&r->uses, of.value.node)))
            gg__take_piece(r, &of);
    }
}

static void take_unused_compile(gg__run *r) {
    const gg__statement *statements;
    uint32_t count = gg__units_statements(r->uses.units, &statements);
    for (uint32_t i = 0; i < count; i++) {
        const gg__statement *s = &statements[i];
        if (!s->compiles) continue;
        gg__source of = {.key = gg__mix(gg__units_get(r->uses.units, s->first)->key, GG__RULE_UNUSED_COMPILE),
                         .walk = gg__walk_unused_compile,
                         .value = {.node = s->node}};
        for (uint32_t k = 0; k < s->count; k++)
            of.circumstances = gg__mix(of.circumstances, gg__units_get(r->uses.units, s->first + k)->print);
        gg__take_piece(r, &of);
    }
}

static void take_pieces(gg__run *r) {
    r->walk.memo = &r->memo;
    static void (*const declared[])(gg__walk *w, gg__definitions *covered) = {gg__walk_yielded, gg__walk_get_inputs,
                                                                              gg__walk_testcases};
    for (size_t i = 0; i < GG_COUNT(declared); i++) {
        gg__source of = {.key = i + 1, .declared = declared[i]};
        gg__take_piece(r, &of);
    }
    take_undeclared(r, GG__CLASS);
    take_undeclared(r, GG__FUNCTION);
    if (!knows_torch(r->walk.module)) return;
    take_uncalled(r);
    take_unused_compile(r);
}

/* What the module's statements, one after the other, make of its names. */
static void walk_module(gg__run *r) {
    gg__walk *w = &r->walk;
    const gg__statement *statements;
    uint32_t count = gg__units_statements(r->uses.units, &statements);
    w->quiet++;
    w->max_steps = GG__MAX_STEPS;
    gg__flow flow = GG__FALLS;
    for (uint32_t i = 0; i < count && flow == GG__FALLS; i++) {
        const gg__statement *s = &statements[i];
        gg__begin_statement(w, s->first);
        if (s->defines.end) /* most do: read from the text, since each node of a large tree is far from the last */
            gg__define(w, s->node, gg_text_slice(gg_tree_text(w->tree), s->defines));
        else
            flow = gg__walk_statement(w, s->node);
        gg__end_statement(w);
    }
    w->quiet--;
    for (uint32_t i = 0; i < gg__units_count(r->uses.units); i++) r->uses.reached[i] = r->uses.touched_in[i] > 0;
    if (w->steps > w->max_steps) r->uses.entanglement = ++r->predictor->serial; /* what it left out, no print tells */
}

static int by_place(const void *a, const void *b) {
    const gg_prediction *x = a, *y = b;
    if (x->span.start != y->span.start) return x->span.start < y->span.start ? -1 : 1;
    if (x->span.end != y->span.end) return x->span.end < y->span.end ? -1 : 1;
    int order = x->rule.ptr == y->rule.ptr ? 0 : gg_str_compare(x->rule, y->rule);
    if (order) return order;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* In order of place, and what two pieces found once: certain, if it was to either. */
static void sort_found(gg__run *r) {
    gg_prediction *items = r->found.items;
    size_t len = r->found.len, out = 0;
    bool sorted = true;
    for (size_t i = 1; i < len && sorted; i++) sorted = by_place(&items[i - 1], &items[i]) < 0;
    if (!sorted) qsort(items, len, sizeof(gg_prediction), by_place);
    for (size_t i = 0; i < len; i++) {
        gg_prediction *last = out ? &items[out - 1] : NULL;
        if (last == NULL || last->span.start != items[i].span.start || last->span.end != items[i].span.end ||
            !gg_str_equal(last->rule, items[i].rule)) {
            items[out++] = items[i];
            continue;
        }
        bool in_loop = last->in_loop || items[i].in_loop;
        if (items[i].certain && !last->certain) *last = items[i];
        last->in_loop = in_loop;
    }
    r->found.len = out;
}

static gg_predictions *list_of(gg__run *r) {
    gg_predictor *predictor = r->predictor;
    gg_predictions *out = gg_calloc(1, sizeof(gg_predictions));
    sort_found(r);
    out->list = (gg_prediction_list){r->found.items, r->found.len};
    out->held = gg_calloc(predictor->pieces.len, sizeof(gg__facts *));
    for (size_t i = 0; i < predictor->pieces.len; i++) {
        gg__facts *f = predictor->pieces.items[i].facts;
        if (f == NULL) continue;
        atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
        out->held[out->held_count++] = f;
    }
    return out;
}

gg_predictions *gg_predictor_run(gg_predictor *predictor, const gg_tree *tree) {
    gg__run r = {.predictor = predictor, .before = predictor->pieces, .steps_left = GG__MAX_STEPS_IN_ALL};
    gg__units *units = gg__units_new(tree, predictor->units);
    gg__uses_init(&r.uses, units);
    r.memo.arena = gg_arena_new();
    r.resolved = gg_calloc(gg__units_count(units) + 1, sizeof(uint32_t));
    predictor->pieces = (gg__pieces){0};
    predictor->walked = predictor->steps = 0;
    gg__walk *w = &r.walk;
    *w = (gg__walk){.tree = tree, .arena = gg_arena_new(), .syntax = &r.syntax, .uses = &r.uses};
    w->module = gg__scope_new(w, NULL);
    w->module->of_module = true;
    gg__frame frame = {.scope = w->module, .definition = gg_tree_root(tree)};
    w->frame = &frame;
    walk_module(&r);
    frame.returns_if = frame.skips_if = GG_STR_NULL;
    frame.scope = w->module;
    take_pieces(&r);
    predictor->steps += w->compared;
    gg_predictions *out = list_of(&r);
    gg_arena_free(w->arena);
    gg__memo_clear(&r.memo);
    gg__syntax_clear(&r.syntax);
    gg_list_clear(&w->found);
    gg_list_clear(&r.here);
    gg_list_clear(&r.places);
    gg_list_clear(&r.covered);
    gg_free(r.resolved);
    gg__uses_clear(&r.uses);
    for (size_t i = 0; i < r.before.len; i++) gg__piece_clear(&r.before.items[i]);
    gg_list_clear(&r.before);
    gg__units_free(predictor->units);
    predictor->units = units;
    return out;
}

void gg_predictions_free(gg_predictions *predictions) {
    if (predictions == NULL) return;
    for (size_t i = 0; i < predictions->held_count; i++) gg__facts_unref(predictions->held[i]);
    gg_free(predictions->held);
    gg_free(predictions->list.items);
    gg_free(predictions);
}

gg_prediction_list gg_predictions_list(const gg_predictions *predictions) {
    return predictions ? predictions->list : (gg_prediction_list){0};
}

gg_predictor *gg_predictor_new(void) {
    return gg_calloc(1, sizeof(gg_predictor));
}

void gg_predictor_free(gg_predictor *predictor) {
    if (predictor == NULL) return;
    for (size_t i = 0; i < predictor->pieces.len; i++) gg__piece_clear(&predictor->pieces.items[i]);
    gg_list_clear(&predictor->pieces);
    gg__units_free(predictor->units);
    gg_free(predictor);
}

size_t gg_predictor_walked(const gg_predictor *predictor) {
    return predictor->walked;
}

size_t gg_predictor_steps(const gg_predictor *predictor) {
    return predictor->steps;
}

gg_prediction_list gg_predict(const gg_tree *tree, gg_arena *arena) {
    gg_predictor *predictor = gg_predictor_new();
    gg_predictions *found = gg_predictor_run(predictor, tree);
    gg_prediction_list out = {.items = GG_ARENA_ARRAY(arena, gg_prediction, found->list.len + 1),
                              .len = found->list.len};
    for (size_t i = 0; i < out.len; i++) {
        out.items[i] = found->list.items[i];
        out.items[i].message = gg_arena_str(arena, out.items[i].message);
        out.items[i].guard = gg_arena_str(arena, out.items[i].guard);
    }
    gg_predictions_free(found);
    gg_predictor_free(predictor);
    return out;
}
