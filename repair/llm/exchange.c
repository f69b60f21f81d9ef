/* Typed exchanges: each is a row of fields, and from the row come the prompt's words on the form of the answer, the JSON schema, and the reader.
 * Any thread.
 *
 * DESIGN  Models differ in how they keep to a form, so what is read is generous: tags in any case, text around them, code in a fence, a last tag
 * that is not closed.  What is missing or too much is told in words that can be sent back. */
#include "repair/llm/exchange.h"

static const gg_llm_field repair_fields[] = {
    {"code", GG__CODE_TAG, "the whole class or function, changed", GG_FIELD_CODE, 1, 1},
    {"reasons", "Reason", "for each change, one line that says why it gives the same results", GG_FIELD_TEXT, 0, 64},
};
static const gg_llm_field explain_fields[] = {
    {"explanations", "Explanation",
     "for each break, in their order: what this code does there, why it cannot be in one graph, what would mend it",
     GG_FIELD_TEXT, 1, 64},
};
static const gg_llm_field more_inputs_fields[] = {
    {"inputs", "Input", "a tuple of the positional arguments, or a dict of keyword arguments, as one expression",
     GG_FIELD_EXPRESSION, 1, GG__MAX_INPUTS},
};
const gg_llm_exchange gg_llm_repair = {"repair", repair_fields, GG_COUNT(repair_fields)};
const gg_llm_exchange gg_llm_explain = {"explain", explain_fields, GG_COUNT(explain_fields)};
const gg_llm_exchange gg_llm_more_inputs = {"more_inputs", more_inputs_fields, GG_COUNT(more_inputs_fields)};

/* ---- what is asked for -------------------------------------------------------------------------------------------------- */

gg_str gg_llm_format(const gg_llm_exchange *exchange, bool json, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, GG__MAX_PROMPT_BYTES);
    gg_buf_append_z(&out, json ? "Answer with one JSON object and nothing else:\n" : "Answer in this form:\n");
    for (size_t i = 0; i < exchange->field_count; i++) {
        const gg_llm_field *f = &exchange->fields[i];
        const char *some = f->max == 1 ? "" : f->min ? " (as often as it takes)" : " (as often as it takes, or not)";
        if (json)
            gg_buf_printf(&out, "- \"%s\": %s; %s\n", f->name, f->max == 1 ? "a string" : "an array of strings",
                          f->says);
        else if (f->kind == GG_FIELD_CODE)
            gg_buf_printf(&out, "<%s>\n%s\n</%s>%s\n", f->tag, f->says, f->tag, some);
        else
            gg_buf_printf(&out, "<%s>%s</%s>%s\n", f->tag, f->says, f->tag, some);
    }
    gg_str text = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return text;
}

gg_str gg_llm_schema(const gg_llm_exchange *exchange, gg_arena *arena) {
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < exchange->field_count; i++) { /* strict endpoints want every property required */
        const gg_llm_field *f = &exchange->fields[i];
        json_t *type = f->max == 1 ? json_pack("{s:s, s:s}", "type", "string", "description", f->says)
                                   : json_pack("{s:s, s:s, s:{s:s}}", "type", "array", "description", f->says, "items",
                                               "type", "string");
        json_object_set_new(properties, f->name, type);
        json_array_append_new(required, json_string(f->name));
    }
    json_t *schema = json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
                               "additionalProperties", 0);
    char *text = json_dumps(schema, JSON_COMPACT);
    gg_str out = gg_arena_str(arena, gg_str_from(text));
    free(text);
    json_decref(schema);
    return out;
}

/* ---- tags ----------------------------------------------------------------------------------------------------------------- */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t gg__tag_at(gg_str text, size_t at, const char *tag, bool *closes) {
    size_t i = at + 1;
    if (at >= text.len || text.ptr[at] != '<') return 0;
    *closes = i < text.len && text.ptr[i] == '/';
    i += *closes;
    while (i < text.len && text.ptr[i] == ' ') i++;
    for (; *tag; tag++) {
        if (*tag == ' ') { /* "Optimized Code", "optimized_code" and "OptimizedCode" are one tag */
            if (i < text.len && (text.ptr[i] == ' ' || text.ptr[i] == '_' || text.ptr[i] == '-')) i++;
        } else if (i < text.len && lower(text.ptr[i]) == lower(*tag)) {
            i++;
        } else {
            return 0;
        }
    }
    while (i < text.len && text.ptr[i] == ' ') i++;
    return i < text.len && text.ptr[i] == '>' ? i + 1 - at : 0;
}

/* The next tag at or after *at: its length, and *at is where it begins; 0 when there is none. */
static size_t next_tag(gg_str text, size_t *at, const char *tag, bool *closes) {
    for (; *at < text.len; (*at)++) {
        const char *found = memchr(text.ptr + *at, '<', text.len - *at);
        if (found == NULL) return 0;
        *at = (size_t)(found - text.ptr);
        size_t len = gg__tag_at(text, *at, tag, closes);
        if (len) return len;
    }
    return 0;
}

/* Without the fence around it, when it has one; what stands in front of a fence and behind it is talk. */
static gg_str unfenced(gg_str code) {
    size_t open = gg_str_starts_with(code, GG_STR("```")) ? 0 : gg_str_find(code, GG_STR("\n```"), 0);
    if (open == SIZE_MAX) return code;
    size_t line = gg_str_find(code, GG_STR("\n"), open + 3);
    if (line == SIZE_MAX) return code;
    size_t close = gg_str_find(code, GG_STR("\n```"), line);
    return gg_str_slice(code, line + 1, close == SIZE_MAX ? code.len : close + 1);
}

/* Without blank lines around it; the first line's indentation stays. */
static gg_str tidy(gg_str value, gg_llm_field_kind kind) {
    if (kind != GG_FIELD_CODE) return gg_str_trim(value);
    gg_str code = value;
    for (int pass = 0; pass < 2; pass++) {
        size_t from = 0;
        for (size_t i = 0; i < code.len && (code.ptr[i] == ' ' || code.ptr[i] == '\n' || code.ptr[i] == '\r'); i++)
            if (code.ptr[i] == '\n') from = i + 1;
        code = gg_str_slice(code, from, code.len);
        if (pass == 0) code = unfenced(code);
    }
    while (code.len && strchr(" \t\r\n", code.ptr[code.len - 1])) code.len--;
    return code;
}

typedef GG_LIST(gg_str) texts;

/* A comment of the code may have the tag in it, opened and closed; talk of it in front of the answer only opens it. */
static bool is_nested(gg_str text, const gg_llm_field *field) {
    size_t at = 0, len, depth = 0, deepest = 0;
    bool closes;
    while ((len = next_tag(text, &at, field->tag, &closes)) != 0) {
        if (closes && depth == 0) return false;
        depth = closes ? depth - 1 : depth + 1;
        if (depth > deepest) deepest = depth;
        at += len;
    }
    return depth == 0 && deepest > 1;
}

/* `complete`: an answer that ended by itself may leave its last tag open. */
static void read_tags(texts *out, gg_str text, const gg_llm_field *field, bool complete) {
    size_t at = 0, from = SIZE_MAX, len, depth = 0;
    bool closes, nested = is_nested(text, field);
    while ((len = next_tag(text, &at, field->tag, &closes)) != 0) {
        bool inner = nested && (closes ? --depth > 0 : depth++ > 0);
        if (closes && from != SIZE_MAX && !inner) {
            gg_list_push(out, tidy(gg_str_slice(text, from, at), field->kind));
            from = SIZE_MAX;
        } else if (!closes && !inner) { /* talk of the tag before the answer begins: the last one counts */
            from = at + len;
        }
        at += len;
    }
    if (from != SIZE_MAX && complete) gg_list_push(out, tidy(gg_str_slice(text, from, text.len), field->kind));
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------------- */

/* The object, bare or in a fence; NULL when the answer is none. */
static json_t *object_of(gg_str text) {
    gg_str json = gg_str_trim(text);
    if (gg_str_starts_with(json, GG_STR("```"))) json = gg_str_trim(unfenced(json));
    if (!gg_str_starts_with(json, GG_STR("{"))) return NULL;
    json_t *value = json_loadb(json.ptr, json.len, JSON_DISABLE_EOF_CHECK, NULL);
    if (value && !json_is_object(value)) {
        json_decref(value);
        value = NULL;
    }
    return value;
}

static int read_json(texts *out, const json_t *value, const gg_llm_field *field, gg_arena *arena, gg_error *err) {
    size_t count = json_is_array(value) ? json_array_size(value) : value && !json_is_null(value) ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(item))
            return gg_fail(err, GG_EPARAMS, "\"%s\" wants %s", field->name,
                           field->max == 1 ? "a string" : "an array of strings");
        gg_str text = gg_arena_str(arena, (gg_str){json_string_value(item), json_string_length(item)});
        gg_list_push(out, tidy(text, field->kind));
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------ */

static int check(texts *found, const gg_llm_field *field, bool json, bool cut, gg_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < found->len; i++)
        if (found->items[i].len) found->items[kept++] = found->items[i];
    found->len = kept;
    const char *open = json ? "\"" : "<", *close = json ? "\"" : ">", *name = json ? field->name : field->tag;
    if (found->len < field->min && cut)
        return gg_fail(err, GG_EPARAMS, "the answer was cut off before %s%s%s was whole: answer more briefly", open,
                       name, close);
    if (found->len < field->min)
        return gg_fail(err, GG_EPARAMS, "the answer has no %s%s%s: %s is wanted there", open, name, close, field->says);
    if (found->len > field->max && field->max == 1) { /* code that was thought better of: the last one counts */
        found->items[0] = found->items[found->len - 1];
        found->len = 1;
    }
    if (found->len > field->max)
        return gg_fail(err, GG_EPARAMS, "the answer has %zu of %s%s%s; %u at most are wanted", found->len, open, name,
                       close, field->max);
    for (size_t i = 0; i < found->len && field->kind == GG_FIELD_EXPRESSION; i++)
        if (gg_str_contains(found->items[i], GG_STR("\n")))
            return gg_fail(err, GG_EPARAMS, "%s%s%s wants one line", open, name, close);
    return 0;
}

int gg_llm_read(gg_llm_answer *out, const gg_llm_exchange *exchange, const gg_llm_reply *reply, gg_arena *arena,
                gg_error *err) {
    *out = (gg_llm_answer){0};
    if (reply->stop == GG_LLM_STOP_REFUSED)
        return gg_fail(err, GG_EPARAMS, "the question was not answered; what is asked for is %s",
                       exchange->fields[0].says);
    if (gg_utf8_valid_prefix(reply->text) != reply->text.len)
        return gg_fail(err, GG_EPARAMS, "the answer is no valid UTF-8");
    if (reply->text.len > GG__MAX_ANSWER_BYTES) return gg_fail(err, GG_EPARAMS, "the answer is too long");
    bool cut = reply->stop == GG_LLM_STOP_LENGTH;
    json_t *object = object_of(reply->text);
    int error = 0;
    for (size_t i = 0; i < exchange->field_count && i < GG_MAX_FIELDS && error == 0; i++) {
        const gg_llm_field *field = &exchange->fields[i];
        texts found = {0};
        if (object)
            error = read_json(&found, json_object_get(object, field->name), field, arena, err);
        else
            read_tags(&found, reply->text, field, !cut);
        if (error == 0) error = check(&found, field, object != NULL, cut, err);
        if (error == 0 && found.len) {
            out->fields[i].items = GG_ARENA_ARRAY(arena, gg_str, found.len);
            for (size_t k = 0; k < found.len; k++) out->fields[i].items[k] = gg_arena_str(arena, found.items[k]);
            out->fields[i].count = found.len;
        }
        gg_list_clear(&found);
    }
    json_decref(object);
    return error;
}
