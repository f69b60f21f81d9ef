/* JSON-RPC 2.0 envelopes.  Any thread. */
#include <stdlib.h>

#include "protocol/gg_protocol.h"

static bool valid_id(const json_t *id) {
    return json_is_integer(id) || json_is_string(id);
}

/* The four digits behind "\\u", or -1. */
static long escaped(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    char digits[5] = {at[2], at[3], at[4], at[5], '\0'}, *rest;
    long value = strtol(digits, &rest, 16);
    return rest == digits + 4 && digits[0] != '-' && digits[0] != '+' && digits[0] != ' ' ? value : -1;
}

/* Strings of JavaScript may hold half a surrogate pair, which is no text but is written as "\ud83d" all the same.  It becomes U+FFFD, which
 * is as long in UTF-16 and in UTF-8 as what it stands for, so that positions behind it agree.  False: there was none. */
static bool mend_surrogates(char *body, size_t len) {
    bool mended = false;
    const char *end = body + len;
    for (char *at = memchr(body, '\\', len); at && at + 1 < end; at = memchr(at, '\\', (size_t)(end - at))) {
        long value = escaped(at, end), next = escaped(at + 6 < end ? at + 6 : end, end);
        if (value >= 0xD800 && value <= 0xDBFF && next >= 0xDC00 && next <= 0xDFFF) {
            at += 12;
        } else if (value >= 0xD800 && value <= 0xDFFF) {
            at[2] = at[3] = at[4] = 'f';
            at[5] = 'd';
            mended = true;
            at += 6;
        } else {
            at += 2; /* an escaped backslash must not be taken for the begin of an escape */
        }
    }
    return mended;
}

static json_t *load(gg_str body, json_error_t *why) {
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_t *root = json_loadb(body.ptr ? body.ptr : "", body.len, flags, why);
    if (root || body.len == 0) return root;
    char *copy = gg_str_dup(body);
    if (mend_surrogates(copy, body.len)) root = json_loadb(copy, body.len, flags, why);
    gg_free(copy);
    return root;
}

int gg_message_parse(gg_message *out, gg_str body, gg_error *err) {
    *out = (gg_message){.kind = GG_MESSAGE_NOTIFICATION};
    json_error_t why;
    json_t *root = load(body, &why);
    if (root == NULL)
        return gg_fail(err, GG_EPARSE, "the message is not valid JSON: %s (byte %d)", why.text, why.position);
    out->root = root;
    if (!json_is_object(root)) return gg_fail(err, GG_EREQUEST, "a message must be a JSON object");
    json_t *id = json_object_get(root, "id");
    out->id = id && valid_id(id) ? id : NULL;
    const char *version = json_string_value(json_object_get(root, "jsonrpc"));
    if (version == NULL || strcmp(version, "2.0") != 0) return gg_fail(err, GG_EREQUEST, "jsonrpc must be \"2.0\"");
    json_t *method = json_object_get(root, "method");
    if (method) {
        if (!json_is_string(method)) return gg_fail(err, GG_EREQUEST, "method must be a string");
        if (id && !valid_id(id)) return gg_fail(err, GG_EREQUEST, "id must be an integer or a string");
        out->method = json_string_value(method);
        out->kind = id ? GG_MESSAGE_REQUEST : GG_MESSAGE_NOTIFICATION;
        out->params = json_object_get(root, "params");
        if (json_is_null(out->params)) out->params = NULL;
        if (out->params && !json_is_object(out->params) && !json_is_array(out->params))
            return gg_fail(err, GG_EREQUEST, "params must be an object or an array");
        return 0;
    }
    out->kind = GG_MESSAGE_RESPONSE;
    out->result = json_object_get(root, "result");
    out->error = json_object_get(root, "error");
    if (json_is_null(out->error)) out->error = NULL;
    if (out->error) out->result = NULL;
    if (id == NULL || (out->result == NULL && out->error == NULL))
        return gg_fail(err, GG_EREQUEST, "the message is neither a request nor a response");
    return 0;
}

void gg_message_clear(gg_message *message) {
    json_decref(message->root);
    *message = (gg_message){.kind = GG_MESSAGE_NOTIFICATION};
}

static json_t *envelope(json_t *id, bool with_id) {
    json_t *root = json_object();
    json_object_set_new(root, "jsonrpc", json_string("2.0"));
    if (with_id) json_object_set_new(root, "id", id ? json_incref(id) : json_null());
    return root;
}

json_t *gg_message_response_take(json_t *id, json_t *result_take) {
    json_t *root = envelope(id, true);
    json_object_set_new(root, "result", result_take ? result_take : json_null());
    return root;
}

json_t *gg_message_error_take(json_t *id, int rpc_code, const char *text, json_t *data_take) {
    json_t *root = envelope(id, true), *error = json_object();
    json_object_set_new(error, "code", json_integer(rpc_code));
    json_object_set_new(error, "message", json_string(text));
    if (data_take) json_object_set_new(error, "data", data_take);
    json_object_set_new(root, "error", error);
    return root;
}

json_t *gg_message_request_take(json_int_t id, const char *method, json_t *params_take) {
    json_t *root = gg_message_notification_take(method, params_take);
    json_object_set_new(root, "id", json_integer(id));
    return root;
}

json_t *gg_message_notification_take(const char *method, json_t *params_take) {
    json_t *root = envelope(NULL, false);
    json_object_set_new(root, "method", json_string(method));
    if (params_take) json_object_set_new(root, "params", params_take);
    return root;
}
