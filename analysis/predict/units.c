/* See units.h.
 *
 * DESIGN  The statements that begin and end a text as they did before keep their units: what is between is looked into.  Statements are compared by
 * their bytes, where the edit that made the text does not tell; a tree without errors follows from them. */
#include "analysis/predict/units.h"

#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analysis/private.h"

struct gg__units {
    gg_text *text;
    GG_LIST(gg__statement) statements;
    GG_LIST(gg__unit) items;
    gg_map by_key; /* which item */
};

uint64_t gg__mix(uint64_t a, uint64_t b) {
    uint64_t both[2] = {a, b};
    return XXH3_64bits(both, sizeof(both));
}

uint64_t gg__print_of(gg_str text) {
    return XXH3_64bits(text.ptr ? text.ptr : "", text.len);
}

static uint64_t as_no_other(void) {
    static atomic_uint_fast64_t last;
    return gg__mix(0, atomic_fetch_add_explicit(&last, 1, memory_order_relaxed));
}

/* ---- one statement -------------------------------------------------------------------------------------------------------- */

static void add_body(gg__units *units, TSNode function) {
    TSNode body = gg__field_of(function, GG__FIELD_body);
    if (ts_node_is_null(body)) return;
    gg_span span = gg_node_span(body);
    gg__unit unit = {.name =
                         gg__print_of(gg_text_slice(units->text, gg_node_span(gg__field_of(function, GG__FIELD_name)))),
                     .print = ts_node_has_error(body) ? as_no_other() : gg__print_of(gg_text_slice(units->text, span)),
                     .span = span,
                     .body = true};
    gg_list_push(&units->items, unit);
}

static void add_methods(gg__units *units, TSNode body) {
    TSTreeCursor cursor = ts_tree_cursor_new(body);
    for (bool more = !ts_node_is_null(body) && ts_tree_cursor_goto_first_child(&cursor); more;
         more = ts_tree_cursor_goto_next_sibling(&cursor)) {
        TSNode inner = gg__undecorated(ts_tree_cursor_current_node(&cursor));
        if (gg__node_of(inner) == GG__NODE_function_definition) add_body(units, inner);
    }
    ts_tree_cursor_delete(&cursor);
}

/* What is left of the statement when its bodies are taken out. */
static uint64_t print_without_bodies(const gg__units *units, const gg__statement *s, const gg__unit *bodies,
                                     uint32_t count) {
    uint64_t print = 0;
    uint32_t from = s->span.start;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t to = i < count ? bodies[i].span.start : s->span.end;
        print = gg__mix(print, gg__print_of(gg_text_slice(units->text, (gg_span){from, to})));
        if (i < count) from = bodies[i].span.end;
    }
    return print;
}

static void add_units(gg__units *units, gg__statement *s) {
    TSNode definition = gg__undecorated(s->node);
    gg__node type = gg__node_of(definition);
    gg__unit unit = {.span = s->span};
    s->compiles = gg_str_contains(gg_text_slice(units->text, s->span), GG_STR("compile("));
    s->first = (uint32_t)units->items.len;
    gg_list_push(&units->items, unit);
    if (type == GG__NODE_function_definition) add_body(units, definition);
    if (type == GG__NODE_class_definition) add_methods(units, gg__field_of(definition, GG__FIELD_body));
    s->count = (uint32_t)units->items.len - s->first;
    gg__unit *own = &units->items.items[s->first];
    own->print = s->broken ? as_no_other() : print_without_bodies(units, s, own + 1, s->count - 1);
    bool named = type == GG__NODE_function_definition || type == GG__NODE_class_definition;
    gg_span name = gg_node_span(gg__field_of(definition, GG__FIELD_name));
    own->name = named ? gg__print_of(gg_text_slice(units->text, name)) : own->print;
    if (named && ts_node_eq(definition, s->node)) s->defines = name;
}

/* ---- all ---------------------------------------------------------------------------------------------------------------------- */

/* Two texts that are compared, and what is known of them beforehand. */
typedef struct comparison {
    const gg__units *a, *b;
    uint32_t a_len, b_len, head, tail; /* begin and end are known to be the same */
} comparison;

static bool reads_alike(const comparison *c, const gg__statement *x, const gg__statement *y) {
    if (x->type != y->type || x->broken || y->broken) return false;
    if (x->span.end <= c->head && x->span.start == y->span.start && x->span.end == y->span.end) return true;
    uint32_t x_left = c->a_len - x->span.start, y_left = c->b_len - y->span.start;
    if (x_left <= c->tail && x_left == y_left && x->span.end - x->span.start == y->span.end - y->span.start)
        return true;
    return gg_str_equal(gg_text_slice(c->a->text, x->span), gg_text_slice(c->b->text, y->span));
}

static comparison compare(const gg__units *units, const gg_tree *tree, const gg__units *before) {
    comparison c = {.a = units, .b = before, .a_len = (uint32_t)gg_text_bytes(units->text).len};
    if (before == NULL) return c;
    c.b_len = (uint32_t)gg_text_bytes(before->text).len;
    if (!gg__tree_kept(tree, before->text, &c.head, &c.tail)) c.head = c.tail = 0;
    return c;
}

static gg_span moved(gg_span span, uint32_t by) {
    return (gg_span){span.start + by, span.end + by}; /* unsigned, and so right for both directions */
}

static void copy_units(gg__units *units, gg__statement *s, const gg__units *before, const gg__statement *was) {
    uint32_t by = s->span.start - was->span.start;
    s->first = (uint32_t)units->items.len;
    s->count = was->count;
    s->compiles = was->compiles;
    s->defines = moved(was->defines, was->defines.end ? by : 0);
    for (uint32_t i = 0; i < was->count; i++) {
        gg__unit unit = before->items.items[was->first + i];
        unit.span = moved(unit.span, by);
        gg_list_push(&units->items, unit);
    }
}

static void make_index(gg__units *units) {
    for (uint32_t s = 0; s < units->statements.len; s++) {
        const gg__statement *statement = &units->statements.items[s];
        for (uint32_t i = 0; i < statement->count; i++) {
            gg__unit *unit = &units->items.items[statement->first + i];
            unit->statement = s;
            unit->alike = 0;
            unit->key = i == 0 ? unit->name : gg__mix(units->items.items[statement->first].key, unit->name);
            const uint32_t *first;
            for (uint64_t name = unit->key; (first = gg_map_find(&units->by_key, unit->key));)
                unit->key = gg__mix(name, ++units->items.items[*first].alike);
            *gg_map_at(&units->by_key, unit->key) = statement->first + i;
        }
    }
}

/* Most edits leave all names as they are, and so the index: that of `before` is taken then.  The first `head` statements and the last are its, moved.
 * False: it is to be made, which does not ask what was there. */
static bool take_index(gg__units *units, gg__units *before, size_t head, size_t tail) {
    if (before == NULL || units->statements.len != before->statements.len || units->items.len != before->items.len)
        return false;
    for (size_t s = head; s < units->statements.len - tail; s++) {
        const gg__statement *now = &units->statements.items[s], *was = &before->statements.items[s];
        if (now->first != was->first || now->count != was->count) return false;
        for (uint32_t i = now->first; i < now->first + now->count; i++) {
            gg__unit *unit = &units->items.items[i];
            const gg__unit *known = &before->items.items[i];
            if (unit->name != known->name) return false;
            unit->statement = known->statement;
            unit->key = known->key;
            unit->alike = known->alike;
        }
    }
    units->by_key = before->by_key;
    before->by_key = (gg_map){0};
    return true;
}

gg__units *gg__units_new(const gg_tree *tree, gg__units *before) {
    gg__units *units = gg_calloc(1, sizeof(gg__units));
    units->text = gg_text_ref(gg_tree_text(tree));
    TSTreeCursor cursor = ts_tree_cursor_new(gg_tree_root(tree));
    for (bool more = ts_tree_cursor_goto_first_child(&cursor); more; more = ts_tree_cursor_goto_next_sibling(&cursor)) {
        TSNode node = ts_tree_cursor_current_node(&cursor);
        if (!ts_node_is_named(node) || gg__node_of(node) == GG__NODE_comment) continue;
        gg__statement statement = {
            .node = node, .span = gg_node_span(node), .type = ts_node_symbol(node), .broken = ts_node_has_error(node)};
        gg_list_push(&units->statements, statement);
    }
    ts_tree_cursor_delete(&cursor);
    size_t count = units->statements.len, had = before ? before->statements.len : 0, head = 0, tail = 0;
    size_t most = count < had ? count : had;
    gg__statement *now = units->statements.items;
    const gg__statement *was = had ? before->statements.items : NULL;
    comparison c = compare(units, tree, before);
    while (head < most && reads_alike(&c, &now[head], &was[head])) head++;
    while (tail < most - head && reads_alike(&c, &now[count - tail - 1], &was[had - tail - 1])) tail++;
    for (size_t i = 0; i < count; i++) {
        if (i < head || i >= count - tail)
            copy_units(units, &now[i], before, &was[i < head ? i : had + i - count]);
        else
            add_units(units, &now[i]);
    }
    if (!take_index(units, before, head, tail)) make_index(units);
    return units;
}

void gg__units_free(gg__units *units) {
    if (units == NULL) return;
    gg_text_unref(&units->text);
    gg_list_clear(&units->statements);
    gg_list_clear(&units->items);
    gg_map_clear(&units->by_key);
    gg_free(units);
}

/* ---- looked up -------------------------------------------------------------------------------------------------------------- */

uint32_t gg__units_count(const gg__units *units) {
    return (uint32_t)units->items.len;
}

const gg__unit *gg__units_get(const gg__units *units, uint32_t index) {
    return &units->items.items[index];
}

uint32_t gg__units_statements(const gg__units *units, const gg__statement **out) {
    *out = units->statements.items;
    return (uint32_t)units->statements.len;
}

uint32_t gg__units_find(const gg__units *units, uint64_t key, uint32_t near) {
    if (near < units->items.len && units->items.items[near].key == key) return near;
    const uint32_t *found = gg_map_find(&units->by_key, key);
    return found ? *found : UINT32_MAX;
}

uint32_t gg__units_at(const gg__units *units, uint32_t offset) {
    size_t low = 0, high = units->statements.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (units->statements.items[middle].span.end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == units->statements.len || units->statements.items[low].span.start > offset) return UINT32_MAX;
    const gg__statement *s = &units->statements.items[low];
    for (uint32_t i = 1; i < s->count; i++) {
        gg_span body = units->items.items[s->first + i].span;
        if (body.start <= offset && offset < body.end) return s->first + i;
    }
    return s->first;
}

uint32_t gg__units_inside(const gg__units *units, uint32_t unit, uint32_t offset) {
    const gg__unit *u = &units->items.items[unit];
    uint32_t inside = offset - u->span.start;
    if (u->body) return inside;
    const gg__statement *s = &units->statements.items[u->statement];
    for (uint32_t i = 1; i < s->count; i++) {
        gg_span body = units->items.items[s->first + i].span;
        if (body.end <= offset) inside -= body.end - body.start;
    }
    return inside;
}

uint32_t gg__units_outside(const gg__units *units, uint32_t unit, uint32_t inside) {
    const gg__unit *u = &units->items.items[unit];
    uint32_t offset = u->span.start + inside;
    if (u->body) return offset;
    const gg__statement *s = &units->statements.items[u->statement];
    for (uint32_t i = 1; i < s->count; i++) {
        gg_span body = units->items.items[s->first + i].span;
        if (body.start <= offset) offset += body.end - body.start;
    }
    return offset;
}
