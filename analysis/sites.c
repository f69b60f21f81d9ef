/* Break records → break sites: grouped by (file, exact range, id), which is what a user sees and mends.
 * Threads: any; reads files through the caller's sources. */
#include <string.h>

#include "analysis/private.h"

typedef struct grouping {
    gg_sources *sources;
    const gg_registry *registry;
    gg_arena *arena;
    GG_LIST(gg_site) sites;
} grouping;

static const gg_frame *innermost(const gg_break *record, bool (*wanted)(gg_origin)) {
    for (size_t i = 0; i < record->stack_len; i++)
        if (wanted(record->stack[i].origin)) return &record->stack[i];
    return NULL;
}

static bool is_workspace(gg_origin origin) {
    return origin == GG_ORIGIN_WORKSPACE;
}

static bool is_user_installed(gg_origin origin) {
    return origin == GG_ORIGIN_WORKSPACE || origin == GG_ORIGIN_LIBRARY;
}

/* The frame a break is shown at; NULL when the record has no stack at all. */
static const gg_frame *site_frame(const gg_break *record) {
    const gg_frame *frame = innermost(record, is_workspace);
    if (frame == NULL) frame = innermost(record, is_user_installed);
    if (frame == NULL && record->stack_len > 0) frame = &record->stack[0];
    return frame;
}

/* Without the text: the lines alone, columns as they came. */
static gg_range range_of_lines(const gg_frame *frame) {
    uint32_t line = frame->line > 0 ? frame->line - 1 : 0;
    uint32_t end = frame->end_line > frame->line ? frame->end_line - 1 : line;
    if (frame->col >= 0 && frame->end_col >= 0)
        return (gg_range){{line, (uint32_t)frame->col}, {end, (uint32_t)frame->end_col}};
    return (gg_range){{line, 0}, {end + 1, 0}};
}

/* In UTF-16 units, as an editor counts: it does not show a byte order mark. */
static gg_range shown_range(const gg_text *text, gg_span span) {
    gg_range range = gg_text_range(text, span, GG_UTF16);
    if (!gg_str_starts_with(gg_text_bytes(text), GG_STR("\xEF\xBB\xBF"))) return range;
    if (range.start.line == 0 && range.start.character > 0) range.start.character--;
    if (range.end.line == 0 && range.end.character > 0) range.end.character--;
    return range;
}

/* Whether the code is run again and again by a loop of the same function; comprehensions are for Dynamo no loops. */
static bool lies_in_loop(TSNode node) {
    for (TSNode at = ts_node_parent(node), child = node; !ts_node_is_null(at); child = at, at = ts_node_parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda") || gg_node_is(at, "class_definition"))
            return false;
        TSNode body = ts_node_child_by_field_name(at, "body", 4);
        bool in_body = !ts_node_is_null(body) && ts_node_eq(body, child);
        if (gg_node_is(at, "for_statement") && in_body) return true;
        if (gg_node_is(at, "while_statement") && (in_body || !gg_node_is(child, "else_clause"))) return true;
    }
    return false;
}

static gg_site place(grouping *g, const gg_break *record) {
    gg_site site = {.id = record->id, .first = record};
    static const gg_frame nowhere = {.col = -1, .end_col = -1};
    const gg_frame *frame = site_frame(record);
    if (frame == NULL) frame = &nowhere;
    site.file = frame->file;
    site.in_workspace = frame != &nowhere && frame->origin == GG_ORIGIN_WORKSPACE;
    const gg_tree *tree = frame->file.len > 0 ? gg_sources_tree(g->sources, frame->file, NULL) : NULL;
    if (tree == NULL) {
        site.range_utf16 = range_of_lines(frame);
        site.enclosing = frame->function;
        return site;
    }
    site.span = gg_refine_range(tree, frame->line, frame->end_line, frame->col, frame->end_col);
    site.range_utf16 = shown_range(gg_tree_text(tree), site.span);
    TSNode node = gg_node_at(tree, site.span);
    TSNode parent = ts_node_parent(node);
    /* A class is made by the code around it; a function's name stands for its own frame. */
    if (gg_node_is(parent, "class_definition") && gg_node_is(node, "identifier")) node = ts_node_parent(parent);
    site.enclosing = gg__enclosing_name_of(tree, node, g->arena);
    site.in_loop = lies_in_loop(node);
    return site;
}

static bool same_range(gg_range a, gg_range b) {
    return a.start.line == b.start.line && a.start.character == b.start.character && a.end.line == b.end.line &&
           a.end.character == b.end.character;
}

static gg_site *find_site(grouping *g, const gg_site *like) {
    for (size_t i = 0; i < g->sites.len; i++) {
        gg_site *site = &g->sites.items[i];
        if (same_range(site->range_utf16, like->range_utf16) && gg_str_equal(site->id, like->id) &&
            gg_str_equal(site->file, like->file))
            return site;
    }
    return NULL;
}

/* Appends word to a list in the arena unless it is there. */
static void add_word(gg_arena *arena, gg_str **items, size_t *count, gg_str word) {
    for (size_t i = 0; i < *count; i++)
        if (gg_str_equal((*items)[i], word)) return;
    gg_str *grown = GG_ARENA_ARRAY(arena, gg_str, *count + 1); /* a handful of words: no capacity to keep */
    if (*count > 0) memcpy(grown, *items, *count * sizeof(**items));
    grown[(*count)++] = word;
    *items = grown;
}

/* Where in its own file the function that a record lies in was called. */
static void add_caller(gg_arena *arena, gg_site *site, const gg_break *record) {
    const gg_frame *own = site_frame(record), *caller = own ? own + 1 : NULL;
    if (own == NULL || caller == record->stack + record->stack_len || !gg_str_equal(caller->file, own->file)) return;
    for (size_t i = 0; i < site->caller_count; i++)
        if (site->callers[i] == caller->line) return;
    uint32_t *grown = GG_ARENA_ARRAY(arena, uint32_t, site->caller_count + 1);
    if (site->caller_count > 0) memcpy(grown, site->callers, site->caller_count * sizeof(*grown));
    grown[site->caller_count++] = caller->line;
    site->callers = grown;
}

static bool same_steps(const gg_fact *a, const gg_fact *b) {
    if (a->step_count != b->step_count) return false;
    for (size_t i = 0; i < a->step_count; i++) {
        const gg_step *x = &a->steps[i], *y = &b->steps[i];
        if (x->op != y->op || x->widens != y->widens || x->size_count != y->size_count ||
            !gg_str_equal(x->dtype, y->dtype) || !gg_str_equal(x->device, y->device) ||
            (x->size_count && memcmp(x->sizes, y->sizes, x->size_count * sizeof(*x->sizes)) != 0))
            return false;
    }
    return true;
}

/* What was told of the first record and is not so in a later one.  Rules take for granted that a tensor requires no gradient, that it has no gaps, and
 * what a module does. */
static void widen(gg_fact *fact, const gg_fact *later) {
    if (fact->kind != later->kind) return;
    fact->requires_grad = fact->requires_grad || later->requires_grad;
    if (fact->layout != later->layout) fact->layout = GG_LAYOUT_STRIDED;
    if (!gg_str_equal(fact->type, later->type)) fact->type = GG_STR("several classes");
    if (!same_steps(fact, later)) fact->step_count = 0;
}

static void widen_facts(gg_arena *arena, gg_site *site, const gg_break *record) {
    gg_break *first = GG_ARENA_ARRAY(arena, gg_break, 1);
    *first = *site->first;
    if (first->fact_count == 0) return;
    first->facts = GG_ARENA_ARRAY(arena, gg_fact, first->fact_count);
    memcpy(first->facts, site->first->facts, first->fact_count * sizeof(gg_fact));
    for (size_t i = 0; i < first->fact_count; i++)
        for (size_t j = 0; j < record->fact_count; j++)
            if (gg_str_equal(first->facts[i].name, record->facts[j].name)) widen(&first->facts[i], &record->facts[j]);
    site->first = first;
}

static void add_record(grouping *g, const gg_entry *entry, const gg_break *record) {
    gg_site placed = place(g, record);
    gg_site *site = find_site(g, &placed);
    if (site == NULL) {
        gg_list_push(&g->sites, placed);
        site = &g->sites.items[g->sites.len - 1];
        gg_registry_row row;
        site->type = record->type;
        if (site->type.len == 0 && gg_registry_find(g->registry, record->id, &row)) site->type = row.type;
        site->category = gg_str_from(gg_break_category(site->id, site->type));
        site->reason = record->reason;
        site->stack = record->stack;
        site->stack_len = record->stack_len;
        site->nothing_compiled = true;
    } else {
        widen_facts(g->arena, site, record);
    }
    site->nothing_compiled = site->nothing_compiled && entry->status == GG_ENTRY_BREAKS && entry->graphs == 0;
    site->count++;
    add_caller(g->arena, site, record);
    bool worse = record->eager_function.len > 0 && (site->eager_function.len == 0 || (record->skip && !site->skip));
    if (worse) {
        site->eager_function = record->eager_function;
        site->eager_rest = record->eager_rest;
    }
    site->skip = site->skip || record->skip;
    site->in_loop = site->in_loop || record->in_loop;
    for (size_t i = 0; i < record->aggravation_count; i++)
        add_word(g->arena, &site->aggravations, &site->aggravation_count, record->aggravations[i]);
    add_word(g->arena, &site->entries, &site->entry_count, entry->name);
}

static bool is_ignored(const gg_site *site, const gg_tree *tree, gg_arena *arena) {
    gg_ignore_list list = gg_ignores_of(tree, arena);
    return gg_is_ignored(&list, site->span, site->id, site->rule);
}

gg_site_list gg_sites_group(const gg_entry *entries, size_t entry_count, gg_sources *sources,
                            const gg_registry *registry, gg_arena *arena) {
    grouping g = {.sources = sources, .registry = registry, .arena = arena};
    for (size_t i = 0; i < entry_count; i++)
        for (size_t j = 0; j < entries[i].break_count; j++) add_record(&g, &entries[i], &entries[i].breaks[j]);

    gg_site_list out = {NULL, g.sites.len};
    if (out.len > 0) {
        out.items = GG_ARENA_ARRAY(arena, gg_site, out.len);
        memcpy(out.items, g.sites.items, out.len * sizeof(gg_site));
    }
    gg_list_clear(&g.sites);
    for (size_t i = 0; i < out.len; i++) { /* only now: it says how many records there are */
        gg_site *site = &out.items[i];
        const gg_tree *tree = site->file.len > 0 ? gg_sources_tree(sources, site->file, NULL) : NULL;
        if (tree && site->in_workspace) {
            site->rule = gg_arena_str(arena, gg_sources_rule(sources, site->file, site->span, site->id));
            site->ignored = is_ignored(site, tree, arena);
        }
        site->summary = gg__explain_summary(site, tree, arena);
        site->explanation = gg__explain_words(site, tree, registry, arena);
    }
    return out;
}

bool gg_span_carry(gg_span *span, gg_change change) {
    uint32_t shift_from = change.span.end, old_len = change.span.end - change.span.start;
    if (change.span.end <= span->start) { /* before, also when it only touches */
        span->start = span->start - old_len + change.new_len;
        span->end = span->end - old_len + change.new_len;
        return true;
    }
    if (change.span.start >= span->end) return true;                                       /* after */
    if (span->start > change.span.start) span->start = change.span.start + change.new_len; /* its head was replaced */
    span->end = span->end >= shift_from ? span->end - old_len + change.new_len : change.span.start + change.new_len;
    if (span->end < span->start) span->end = span->start;
    return false;
}
