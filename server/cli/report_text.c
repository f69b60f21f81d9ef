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

/* The first line of the range, underlined; of a longer range, where it ends. */
static void print_excerpt(FILE *out, gg_span span, const gg_text *text, const gg_cli_style *style) {
    gg_position start = gg_text_position(text, span.start, GG_UTF8), end = gg_text_position(text, span.end, GG_UTF8);
    int width = snprintf(NULL, 0, "%u", start.line + 1);
    gg_str content = gg_text_line(text, start.line);
    size_t to = end.line == start.line ? end.character : content.len;
    int marks = columns(gg_str_slice(content, start.character, to));
    fprintf(out, "%s%*s |%s\n%s%u |%s ", style->blue, width, "", style->reset, style->blue, start.line + 1,
            style->reset);
    print_line(out, content);
    fprintf(out, "\n%s%*s |%s %*s%s", style->blue, width, "", style->reset,
            columns(gg_str_slice(content, 0, start.character)), "", style->yellow);
    for (int i = 0; i < (marks ? marks : 1); i++) fputc('^', out);
    if (end.line > start.line) fprintf(out, " and on to line %u", end.line + 1);
    fprintf(out, "%s\n", style->reset);
}

static void print_cost(FILE *out, const gg_site *site, const gg_cli_style *style) {
    fprintf(out, "%s  = cost:%s ", style->dim, style->reset);
    bool rest = site->eager_rest || !site->skip;
    if (gg_site_raises(site))
        fputs("the compiled call raises an error", out);
    else if (gg_site_differs(site))
        fputs("results differ, or the compiled call raises an error", out);
    else if (site->eager_function.len > 0)
        fprintf(out, "%s%.*s runs without a graph", rest ? "the rest of " : "the whole of ",
                GG_STR_ARG(site->eager_function));
    else
        fputs(site->skip               ? "the whole function runs without a graph"
              : site->nothing_compiled ? "nothing around it is compiled"
                                       : "the graph is split here",
              out);
    if (site->skip && site->in_loop) fputs(": it lies in a loop", out);
    if (site->count > 1) fprintf(out, "; hit %u times", site->count);
    fputc('\n', out);
}

static void print_model_words(FILE *out, gg_str words, const gg_cli_style *style) {
    const char *head = "= a model says:";
    for (size_t at = 0, end; at < words.len; at = end + 1, head = " ") {
        end = gg_str_find(words, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = words.len;
        fprintf(out, "%s  %s%s ", style->dim, head, style->reset);
        print_line(out, gg_str_slice(words, at, end));
        fputc('\n', out);
    }
}

/* A shell takes it as one word. */
static void print_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    if (word[0] && word[0] != '-' && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputs(word[0] == '-' ? "./" : "", out);
    fputc('\'', out);
    for (const char *c = word; *c; c++) fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, out);
    fputc('\'', out);
}

static void print_help(FILE *out, const gg_rule *rule, const char *path, const gg_cli_args *args,
                       const gg_cli_style *style) {
    fprintf(out, "%s  = help:%s %s (%s%s%s, safety %s): graphglue-lsp fix ", style->green, style->reset, rule->title,
            style->bold, rule->code, style->reset, gg_safety_name(rule->safety));
    if (args->python) {
        fputs("--python ", out);
        print_word(out, args->python);
        fputc(' ', out);
    }
    if (args->train) fputs("--train ", out);
    if (rule->safety > GG_SAFETY_EXACT) fprintf(out, "--max-safety %s ", gg_safety_name(rule->safety));
    for (size_t i = 0; i < args->packages.len; i++) {
        fputs("--package ", out);
        print_word(out, args->packages.items[i]);
        fputc(' ', out);
    }
    bool installed = args->packages.len > 0; /* the site's file may be: then what was named is to be mended again */
    for (size_t i = 0; i < (installed ? args->paths.len : 1); i++) {
        if (i) fputc(' ', out);
        print_word(out, installed ? args->paths.items[i] : path);
    }
    fputc('\n', out);
}

static void print_hindrance(FILE *out, const gg_site *site, const gg_tree *tree, gg_safety max_safety,
                            const gg_cli_style *style, gg_arena *arena) {
    gg_rule_input in = {.tree = tree, .site = site, .span = site->span};
    gg_hindrance told;
    if (tree == NULL || !site->in_workspace || !gg_repair_hindrance(&in, max_safety, &told)) return;
    fprintf(out, "  %s= note:%s %s (%s, safety %s) does not apply: %.*s\n", style->dim, style->reset, told.rule->code,
            told.rule->name, gg_safety_name(told.rule->safety),
            GG_STR_ARG(gg_hindrance_text(&told, tree, false, arena)));
}

const gg_rule *gg_cli_offer(const gg_site *site, const gg_tree *tree, const gg_safety *tried) {
    const gg_rule *rules[8];
    gg_rule_input in = {.tree = tree, .site = site, .span = site->span};
    size_t count = tree && site->in_workspace ? gg_repair_offers(&in, GG_SAFETY_CONFIG, rules, GG_COUNT(rules)) : 0;
    for (size_t i = 0; i < count; i++)
        if (tried == NULL || rules[i]->safety > *tried) return rules[i];
    return NULL;
}

void gg_cli_print_site(FILE *out, const gg_site *site, gg_sources *sources, const char *shown_path,
                       const gg_cli_args *args, const gg_safety *tried) {
    const gg_cli_style *style = gg_cli_style_for(out);
    gg_error err = {0};
    gg_arena *arena = gg_arena_new();
    const gg_tree *tree = gg_sources_tree(sources, site->file, &err);
    gg_position at = site->range_utf16.start;
    fprintf(out, "%s%s:%u:%u:%s %s%.*s%s ", style->bold, shown_path, at.line + 1, at.character + 1, style->reset,
            style->red, GG_STR_ARG(site->id), style->reset);
    fprintf(out, "%.*s\n", GG_STR_ARG(gg_explain_short(site, arena)));
    if (tree) print_excerpt(out, site->span, gg_tree_text(tree), style);
    print_cost(out, site, style);
    if (site->by_model) print_model_words(out, site->explanation, style);
    print_hindrance(out, site, tree, tried ? *tried : GG_SAFETY_EXACT, style, arena);
    const gg_rule *rule = gg_cli_offer(site, tree, tried);
    if (rule) print_help(out, rule, shown_path, args, style);
    fprintf(out, "%s  = in %.*s; more: graphglue-lsp explain %.*s%s\n\n", style->dim, GG_STR_ARG(site->enclosing),
            GG_STR_ARG(site->id), style->reset);
    gg_arena_free(arena);
}

void gg_cli_print_prediction(FILE *out, const gg_prediction *p, const gg_text *text, const char *shown_path) {
    const gg_cli_style *style = gg_cli_style_for(out);
    gg_position at = gg_text_position(text, p->span.start, GG_UTF16);
    fprintf(out, "%s%s:%u:%u:%s %s%.*s%s %.*s\n", style->bold, shown_path, at.line + 1, at.character + 1, style->reset,
            p->certain ? style->red : style->yellow, GG_STR_ARG(p->id), style->reset, GG_STR_ARG(p->message));
    print_excerpt(out, p->span, text, style);
    if (p->guard.len) fprintf(out, "%s  = only if:%s %.*s\n", style->dim, style->reset, GG_STR_ARG(p->guard));
    if (p->in_loop)
        fprintf(out, "%s  = cost:%s in a loop, here or in a caller: that function runs without a graph\n", style->dim,
                style->reset);
    if (p->beyond) {
        fprintf(out, "%s  = predicted; no graph break%s\n\n", style->dim, style->reset);
        return;
    }
    fprintf(out, "%s  = predicted (%.*s); more: graphglue-lsp explain %.*s%s\n\n", style->dim, GG_STR_ARG(p->rule),
            GG_STR_ARG(p->id), style->reset);
}

const char *gg_cli_shown(const char *path) {
    return strncmp(path, "./", 2) == 0 && path[2] ? path + 2 : path;
}

static int by_place(const void *a, const void *b) {
    const gg_site *x = a, *y = b;
    int order = gg_str_compare(x->file, y->file);
    if (order == 0) order = (x->span.start > y->span.start) - (x->span.start < y->span.start);
    return order ? order : (x->span.end > y->span.end) - (x->span.end < y->span.end);
}

void gg_cli_sort_sites(gg_site_list *sites) {
    if (sites->len) qsort(sites->items, sites->len, sizeof(gg_site), by_place);
}

void gg_cli_print_problem(FILE *out, const gg_cli_file *file, const char *severity, const char *format, ...) {
    const gg_cli_style *style = gg_cli_style_for(out);
    const char *colour = strcmp(severity, "error") == 0     ? style->red
                         : strcmp(severity, "warning") == 0 ? style->yellow
                                                            : style->blue;
    fprintf(out, "%s%s:", style->bold, gg_cli_shown(file->path));
    if (file->error && file->line) fprintf(out, "%u:%u:", file->line, file->column);
    fprintf(out, "%s %s%s:%s ", style->reset, colour, severity, style->reset);
    va_list words;
    va_start(words, format);
    vfprintf(out, format, words);
    va_end(words);
    fputs("\n\n", out);
}

void gg_cli_print_error(FILE *out, const gg_cli_file *file) {
    size_t n = strlen(file->absolute);
    const char *words = file->error;
    if (strncmp(words, file->absolute, n) == 0 && strncmp(words + n, ": ", 2) == 0) words += n + 2;
    gg_cli_print_problem(out, file, "error", "%s", words);
}

void gg_cli_print_entry_problem(FILE *out, const gg_cli_file *file, const gg_entry *entry) {
    static const char *const words[] = {[GG_ENTRY_EAGER_ERROR] = "fails, also without torch.compile: ",
                                        [GG_ENTRY_CAPTURE_ERROR] = "fails under torch.compile: "};
    size_t status = (size_t)entry->status;
    bool failed = entry->status >= GG_ENTRY_EAGER_ERROR;
    bool good = entry->status == GG_ENTRY_CAPTURED || entry->status == GG_ENTRY_NOTHING;
    if (entry->message.len == 0 || (good && !gg_entry_lacks_device(entry))) return;
    gg_cli_print_problem(out, file,
                         failed                                        ? "error"
                         : good || entry->status == GG_ENTRY_NO_INPUTS ? "note"
                                                                       : "warning",
                         "%.*s: %s%.*s", GG_STR_ARG(entry->name),
                         status < GG_COUNT(words) && words[status] ? words[status] : "", GG_STR_ARG(entry->message));
}

void gg_cli_print_cuda(FILE *out, const gg_cuda_use *cuda) {
    const double mib = 1 << 20, gib = 1 << 30;
    if (!cuda->asked || cuda->device.len == 0) return;
    fprintf(out, "; on %.*s", GG_STR_ARG(cuda->device));
    if (cuda->name.len) fprintf(out, " (%.*s)", GG_STR_ARG(cuda->name));
    if (cuda->elapsed_ms >= 0) fprintf(out, ", %.3g ms a call", cuda->elapsed_ms);
    if (cuda->tensor_bytes >= 0) fprintf(out, ", up to %.1f MiB in tensors", (double)cuda->tensor_bytes / mib);
    if (cuda->peak_bytes >= 0 && cuda->total_bytes >= 0)
        fprintf(out, ", up to %.1f of %.1f GiB in use", (double)cuda->peak_bytes / gib,
                (double)cuda->total_bytes / gib);
}

const char *gg_cli_status_words(gg_entry_status status) {
    static const char *const words[] = {
        [GG_ENTRY_CAPTURED] = "captured whole",    [GG_ENTRY_BREAKS] = "breaks",
        [GG_ENTRY_NOTHING] = "nothing to capture", [GG_ENTRY_NO_INPUTS] = "not run: no example inputs",
        [GG_ENTRY_EAGER_ERROR] = "failed",         [GG_ENTRY_CAPTURE_ERROR] = "failed under torch.compile",
        [GG_ENTRY_TIMEOUT] = "timed out",          [GG_ENTRY_CRASHED] = "crashed"};
    return (size_t)status < GG_COUNT(words) ? words[status] : "unknown";
}
