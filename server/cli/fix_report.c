/* What `fix` tells people: what was tried and proved, the diff, what is left.  Any thread.
 *
 * Each candidate was tried on the text as mended by then; places are told in the file as it was, which is what the reader has open. */
#include <stdio.h>

#include "server/cli/cli.h"

/* Where an offset of the text behind a repair lies in the text before it. */
static uint32_t before_repair(const gg_fix_repair *repair, uint32_t at) {
    int64_t shift = 0; /* bytes added so far */
    for (size_t i = 0; i < repair->edit_count; i++) {
        const gg_edit *edit = &repair->edits[i];
        int64_t start = (int64_t)edit->span.start + shift, end = start + (int64_t)edit->text.len;
        if ((int64_t)at < start) break;
        if ((int64_t)at < end) { /* inside what was put in */
            uint32_t inside = (uint32_t)(at - start), old = edit->span.end - edit->span.start;
            return edit->span.start + (inside < old ? inside : old);
        }
        shift += (int64_t)edit->text.len - (int64_t)(edit->span.end - edit->span.start);
    }
    return (uint32_t)(at - shift);
}

/* Where the repair's site is in its file as it was. */
static uint32_t original_place(const gg_fix_repair *repairs, size_t index) {
    uint32_t at = gg_text_offset(repairs[index].base, repairs[index].range_utf16.start, GG_UTF16);
    for (size_t i = index; i-- > 0;)
        if (repairs[i].verdict && repairs[i].verdict->accepted && gg_str_equal(repairs[i].file, repairs[index].file))
            at = before_repair(&repairs[i], at);
    return at;
}

/* A refused candidate that was tried again after another repair, and proved: only that is told. */
static bool proved_later(const gg_fix_repair *repairs, size_t count, size_t index) {
    const gg_fix_repair *r = &repairs[index];
    for (size_t i = index + 1; i < count && !r->verdict->accepted; i++)
        if (repairs[i].rule == r->rule && repairs[i].verdict && repairs[i].verdict->accepted &&
            gg_str_equal(repairs[i].file, r->file) && original_place(repairs, i) == original_place(repairs, index))
            return true;
    return false;
}

static const gg_fix_file *file_of(const gg_fix *fix, gg_str path) {
    const gg_fix_file *f = NULL;
    for (size_t i = 0; (f = gg_fix_file_at(fix, i)) != NULL && !gg_str_equal(f->path, path);) i++;
    return f;
}

gg_sources *gg_cli_fix_sources(const gg_fix *fix, bool before) {
    gg_sources *sources = gg_sources_new();
    const gg_fix_file *f;
    for (size_t i = 0; (f = gg_fix_file_at(fix, i)) != NULL; i++)
        gg_sources_put(sources, f->path, before ? f->begun : f->text, NULL);
    return sources;
}

/* As the user named it; other files by their whole path. */
static const char *shown(const gg_cli_file *file, gg_str path, gg_arena *arena) {
    return gg_str_is(path, file->absolute) ? gg_cli_shown(file->path) : gg_arena_z(arena, path);
}

static void report_repairs(const gg_fix *fix, const gg_cli_file *file, gg_cli_fix_counts *counts) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    gg_arena *arena = gg_arena_new();
    size_t count = 0;
    const gg_fix_repair *list = gg_fix_repairs(fix, &count);
    for (size_t i = 0; i < count; i++) {
        const gg_fix_repair *r = &list[i];
        if (r->verdict == NULL || proved_later(list, count, i)) continue;
        gg_position at = gg_text_position(file_of(fix, r->file)->begun, original_place(list, i), GG_UTF16);
        printf("%s%s:%u:%u:%s %.*s %s (%s, %s)\n  %s%.*s%s\n", style->bold, shown(file, r->file, arena), at.line + 1,
               at.character + 1, style->reset, GG_STR_ARG(r->site_id),
               r->rule ? r->rule->title : "Rewritten by the model", r->rule ? r->rule->code : "model",
               gg_safety_name(gg_fix_repair_safety(r)), r->verdict->accepted ? style->green : style->red,
               GG_STR_ARG(gg_verdict_summary(r->verdict, arena)), style->reset);
        counts->own += r->verdict->accepted && gg_str_is(r->file, file->absolute);
        if (r->verdict->accepted)
            counts->proved++;
        else
            counts->refused++;
    }
    if (count) putchar('\n');
    gg_arena_free(arena);
}

static void report_entry(const gg_entry *before, const gg_entry *after) {
    if (after->status != GG_ENTRY_CAPTURED && after->status != GG_ENTRY_BREAKS) {
        printf("%.*s: %s\n", GG_STR_ARG(after->name), gg_cli_status_words(after->status));
        return;
    }
    bool same = before->graphs == after->graphs && before->break_count == after->break_count;
    printf("%.*s: %d graph%s", GG_STR_ARG(after->name), before->graphs, before->graphs == 1 ? "" : "s");
    if (!same) printf(" → %d", after->graphs);
    printf(", %zu break%s", before->break_count, before->break_count == 1 ? "" : "s");
    if (!same) printf(" → %zu", after->break_count);
    if (after->status == GG_ENTRY_CAPTURED) printf(" (%s)", gg_cli_status_words(after->status));
    putchar('\n');
}

static void report_left(const gg_fix *fix, const gg_cli_file *file, gg_cli_run *run, const gg_cli_args *args,
                        gg_cli_fix_counts *counts) {
    gg_arena *arena = gg_arena_new();
    gg_sources *sources = gg_cli_fix_sources(fix, false);
    gg_error err = {0};
    size_t count, before_count;
    const gg_entry *before = gg_fix_before(fix, &before_count), *after = gg_fix_after(fix, &count);
    gg_site_list sites = gg_sites_group(after, count, sources, gg_cli_run_registry(run), arena);
    gg_cli_sort_sites(&sites);
    const gg_safety safety = gg_cli_max_safety(file->options);
    bool headed = false;
    for (size_t i = 0; i < sites.len; i++) {
        const gg_site *site = &sites.items[i];
        if (gg_cli_level_of(file->options, site) == GG_LEVEL_OFF) continue;
        if (!headed) puts("Left as it is:\n");
        headed = true;
        bool own = file_of(fix, site->file) != NULL;
        const gg_safety *tried = own ? &safety : NULL;
        const gg_rule *offer = gg_cli_offer(site, gg_sources_tree(sources, site->file, &err), tried);
        gg_cli_print_site(stdout, site, sources, shown(file, site->file, arena), args, tried);
        if (offer == NULL || !own) continue;
        counts->held_back++;
        if (offer->safety > counts->needed) counts->needed = offer->safety;
    }
    for (size_t i = 0; i < count; i++) gg_cli_print_entry_problem(stdout, file, &after[i]);
    for (size_t i = 0; i < count && i < before_count; i++) report_entry(&before[i], &after[i]);
    if (count) putchar('\n');
    gg_sources_free(sources);
    gg_arena_free(arena);
}

void gg_cli_fix_report(const gg_fix *fix, const gg_cli_file *file, gg_cli_run *run, const gg_cli_args *args,
                       gg_cli_fix_counts *counts) {
    report_repairs(fix, file, counts);
    gg_arena *arena = gg_arena_new();
    const gg_fix_file *f;
    for (size_t i = 0; (f = gg_fix_file_at(fix, i)) != NULL; i++) {
        if (gg_str_equal(gg_text_bytes(f->begun), gg_text_bytes(f->text)) || (i == 0 && args->apply)) continue;
        gg_cli_print_diff(stdout, shown(file, f->path, arena), f->begun, f->text);
        putchar('\n');
    }
    gg_arena_free(arena);
    report_left(fix, file, run, args, counts);
}

void gg_cli_fix_summary(const gg_cli_fix_counts *counts, const gg_cli_args *args) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    printf("%s%zu repair%s proved%s, %zu candidate%s refused%s\n", style->bold, counts->proved,
           counts->proved == 1 ? "" : "s", args->apply && counts->own ? " and written" : "", counts->refused,
           counts->refused == 1 ? "" : "s", style->reset);
    if (counts->own && !args->apply)
        printf("%shelp:%s nothing was written; --apply writes the proved edits\n", style->green, style->reset);
    if (counts->held_back)
        printf("%shelp:%s %zu more site%s may be mended with --max-safety %s\n", style->green, style->reset,
               counts->held_back, counts->held_back == 1 ? "" : "s", gg_safety_name(counts->needed));
}
