/* What the worker measured about a candidate.  Any thread. */
#include "repair/gg_repair.h"

static gg_str text_of(const json_t *json, const char *key, gg_arena *arena) {
    const json_t *value = json_object_get(json, key);
    if (!json_is_string(value)) return GG_STR_NULL;
    return gg_arena_str(arena, (gg_str){json_string_value(value), json_string_length(value)});
}

static gg_str *texts_of(const json_t *json, const char *key, size_t *count, gg_arena *arena) {
    const json_t *array = json_object_get(json, key);
    *count = json_array_size(array);
    gg_str *out = GG_ARENA_ARRAY(arena, gg_str, *count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(array, i);
        out[i] = gg_arena_str(arena, gg_str_from(json_string_value(item)));
    }
    return out;
}

static int32_t number_of(const json_t *json, const char *key) {
    return (int32_t)json_integer_value(json_object_get(json, key));
}

int gg_verdict_decode(gg_verdict *out, const json_t *json, gg_arena *arena, gg_error *err) {
    if (!json_is_object(json) || !json_is_boolean(json_object_get(json, "accepted")))
        return gg_fail(err, GG_EPARAMS, "verdict.accepted wants boolean");
    *out = (gg_verdict){.accepted = json_is_true(json_object_get(json, "accepted")),
                        .glued = json_is_true(json_object_get(json, "glued")),
                        .copies = json_is_true(json_object_get(json, "copies")),
                        .outputs = text_of(json, "outputs", arena),
                        .graphs_before = number_of(json, "graphs_before"),
                        .graphs_after = number_of(json, "graphs_after"),
                        .breaks_before = number_of(json, "breaks_before"),
                        .breaks_after = number_of(json, "breaks_after"),
                        .breaks_to_light = number_of(json, "breaks_to_light")};
    out->compared = texts_of(json, "compared", &out->compared_count, arena);
    out->reasons = texts_of(json, "reasons", &out->reason_count, arena);
    out->proposed = texts_of(json, "proposed", &out->proposed_count, arena);
    const json_t *entries = json_object_get(json, "entries");
    out->entry_count = json_array_size(entries);
    out->entries = GG_ARENA_ARRAY(arena, gg_entry_verdict, out->entry_count);
    for (size_t i = 0; i < out->entry_count; i++) {
        const json_t *item = json_array_get(entries, i);
        out->entries[i].name = text_of(item, "name", arena);
        out->entries[i].arguments = text_of(item, "arguments", arena);
        out->entries[i].glued = json_is_true(json_object_get(item, "glued"));
        int error = gg_entry_decode(&out->entries[i].before, json_object_get(item, "before"), arena, err);
        if (error == 0) error = gg_entry_decode(&out->entries[i].after, json_object_get(item, "after"), arena, err);
        if (error) return error;
    }
    if (out->accepted && (out->entry_count == 0 || out->breaks_before < 1))
        return gg_fail(err, GG_EPARAMS, "verdict.accepted wants entries that had a graph break");
    return 0;
}

gg_str gg_verdict_summary(const gg_verdict *verdict, gg_arena *arena) {
    if (!verdict->accepted) {
        gg_str reason = verdict->reason_count ? verdict->reasons[0] : GG_STR("no reason was given");
        if (verdict->reason_count > 1)
            return gg_arena_printf(arena, "Refused: %.*s (and %zu more)", GG_STR_ARG(reason),
                                   verdict->reason_count - 1);
        return gg_arena_printf(arena, "Refused: %.*s", GG_STR_ARG(reason));
    }
    gg_str light = verdict->breaks_to_light > 0
                       ? gg_arena_printf(arena, " (%d of them came to light)", verdict->breaks_to_light)
                       : GG_STR("");
    gg_str on = verdict->compared_count ? verdict->compared[0] : GG_STR("");
    const char *copies =
        verdict->copies ? "; a new tensor is returned where the original may give back its argument" : "";
    return gg_arena_printf(arena, "%s: %d graph%s → %d, %d break%s → %d%.*s, outputs %.*s %.*s%s",
                           verdict->glued ? "Glued" : "Improved", verdict->graphs_before,
                           verdict->graphs_before == 1 ? "" : "s", verdict->graphs_after, verdict->breaks_before,
                           verdict->breaks_before == 1 ? "" : "s", verdict->breaks_after, GG_STR_ARG(light),
                           GG_STR_ARG(verdict->outputs), GG_STR_ARG(on), copies);
}

gg_safety gg_fix_repair_safety(const gg_fix_repair *repair) {
    if (repair->rule) return repair->rule->safety;
    return repair->verdict && gg_str_is(repair->verdict->outputs, "close") ? GG_SAFETY_NUMERIC : GG_SAFETY_EXACT;
}
