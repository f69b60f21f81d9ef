/* See uses.h. */
#include "analysis/predict/uses.h"

void gg__uses_init(gg__uses *uses, const gg__units *units) {
    *uses = (gg__uses){.units = units};
    uses->touched_in = gg_calloc(gg__units_count(units) + 1, sizeof(uint32_t));
    uses->reached = gg_calloc(gg__units_count(units) + 1, sizeof(bool));
    uses->noted_at = gg_calloc(gg__units_count(units) + 1, sizeof(uint32_t));
}

void gg__uses_clear(gg__uses *uses) {
    gg_free(uses->touched_in);
    gg_free(uses->reached);
    gg_free(uses->noted_at);
    gg_map_clear(&uses->by_key);
    gg_list_clear(&uses->names);
    gg_list_clear(&uses->touched);
    gg_list_clear(&uses->read);
    gg_list_clear(&uses->set);
    gg_list_clear(&uses->noted_units);
    gg_list_clear(&uses->noted_names);
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

/* Borrowed until the next one is asked for. */
static gg__name *name_of(gg__uses *uses, uint64_t key) {
    uint32_t *at = gg_map_at(&uses->by_key, key); /* 1 + which */
    if (*at == 0) {
        gg__name name = {.key = key};
        gg_list_push(&uses->names, name);
        *at = (uint32_t)uses->names.len;
    }
    return &uses->names.items[*at - 1];
}

uint64_t gg__name_print(const gg__uses *uses, uint64_t key, uint32_t *at) {
    if (*at >= uses->names.len || uses->names.items[*at].key != key) {
        const uint32_t *found = gg_map_find(&uses->by_key, key);
        if (found == NULL) return 0;
        *at = *found - 1;
    }
    return uses->names.items[*at].print;
}

void gg__note_name_read(gg__walk *w, uint64_t key) {
    gg__uses *uses = w->uses;
    gg__name *name = name_of(uses, key);
    if (name->noted_at < uses->noted_from) {
        name->noted_at = uses->mark;
        gg_list_push(&uses->noted_names, key);
    }
    if (name->read_in == w->round) return;
    name->read_in = w->round;
    if (uses->in_module)
        uses->rests_on = gg__mix(uses->rests_on, gg__mix(name->key, name->print));
    else
        gg_list_push(&uses->read, name->key);
}

void gg__note_read(gg__walk *w, gg_str name) {
    gg__note_name_read(w, gg__print_of(name));
}

/* ---- units ------------------------------------------------------------------------------------------------------------------ */

void gg__touch(gg__walk *w, TSNode node) {
    gg__uses *uses = w->uses;
    if (ts_node_is_null(node)) return;
    uint32_t at = ts_node_start_byte(node);
    if (uses->here.start <= at && at < uses->here.end) return;
    uint32_t index = gg__units_at(uses->units, at);
    if (index == UINT32_MAX) return;
    const gg__unit *unit = gg__units_get(uses->units, index);
    if (unit->body) uses->here = unit->span;
    gg__touch_unit(w, index);
}

void gg__touch_unit(gg__walk *w, uint32_t index) {
    gg__uses *uses = w->uses;
    if (uses->noted_at[index] < uses->noted_from) {
        uses->noted_at[index] = uses->mark;
        gg_list_push(&uses->noted_units, index);
    }
    if (uses->touched_in[index] == w->round) return;
    uses->touched_in[index] = w->round;
    const gg__unit *unit = gg__units_get(uses->units, index);
    if (uses->in_module)
        uses->rests_on = gg__mix(uses->rests_on, gg__mix(unit->key, unit->print));
    else
        gg_list_push(&uses->touched, index);
}

uint32_t gg__unit_of(const gg__walk *w, TSNode node) {
    return ts_node_is_null(node) ? UINT32_MAX : gg__units_at(w->uses->units, ts_node_start_byte(node));
}

/* What is no unit of its own, as under a condition of the module, is taken for reached. */
bool gg__is_reached(const gg__uses *uses, TSNode function) {
    TSNode body = gg__field_of(function, GG__FIELD_body);
    uint32_t unit = ts_node_is_null(body) ? UINT32_MAX : gg__units_at(uses->units, ts_node_start_byte(body));
    return unit == UINT32_MAX || !gg__units_get(uses->units, unit)->body || uses->reached[unit];
}

void gg__uses_note_from_here(gg__uses *uses) {
    uses->noted_from = ++uses->mark;
    uses->here = (gg_span){0, 0};
}

/* ---- changes ------------------------------------------------------------------------------------------------------------------ */

/* From here on the scope works on a copy. */
static void save(gg__walk *w, gg__scope *scope) {
    gg__saved *saved = GG_ARENA_NEW(w->arena, gg__saved);
    *saved = (gg__saved){.scope = scope, .was = *scope, .next = w->uses->saved};
    w->uses->saved = saved;
    scope->saved = w->round;
    scope->cap = scope->len;
    scope->slots = NULL;
    scope->items = GG_ARENA_ARRAY(w->arena, gg__binding, scope->len + 1);
    if (scope->len) memcpy(scope->items, saved->was.items, scope->len * sizeof(gg__binding));
}

void gg__before_change(gg__walk *w, gg__scope *scope, gg_str name) {
    gg__uses *uses = w->uses;
    if (uses->in_module && scope->of_module) {
        gg__name *known = name_of(uses, gg__print_of(name));
        if (known->set_in == w->round) return;
        known->set_in = w->round;
        gg_list_push(&uses->set, known->key);
        return;
    }
    gg__note_change(w, scope);
    if (scope->born == w->round || scope->saved == w->round) return;
    if (uses->in_module) {
        uses->entangled = true;
        return;
    }
    gg__spoil_all(w);
    save(w, scope);
}

/* ---- rounds --------------------------------------------------------------------------------------------------------------------- */

static void begin(gg__walk *w) {
    gg__uses *uses = w->uses;
    w->round++;
    uses->here = (gg_span){0, 0};
    uses->touched.len = uses->read.len = uses->set.len = 0;
    uses->saved = NULL;
    uses->entangled = false;
    uses->rests_on = 0;
}

void gg__begin_statement(gg__walk *w, uint32_t unit) {
    begin(w);
    const gg__unit *own = gg__units_get(w->uses->units, unit);
    w->uses->in_module = true;
    w->uses->touched_in[unit] = w->round;
    w->uses->rests_on = own->print;
}

void gg__end_statement(gg__walk *w) {
    gg__uses *uses = w->uses;
    for (size_t i = 0; i < uses->set.len; i++) {
        gg__name *name = name_of(uses, uses->set.items[i]);
        name->print = gg__mix(name->print, uses->rests_on) | 1;
    }
    if (uses->entangled) uses->entanglement = gg__mix(uses->entanglement, uses->rests_on);
}

void gg__begin_piece(gg__walk *w) {
    begin(w);
    w->uses->in_module = false;
}

void gg__end_piece(gg__walk *w) {
    for (gg__saved *s = w->uses->saved; s; s = s->next) *s->scope = s->was;
    w->uses->saved = NULL;
}
