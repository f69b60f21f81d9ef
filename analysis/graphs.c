/* What an entry is captured as: a worker's `graphs` frame read, and written as Markdown.  Threads: any. */
#include "analysis/graphs.h"

#include <stdio.h>
#include <string.h>

#include "analysis/explain/explain.h"

enum { MAX_GRAPHS = 10000, MAX_NAME = 200 };

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static gg_str text_of(const json_t *object, const char *key, gg_arena *arena) {
    const json_t *value = json_object_get(object, key);
    return gg_arena_str(arena, (gg_str){json_string_value(value), json_string_length(value)});
}

static uint32_t number_of(const json_t *value) {
    json_int_t n = json_integer_value(value);
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

static int read_break(gg_graph_break *out, const json_t *json, gg_sources *sources, const struct gg_registry *registry,
                      gg_arena *arena, gg_error *err) {
    gg_break *record = GG_ARENA_NEW(arena, gg_break);
    int error = gg_break_decode(record, json, arena, err);
    if (error) return error;
    gg_entry entry = {.breaks = record, .break_count = 1, .graphs = 1, .status = GG_ENTRY_BREAKS};
    gg_site_list sites = gg_sites_group(&entry, 1, sources, registry, arena);
    if (sites.len == 0) return gg_fail(err, GG_EPARAMS, "graphs.breaks has one without a place");
    const gg_site *site = &sites.items[0];
    *out = (gg_graph_break){
        .id = site->id, .summary = gg_explain_short(site, arena), .file = site->file, .start = site->range_utf16.start};
    return 0;
}

int gg_graphs_decode(gg_graphs *out, const json_t *json, gg_sources *sources, const struct gg_registry *registry,
                     gg_arena *arena, gg_error *err) {
    const json_t *graphs = json_object_get(json, "graphs"), *breaks = json_object_get(json, "breaks"),
                 *before = json_object_get(json, "before"), *item;
    size_t i;
    *out = (gg_graphs){.name = text_of(json, "name", arena), .message = text_of(json, "message", arena)};
    out->graph_count = json_array_size(graphs);
    out->break_count = json_array_size(breaks);
    if (out->graph_count > MAX_GRAPHS || out->break_count > MAX_GRAPHS)
        return gg_fail(err, GG_EPARAMS, "there are more than %d graphs or breaks", MAX_GRAPHS);
    out->graphs = GG_ARENA_ARRAY(arena, gg_graph, out->graph_count);
    out->breaks = GG_ARENA_ARRAY(arena, gg_graph_break, out->break_count);
    json_array_foreach(graphs, i, item) {
        const json_t *ended = json_object_get(item, "ended");
        uint32_t index = number_of(ended);
        out->graphs[i] = (gg_graph){.ops = number_of(json_object_get(item, "ops")),
                                    .inputs = number_of(json_object_get(item, "inputs")),
                                    .code = text_of(item, "code", arena),
                                    .ended = json_is_integer(ended) && index < out->break_count ? (int32_t)index : -1};
    }
    json_array_foreach(breaks, i, item) {
        int error = read_break(&out->breaks[i], item, sources, registry, arena, err);
        if (error) return error;
        out->breaks[i].before = number_of(json_array_get(before, i));
    }
    return 0;
}

/* ---- in what order --------------------------------------------------------------------------------------------------------- */

static bool ends_one(const gg_graphs *graphs, size_t index) {
    for (size_t i = 0; i < graphs->graph_count; i++)
        if (graphs->graphs[i].ended == (int32_t)index) return true;
    return false;
}

gg_str gg__file_name(gg_str path) {
    size_t start = path.len;
    while (start > 0 && path.ptr[start - 1] != '/') start--;
    return gg_str_slice(path, start, path.len);
}

void gg__graphs_order(gg__shown_list *out, const gg_graphs *graphs) {
    bool *free_ones = gg_calloc(graphs->break_count + 1, sizeof(bool)); /* no graph ended there: none had begun */
    for (size_t b = 0; b < graphs->break_count; b++) free_ones[b] = !ends_one(graphs, b);
    size_t next = 0;
    for (size_t i = 0; i <= graphs->graph_count; i++) {
        bool last = i == graphs->graph_count;
        for (; next < graphs->break_count && (last || graphs->breaks[next].before <= i); next++) {
            gg__shown broken = {.ends = &graphs->breaks[next]};
            if (free_ones[next]) gg_list_push(out, broken);
        }
        if (last) break;
        gg__shown whole = {.graph = &graphs->graphs[i], .number = i + 1};
        gg_list_push(out, whole);
        if (whole.graph->ended < 0) continue;
        gg__shown broken = {.ends = &graphs->breaks[whole.graph->ended]};
        gg_list_push(out, broken);
    }
    gg_free(free_ones);
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

gg_str gg_graphs_summary(const gg_graphs *graphs, gg_arena *arena) {
    size_t g = graphs->graph_count, b = graphs->break_count;
    gg_str name = gg_str_slice(graphs->name, 0, graphs->name.len < MAX_NAME ? graphs->name.len : MAX_NAME);
    name = gg_str_slice(name, 0, gg_utf8_valid_prefix(name));
    return gg_arena_printf(arena, "%.*s: %zu graph%s, %zu break%s", GG_STR_ARG(name), g, g == 1 ? "" : "s", b,
                           b == 1 ? "" : "s");
}

static void put_number(gg__writer *w, size_t n, const char *what) {
    char text[64];
    snprintf(text, sizeof(text), "%zu %s%s", n, what, n == 1 ? "" : "s");
    gg__put(w, text);
}

static void put_graph(gg__writer *w, const gg__shown *shown, size_t of) {
    char head[64];
    snprintf(head, sizeof(head), "\n## Graph %zu of %zu: ", shown->number, of);
    gg__put(w, head);
    put_number(w, shown->graph->ops, "operation");
    gg__put(w, ", ");
    put_number(w, shown->graph->inputs, "input");
    gg__put(w, "\n\n");
    gg__put_program(w, shown->graph->code);
}

/* [model.py:23](file:///…/model.py#L23) */
static void put_link(gg__writer *w, const gg_graph_break *broken) {
    char line[32];
    snprintf(line, sizeof(line), "%u", broken->start.line + 1);
    gg__put(w, "[");
    gg__put_words(w, gg__file_name(broken->file));
    gg__put(w, ":");
    gg__put(w, line);
    gg__put(w, "](file://");
    for (size_t i = 0; i < broken->file.len; i++) {
        unsigned char c = (unsigned char)broken->file.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/._-~", c);
        char coded[4];
        snprintf(coded, sizeof(coded), plain ? "%c" : "%%%02X", c);
        gg__put(w, coded);
    }
    gg__put(w, "#L");
    gg__put(w, line);
    gg__put(w, ")");
}

static void put_break(gg__writer *w, const gg_graph_break *broken) {
    gg__put(w, "\n### ");
    gg__put_words(w, broken->id);
    gg__put(w, " at ");
    put_link(w, broken);
    gg__put(w, "\n\n");
    gg__put_sentence(w, broken->summary);
    gg__put(w, "\n");
}

void gg_graphs_markdown(const gg_graphs *graphs, gg_buf *out) {
    gg_arena *arena = gg_arena_new();
    gg__writer w = {.buf = *out, .markdown = true};
    gg__shown_list shown = {0};
    gg__graphs_order(&shown, graphs);
    gg__put(&w, "# ");
    gg__put_words(&w, gg_graphs_summary(graphs, arena));
    gg__put(&w, "\n");
    if (graphs->message.len) {
        gg__put(&w, "\n");
        gg__put_words(&w, graphs->message);
        gg__put(&w, "\n");
    }
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.items[i].graph)
            put_graph(&w, &shown.items[i], graphs->graph_count);
        else
            put_break(&w, shown.items[i].ends);
    }
    *out = w.buf;
    gg_list_clear(&shown);
    gg_arena_free(arena);
}
