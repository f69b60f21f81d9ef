/* Sites and diffs for people: source excerpt, underlined range, colour on a terminal.  Any thread. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/cli.h"

const gg_cli_style *gg_cli_style_for(FILE *stream) {
    static const gg_cli_style plain = {"", "", "", "", "", "", ""};
    static const gg_cli_style colour = {"\033[1m",  "\033[31m", "\033[33m", "\033[32m",
                                        "\033[34m", "\033[2m",  "\033[0m"};
    const char *none = getenv("NO_COLOR");
    return isatty(fileno(stream)) && !(none && *none) ? &colour : &plain;
}

/* Columns a terminal shows for a slice: code points, tabs as four. */
static int columns(gg_str s) {
    int n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\t')
            n += 4;
        else if (((unsigned char)s.ptr[i] & 0xC0) != 0x80)
            n++;
    }
    return n;
}

static void print_line(FILE *out, gg_str line) {
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if (c == '\t')
            fputs("    ", out);
        else if (c < 0x20 || c == 0x7f)
            fputc('?', out); /* no control characters of the file's on the terminal */
        else
            fputc(c, out);
    }
}

static void print_excerpt(FILE *out, const gg_site *site, const gg_text *text, const gg_cli_style *style) {
    gg_position start = gg_text_position(text, site->span.start, GG_UTF8),
                end = gg_text_position(text, site->span.end, GG_UTF8);
    int width = snprintf(NULL, 0, "%u", end.line + 1);
    fprintf(out, "%s%*s |%s\n", style->blue, width, "", style->reset);
    for (uint32_t line = start.line; line <= end.line && line < start.line + 6; line++) {
        gg_str content = gg_text_line(text, line);
        size_t from = line == start.line
                          ? start.character
                          : content.len - (size_t)(gg_str_trim(content).len ? strspn(content.ptr, " \t") : 0);
        if (line != start.line) {
            from = 0;
            while (from < content.len && (content.ptr[from] == ' ' || content.ptr[from] == '\t')) from++;
        }
        size_t to = line == end.line ? end.character : content.len;
        fprintf(out, "%s%*u |%s ", style->blue, width, line + 1, style->reset);
        print_line(out, content);
        fprintf(out, "\n%s%*s |%s %*s%s", style->blue, width, "", style->reset, columns(gg_str_slice(content, 0, from)),
                "", style->yellow);
        int marks = columns(gg_str_slice(content, from, to));
        for (int i = 0; i < (marks ? marks : 1); i++) fputc('^', out);
        fprintf(out, "%s\n", style->reset);
    }
}

static void print_cost(FILE *out, const gg_site *site, const gg_cli_style *style) {
    fprintf(out, "%s  = cost:%s ", style->dim, style->reset);
    if (site->skip && site->in_loop)
        fputs("it lies in a loop, so the whole function runs without a graph", out);
    else if (site->skip)
        fputs("the whole function runs without a graph", out);
    else
        fputs("the graph is split here", out);
    if (site->count > 1) fprintf(out, "; hit %u times", site->count);
    fputc('\n', out);
}

void gg_cli_print_site(FILE *out, const gg_site *site, gg_sources *sources, const char *shown_path,
                       const gg_cli_args *args) {
    const gg_cli_style *style = gg_cli_style_for(out);
    gg_error err = {0};
    gg_arena *arena = gg_arena_new();
    const gg_tree *tree = gg_sources_tree(sources, site->file, &err);
    gg_position at = site->range_utf16.start;
    fprintf(out, "%s%s:%u:%u:%s %s%.*s%s ", style->bold, shown_path, at.line + 1, at.character + 1, style->reset,
            style->red, GG_STR_ARG(site->id), style->reset);
    fprintf(out, "%.*s\n", GG_STR_ARG(gg_explain_short(site, arena)));
    if (tree) {
        print_excerpt(out, site, gg_tree_text(tree), style);
        const gg_rule *rules[4];
        gg_rule_input in = {tree, site, site->span};
        size_t count = site->in_workspace ? gg_repair_offers(&in, GG_SAFETY_CONFIG, rules, 4) : 0;
        print_cost(out, site, style);
        if (count)
            fprintf(out, "%s  = help:%s %s (%s%s%s, safety %s): graphglue-lsp fix%s%s %s\n", style->green, style->reset,
                    rules[0]->title, style->bold, rules[0]->code, style->reset, gg_safety_name(rules[0]->safety),
                    rules[0]->safety > args->max_safety ? " --max-safety " : "",
                    rules[0]->safety > args->max_safety ? gg_safety_name(rules[0]->safety) : "", shown_path);
    } else {
        print_cost(out, site, style);
    }
    fprintf(out, "%s  = in %.*s; more: graphglue-lsp explain %.*s%s\n\n", style->dim, GG_STR_ARG(site->enclosing),
            GG_STR_ARG(site->id), style->reset);
    gg_arena_free(arena);
}
