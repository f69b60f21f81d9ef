/* A unified diff by lines.  Any thread. */
#include <stdio.h>

#include "server/cli/cli.h"

enum { CONTEXT = 3 };

static void print_op(FILE *out, gg_line_op o, const gg_text *before, const gg_text *after, const gg_cli_style *style) {
    gg_str line = gg_line_with_end(o.kind == '+' ? after : before, o.line);
    const char *colour = o.kind == '+' ? style->green : o.kind == '-' ? style->red : "";
    bool ended = line.len && line.ptr[line.len - 1] == '\n';
    fprintf(out, "%s%c%.*s%s\n", colour, o.kind, (int)(line.len - (ended ? 1 : 0)), line.ptr,
            *colour ? style->reset : "");
    if (!ended) fputs("\\ No newline at end of file\n", out);
}

static void print_hunk(FILE *out, const gg_line_ops *all, size_t from, size_t to, const gg_text *before,
                       const gg_text *after) {
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
    gg_line_ops all = {0};
    gg_lines_compare(&all, before, after);
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
