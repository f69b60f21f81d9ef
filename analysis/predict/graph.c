/* See graph.h. */
#include "analysis/predict/graph.h"

enum { MAX_WORDS = 40000, MAX_DEPTH = 200, MAX_SLOTS = 4096 };

/* What stands in a mold for pointers that are filled in: places that nothing else is at. */
static char slot_places[MAX_SLOTS];

void gg__graph_clear(gg__graph *g) {
    gg_map_clear(&g->numbers);
    gg_map_clear(&g->lasting);
    gg_list_clear(&g->seen);
    gg_list_clear(&g->copies);
    gg_list_clear(&g->words);
}

/* Arenas align to 16, which leaves room for what it is to; the rest spreads what is alike in its low bits, one to one. */
static uint64_t key_of(const void *to, gg__pointee as) {
    uint64_t key = ((uint64_t)(uintptr_t)to ^ (uint64_t)as) * 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
}

/* Where it is in `seen`.  *is_new: it was not there. */
static uint32_t number_of(gg__graph *g, const void *to, gg__pointee as, bool *is_new) {
    uint32_t *at = gg_map_at(&g->numbers, key_of(to, as));
    *is_new = *at <= g->base;
    if (*is_new) {
        gg__pointer pointer = {to, as};
        gg_list_push(&g->seen, pointer);
        *at = g->base + (uint32_t)g->seen.len;
    }
    return *at - g->base - 1;
}

static void forget(gg__graph *g) {
    g->base += (uint32_t)g->seen.len;
    if (g->base > UINT32_MAX / 2 || g->numbers.len > MAX_WORDS) {
        gg_map_clear(&g->numbers);
        g->base = 0;
    }
    g->seen.len = g->copies.len = g->words.len = 0;
    g->failed = false;
}

/* ---- what lasts --------------------------------------------------------------------------------------------------------------- */

static void note_lasting(gg__graph *g, const gg__value *value);

static bool is_first(gg__graph *g, const void *to, gg__pointee as) {
    if (to == NULL) return false;
    uint32_t *known = gg_map_at(&g->lasting, key_of(to, as));
    return ++*known == 1;
}

static void note_names(gg__graph *g, const gg__scope *scope) {
    if (!is_first(g, scope, GG__TO_ATTRIBUTES)) return;
    for (uint32_t i = 0; i < scope->len; i++) note_lasting(g, &scope->items[i].value);
}

static void note_lasting(gg__graph *g, const gg__value *value) {
    if (is_first(g, value->of, GG__TO_VALUE)) note_lasting(g, value->of);
    if (is_first(g, value->self, GG__TO_VALUE)) note_lasting(g, value->self);
    if (is_first(g, value->items, GG__TO_ITEMS))
        for (uint32_t i = 0; i < value->item_count; i++) note_lasting(g, &value->items[i]);
    if (is_first(g, value->object, GG__TO_OBJECT)) note_names(g, value->object->attributes);
    for (const gg__scope *s = value->scope; s; s = s->outer) note_names(g, s);
    (void)is_first(g, value->confirmed, GG__TO_DOUBT);
}

static bool lasts(const gg__graph *g, const void *to, gg__pointee as) {
    return gg_map_find(&g->lasting, key_of(to, as)) != NULL;
}

/* ---- prints -------------------------------------------------------------------------------------------------------------------- */

void gg__graph_begin(gg__walk *w, gg__graph *g) {
    forget(g);
    if (g->lasting_known) return;
    g->lasting_known = true;
    note_names(g, w->module);
}

void gg__graph_add_word(gg__graph *g, uint64_t word) {
    if (g->words.len >= MAX_WORDS) g->failed = true;
    if (!g->failed) gg_list_push(&g->words, word);
}

/* Whether what it points to is to be added. */
static bool add_pointer(gg__graph *g, const void *to, gg__pointee as) {
    if (lasts(g, to, as)) {
        gg__graph_add_word(g, (uint64_t)(uintptr_t)to);
        return false;
    }
    bool is_new;
    uint32_t number = number_of(g, to, as, &is_new);
    gg__graph_add_word(g, number);
    return is_new;
}

static void add_value(gg__graph *g, const gg__value *v, unsigned depth);

static void add_scope(gg__graph *g, const gg__scope *scope, unsigned depth) {
    gg__graph_add_word(g, scope->len);
    for (uint32_t i = 0; i < scope->len && !g->failed; i++) {
        gg__graph_add_word(g, gg__print_of(scope->items[i].name));
        add_value(g, &scope->items[i].value, depth);
    }
}

static bool is_modules(const gg__scope *scope) {
    return scope == NULL || scope->of_module;
}

static void add_object(gg__graph *g, const gg__object *object, unsigned depth) {
    if (!is_modules(object->scope) || object->hooks) g->failed = true;
    gg__graph_add_word(g, (uint64_t)(uintptr_t)object->definition.id);
    gg__graph_add_word(g, (uint64_t)(uintptr_t)object->scope);
    gg__graph_add_word(g, object->is_module);
    if (add_pointer(g, object->attributes, GG__TO_ATTRIBUTES)) add_scope(g, object->attributes, depth);
}

/* The small ones in one word. */
static uint64_t header_of(const gg__value *v) {
    const bool flags[] = {v->maybe_none,    v->absent,         v->input,     v->handed_on,    v->zero_dim,
                          v->constant,      v->folded,         v->from_data, v->of != NULL,   v->self != NULL,
                          v->items != NULL, v->object != NULL, v->path.len,  v->integer != 0, v->scope != NULL,
                          v->node.id,       v->confirmed};
    uint64_t word = v->item_count;
    for (size_t i = 0; i < GG_COUNT(flags); i++) word = word << 1 | flags[i];
    return ((word << 5 | v->kind) << 3 | v->dtype) << 4 | (uint64_t)v->truth << 2 | v->usual;
}

static void add_value(gg__graph *g, const gg__value *v, unsigned depth) {
    if (depth > MAX_DEPTH || !is_modules(v->scope)) g->failed = true;
    if (g->failed) return;
    gg__graph_add_word(g, header_of(v));
    if (v->path.len) gg__graph_add_word(g, gg__print_of(v->path));
    if (v->integer) gg__graph_add_word(g, (uint64_t)v->integer);
    if (v->node.id) gg__graph_add_word(g, (uint64_t)(uintptr_t)v->node.id);
    if (v->scope) gg__graph_add_word(g, (uint64_t)(uintptr_t)v->scope);
    if (v->confirmed && add_pointer(g, v->confirmed, GG__TO_DOUBT)) gg__graph_add_word(g, *v->confirmed);
    if (v->of && add_pointer(g, v->of, GG__TO_VALUE)) add_value(g, v->of, depth + 1);
    if (v->self && add_pointer(g, v->self, GG__TO_VALUE)) add_value(g, v->self, depth + 1);
    if (v->items && add_pointer(g, v->items, GG__TO_ITEMS))
        for (uint32_t i = 0; i < v->item_count; i++) add_value(g, &v->items[i], depth + 1);
    if (v->object && add_pointer(g, v->object, GG__TO_OBJECT)) add_object(g, v->object, depth + 1);
}

void gg__graph_add_value(gg__graph *g, const gg__value *value) {
    add_value(g, value, 0);
}

void gg__graph_add_scope(gg__graph *g, const gg__scope *scope) {
    add_scope(g, scope, 0);
}

uint64_t gg__graph_print(const gg__graph *g) {
    return gg__print_of((gg_str){(const char *)g->words.items, g->words.len * sizeof(uint64_t)});
}

/* ---- copies -------------------------------------------------------------------------------------------------------------------- */

static void *place_of_slot(gg__copy *copy, uint32_t slot) {
    if (slot >= MAX_SLOTS) copy->graph->failed = true;
    return slot < MAX_SLOTS ? &slot_places[slot] : NULL;
}

void gg__copy_in_begin(gg__copy *copy, const gg__pointer *given, uint32_t count) {
    forget(copy->graph);
    copy->given = count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_new;
        (void)number_of(copy->graph, given[i].to, given[i].as, &is_new);
        gg_list_push(&copy->slots, given[i]);
        gg_list_push(&copy->graph->copies, place_of_slot(copy, i));
    }
}

void gg__copy_out_begin(gg__copy *copy) {
    forget(copy->graph);
}

uint32_t gg__copy_slot(const gg__copy *copy, const void *to, gg__pointee as) {
    const uint32_t *at = gg_map_find(&copy->graph->numbers, key_of(to, as));
    if (at == NULL || *at <= copy->graph->base || *at - copy->graph->base > copy->given) return UINT32_MAX;
    return *at - copy->graph->base - 1;
}

/* The copy, or a slot's pointer, or room for `count` of `size` bytes, which is to be filled (*is_new). */
static void *copied(gg__copy *copy, const void *to, gg__pointee as, size_t size, uint32_t count, bool *is_new) {
    gg__graph *g = copy->graph;
    *is_new = false;
    uintptr_t slot = (uintptr_t)to - (uintptr_t)slot_places;
    if (copy->w && slot < MAX_SLOTS) return (void *)(uintptr_t)copy->slots.items[slot].to;
    uint32_t number = number_of(g, to, as, is_new);
    if (!*is_new) return g->copies.items[number];
    void *place;
    if (copy->w == NULL && lasts(g, to, as)) {
        gg__pointer pointer = {to, as};
        gg_list_push(&copy->slots, pointer);
        place = place_of_slot(copy, (uint32_t)copy->slots.len - 1);
        *is_new = false;
    } else {
        if (g->seen.len > MAX_WORDS) g->failed = true;
        place = gg_arena_calloc(copy->arena, count, size);
    }
    gg_list_push(&g->copies, place);
    return place;
}

static gg__value copy_value(gg__copy *copy, const gg__value *v, unsigned depth);

static gg__binding *copy_bindings(gg__copy *copy, const gg__scope *scope, unsigned depth) {
    gg__binding *items = GG_ARENA_ARRAY(copy->arena, gg__binding, scope->len + 1);
    for (uint32_t i = 0; i < scope->len; i++)
        items[i] = (gg__binding){scope->items[i].name, copy_value(copy, &scope->items[i].value, depth)};
    return items;
}

static gg__scope *copy_attributes(gg__copy *copy, const gg__scope *scope, unsigned depth) {
    bool is_new;
    gg__scope *out = copied(copy, scope, GG__TO_ATTRIBUTES, sizeof(gg__scope), 1, &is_new);
    if (!is_new) return out;
    if (copy->w) *out = *gg__scope_new(copy->w, NULL);
    out->len = out->cap = scope->len;
    out->items = copy_bindings(copy, scope, depth);
    return out;
}

static gg__object *copy_object(gg__copy *copy, const gg__object *object, unsigned depth) {
    bool is_new;
    gg__object *out = copied(copy, object, GG__TO_OBJECT, sizeof(gg__object), 1, &is_new);
    if (!is_new) return out;
    if (object->hooks || !is_modules(object->scope)) copy->graph->failed = true;
    *out = *object;
    out->attributes = copy_attributes(copy, object->attributes, depth);
    return out;
}

static gg__value *copy_pointed(gg__copy *copy, const gg__value *v, unsigned depth) {
    bool is_new;
    gg__value *out = copied(copy, v, GG__TO_VALUE, sizeof(gg__value), 1, &is_new);
    if (is_new) *out = copy_value(copy, v, depth);
    return out;
}

static gg__value *copy_items(gg__copy *copy, const gg__value *items, uint32_t count, unsigned depth) {
    bool is_new;
    gg__value *out = copied(copy, items, GG__TO_ITEMS, sizeof(gg__value), count + 1, &is_new);
    for (uint32_t i = 0; is_new && i < count; i++) out[i] = copy_value(copy, &items[i], depth);
    return out;
}

static gg__value copy_value(gg__copy *copy, const gg__value *v, unsigned depth) {
    gg__graph *g = copy->graph;
    gg__value out = *v;
    if (depth > MAX_DEPTH || !is_modules(v->scope)) g->failed = true;
    if (g->failed) return out;
    if (copy->w == NULL && v->path.len) out.path = gg_arena_str(copy->arena, v->path);
    if (v->of) out.of = copy_pointed(copy, v->of, depth + 1);
    if (v->self) out.self = copy_pointed(copy, v->self, depth + 1);
    if (v->items) out.items = copy_items(copy, v->items, v->item_count, depth + 1);
    if (v->object) out.object = copy_object(copy, v->object, depth + 1);
    if (v->confirmed) {
        bool is_new;
        out.confirmed = copied(copy, v->confirmed, GG__TO_DOUBT, sizeof(bool), 1, &is_new);
        g->failed = g->failed || is_new; /* whether it is shown to be a tensor is yet to come */
    }
    return out;
}

gg__value gg__copy_value(gg__copy *copy, const gg__value *value) {
    return copy_value(copy, value, 0);
}

gg__binding *gg__copy_bindings(gg__copy *copy, const gg__scope *scope) {
    return copy_bindings(copy, scope, 0);
}
