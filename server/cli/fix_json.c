/* What `fix --json` prints of a file (docs/json.md).  Any thread. */
#include <stdio.h>

#include "server/cli/cli.h"

static json_t *texts(const gg_str *items, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_stringn(items[i].ptr ? items[i].ptr : "", items[i].len));
    return array;
}

static json_t *verdict_json(const gg_verdict *v) {
    return json_pack("{s:b, s:s%, s:i, s:i, s:i, s:i, s:b, s:o, s:o}", "accepted", v->accepted, "outputs",
                     v->outputs.ptr, v->outputs.len, "graphs_before", (int)v->graphs_before, "graphs_after",
                     (int)v->graphs_after, "breaks_before", (int)v->breaks_before, "breaks_after", (int)v->breaks_after,
                     "copies", v->copies, "compared", texts(v->compared, v->compared_count), "reasons",
                     texts(v->reasons, v->reason_count));
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
    return json_pack("{s:s%, s:s%, s:o, s:s, s:o, s:s, s:o, s:o, s:o}", "id", r->site_id.ptr, r->site_id.len, "file",
                     r->file.ptr, r->file.len, "range", gg_cli_range_json(r->range_utf16), "source",
                     r->rule ? "rule" : "model", "rule", r->rule ? json_string(r->rule->code) : json_null(), "safety",
                     gg_safety_name(gg_fix_repair_safety(r)), "verdict", verdict_json(r->verdict), "edits", edits,
                     "config", setting_json(r->setting));
}

static json_t *entries_json(gg_cli_run *run, const gg_fix *fix, const gg_cli_file *file) {
    size_t before_count, after_count;
    const gg_entry *before = gg_fix_before(fix, &before_count), *after = gg_fix_after(fix, &after_count);
    json_t *array = json_array();
    gg_arena *arena = gg_arena_new();
    gg_sources *was = gg_cli_fix_sources(fix, true), *is = gg_cli_fix_sources(fix, false);
    const gg_registry *registry = gg_cli_run_registry(run);
    for (size_t i = 0; i < before_count && i < after_count; i++) {
        bool glued = before[i].break_count > 0 && after[i].status == GG_ENTRY_CAPTURED && !gg_fix_hides(fix);
        json_array_append_new(
            array, json_pack("{s:s%, s:o, s:o, s:b}", "name", before[i].name.ptr, before[i].name.len, "before",
                             gg_cli_entry_json(&before[i], was, registry, file->options, NULL, arena), "after",
                             gg_cli_entry_json(&after[i], is, registry, file->options, NULL, arena), "glued", glued));
    }
    gg_sources_free(was);
    gg_sources_free(is);
    gg_arena_free(arena);
    return array;
}

json_t *gg_cli_repairs_json(const gg_fix *fix) {
    json_t *repairs = json_array();
    size_t count = 0;
    const gg_fix_repair *list = fix ? gg_fix_repairs(fix, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        if (list[i].verdict) json_array_append_new(repairs, repair_json(&list[i]));
    return repairs;
}

json_t *gg_cli_fix_json(gg_cli_run *run, const gg_fix *fix, const gg_cli_file *file, json_t *repairs_take,
                        json_t *overlay_take, json_t *bench_take, json_t *model_take) {
    json_t *out = json_object();
    gg_str patched = fix ? gg_text_bytes(gg_fix_text(fix)) : file->text ? gg_text_bytes(file->text) : GG_STR_NULL;
    json_object_set_new(out, "path", json_string(file->path));
    json_object_set_new(out, "error", gg_cli_error_json(file));
    json_object_set_new(out, "entries", fix ? entries_json(run, fix, file) : json_array());
    json_object_set_new(out, "repairs", repairs_take);
    json_object_set_new(out, "patched", patched.ptr ? json_stringn(patched.ptr, patched.len) : json_null());
    json_object_set_new(out, "overlay", overlay_take);
    json_object_set_new(out, "bench", bench_take);
    json_object_set_new(out, "model", model_take);
    return out;
}
