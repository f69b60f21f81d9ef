/* The graphs of an entry as a picture: a box for each graph, wide by its operations, and the breaks between them.  Threads: any. */
#include "analysis/graphs.h"

enum {
    WIDTH = 640,
    LEFT = 20,
    BOX = 40,  /* height of a graph's */
    PILL = 26, /* of a break's */
    GAP = 14,
    HEAD = 56,   /* title */
    LEAST = 150, /* width of the smallest box */
    MAX_SHOWN = 200,
    MAX_WORDS = 78 /* characters of a line that fit */
};

static void put(gg_buf *out, const char *z) {
    (void)gg_buf_append_z(out, z);
}

/* Escaped for XML; cut, at a character's boundary. */
static void put_text(gg_buf *out, gg_str text) {
    size_t end = text.len < MAX_WORDS ? text.len : MAX_WORDS;
    while (end < text.len && end > 0 && ((unsigned char)text.ptr[end] & 0xC0u) == 0x80u) end--;
    for (size_t i = 0; i < end; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '<')
            put(out, "&lt;");
        else if (c == '>')
            put(out, "&gt;");
        else if (c == '&')
            put(out, "&amp;");
        else if (c == '"')
            put(out, "&quot;");
        else
            (void)gg_buf_append_char(out, c < 0x20 ? ' ' : (char)c);
    }
    if (end < text.len) put(out, "…");
}

static uint32_t most_ops(const gg_graphs *graphs) {
    uint32_t most = 1;
    for (size_t i = 0; i < graphs->graph_count; i++)
        if (graphs->graphs[i].ops > most) most = graphs->graphs[i].ops;
    return most;
}

static void put_graph(gg_buf *out, const gg__shown *shown, unsigned y, uint32_t most) {
    uint32_t ops = shown->graph->ops;
    unsigned width = LEAST + (unsigned)((uint64_t)(WIDTH - 2 * LEFT - LEAST) * ops / most);
    (void)gg_buf_printf(out,
                        "<rect x=\"%d\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"6\" fill=\"#2f6f4f\"/>"
                        "<text x=\"%d\" y=\"%u\" fill=\"#ffffff\">graph %zu: %u operation%s</text>\n",
                        LEFT, y, width, BOX, LEFT + 12, y + 25, shown->number, ops, ops == 1 ? "" : "s");
}

/* Without what the picture itself says. */
static gg_str reason_of(gg_str summary) {
    gg_str split = GG_STR(": the graph splits here");
    return (gg_str){summary.ptr, summary.len - (gg_str_ends_with(summary, split) ? split.len : 0)};
}

static void put_break(gg_buf *out, const gg_graph_break *broken, unsigned y, gg_arena *arena) {
    gg_str file = gg__file_name(broken->file);
    (void)gg_buf_printf(out,
                        "<line x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\" stroke=\"#c2410c\" stroke-width=\"2\" "
                        "stroke-dasharray=\"5 4\"/><text x=\"%d\" y=\"%u\" fill=\"#c2410c\">",
                        LEFT, y + PILL / 2, LEFT + 24, y + PILL / 2, LEFT + 32, y + 18);
    put_text(out, gg_arena_printf(arena, "%.*s %.*s:%u  %.*s", GG_STR_ARG(broken->id), GG_STR_ARG(file),
                                  broken->start.line + 1, GG_STR_ARG(reason_of(broken->summary))));
    put(out, "</text>\n");
}

void gg_graphs_svg(const gg_graphs *graphs, gg_buf *out) {
    gg_arena *arena = gg_arena_new();
    gg__shown_list shown = {0};
    gg__graphs_order(&shown, graphs);
    size_t count = shown.len < MAX_SHOWN ? shown.len : MAX_SHOWN;
    unsigned y = HEAD, height = HEAD + GAP;
    for (size_t i = 0; i < count; i++) height += (shown.items[i].graph ? BOX : PILL) + GAP;
    if (count < shown.len) height += PILL;
    (void)gg_buf_printf(out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" "
                        "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
                        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
                        "<text x=\"%d\" y=\"34\" font-size=\"17\" fill=\"#111827\">",
                        WIDTH, height, WIDTH, height, LEFT);
    put_text(out, gg_graphs_summary(graphs, arena));
    put(out, "</text>\n");
    uint32_t most = most_ops(graphs);
    for (size_t i = 0; i < count; i++) {
        if (shown.items[i].graph)
            put_graph(out, &shown.items[i], y, most);
        else
            put_break(out, shown.items[i].ends, y, arena);
        y += (shown.items[i].graph ? BOX : PILL) + GAP;
    }
    if (count < shown.len)
        (void)gg_buf_printf(out, "<text x=\"%d\" y=\"%u\" fill=\"#111827\">… and %zu more</text>\n", LEFT, y + 14,
                            shown.len - count);
    put(out, "</svg>\n");
    gg_list_clear(&shown);
    gg_arena_free(arena);
}
