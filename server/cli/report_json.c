/* The contract's JSON (docs/json.md): every key is always there, unknown is null.  Any thread. */
#include <stdio.h>
#include <stdlib.h>

#include "server/cli/check_model.h"

static json_t *text_or_null(gg_str s) {
    return s.len ? json_stringn(s.ptr, s.len) : json_null();
}

static json_t *z_or_null(const char *z) {
    return z ? json_string(z) : json_null();
}

json_t *gg_cli_range_json(gg_range range) {
    return json_pack("{s:{s:i, s:i}, s:{s:i, s:i}}", "start", "line", (int)range.start.line, "character",
                     (int)range.start.character, "end", "line", (int)range.end.line, "character",
                     (int)range.end.character);
}

static json_t *texts(const gg_str *items, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_stringn(items[i].ptr ? items[i].ptr : "", items[i].len));
    return array;
}

static json_t *stack_json(const gg_site *site) {
    json_t *array = json_array();
    for (size_t i = 0; i < site->stack_len; i++) {
        const gg_frame *frame = &site->stack[i];
        json_array_append_new(array, json_pack("{s:o, s:i, s:o}", "file", text_or_null(frame->file), "line",
                                               (int)frame->line, "function", text_or_null(frame->function)));
    }
    return array;
}

/* What keeps the rules that are made for such a break from mending it, where one of them says so. */
static json_t *why_no_rule_json(const gg_site *site, gg_sources *sources, const gg_options *options, gg_arena *arena) {
    const gg_tree *tree = site->in_workspace ? gg_sources_tree(sources, site->file, NULL) : NULL;
    gg_rule_input in = {.tree = tree, .site = site, .span = site->span};
    gg_hindrance told;
    if (tree == NULL || !gg_repair_hindrance(&in, gg_cli_max_safety(options), &told)) return json_null();
    gg_str said = gg_hindrance_text(&told, tree, false, arena);
    return json_pack("{s:s, s:s, s:o, s:s%}", "rule", told.rule->code, "safety", gg_safety_name(told.rule->safety),
                     "range", gg_cli_range_json(gg_text_range(gg_tree_text(tree), told.span, GG_UTF16)), "reason",
                     said.ptr, said.len);
}

static json_t *site_json(const gg_site *site, gg_sources *sources, const gg_options *options, gg_arena *arena) {
    json_t *out = json_object();
    json_object_set_new(out, "id", text_or_null(site->id));
    json_object_set_new(out, "type", text_or_null(site->type));
    json_object_set_new(out, "category", text_or_null(site->category));
    json_object_set_new(out, "kind", json_string(site->skip ? "skip" : "split"));
    json_object_set_new(out, "in_loop", json_boolean(site->in_loop));
    json_object_set_new(out, "aggravations", texts(site->aggravations, site->aggravation_count));
    json_object_set_new(out, "count", json_integer(site->count));
    json_object_set_new(out, "file", text_or_null(site->file));
    json_object_set_new(out, "range", gg_cli_range_json(site->range_utf16));
    json_object_set_new(out, "enclosing", text_or_null(site->enclosing));
    json_object_set_new(out, "reason", text_or_null(site->reason));
    json_object_set_new(out, "explanation", text_or_null(site->explanation));
    json_object_set_new(out, "explained_by", json_string(site->by_model ? "model" : "built-in"));
    json_object_set_new(out, "stack", stack_json(site));
    json_object_set_new(out, "why_no_rule", why_no_rule_json(site, sources, options, arena));
    return out;
}

static json_t *bytes_or_null(int64_t bytes) {
    return bytes < 0 ? json_null() : json_integer(bytes);
}

static json_t *cuda_json(const gg_cuda_use *cuda) {
    if (!cuda->asked) return json_null();
    json_t *out = json_object();
    json_object_set_new(out, "device", text_or_null(cuda->device));
    json_object_set_new(out, "name", text_or_null(cuda->name));
    json_object_set_new(out, "total_bytes", bytes_or_null(cuda->total_bytes));
    json_object_set_new(out, "free_bytes", bytes_or_null(cuda->free_bytes));
    json_object_set_new(out, "peak_bytes", bytes_or_null(cuda->peak_bytes));
    json_object_set_new(out, "tensor_bytes", bytes_or_null(cuda->tensor_bytes));
    json_object_set_new(out, "elapsed_ms", cuda->elapsed_ms < 0 ? json_null() : json_real(cuda->elapsed_ms));
    return out;
}

json_t *gg_cli_entry_json(const gg_entry *entry, gg_sources *sources, const gg_registry *registry,
                          const gg_options *options, const gg_cli_explainer *explainer, gg_arena *arena) {
    json_t *out = json_object(), *ops = json_array(), *sites = json_array();
    for (size_t i = 0; i < entry->op_count; i++) json_array_append_new(ops, json_integer(entry->ops[i]));
    gg_site_list list = gg_sites_group(entry, 1, sources, registry, arena);
    gg_cli_explain_again(explainer, &list);
    for (size_t i = 0; i < list.len; i++)
        if (gg_cli_level_of(options, &list.items[i]) != GG_LEVEL_OFF)
            json_array_append_new(sites, site_json(&list.items[i], sources, options, arena));
    json_object_set_new(out, "name", text_or_null(entry->name));
    json_object_set_new(out, "inputs", text_or_null(entry->inputs));
    json_object_set_new(out, "status", json_string(gg_entry_status_name(entry->status)));
    json_object_set_new(out, "message", text_or_null(entry->message));
    json_object_set_new(out, "graphs", json_integer(entry->graphs));
    json_object_set_new(out, "ops", ops);
    json_object_set_new(out, "sites", sites);
    json_object_set_new(out, "cuda", cuda_json(&entry->cuda));
    return out;
}

json_t *gg_cli_finding_json(const gg_prediction *p, const gg_text *text) {
    json_t *out = json_object();
    json_object_set_new(out, "source", json_string("static"));
    json_object_set_new(out, "certainty", json_string(p->certain ? "certain" : "conditional"));
    json_object_set_new(out, "id", text_or_null(p->id));
    json_object_set_new(out, "rule", text_or_null(p->rule));
    json_object_set_new(out, "range", gg_cli_range_json(gg_text_range(text, p->span, GG_UTF16)));
    json_object_set_new(out, "message", text_or_null(p->message));
    json_object_set_new(out, "guard", text_or_null(p->guard));
    return out;
}

json_t *gg_cli_head_json(gg_cli_run *run) {
    const gg_worker_info *info = run ? gg_cli_run_info(run) : NULL;
    json_t *out = json_object();
    json_object_set_new(out, "version", json_integer(1));
    json_object_set_new(out, "torch", z_or_null(info ? info->torch : NULL));
    json_object_set_new(out, "python", z_or_null(info ? info->python_version : NULL));
    json_object_set_new(out, "interpreter", z_or_null(run ? gg_cli_run_python(run)->path : NULL));
    return out;
}

json_t *gg_cli_error_json(const gg_cli_file *file) {
    if (file->error == NULL) return json_null();
    if (file->line == 0) return json_string(file->error);
    return json_sprintf("%s:%u:%u: %s", file->path, file->line, file->column, file->error);
}

void gg_cli_print_json(json_t *json_take) {
    json_dumpf(json_take, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(json_take);
}
