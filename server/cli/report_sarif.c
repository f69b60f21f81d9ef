/* Findings as SARIF 2.1.0, for code scanning: docs/sarif.md.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/cli.h"
#include "server/session.h"

enum { MAX_HELP_BYTES = 256 * 1024 };

struct gg_cli_sarif {
    const gg_registry *registry; /* NULL until a worker is ready, and with --static */
    char *root;                  /* URI of the current folder, with its slash; NULL: unknown */
    json_t *rules, *results, *notes;
};

gg_cli_sarif *gg_cli_sarif_new(void) {
    gg_cli_sarif *s = gg_calloc(1, sizeof(gg_cli_sarif));
    char folder[PATH_MAX + 1];
    s->rules = json_array();
    s->results = json_array();
    s->notes = json_array();
    if (getcwd(folder, sizeof(folder) - 1)) {
        size_t n = strlen(folder);
        if (folder[n - 1] != '/') memcpy(folder + n, "/", 2);
        s->root = gg_path_to_uri(folder);
    }
    return s;
}

void gg_cli_sarif_use(gg_cli_sarif *s, const gg_registry *registry) {
    if (registry) s->registry = registry;
}

void gg_cli_sarif_free(gg_cli_sarif *s) {
    if (s == NULL) return;
    gg_free(s->root);
    json_decref(s->rules);
    json_decref(s->results);
    json_decref(s->notes);
    gg_free(s);
}

/* ---- places -------------------------------------------------------------------------------------------------------------------- */

/* Below the current folder relative to it, so that a report means the same on another machine. */
static json_t *artifact(const gg_cli_sarif *s, const char *path) {
    char *uri = gg_path_to_uri(path);
    const char *root = path[0] == '/' ? s->root : "file://"; /* one that is not there is as it was given */
    size_t n = root ? strlen(root) : 0;
    json_t *out = n && strncmp(uri, root, n) == 0 && uri[n]
                      ? json_pack("{s:s, s:s}", "uri", uri + n, "uriBaseId", "SRCROOT")
                      : json_pack("{s:s}", "uri", uri);
    gg_free(uri);
    return out;
}

static json_t *location(const gg_cli_sarif *s, gg_str file, json_t *region_take) {
    char *path = gg_str_dup(file);
    json_t *physical = json_pack("{s:o}", "artifactLocation", artifact(s, path));
    if (region_take) json_object_set_new(physical, "region", region_take);
    gg_free(path);
    return json_pack("{s:o}", "physicalLocation", physical);
}

static json_t *region_of(gg_range range) {
    return json_pack("{s:i, s:i, s:i, s:i}", "startLine", (int)range.start.line + 1, "startColumn",
                     (int)range.start.character + 1, "endLine", (int)range.end.line + 1, "endColumn",
                     (int)range.end.character + 1);
}

static json_t *stack_of(const gg_cli_sarif *s, const gg_site *site) {
    json_t *out = json_array();
    for (size_t i = 0; i < site->stack_len; i++) {
        const gg_frame *frame = &site->stack[i];
        if (frame->line == 0 || frame->file.len == 0 || frame->file.ptr[0] != '/') continue;
        json_t *one = location(s, frame->file, json_pack("{s:i}", "startLine", (int)frame->line));
        json_object_set_new(one, "id", json_integer((json_int_t)json_array_size(out)));
        json_object_set_new(one, "message",
                            json_pack("{s:s%}", "text", frame->function.len ? frame->function.ptr : "frame",
                                      frame->function.len ? frame->function.len : (size_t)5));
        json_array_append_new(out, one);
    }
    return out;
}

/* ---- rules --------------------------------------------------------------------------------------------------------------------- */

static void add_text(json_t *out, const char *key, gg_str id, const gg_registry *registry, bool markdown) {
    gg_buf text;
    gg_buf_init(&text, MAX_HELP_BYTES);
    if (gg_explain_id(&text, id, registry, markdown, NULL) == 0)
        json_object_set_new(out, key, json_stringn(text.ptr, text.len));
    gg_buf_clear(&text);
}

/* The explanation's first line behind the id; else what Dynamo calls it. */
static json_t *title_of(const json_t *help, gg_str type, gg_str id) {
    const char *text = json_string_value(json_object_get(help, "text"));
    const char *start = text ? strstr(text, ": ") : NULL, *end = start ? strchr(start, '\n') : NULL;
    if (end) return json_stringn(start + 2, (size_t)(end - start - 2));
    return type.len ? json_stringn(type.ptr, type.len) : json_stringn(id.ptr, id.len);
}

static json_int_t rule_index(gg_cli_sarif *s, gg_str id, gg_str type) {
    size_t i;
    json_t *rule;
    json_array_foreach(s->rules, i, rule) {
        if (gg_str_is(id, json_string_value(json_object_get(rule, "id")))) return (json_int_t)i;
    }
    gg_arena *arena = gg_arena_new();
    json_t *help = json_object();
    add_text(help, "text", id, s->registry, false);
    add_text(help, "markdown", id, s->registry, true);
    rule = json_pack("{s:s%, s:{s:o}, s:{s:s}, s:{s:[s]}}", "id", id.ptr, id.len, "shortDescription", "text",
                     title_of(help, type, id), "defaultConfiguration", "level", "warning", "properties", "tags",
                     "torch.compile");
    if (!gg_is_rule(id)) { /* else it is no break, and has no id of its own */
        gg_str url = gg_explain_url(id, arena);
        json_object_set_new(rule, "helpUri", json_stringn(url.ptr, url.len));
        json_object_set_new(json_object_get(rule, "properties"), "category", json_string(gg_break_category(id, type)));
    }
    if (json_object_size(help)) json_object_set(rule, "help", help);
    json_decref(help);
    gg_arena_free(arena);
    json_array_append_new(s->rules, rule);
    return (json_int_t)i;
}

/* ---- results ------------------------------------------------------------------------------------------------------------------- */

static const char *level_name(gg_level level) {
    return level == GG_LEVEL_ERROR ? "error" : level == GG_LEVEL_WARNING ? "warning" : "note";
}

static json_t *result(gg_cli_sarif *s, gg_level level, gg_str id, gg_str type, gg_str message, json_t *location_take,
                      bool ignored) {
    json_t *out =
        json_pack("{s:s%, s:I, s:s, s:{s:s%}, s:[o]}", "ruleId", id.ptr, id.len, "ruleIndex", rule_index(s, id, type),
                  "level", level_name(level), "message", "text", message.ptr, message.len, "locations", location_take);
    if (ignored) json_object_set_new(out, "suppressions", json_pack("[{s:s}]", "kind", "inSource"));
    json_array_append(s->results, out);
    return out;
}

void gg_cli_sarif_site(gg_cli_sarif *s, const gg_options *options, const gg_site *site) {
    gg_level level = gg_options_level(options, site->id, site->rule);
    if (level == GG_LEVEL_OFF || site->file.len == 0 || site->file.ptr[0] != '/') return;
    gg_arena *arena = gg_arena_new();
    json_t *place = location(s, site->file, region_of(site->range_utf16));
    if (site->enclosing.len)
        json_object_set_new(place, "logicalLocations",
                            json_pack("[{s:s%}]", "fullyQualifiedName", site->enclosing.ptr, site->enclosing.len));
    json_t *out = result(s, level ? level : GG_LEVEL_WARNING, site->id, site->type, gg_explain_short(site, arena),
                         place, site->ignored);
    json_t *stack = stack_of(s, site);
    if (json_array_size(stack)) json_object_set(out, "relatedLocations", stack);
    json_decref(stack);
    json_object_set_new(out, "properties",
                        json_pack("{s:s, s:s, s:b, s:i}", "source", "dynamo", "kind", site->skip ? "skip" : "split",
                                  "in_loop", site->in_loop, "count", (int)site->count));
    json_decref(out);
    gg_arena_free(arena);
}

void gg_cli_sarif_prediction(gg_cli_sarif *s, const gg_cli_file *file, const gg_prediction *p, bool ignored) {
    gg_level level = gg_options_level(file->options, p->id, p->rule);
    if (level == GG_LEVEL_OFF) return;
    gg_arena *arena = gg_arena_new();
    gg_str said = p->guard.len == 0 ? gg_arena_printf(arena, "%.*s (predicted)", GG_STR_ARG(p->message))
                                    : gg_arena_printf(arena, "%.*s (predicted; only if: %.*s)", GG_STR_ARG(p->message),
                                                      GG_STR_ARG(p->guard));
    json_t *out = result(
        s,
        level        ? level
        : p->certain ? GG_LEVEL_WARNING
                     : GG_LEVEL_HINT,
        p->id, GG_STR_NULL, said,
        location(s, gg_str_from(file->absolute), region_of(gg_text_range(file->text, p->span, GG_UTF16))), ignored);
    json_object_set_new(out, "properties",
                        json_pack("{s:s, s:s, s:s%}", "source", "static", "certainty",
                                  p->certain ? "certain" : "conditional", "rule", p->rule.ptr, p->rule.len));
    json_decref(out);
    gg_arena_free(arena);
}

/* ---- what could not be run -------------------------------------------------------------------------------------------------------- */

static void note(gg_cli_sarif *s, const char *level, gg_str words, json_t *location_take) {
    json_array_append_new(s->notes, json_pack("{s:s, s:{s:s%}, s:[o]}", "level", level, "message", "text", words.ptr,
                                              words.len, "locations", location_take));
}

void gg_cli_sarif_problems(gg_cli_sarif *s, const gg_cli_file *file, const gg_entry *entries, size_t count) {
    gg_str path = gg_str_from(file->absolute);
    json_t *at = file->line ? json_pack("{s:i, s:i}", "startLine", (int)file->line, "startColumn",
                                        (int)(file->column ? file->column : 1))
                            : NULL;
    if (file->error)
        note(s, "error", gg_str_from(file->error), location(s, path, at));
    else
        json_decref(at);
    gg_arena *arena = gg_arena_new();
    for (size_t i = 0; i < count; i++) {
        const gg_entry *e = &entries[i];
        bool failed = e->status >= GG_ENTRY_EAGER_ERROR;
        if (e->message.len == 0 || (!failed && e->status != GG_ENTRY_NO_INPUTS)) continue;
        gg_str said = gg_arena_printf(arena, "%.*s: %s: %.*s", GG_STR_ARG(e->name), gg_cli_status_words(e->status),
                                      GG_STR_ARG(e->message));
        bool placed = e->line && e->file.len && e->file.ptr[0] == '/';
        note(s, failed ? "error" : "note", said,
             location(s, placed ? e->file : path, placed ? json_pack("{s:i}", "startLine", (int)e->line) : NULL));
    }
    gg_arena_free(arena);
}

void gg_cli_sarif_print(const gg_cli_sarif *s, int exit_code) {
    json_t *run = json_pack("{s:{s:{s:s, s:s, s:O}}, s:s, s:O, s:[{s:b, s:i, s:O}]}", "tool", "driver", "name",
                            "graphglue-lsp", "semanticVersion", GG_VERSION, "rules", s->rules, "columnKind",
                            "utf16CodeUnits", "results", s->results, "invocations", "executionSuccessful",
                            exit_code != GG_CLI_FAILED, "exitCode", exit_code, "toolExecutionNotifications", s->notes);
    if (s->root) json_object_set_new(run, "originalUriBaseIds", json_pack("{s:{s:s}}", "SRCROOT", "uri", s->root));
    gg_cli_print_json(json_pack("{s:s, s:s, s:[o]}", "$schema", "https://json.schemastore.org/sarif-2.1.0.json",
                                "version", "2.1.0", "runs", run));
}
