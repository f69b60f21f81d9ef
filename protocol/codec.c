/* The interpreter over generated field tables.  Any thread; jansson values must not be shared between threads.
 *
 * A path such as "params.range.start.line" is kept as a linked list on the stack and printed only when an error needs it. */
#include "protocol/codec.h"

#include <stdio.h>

#include "protocol/codec_table.h"

typedef struct path {
    const struct path *parent;
    const char *name; /* NULL: an index */
    size_t index;
} path;

typedef struct decoder {
    gg_arena *arena;
    gg_error *err;
} decoder;

static void print_path(gg_buf *out, const path *p) {
    if (p->parent) print_path(out, p->parent);
    if (p->name == NULL)
        gg_buf_printf(out, "[%zu]", p->index);
    else
        gg_buf_printf(out, p->parent ? ".%s" : "%s", p->name);
}

static int wants(decoder *d, const path *at, const char *what) {
    gg_buf text;
    gg_buf_init(&text, 900);
    print_path(&text, at);
    gg_fail(d->err, GG_EPARAMS, "%s wants %s", text.ptr ? text.ptr : "?", what);
    gg_buf_clear(&text);
    return GG_EPARAMS;
}

static int decode_struct(decoder *d, const gg_type *type, const json_t *json, void *out, const path *at);

static const char *const kind_words[] = {"boolean",           "integer", "uinteger", "number", "string",
                                         "integer or string", "a value", "object",   "object"};

static bool fits(gg__kind kind, const json_t *json) {
    switch (kind) {
    case GG__BOOL:
        return json_is_boolean(json);
    case GG__INT:
        return json_is_integer(json);
    case GG__UINT:
        return json_is_integer(json) && json_integer_value(json) >= 0;
    case GG__NUM:
        return json_is_number(json);
    case GG__STR:
        return json_is_string(json);
    case GG__TOKEN:
        return json_is_integer(json) || json_is_string(json);
    case GG__RAW:
        return true;
    case GG__OBJECT:
    case GG__STRUCT:
        return json_is_object(json);
    }
    return false;
}

static gg_str string_of(const json_t *json) {
    return (gg_str){json_string_value(json), json_string_length(json)};
}

/* "The end" is written as a very large number by some clients, over the protocol's limit. */
static int64_t integer_of(gg__kind kind, const json_t *json) {
    json_int_t value = json_integer_value(json);
    return kind == GG__UINT && value > INT32_MAX ? INT32_MAX : value;
}

static gg_token token_of(const json_t *json) {
    if (json_is_string(json)) return (gg_token){true, 0, string_of(json)};
    return (gg_token){false, json_integer_value(json), GG_STR_NULL};
}

/* One value that is neither optional nor a list. */
static int decode_value(decoder *d, const gg__field *field, json_t *json, void *out, const path *at) {
    if (!fits(field->kind, json)) return wants(d, at, kind_words[field->kind]);
    switch (field->kind) {
    case GG__BOOL:
        *(bool *)out = json_is_true(json);
        break;
    case GG__INT:
    case GG__UINT:
        *(int64_t *)out = integer_of(field->kind, json);
        break;
    case GG__NUM:
        *(double *)out = json_number_value(json);
        break;
    case GG__STR:
        *(gg_str *)out = string_of(json);
        break;
    case GG__TOKEN:
        *(gg_token *)out = token_of(json);
        break;
    case GG__RAW:
    case GG__OBJECT:
        *(json_t **)out = json;
        break;
    case GG__STRUCT:
        return decode_struct(d, field->type, json, out, at);
    }
    return 0;
}

static size_t value_size(const gg__field *field) {
    switch (field->kind) {
    case GG__BOOL:
        return sizeof(bool);
    case GG__INT:
    case GG__UINT:
        return sizeof(int64_t);
    case GG__NUM:
        return sizeof(double);
    case GG__STR:
        return sizeof(gg_str);
    case GG__TOKEN:
        return sizeof(gg_token);
    case GG__RAW:
    case GG__OBJECT:
        return sizeof(json_t *);
    case GG__STRUCT:
        return field->type->size;
    }
    return 0;
}

static int decode_list(decoder *d, const gg__field *field, const json_t *json, void *out, const path *at) {
    if (!json_is_array(json)) return wants(d, at, "array");
    gg__list *list = out;
    list->len = (uint32_t)json_array_size(json);
    size_t size = value_size(field);
    list->items = gg_arena_calloc(d->arena, list->len, size);
    for (size_t i = 0; i < list->len; i++) {
        path item = {at, NULL, i};
        int error = decode_value(d, field, json_array_get(json, i), (char *)list->items + i * size, &item);
        if (error) return error;
    }
    return 0;
}

static int decode_optional(decoder *d, const gg__field *field, json_t *json, void *out, const path *at) {
    if (field->kind == GG__STR || field->kind == GG__RAW || field->kind == GG__OBJECT)
        return decode_value(d, field, json, out, at);
    if (!fits(field->kind, json)) return wants(d, at, kind_words[field->kind]);
    switch (field->kind) {
    case GG__BOOL:
        *(gg_opt_bool *)out = (gg_opt_bool){true, json_is_true(json)};
        break;
    case GG__INT:
    case GG__UINT:
        *(gg_opt_int *)out = (gg_opt_int){true, integer_of(field->kind, json)};
        break;
    case GG__NUM:
        *(gg_opt_num *)out = (gg_opt_num){true, json_number_value(json)};
        break;
    case GG__TOKEN:
        *(gg_opt_token *)out = (gg_opt_token){true, token_of(json)};
        break;
    default:
        *(void **)out = gg_arena_alloc(d->arena, field->type->size);
        return decode_struct(d, field->type, json, *(void **)out, at);
    }
    return 0;
}

static int decode_struct(decoder *d, const gg_type *type, const json_t *json, void *out, const path *at) {
    if (!json_is_object(json)) return wants(d, at, "object");
    for (size_t i = 0; i < type->field_count; i++) {
        const gg__field *field = &type->fields[i];
        path here = {at, field->name, 0};
        json_t *value = json_object_get(json, field->name);
        void *to = (char *)out + field->offset;
        bool optional = field->flags & GG__OPTIONAL, absent = value == NULL || json_is_null(value);
        if (absent && (optional || (field->kind == GG__RAW && !(field->flags & GG__LIST) && value))) continue;
        int error;
        if (value == NULL)
            error = wants(d, &here, field->flags & GG__LIST ? "array" : kind_words[field->kind]);
        else if (field->flags & GG__LIST)
            error = decode_list(d, field, value, to, &here);
        else if (optional)
            error = decode_optional(d, field, value, to, &here);
        else
            error = decode_value(d, field, value, to, &here);
        if (error) return error;
    }
    return 0;
}

int gg_decode(const gg_type *type, const json_t *json, const char *root, void *out, gg_arena *arena, gg_error *err) {
    memset(out, 0, type->size);
    decoder d = {arena, err};
    path at = {NULL, root, 0};
    if (json == NULL && type->field_count == 0) return 0;
    return decode_struct(&d, type, json, out, &at);
}

static json_t *encode_token(const gg_token *token) {
    return token->is_string ? json_stringn(token->string.ptr, token->string.len) : json_integer(token->number);
}

static json_t *encode_value(const gg__field *field, const void *value) {
    switch (field->kind) {
    case GG__BOOL:
        return json_boolean(*(const bool *)value);
    case GG__INT:
    case GG__UINT:
        return json_integer(*(const int64_t *)value);
    case GG__NUM:
        return json_real(*(const double *)value);
    case GG__STR: {
        const gg_str *s = value;
        return json_stringn(s->ptr ? s->ptr : "", s->len);
    }
    case GG__TOKEN:
        return encode_token(value);
    case GG__RAW:
    case GG__OBJECT:
        return *(json_t *const *)value ? json_incref(*(json_t *const *)value) : json_null();
    case GG__STRUCT:
        return gg_encode(field->type, value);
    }
    return NULL;
}

/* NULL with *skip set: the field is not set. */
static json_t *encode_optional(const gg__field *field, const void *value, bool *skip) {
    switch (field->kind) {
    case GG__BOOL:
        *skip = !((const gg_opt_bool *)value)->set;
        break;
    case GG__INT:
    case GG__UINT:
        *skip = !((const gg_opt_int *)value)->set;
        break;
    case GG__NUM:
        *skip = !((const gg_opt_num *)value)->set;
        break;
    case GG__STR:
        *skip = ((const gg_str *)value)->ptr == NULL;
        break;
    case GG__TOKEN:
        *skip = !((const gg_opt_token *)value)->set;
        break;
    case GG__RAW:
    case GG__OBJECT:
    case GG__STRUCT:
        *skip = *(void *const *)value == NULL;
        break;
    }
    if (*skip) return NULL;
    switch (field->kind) {
    case GG__BOOL:
        return json_boolean(((const gg_opt_bool *)value)->v);
    case GG__INT:
    case GG__UINT:
        return json_integer(((const gg_opt_int *)value)->v);
    case GG__NUM:
        return json_real(((const gg_opt_num *)value)->v);
    case GG__TOKEN:
        return encode_token(&((const gg_opt_token *)value)->v);
    case GG__STRUCT:
        return gg_encode(field->type, *(void *const *)value);
    default:
        return encode_value(field, value);
    }
}

static json_t *encode_list(const gg__field *field, const gg__list *list) {
    json_t *array = json_array();
    size_t size = value_size(field);
    for (uint32_t i = 0; i < list->len; i++) {
        json_t *item = encode_value(field, (const char *)list->items + i * size);
        if (item == NULL || json_array_append_new(array, item) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *gg_encode(const gg_type *type, const void *value) {
    json_t *object = json_object();
    for (size_t i = 0; i < type->field_count; i++) {
        const gg__field *field = &type->fields[i];
        const void *from = (const char *)value + field->offset;
        bool skip = false;
        json_t *encoded;
        if (field->flags & GG__LIST) {
            skip = (field->flags & GG__OPTIONAL) && ((const gg__list *)from)->items == NULL;
            encoded = skip ? NULL : encode_list(field, from);
        } else if (field->flags & GG__OPTIONAL) {
            encoded = encode_optional(field, from, &skip);
        } else {
            encoded = encode_value(field, from);
        }
        if (skip) continue;
        if (encoded == NULL || json_object_set_new(object, field->name, encoded) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

size_t gg_type_size(const gg_type *type) {
    return type->size;
}

const char *gg_type_name(const gg_type *type) {
    return type->name;
}
