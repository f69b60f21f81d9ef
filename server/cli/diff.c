/* A unified diff by lines.  The common head and tail are set aside first; what is left is small in practice, and is compared with the
 * longest common subsequence (bounded: beyond the bound it is shown as one replacement).  Any thread. */
#include <stdio.h>

#include "server/cli/cli.h"

enum { CONTEXT = 3, MAX_CELLS = 16 * 1024 * 1024 };

typedef struct op {
    char kind;
    uint32_t line;
} op; /* ' ' and '-': a line of before, '+': of after */
typedef GG_LIST(op) ops;

static gg_str line_with_end(const gg_text *text, uint32_t line) {
    return gg_text_slice(text, (gg_span){gg_text_line_start(text, line), gg_text_line_start(text, line + 1)});
}

/* Lines a diff knows: an empty last one is none. */
static uint32_t count_lines(const gg_text *text) {
    uint32_t n = gg_text_line_count(text);
    return n && line_with_end(text, n - 1).len == 0 ? n - 1 : n;
}

static bool same(const gg_text *a, uint32_t i, const gg_text *b, uint32_t j) {
    return gg_str_equal(line_with_end(a, i), line_with_end(b, j));
}

static void emit(ops *out, char kind, uint32_t line) {
    op o = {kind, line};
    gg_list_push(out, o);
}

static void middle(ops *out, const gg_text *a, uint32_t a0, uint32_t a1, const gg_text *b, uint32_t b0, uint32_t b1) {
    size_t n = a1 - a0, m = b1 - b0, width = m + 1;
    if ((n + 1) * width > MAX_CELLS) {
        for (uint32_t i = a0; i < a1; i++) emit(out, '-', i);
        for (uint32_t j = b0; j < b1; j++) emit(out, '+', j);
        return;
    }
    uint32_t *length = gg_calloc((n + 1) * width, sizeof(uint32_t)); /* of the subsequence of the rests */
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            uint32_t down = length[(i + 1) * width + j], right = length[i * width + j + 1];
            length[i * width + j] = same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j) ? length[(i + 1) * width + j + 1] + 1
                                    : down >= right                                ? down
                                                                                   : right;
        }
    size_t i = 0, j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j)) {
            emit(out, ' ', a0 + (uint32_t)i++);
            j++;
        } else if (i < n && (j == m || length[(i + 1) * width + j] >= length[i * width + j + 1])) {
            emit(out, '-', a0 + (uint32_t)i++);
        } else {
            emit(out, '+', b0 + (uint32_t)j++);
        }
    }
    gg_free(length);
}

static void print_op(FILE *out, op o, const gg_text *before, const gg_text *after, const gg_cli_style *style) {
    gg_str line = line_with_end(o.kind == '+' ? after : before, o.line);
    const char *colour = o.kind == '+' ? style->green : o.kind == '-' ? style->red : "";
    bool ended = line.len && line.ptr[line.len - 1] == '\n';
    fprintf(out, "%s%c%.*s%s\n", colour, o.kind, (int)(line.len - (ended ? 1 : 0)), line.ptr,
            *colour ? style->reset : "");
    if (!ended) fputs("\\ No newline at end of file\n", out);
}

static void print_hunk(FILE *out, const ops *all, size_t from, size_t to, const gg_text *before, const gg_text *after) {
    const gg_cli_style *style = gg_cli_style_for(out);
    uint32_t old_start = 0, new_start = 0, old_count = 0, new_count = 0;
    for (size_t i = 0; i < to; i++) {
        bool in_old = all->items[i].kind != '+', in_new = all->items[i].kind != '-';
        if (i < from)
            old_start += in_old, new_start += in_new;
        else
            old_count += in_old, new_count += in_new;
    }
    fprintf(out, "%s@@ -%u,%u +%u,%u @@%s\n", style->blue, old_start + (old_count > 0), old_count,
            new_start + (new_count > 0), new_count, style->reset);
    for (size_t i = from; i < to; i++) print_op(out, all->items[i], before, after, style);
}

void gg_cli_print_diff(FILE *out, const char *path, const gg_text *before, const gg_text *after) {
    if (gg_str_equal(gg_text_bytes(before), gg_text_bytes(after))) return;
    uint32_t n = count_lines(before), m = count_lines(after), head = 0, tail = 0;
    while (head < n && head < m && same(before, head, after, head)) head++;
    while (tail < n - head && tail < m - head && same(before, n - 1 - tail, after, m - 1 - tail)) tail++;
    ops all = {0};
    for (uint32_t i = 0; i < head; i++) emit(&all, ' ', i);
    middle(&all, before, head, n - tail, after, head, m - tail);
    for (uint32_t i = n - tail; i < n; i++) emit(&all, ' ', i);
    bool absolute = path[0] == '/';
    fprintf(out, "--- %s%s\n+++ %s%s\n", absolute ? "" : "a/", path, absolute ? "" : "b/", path);
    for (size_t i = 0; i < all.len; i++) {
        if (all.items[i].kind == ' ') continue;
        size_t from = i > CONTEXT ? i - CONTEXT : 0, last = i;
        for (size_t j = i; j < all.len && j <= last + 2 * CONTEXT + 1; j++)
            if (all.items[j].kind != ' ') last = j;
        size_t to = last + CONTEXT + 1 < all.len ? last + CONTEXT + 1 : all.len;
        print_hunk(out, &all, from, to, before, after);
        i = to - 1;
    }
    gg_list_clear(&all);
}
