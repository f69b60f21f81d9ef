/* Names and what they stand for. */
#include "analysis/predict/predict.h"

gg__scope *gg__scope_new(gg__walk *w, gg__scope *outer) {
    gg__scope *scope = GG_ARENA_NEW(w->arena, gg__scope);
    scope->outer = outer;
    scope->born = w->round;
    scope->stamp = ++w->stamp;
    return scope;
}

gg__scope *gg__scope_copy(gg__walk *w, const gg__scope *scope) {
    gg__scope *copy = gg__scope_new(w, scope->outer);
    copy->len = copy->cap = scope->len;
    copy->of_module = scope->of_module;
    copy->items = GG_ARENA_ARRAY(w->arena, gg__binding, copy->cap ? copy->cap : 1);
    if (scope->len) memcpy(copy->items, scope->items, scope->len * sizeof(gg__binding));
    return copy;
}

/* Where the name is, or would be. */
static uint32_t *slot_of(gg__walk *w, const gg__scope *scope, gg_str name) {
    uint32_t count = scope->cap * 2, at = (uint32_t)(gg__print_of(name) % count);
    for (;; at = (at + 1) % count) {
        w->compared++;
        if (scope->slots[at] == 0 || gg_str_equal(scope->items[scope->slots[at] - 1].name, name))
            return &scope->slots[at];
    }
}

static void grow(gg__walk *w, gg__scope *scope) {
    enum { MANY = 32 };
    uint32_t cap = scope->cap ? scope->cap * 2 : 8;
    gg__binding *items = GG_ARENA_ARRAY(w->arena, gg__binding, cap);
    if (scope->len && !GG_NEVER(scope->items == NULL)) memcpy(items, scope->items, scope->len * sizeof(gg__binding));
    scope->items = items;
    scope->cap = cap;
    scope->slots = cap < MANY ? NULL : GG_ARENA_ARRAY(w->arena, uint32_t, cap * 2);
    for (uint32_t i = 0; scope->slots && i < scope->len; i++) *slot_of(w, scope, items[i].name) = i + 1;
}

static gg__value *own(gg__walk *w, const gg__scope *scope, gg_str name) {
    if (scope->slots) {
        uint32_t at = *slot_of(w, scope, name);
        return at ? &scope->items[at - 1].value : NULL;
    }
    for (uint32_t i = 0; i < scope->len && !GG_NEVER(scope->items == NULL); i++) {
        w->compared++;
        if (gg_str_equal(scope->items[i].name, name)) return &scope->items[i].value;
    }
    return NULL;
}

const gg__value *gg__scope_own(gg__walk *w, const gg__scope *scope, gg_str name) {
    if (scope->of_module) gg__note_read(w, name);
    return own(w, scope, name);
}

const gg__value *gg__scope_find(gg__walk *w, const gg__scope *scope, gg_str name) {
    for (; scope; scope = scope->outer) {
        const gg__value *found = gg__scope_own(w, scope, name);
        if (found) return found;
    }
    return NULL;
}

gg__value *gg__scope_own_to_change(gg__walk *w, gg__scope *scope, gg_str name) {
    if (gg__scope_own(w, scope, name) == NULL) return NULL;
    gg__before_change(w, scope, name);
    return own(w, scope, name);
}

gg__value *gg__scope_find_to_change(gg__walk *w, gg__scope *scope, gg_str name) {
    while (scope && gg__scope_own(w, scope, name) == NULL) scope = scope->outer;
    return scope ? gg__scope_own_to_change(w, scope, name) : NULL;
}

void gg__scope_set(gg__walk *w, gg__scope *scope, gg_str name, gg__value value) {
    gg__before_change(w, scope, name);
    gg__value *there = own(w, scope, name);
    if (there) {
        *there = value;
        return;
    }
    if (scope->len == scope->cap || GG_NEVER(scope->items == NULL)) grow(w, scope);
    if (scope->slots) *slot_of(w, scope, name) = scope->len + 1;
    scope->items[scope->len++] = (gg__binding){name, value};
}

/* What holds after either of two ways: a name that only one of them binds is what it was bound to, since it could not be used else. */
void gg__scope_join(gg__walk *w, gg__scope *into, const gg__scope *other) {
    for (uint32_t i = 0; i < into->len; i++) {
        const gg__value *theirs = own(w, other, into->items[i].name);
        if (theirs) into->items[i].value = gg__join(into->items[i].value, *theirs);
    }
    for (uint32_t i = 0; i < other->len && !GG_NEVER(other->items == NULL); i++)
        if (own(w, into, other->items[i].name) == NULL)
            gg__scope_set(w, into, other->items[i].name, other->items[i].value);
}
