/* See pieces.h. */
#include "analysis/predict/pieces.h"

void gg__facts_unref(gg__facts *f) {
    if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1) gg_free(f);
}

void gg__piece_clear(gg__piece *p) {
    gg__facts_unref(p->facts);
    gg_free(p->units);
}

static gg__place place_of(gg__run *r, uint32_t offset) {
    const gg__units *units = r->uses.units;
    uint32_t unit = gg__units_at(units, offset);
    if (GG_NEVER(unit == UINT32_MAX)) return (gg__place){0, 0};
    uint32_t use = 0;
    while (use < r->uses.touched.len && r->uses.touched.items[use] != unit) use++;
    if (use == r->uses.touched.len) gg_list_push(&r->uses.touched, unit);
    return (gg__place){use, gg__units_inside(units, unit, offset)};
}

static uint32_t offset_of(const gg__run *r, gg__place at) {
    return gg__units_outside(r->uses.units, r->resolved[at.use], at.inside);
}

static void keep_span(gg__run *r, gg__fact *fact) {
    gg_span span = fact->said.span;
    fact->start = fact->end = place_of(r, span.start);
    if (span.end <= span.start) return;
    fact->end = place_of(r, span.end - 1);
    fact->end.inside++;
}

static bool is_confirmed(const gg__finding *f) {
    return f->confirmed == NULL || *f->confirmed;
}

static bool is_dropped(const gg__finding *f) {
    return f->only_confirmed && !is_confirmed(f);
}

/* Copies a text to where the next one goes. */
static gg_str keep_text(char **at, gg_str text) {
    char *copy = *at;
    if (text.len) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *at += text.len + 1;
    return (gg_str){copy, text.len};
}

/* What rests on a parameter that no use has shown to be a tensor is conditional. */
static void keep_found(gg__run *r, gg__piece *p) {
    const gg__walk *w = &r->walk;
    size_t count = 0, bytes = 0;
    for (size_t i = 0; i < w->found.len; i++) {
        const gg_prediction *said = &w->found.items[i].prediction;
        if (is_dropped(&w->found.items[i])) continue;
        count++;
        bytes += said->message.len + said->guard.len + 2;
    }
    if (count == 0) return;
    gg__facts *f = gg_calloc(1, sizeof(gg__facts) + count * sizeof(gg__fact) + bytes);
    char *at = (char *)&f->items[count];
    p->facts = f;
    atomic_init(&f->refs, 1);
    for (size_t i = 0; i < w->found.len; i++) {
        const gg__finding *finding = &w->found.items[i];
        if (is_dropped(finding)) continue;
        gg__fact *fact = &f->items[f->len++];
        gg_prediction *said = &fact->said;
        *said = finding->prediction;
        said->message = keep_text(&at, said->message);
        said->guard = keep_text(&at, said->guard);
        said->alike = gg__mix(gg__print_of(said->rule), gg__print_of(said->message));
        said->serial = ++r->predictor->serial;
        keep_span(r, fact);
        if (!said->certain || is_confirmed(finding)) continue;
        said->certain = false;
        said->guard = GG_STR("it is a tensor");
    }
}

static void keep_uses(gg__run *r, gg__piece *p) {
    const gg__uses *uses = &r->uses;
    p->entanglement = uses->entanglement;
    p->unit_count = (uint32_t)uses->touched.len;
    p->name_count = (uint32_t)uses->read.len;
    p->units = gg_calloc(1, (p->unit_count + p->name_count) * sizeof(gg__use) + p->covered_count * sizeof(gg__place));
    p->names = p->units + p->unit_count;
    p->covered = (gg__place *)(p->names + p->name_count);
    for (uint32_t i = 0; i < p->unit_count; i++) {
        uint32_t at = uses->touched.items[i];
        const gg__unit *unit = gg__units_get(uses->units, at);
        p->units[i] = (gg__use){unit->key, unit->print, at};
        r->resolved[i] = at;
    }
    for (uint32_t i = 0; i < p->name_count; i++) {
        gg__use *name = &p->names[i];
        name->key = uses->read.items[i];
        name->print = gg__name_print(uses, name->key, &name->at);
    }
    if (p->covered_count) memcpy(p->covered, r->places.items, p->covered_count * sizeof(gg__place));
}

/* Finds r->resolved on the way. */
static bool holds(gg__run *r, gg__piece *p, const gg__source *of) {
    if (p->entanglement != r->uses.entanglement || p->circumstances != of->circumstances) return false;
    unsigned budget = r->steps_left < GG__MAX_STEPS ? r->steps_left : GG__MAX_STEPS;
    if (p->steps > p->max_steps ? budget != p->max_steps : p->steps > budget) return false;
    for (uint32_t i = 0; i < p->unit_count; i++) {
        gg__use *use = &p->units[i];
        uint32_t unit = gg__units_find(r->uses.units, use->key, use->at);
        if (unit == UINT32_MAX || gg__units_get(r->uses.units, unit)->print != use->print) return false;
        r->resolved[i] = use->at = unit;
    }
    for (uint32_t i = 0; i < p->name_count; i++)
        if (gg__name_print(&r->uses, p->names[i].key, &p->names[i].at) != p->names[i].print) return false;
    return true;
}

static gg__piece *earlier(gg__run *r, uint64_t key) {
    for (size_t i = 0; i < r->before.len; i++) {
        gg__piece *p = &r->before.items[(r->next + i) % r->before.len];
        if (p->key != key || !p->there) continue;
        r->next = (r->next + i + 1) % r->before.len;
        return p;
    }
    return NULL;
}

static gg__piece walk_anew(gg__run *r, const gg__source *of) {
    gg__walk *w = &r->walk;
    gg_arena *kept = w->arena;
    gg__piece p = {.key = of->key, .circumstances = of->circumstances, .there = true};
    w->arena = gg_arena_new(); /* far more is thought than said */
    w->steps = 0;
    w->max_steps = p.max_steps = r->steps_left < GG__MAX_STEPS ? r->steps_left : GG__MAX_STEPS;
    w->found.len = r->here.len = 0;
    w->usual = GG__MAYBE;
    gg__begin_piece(w);
    gg__memo_begin_piece(w);
    if (of->declared)
        of->declared(w, &r->here);
    else
        of->walk(w, of->name, &of->value);
    p.steps = w->steps;
    p.covered_count = (uint32_t)r->here.len;
    r->places.len = 0;
    for (uint32_t i = 0; i < p.covered_count; i++)
        gg_list_push(&r->places, place_of(r, ts_node_start_byte(r->here.items[i])));
    keep_found(r, &p);
    keep_uses(r, &p);
    gg__end_piece(w);
    gg_arena_free(w->arena);
    w->arena = kept;
    r->predictor->walked++;
    r->predictor->steps += w->steps - r->memo.replayed;
    return p;
}

static void add_found(gg__run *r, const gg__piece *p) {
    for (uint32_t i = 0; p->facts && i < p->facts->len; i++) {
        const gg__fact *fact = &p->facts->items[i];
        gg_prediction one = fact->said;
        one.span = (gg_span){offset_of(r, fact->start), offset_of(r, fact->end)};
        one.order = (uint32_t)r->found.len;
        gg_list_push(&r->found, one);
    }
}

void gg__take_piece(gg__run *r, const gg__source *of) {
    gg__piece *was = earlier(r, of->key);
    gg__piece p;
    if (was && holds(r, was, of)) {
        p = *was;
        *was = (gg__piece){0};
    } else {
        p = walk_anew(r, of);
    }
    r->steps_left -= p.steps < r->steps_left ? p.steps : r->steps_left;
    for (uint32_t i = 0; i < p.unit_count; i++) r->uses.reached[r->resolved[i]] = true;
    for (uint32_t i = 0; i < p.covered_count; i++) gg_list_push(&r->covered, offset_of(r, p.covered[i]));
    add_found(r, &p);
    gg_list_push(&r->predictor->pieces, p);
}
