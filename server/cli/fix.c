/* graphglue-lsp fix: mends files with proved edits.  Drives a repair session (repair/fix.c) against the worker. */
#include <stdio.h>

#include "server/cli/fix_model.h"
#include "server/cli/overlay.h"

typedef struct fixing {
    gg_cli_args args;
    gg_cli_run *run;
    gg_cli_overlay *overlay; /* NULL: no package was named */
    gg_cli_model *model;     /* NULL: none is asked */
    json_t *files;
    gg_cli_fix_counts counts;
    bool failed, breaks;
} fixing;

/* ---- driving ------------------------------------------------------------------------------------------------------------ */

/* Every text as it is now, but with `edited` in place of that of `file` (empty: of none); the caller frees. */
static gg_overlay_file *texts_of(const gg_fix *fix, gg_str file, const gg_text *edited, size_t *out_count) {
    size_t count = 0;
    while (gg_fix_file_at(fix, count)) count++;
    gg_overlay_file *out = gg_calloc(count, sizeof(gg_overlay_file));
    for (size_t i = 0; i < count; i++) {
        const gg_fix_file *f = gg_fix_file_at(fix, i);
        out[i] = (gg_overlay_file){f->path, gg_text_bytes(gg_str_equal(f->path, file) ? edited : f->text)};
    }
    *out_count = count;
    return out;
}

static int capture(fixing *f, gg_fix *fix, gg_cli_file *file, char **failure, gg_error *err) {
    gg_capture_request request = {
        .file = gg_str_from(file->absolute), .train = f->args.train, .deadline_ms = file->options->timeout_ms};
    gg_overlay_file *overlay = texts_of(fix, GG_STR_NULL, NULL, &request.overlay_count);
    request.overlay = overlay;
    request.packages = gg_cli_overlay_folders(f->overlay, &request.package_count);
    json_t *values = NULL;
    json_t *done = gg_cli_job(f->run, gg_capture_request_encode(&request), "entry", "entry", &values);
    *failure = gg_cli_failure(done);
    gg_cli_locate(file, done);
    json_decref(done);
    size_t count = json_array_size(values);
    json_t **entries = gg_calloc(count, sizeof(json_t *));
    for (size_t i = 0; i < count; i++) entries[i] = json_array_get(values, i);
    int error = gg_fix_captured(fix, entries, *failure ? 0 : count, err);
    gg_free(entries);
    gg_free(overlay);
    json_decref(values);
    return error;
}

static int verify(fixing *f, gg_fix *fix, const gg_fix_action *action, const gg_cli_file *file, gg_error *err) {
    gg_verify_request request = {.file = gg_str_from(file->absolute),
                                 .safety = gg_safety_name(action->safety),
                                 .also = action->also,
                                 .also_count = action->also_count,
                                 .copies = action->copies,
                                 .sandbox = action->foreign,
                                 .more_inputs = action->inputs,
                                 .more_input_count = action->input_count,
                                 .train = f->args.train,
                                 .deadline_ms = file->options->timeout_ms};
    gg_overlay_file *original = texts_of(fix, GG_STR_NULL, NULL, &request.original_count);
    gg_overlay_file *edited = texts_of(fix, action->file, action->edited, &request.edited_count);
    request.original = original;
    request.edited = edited;
    request.packages = gg_cli_overlay_folders(f->overlay, &request.package_count);
    json_t *values = NULL;
    json_t *done = gg_cli_job(f->run, gg_verify_request_encode(&request), "verdict", "verdict", &values);
    char *failure = gg_cli_failure(done);
    int error = gg_fix_verified(fix, failure ? NULL : json_array_get(values, 0),
                                gg_str_from(failure ? failure : "the worker gave no verdict"), err);
    gg_free(failure);
    gg_free(original);
    gg_free(edited);
    json_decref(done);
    json_decref(values);
    return error;
}

static int drive(fixing *f, gg_fix *fix, gg_cli_file *file, char **failure, gg_error *err) {
    gg_fix_action action;
    for (size_t step = 0;; step++) {
        int error = gg_fix_next(fix, &action, err);
        if (error || action.step == GG_FIX_DONE) return error;
        if (action.step == GG_FIX_CAPTURE) {
            gg_cli_progress(f->run, "capturing %s", file->path);
            error = capture(f, fix, file, failure, err);
        } else if (action.step == GG_FIX_ASK) {
            error = gg_cli_model_ask(f->model, fix, &action, err);
        } else {
            gg_cli_progress(f->run, "verifying %s (candidate %zu: %s)", file->path, step,
                            action.rule ? action.rule->name : gg_cli_model_name(f->model));
            error = verify(f, fix, &action, file, err);
        }
        if (error || *failure) return error;
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

/* Refuses when it is not what was read. */
static int apply(const gg_cli_file *file, const gg_text *text, gg_error *err) {
    gg_text *now = NULL;
    int error = gg_text_read(&now, file->absolute, err);
    if (error) return error;
    bool changed = !gg_str_equal(gg_text_bytes(now), gg_text_bytes(file->text));
    gg_text_unref(&now);
    if (changed) return gg_fail(err, GG_ESTALE, "the file changed meanwhile; nothing was written");
    return gg_cli_rewrite_file(file->absolute, gg_text_bytes(text), err);
}

/* Where nothing ran, what the text tells is left, as `check` has it; what is certain counts. */
static void tell_predictions(fixing *f, const gg_cli_file *file, gg_sources *sources, gg_arena *arena) {
    gg_str path = gg_str_from(file->absolute);
    const gg_tree *tree = file->options->predict ? gg_sources_tree(sources, path, NULL) : NULL;
    if (tree == NULL || gg_tree_has_error(tree)) return;
    const gg_prediction_list *list = gg_sources_predictions(sources, path);
    gg_ignore_list ignores = gg_ignores_of(tree, arena);
    for (size_t i = 0; i < list->len; i++) {
        const gg_prediction *p = &list->items[i];
        gg_level level = gg_options_level(file->options, p->id, p->rule);
        if (level == GG_LEVEL_OFF || gg_is_ignored(&ignores, p->span, p->id, p->rule)) continue;
        f->breaks = f->breaks || (p->certain && gg_cli_fails(level));
        if (!f->args.json) gg_cli_print_prediction(stdout, p, gg_tree_text(tree), gg_cli_shown(file->path));
    }
}

static void judge(fixing *f, const gg_fix *fix, const gg_cli_file *file) {
    gg_arena *arena = gg_arena_new();
    gg_sources *sources = gg_cli_fix_sources(fix, false);
    size_t count;
    const gg_entry *after = gg_fix_after(fix, &count);
    gg_site_list sites = gg_sites_group(after, count, sources, gg_cli_run_registry(f->run), arena);
    bool ran = false;
    for (size_t i = 0; i < sites.len; i++)
        if (gg_cli_fails(gg_cli_level_of(file->options, &sites.items[i]))) f->breaks = true;
    for (size_t i = 0; i < count; i++) {
        if (after[i].status >= GG_ENTRY_EAGER_ERROR) f->failed = true;
        ran = ran || after[i].status != GG_ENTRY_NO_INPUTS;
    }
    if (!ran && !file->error) tell_predictions(f, file, sources, arena);
    gg_sources_free(sources);
    gg_arena_free(arena);
}

static bool wants(const void *data, const gg_site *site) {
    return gg_cli_level_of(data, site) != GG_LEVEL_OFF;
}

static void fix_file(fixing *f, gg_cli_file *file) {
    gg_error err = {0};
    gg_fix *fix = NULL;
    char *failure = NULL;
    if (gg_text_read(&file->text, file->absolute, &err) == 0) {
        fix = gg_fix_new(gg_str_from(file->absolute), file->text, gg_cli_max_safety(file->options), NULL);
        gg_fix_only(fix, wants, file->options);
        if (f->overlay) gg_cli_overlay_begin(f->overlay, fix, file);
        if (f->model) gg_cli_model_begin(f->model, fix, file);
        if (drive(f, fix, file, &failure, &err) != 0) failure = gg_str_dup(gg_str_from(err.message));
        gg_cli_progress(f->run, "%s", "");
        if (f->args.apply && !failure && !gg_str_equal(gg_text_bytes(file->text), gg_text_bytes(gg_fix_text(fix))) &&
            apply(file, gg_fix_text(fix), &err) != 0)
            failure = gg_str_dup(gg_str_from(err.message));
    } else {
        failure = gg_str_dup(gg_str_from(err.message));
    }
    json_t *repairs = gg_cli_repairs_json(fix);
    json_t *overlay =
        f->overlay && fix && !failure ? gg_cli_overlay_take(f->overlay, fix, file, repairs) : json_array();
    if (f->overlay && fix && !failure && (f->args.apply || !(f->args.json || f->args.diff)) &&
        gg_cli_overlay_write(f->overlay, file, &err) != 0)
        failure = gg_str_dup(gg_str_from(err.message));
    json_t *bench = NULL;
    if (f->args.bench && fix && !failure) {
        gg_cli_progress(f->run, "timing %s", file->path);
        bench = gg_cli_bench(f->run, fix, file, &f->args, f->overlay, &failure);
        gg_cli_progress(f->run, "%s", "");
    }
    file->error = failure;
    if (failure) f->failed = true;
    if (fix) judge(f, fix, file);
    if (f->args.json) {
        json_array_append_new(f->files, gg_cli_fix_json(f->run, fix, file, json_incref(repairs), json_incref(overlay),
                                                        bench ? json_incref(bench) : json_null(),
                                                        fix ? gg_cli_model_json(f->model) : json_null()));
    } else {
        if (failure) gg_cli_print_error(stdout, file);
        if (fix && !failure) gg_cli_fix_report(fix, file, f->run, &f->args, &f->counts);
        if (fix && !failure && f->model) gg_cli_model_print(f->model);
        gg_cli_print_bench(bench);
        fflush(stdout);
    }
    json_decref(repairs);
    json_decref(overlay);
    json_decref(bench);
    if (fix && f->model) gg_cli_model_end(f->model, file);
    gg_fix_free(fix);
}

int gg_cli_fix(int argc, char **argv) {
    fixing f = {0};
    gg_error err = {0};
    bool help;
    int status = GG_CLI_FAILED;
    gg_cli_paths paths = {0};
    if (gg_cli_parse(&f.args, argc, argv, &help, &err) != 0) {
        gg_cli_usage_error("fix", &err);
        goto cleanup;
    }
    if (help) {
        status = gg_cli_help("fix");
        goto cleanup;
    }
    if (f.args.paths.len == 0) {
        gg_fail(&err, GG_EPARAMS, "name a file or folder (see graphglue-lsp fix --help)");
        gg_cli_usage_error("fix", &err);
        goto cleanup;
    }
    gg_cli_settle(&f.args);
    if (gg_cli_run_new(&f.run, &f.args, &err) != 0) {
        gg_cli_usage_error("fix", &err);
        goto cleanup;
    }
    if (f.args.packages.len && gg_cli_overlay_new(&f.overlay, f.run, &f.args, &err) != 0) {
        gg_cli_usage_error("fix", &err);
        goto cleanup;
    }
    if (f.args.llm && gg_cli_model_new(&f.model, f.run, &f.args, &err) != 0) {
        gg_cli_usage_error("fix", &err);
        goto cleanup;
    }
    f.files = json_array();
    gg_cli_collect(&paths, &f.args);
    for (size_t i = 0; i < paths.len; i++) {
        gg_cli_file file;
        gg_cli_file_init(&file, &f.args, &paths.items[i]);
        fix_file(&f, &file);
        gg_cli_file_clear(&file);
    }
    if (f.args.json) {
        json_t *out = gg_cli_head_json(f.run);
        json_object_set(out, "files", f.files);
        gg_cli_print_json(out);
    } else {
        gg_cli_fix_summary(&f.counts, &f.args);
        if (f.overlay) gg_cli_overlay_summary(f.overlay);
    }
    status = f.failed ? GG_CLI_FAILED : f.breaks && !f.args.never_fail ? GG_CLI_BREAKS : GG_CLI_CLEAN;

cleanup:
    gg_cli_paths_clear(&paths);
    json_decref(f.files);
    gg_cli_overlay_free(f.overlay);
    gg_cli_model_free(f.model);
    gg_cli_run_free(f.run);
    gg_cli_args_clear(&f.args);
    return status;
}
