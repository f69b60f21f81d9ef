/* graphglue-lsp fix: mends files with proved edits.  Drives a repair session (repair/fix.c) against the worker. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cli/cli.h"

typedef struct fixing {
    gg_cli_args args;
    gg_cli_run *run;
    json_t *files;
    gg_cli_fix_counts counts;
    bool failed, breaks;
} fixing;

/* ---- driving ------------------------------------------------------------------------------------------------------------ */

static int capture(fixing *f, gg_fix *fix, const gg_fix_action *action, gg_cli_file *file, char **failure,
                   gg_error *err) {
    gg_overlay_file overlay = {gg_str_from(file->absolute), gg_text_bytes(action->original)};
    gg_capture_request request = {.file = overlay.file,
                                  .overlay = &overlay,
                                  .overlay_count = 1,
                                  .train = f->args.train,
                                  .deadline_ms = file->options->timeout_ms};
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
    json_decref(values);
    return error;
}

static int verify(fixing *f, gg_fix *fix, const gg_fix_action *action, const gg_cli_file *file, gg_error *err) {
    const char *path = file->absolute;
    gg_overlay_file original = {gg_str_from(path), gg_text_bytes(action->original)};
    gg_overlay_file edited = {gg_str_from(path), gg_text_bytes(action->edited)};
    gg_verify_request request = {.file = original.file,
                                 .original = &original,
                                 .original_count = 1,
                                 .edited = &edited,
                                 .edited_count = 1,
                                 .safety = gg_safety_name(action->safety),
                                 .train = f->args.train,
                                 .deadline_ms = file->options->timeout_ms};
    json_t *values = NULL;
    json_t *done = gg_cli_job(f->run, gg_verify_request_encode(&request), "verdict", "verdict", &values);
    char *failure = gg_cli_failure(done);
    int error = gg_fix_verified(fix, failure ? NULL : json_array_get(values, 0),
                                gg_str_from(failure ? failure : "the worker gave no verdict"), err);
    gg_free(failure);
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
            error = capture(f, fix, &action, file, failure, err);
        } else {
            gg_cli_progress(f->run, "verifying %s (candidate %zu: %s)", file->path, step, action.rule->name);
            error = verify(f, fix, &action, file, err);
        }
        if (error || *failure) return error;
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------- */

static json_t *texts(const gg_str *items, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_stringn(items[i].ptr ? items[i].ptr : "", items[i].len));
    return array;
}

static json_t *verdict_json(const gg_verdict *v) {
    return json_pack("{s:b, s:s%, s:i, s:i, s:i, s:i, s:o, s:o}", "accepted", v->accepted, "outputs", v->outputs.ptr,
                     v->outputs.len, "graphs_before", (int)v->graphs_before, "graphs_after", (int)v->graphs_after,
                     "breaks_before", (int)v->breaks_before, "breaks_after", (int)v->breaks_after, "compared",
                     texts(v->compared, v->compared_count), "reasons", texts(v->reasons, v->reason_count));
}

/* {"allow_rnn": true}, {"reorderable_logging_functions": ["warnings.warn"]} or null */
static json_t *setting_json(gg_setting setting) {
    if (setting.name == NULL) return json_null();
    if (setting.member.len == 0) return json_pack("{s:b}", setting.name, 1);
    return json_pack("{s:[s%]}", setting.name, setting.member.ptr, setting.member.len);
}

static json_t *repair_json(const gg_fix_repair *r) {
    json_t *edits = json_array();
    for (size_t i = 0; i < r->edit_count; i++)
        json_array_append_new(edits, json_pack("{s:s%, s:o, s:s%}", "file", r->file.ptr, r->file.len, "range",
                                               gg_cli_range_json(gg_text_range(r->base, r->edits[i].span, GG_UTF16)),
                                               "newText", r->edits[i].text.ptr ? r->edits[i].text.ptr : "",
                                               r->edits[i].text.len));
    return json_pack("{s:s%, s:s%, s:o, s:s, s:s, s:s, s:o, s:o, s:o}", "id", r->site_id.ptr, r->site_id.len, "file",
                     r->file.ptr, r->file.len, "range", gg_cli_range_json(r->range_utf16), "source", "rule", "rule",
                     r->rule->code, "safety", gg_safety_name(r->rule->safety), "verdict", verdict_json(r->verdict),
                     "edits", edits, "config", setting_json(r->setting));
}

static json_t *entries_json(fixing *f, const gg_fix *fix, const gg_cli_file *file) {
    size_t before_count, after_count;
    const gg_entry *before = gg_fix_before(fix, &before_count), *after = gg_fix_after(fix, &after_count);
    json_t *array = json_array();
    gg_arena *arena = gg_arena_new();
    gg_sources *was = gg_sources_new(), *is = gg_sources_new();
    gg_sources_put(was, gg_str_from(file->absolute), file->text, NULL);
    gg_sources_put(is, gg_str_from(file->absolute), gg_fix_text(fix), NULL);
    const gg_registry *registry = gg_cli_run_registry(f->run);
    for (size_t i = 0; i < before_count && i < after_count; i++) {
        bool glued = before[i].break_count > 0 && after[i].status == GG_ENTRY_CAPTURED;
        json_array_append_new(
            array, json_pack("{s:s%, s:o, s:o, s:b}", "name", before[i].name.ptr, before[i].name.len, "before",
                             gg_cli_entry_json(&before[i], was, registry, file->options, arena), "after",
                             gg_cli_entry_json(&after[i], is, registry, file->options, arena), "glued", glued));
    }
    gg_sources_free(was);
    gg_sources_free(is);
    gg_arena_free(arena);
    return array;
}

static void report_json(fixing *f, const gg_fix *fix, const gg_cli_file *file) {
    json_t *repairs = json_array(), *out = json_object();
    size_t count = 0;
    const gg_fix_repair *list = fix ? gg_fix_repairs(fix, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].verdict) json_array_append_new(repairs, repair_json(&list[i]));
    gg_str patched = fix ? gg_text_bytes(gg_fix_text(fix)) : file->text ? gg_text_bytes(file->text) : GG_STR_NULL;
    json_object_set_new(out, "path", json_string(file->path));
    json_object_set_new(out, "error", gg_cli_error_json(file));
    json_object_set_new(out, "entries", fix ? entries_json(f, fix, file) : json_array());
    json_object_set_new(out, "repairs", repairs);
    json_object_set_new(out, "patched", patched.ptr ? json_stringn(patched.ptr, patched.len) : json_null());
    json_object_set_new(out, "overlay", json_array());
    json_array_append_new(f->files, out);
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

/* Replaces the file in one step, keeping its mode; refuses when it is not what was read. */
static int apply(const gg_cli_file *file, const gg_text *text, gg_error *err) {
    gg_text *now = NULL;
    int error = gg_text_read(&now, file->absolute, err);
    if (error) return error;
    bool changed = !gg_str_equal(gg_text_bytes(now), gg_text_bytes(file->text));
    gg_text_unref(&now);
    if (changed) return gg_fail(err, GG_ESTALE, "the file changed meanwhile; nothing was written");
    gg_buf temporary;
    gg_buf_init(&temporary, 8192);
    gg_buf_printf(&temporary, "%s.graphglue-XXXXXX", file->absolute);
    gg_str bytes = gg_text_bytes(text);
    struct stat info;
    int fd = temporary.overflow ? -1 : mkstemp(temporary.ptr);
    bool written = fd >= 0 && stat(file->absolute, &info) == 0 && fchmod(fd, info.st_mode & 07777) == 0;
    for (size_t at = 0; written && at < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + at, bytes.len - at);
        written = n > 0;
        at += written ? (size_t)n : 0;
    }
    written = written && fsync(fd) == 0;
    if (fd >= 0) written = close(fd) == 0 && written;
    if (written && rename(temporary.ptr, file->absolute) != 0) written = false;
    if (!written) {
        error = gg_fail(err, GG_EIO, "the file could not be written; it is as it was");
        if (fd >= 0) unlink(temporary.ptr);
    }
    gg_buf_clear(&temporary);
    return error;
}

static void judge(fixing *f, const gg_fix *fix, const gg_cli_file *file) {
    gg_arena *arena = gg_arena_new();
    gg_sources *sources = gg_sources_new();
    gg_sources_put(sources, gg_str_from(file->absolute), gg_fix_text(fix), NULL);
    size_t count;
    const gg_entry *after = gg_fix_after(fix, &count);
    gg_site_list sites = gg_sites_group(after, count, sources, gg_cli_run_registry(f->run), arena);
    for (size_t i = 0; i < sites.len; i++)
        if (gg_cli_fails(gg_cli_level_of(file->options, &sites.items[i]))) f->breaks = true;
    for (size_t i = 0; i < count; i++)
        if (after[i].status >= GG_ENTRY_EAGER_ERROR) f->failed = true;
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
        if (drive(f, fix, file, &failure, &err) != 0) failure = gg_str_dup(gg_str_from(err.message));
        gg_cli_progress(f->run, "%s", "");
        if (f->args.apply && !failure && !gg_str_equal(gg_text_bytes(file->text), gg_text_bytes(gg_fix_text(fix))) &&
            apply(file, gg_fix_text(fix), &err) != 0)
            failure = gg_str_dup(gg_str_from(err.message));
    } else {
        failure = gg_str_dup(gg_str_from(err.message));
    }
    file->error = failure;
    if (failure) f->failed = true;
    if (fix) judge(f, fix, file);
    if (f->args.json) {
        report_json(f, fix, file);
    } else {
        if (failure) gg_cli_print_error(stdout, file);
        if (fix && !failure) gg_cli_fix_report(fix, file, f->run, &f->args, &f->counts);
        fflush(stdout);
    }
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
    }
    status = f.failed ? GG_CLI_FAILED : f.breaks && !f.args.never_fail ? GG_CLI_BREAKS : GG_CLI_CLEAN;

cleanup:
    gg_cli_paths_clear(&paths);
    json_decref(f.files);
    gg_cli_run_free(f.run);
    gg_cli_args_clear(&f.args);
    return status;
}
