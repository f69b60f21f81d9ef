/* graphglue-lsp check: capture files, show their breaks. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/check_model.h"

typedef struct check {
    gg_cli_args args;
    gg_cli_run *run;
    json_t *files;               /* JSON report */
    gg_cli_sarif *sarif;         /* NULL: none is wanted */
    gg_cli_explainer *explainer; /* NULL: explanations are ours */
    size_t entries, captured, without_inputs, sites, certain, conditional, ignored;
    size_t failures; /* files and entries that could not be run */
    bool breaks;
} check;

int gg_cli_read_stdin(gg_text **out, gg_error *err) {
    gg_buf buf;
    gg_buf_init(&buf, GG_MAX_DOCUMENT_BYTES);
    char block[65536];
    size_t n;
    int error = 0;
    while (error == 0 && (n = fread(block, 1, sizeof(block), stdin)) > 0)
        error = gg_buf_append(&buf, (gg_str){block, n});
    error = error ? gg_fail(err, error, "standard input is over the limit") : gg_text_new(out, gg_buf_str(&buf), err);
    gg_buf_clear(&buf);
    return error;
}

static void open_file(gg_cli_file *file, bool from_stdin) {
    gg_error err = {0};
    int error = from_stdin ? gg_cli_read_stdin(&file->text, &err) : gg_text_read(&file->text, file->absolute, &err);
    file->entries = json_array();
    if (error) file->error = gg_str_dup(gg_str_from(err.message));
    file->done = error;
}

static void count_entry(check *c, const gg_entry *entry) {
    c->entries++;
    if (entry->status == GG_ENTRY_CAPTURED || entry->status == GG_ENTRY_NOTHING) c->captured++;
    if (entry->status == GG_ENTRY_EAGER_ERROR || entry->status == GG_ENTRY_CAPTURE_ERROR ||
        entry->status == GG_ENTRY_TIMEOUT || entry->status == GG_ENTRY_CRASHED)
        c->failures++;
    if (entry->status == GG_ENTRY_NO_INPUTS) c->without_inputs++;
}

static const char *shown_path(const gg_cli_file *file, const gg_site *site, const char *folder, gg_arena *arena) {
    if (gg_str_is(site->file, file->absolute)) return gg_cli_shown(file->path);
    size_t n = strlen(folder);
    if (gg_str_starts_with(site->file, gg_str_from(folder)) && site->file.len > n && site->file.ptr[n] == '/')
        return gg_arena_z(arena, gg_str_slice(site->file, n + 1, site->file.len));
    return gg_arena_z(arena, site->file);
}

static void show_entry(const gg_entry *e, size_t sites) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    bool good = e->status == GG_ENTRY_CAPTURED || e->status == GG_ENTRY_NOTHING;
    printf("%s%s%s %.*s: ", good ? style->green : style->yellow, good ? "ok" : "--", style->reset, GG_STR_ARG(e->name));
    if (e->status == GG_ENTRY_BREAKS)
        printf("%d graph%s, %zu break%s at %zu site%s", e->graphs, e->graphs == 1 ? "" : "s", e->break_count,
               e->break_count == 1 ? "" : "s", sites, sites == 1 ? "" : "s");
    else
        printf("%s", gg_cli_status_words(e->status));
    gg_cli_print_cuda(stdout, &e->cuda);
    putchar('\n');
}

static void tell_site(check *c, const gg_cli_file *file, const gg_site *site, gg_sources *sources, gg_arena *arena) {
    gg_level level = gg_cli_level_of(file->options, site);
    c->breaks = c->breaks || gg_cli_fails(level);
    c->ignored += site->ignored;
    if (c->sarif) gg_cli_sarif_site(c->sarif, file->options, site);
    if (level == GG_LEVEL_OFF) return;
    c->sites++;
    if (c->args.json || c->sarif) return; /* in JSON each entry has its own */
    char folder[PATH_MAX] = "";
    if (getcwd(folder, sizeof(folder)) == NULL) folder[0] = '\0';
    gg_cli_print_site(stdout, site, sources, shown_path(file, site, folder, arena), &c->args, NULL);
}

/* What the text alone tells and the run did not settle, as in an editor. */
static void tell_findings(check *c, gg_cli_file *file, const gg_site_list *sites, bool whole, gg_sources *sources,
                          gg_arena *arena, json_t *out) {
    gg_str path = gg_str_from(file->absolute);
    const gg_tree *tree = file->text && file->options->predict ? gg_sources_tree(sources, path, NULL) : NULL;
    if (tree == NULL || gg_tree_has_error(tree)) return;
    const gg_prediction_list *list = gg_sources_predictions(sources, path);
    gg_ignore_list ignores = gg_ignores_of(tree, arena);
    bool *settled = GG_ARENA_ARRAY(arena, bool, list->len);
    gg_span *spans = GG_ARENA_ARRAY(arena, gg_span, list->len), *met = GG_ARENA_ARRAY(arena, gg_span, sites->len);
    size_t met_count = 0;
    for (size_t i = 0; i < list->len; i++) spans[i] = list->items[i].span;
    for (size_t i = 0; i < sites->len; i++)
        if (gg_str_equal(sites->items[i].file, path)) met[met_count++] = sites->items[i].span;
    gg_predictions_settle(settled, list, spans, met, met_count, whole ? list : NULL);
    for (size_t i = 0; i < list->len; i++) {
        const gg_prediction *p = &list->items[i];
        gg_level level = gg_options_level(file->options, p->id, p->rule);
        bool ignored = gg_is_ignored(&ignores, p->span, p->id, p->rule);
        if (settled[i] || level == GG_LEVEL_OFF) continue;
        c->ignored += ignored;
        if (c->sarif) gg_cli_sarif_prediction(c->sarif, file, p, ignored);
        if (ignored) continue;
        (p->certain ? c->certain++ : c->conditional++);
        c->breaks = c->breaks || (p->certain && gg_cli_fails(level));
        if (out)
            json_array_append_new(out, gg_cli_finding_json(p, file->text));
        else if (c->sarif == NULL)
            gg_cli_print_prediction(stdout, p, file->text, gg_cli_shown(file->path));
    }
}

/* What is said of a file; entries, findings: NULL when it is said as text. */
static void tell(check *c, gg_cli_file *file, const gg_entry *entries, size_t count, gg_sources *sources,
                 gg_arena *arena, json_t *findings) {
    bool text = !c->args.json && !c->sarif;
    const gg_registry *registry = gg_cli_run_registry(c->run);
    gg_site_list sites = gg_sites_group(entries, count, sources, registry, arena);
    gg_cli_sort_sites(&sites);
    if (c->explainer) gg_cli_explain_sites(c->explainer, file, &sites, sources);
    if (c->sarif) {
        gg_cli_sarif_use(c->sarif, registry);
        gg_cli_sarif_problems(c->sarif, file, entries, count);
    }
    if (text && file->error) gg_cli_print_error(stdout, file);
    for (size_t i = 0; text && i < count; i++) gg_cli_print_entry_problem(stdout, file, &entries[i]);
    for (size_t i = 0; i < sites.len; i++) tell_site(c, file, &sites.items[i], sources, arena);
    tell_findings(c, file, &sites, file->error == NULL && gg_entries_whole(entries, count), sources, arena, findings);
    for (size_t i = 0; text && i < count; i++)
        show_entry(&entries[i], gg_sites_group(&entries[i], 1, sources, registry, arena).len);
    if (text && count) putchar('\n');
    fflush(stdout);
}

static void on_file(void *data, gg_cli_file *file) {
    check *c = data;
    gg_arena *arena = gg_arena_new();
    gg_sources *sources = gg_sources_new();
    if (file->text) gg_sources_put(sources, gg_str_from(file->absolute), file->text, NULL);
    size_t count = 0, total = json_array_size(file->entries);
    gg_entry *entries = GG_ARENA_ARRAY(arena, gg_entry, total);
    for (size_t i = 0; i < total; i++) {
        gg_error err = {0};
        if (gg_entry_decode(&entries[count], json_array_get(file->entries, i), arena, &err) == 0) {
            count_entry(c, &entries[count++]);
            continue;
        }
        gg_log(GG_LOG_ERROR, "the worker sent a malformed entry: %s", err.message);
        c->failures++;
    }
    if (file->error) c->failures++;
    json_t *findings = c->args.json ? json_array() : NULL;
    tell(c, file, entries, count, sources, arena, findings);
    if (c->args.json) {
        json_t *out = json_object(), *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, gg_cli_entry_json(&entries[i], sources, gg_cli_run_registry(c->run),
                                                          file->options, c->explainer, arena));
        json_object_set_new(out, "path", json_string(file->path));
        json_object_set_new(out, "error", gg_cli_error_json(file));
        json_object_set_new(out, "entries", list);
        json_object_set_new(out, "findings", findings);
        json_array_append_new(c->files, out);
    }
    gg_sources_free(sources);
    gg_arena_free(arena);
}

/* A model is waited for, and jobs have deadlines: files are told of when all were captured. */
static void on_captured(void *data, gg_cli_file *file) {
    (void)data;
    (void)file;
}

static void show_hints(const check *c, const gg_cli_file *files, size_t file_count) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    const gg_worker_info *info = gg_cli_run_info(c->run);
    bool timed_out = false;
    for (size_t i = 0; i < file_count; i++) timed_out = timed_out || files[i].timed_out;
    const char *hint = NULL;
    if (info->state != GG_WORKER_OFF && info->torch == NULL && c->failures)
        hint = "another interpreter: --python PATH; `graphglue-lsp doctor` says which are in reach";
    else if (timed_out)
        hint = "importing a file must end: put training under `if __name__ == \"__main__\":`, or give it time with "
               "--timeout";
    else if (c->entries == 0 && c->failures == 0)
        hint = "no torch module or example inputs were found: graphglue_inputs() in a file says what to run, "
               "or `graphglue-lsp record -- python train.py`";
    if (hint) printf("%shelp:%s %s\n", style->green, style->reset, hint);
}

static void show_summary(const check *c, const gg_cli_file *files, size_t file_count) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    printf("%s%zu file%s, %zu entr%s: %zu captured whole, %zu break site%s", style->bold, file_count,
           file_count == 1 ? "" : "s", c->entries, c->entries == 1 ? "y" : "ies", c->captured, c->sites,
           c->sites == 1 ? "" : "s");
    if (c->certain + c->conditional)
        printf(", predicted only: %zu certain, %zu conditional", c->certain, c->conditional);
    if (c->ignored) printf(", %zu ignored", c->ignored);
    if (c->without_inputs) printf(", %zu without inputs", c->without_inputs);
    if (c->failures) printf(", %zu could not be run", c->failures);
    printf("%s\n", style->reset);
    show_hints(c, files, file_count);
}

static void open_files(check *c, gg_cli_file **out, size_t *out_count) {
    gg_cli_paths paths = {0};
    gg_cli_collect(&paths, &c->args);
    *out_count = paths.len;
    *out = gg_calloc(paths.len, sizeof(gg_cli_file));
    for (size_t i = 0; i < paths.len; i++) {
        gg_cli_file *file = &(*out)[i];
        gg_cli_file_init(file, &c->args, &paths.items[i]);
        open_file(file, c->args.stdin_filename != NULL);
    }
    gg_cli_paths_clear(&paths);
}

int gg_cli_check(int argc, char **argv) {
    check c = {0};
    gg_error err = {0};
    bool help;
    gg_cli_file *files = NULL;
    size_t count = 0;
    int status = GG_CLI_FAILED;
    if (gg_cli_parse(&c.args, argc, argv, &help, &err) != 0) {
        gg_cli_usage_error("check", &err);
        goto cleanup;
    }
    if (help) {
        status = gg_cli_help("check");
        goto cleanup;
    }
    if (c.args.paths.len == 0 && !c.args.stdin_filename) {
        gg_fail(&err, GG_EPARAMS, "name a file or folder (see graphglue-lsp check --help)");
        gg_cli_usage_error("check", &err);
        goto cleanup;
    }
    gg_cli_settle(&c.args);
    if (c.args.stdin_filename) {
        c.args.paths.len = 0;
        gg_list_push(&c.args.paths, (char *)(uintptr_t)c.args.stdin_filename);
    }
    if (c.args.is_static) {
        status = gg_cli_scan(&c.args);
        goto cleanup;
    }
    open_files(&c, &files, &count);
    if (gg_cli_run_new(&c.run, &c.args, &err) != 0) {
        gg_cli_usage_error("check", &err);
        goto cleanup;
    }
    c.files = json_array();
    if (c.args.sarif) c.sarif = gg_cli_sarif_new();
    gg_cli_capture_all(c.run, files, count, c.args.llm ? on_captured : on_file, &c);
    if (c.args.llm) c.explainer = gg_cli_explainer_new(c.run, &c.args);
    for (size_t i = 0; c.explainer && i < count; i++) on_file(&c, &files[i]);
    status = c.failures ? GG_CLI_FAILED : c.breaks && !c.args.never_fail ? GG_CLI_BREAKS : GG_CLI_CLEAN;
    if (c.args.json) {
        json_t *out = gg_cli_head_json(c.run);
        json_object_set(out, "files", c.files);
        gg_cli_print_json(out);
    } else if (c.sarif) {
        gg_cli_sarif_print(c.sarif, status);
    } else {
        show_summary(&c, files, count);
    }

cleanup:
    for (size_t i = 0; i < count; i++) gg_cli_file_clear(&files[i]);
    gg_free(files);
    json_decref(c.files);
    gg_cli_sarif_free(c.sarif);
    gg_cli_explainer_free(c.explainer);
    gg_cli_run_free(c.run);
    gg_cli_args_clear(&c.args);
    return status;
}
