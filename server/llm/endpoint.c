/* See endpoint.h. */
#include "server/llm/endpoint.h"

#include <arpa/inet.h>
#include <stdlib.h>

/* Settings that the environment may say, too. */
static const struct {
    const char *key, *variable;
} variables[] = {{"model.url", "GRAPHGLUE_MODEL_URL"},
                 {"model.name", "GRAPHGLUE_MODEL_NAME"},
                 {"model.api", "GRAPHGLUE_MODEL_API"},
                 {"model.caFile", "GRAPHGLUE_MODEL_CA_FILE"},
                 {"model.proxy", "GRAPHGLUE_MODEL_PROXY"}};

typedef struct source {
    const gg_options *options;
    bool trusted;
    bool passed_over; /* something was said that an untrusted workspace may not say */
} source;

static const char *from_environment(const char *key) {
    for (size_t i = 0; i < GG_COUNT(variables); i++) {
        const char *value = strcmp(variables[i].key, key) == 0 ? getenv(variables[i].variable) : NULL;
        if (value && *value) return value;
    }
    return NULL;
}

/* What was said of a key, but in the environment; `guarded`: not by a workspace that is not trusted. */
static const json_t *said(source *s, const char *key, bool guarded) {
    const json_t *client = json_object_get(s->options->client, key);
    const json_t *value = json_object_get(s->options->values, key);
    if (client || value == NULL || !guarded || s->trusted) return client ? client : value;
    s->passed_over = true;
    return NULL;
}

/* A text; NULL: nobody said it, or said it is empty. */
static const char *text(source *s, const char *key, bool guarded, const char **from) {
    static const char *const words[] = {"the settings", "the environment", "pyproject.toml"};
    const char *client = json_string_value(json_object_get(s->options->client, key));
    const char *environment = from_environment(key);
    const char *project = json_string_value(said(s, key, guarded));
    const char *found = client ? client : environment ? environment : project;
    if (from) *from = words[client ? 0 : environment ? 1 : 2];
    return found && *found ? found : NULL;
}

static uint32_t milliseconds(source *s, const char *key, uint32_t otherwise_s) {
    const json_t *value = said(s, key, false);
    return value ? (uint32_t)(json_number_value(value) * 1000) : otherwise_s * 1000;
}

static double price(source *s, const char *key) {
    const json_t *value = said(s, key, false);
    return value ? json_number_value(value) : -1;
}

static char *dup_or_null(const char *z) {
    return z ? gg_str_dup(gg_str_from(z)) : NULL;
}

/* ---- URLs ------------------------------------------------------------------------------------------------------------------------ */

/* scheme://host[:port], and what follows.  Of a host only what every reader of URLs takes for the same: no user, no escapes, no other alphabet, so
 * that what is judged here is what libcurl connects to. */
typedef struct parts {
    gg_str scheme, host, port, rest;
} parts;

static gg_str until(gg_str *text, const char *ends) {
    size_t n = 0;
    while (n < text->len && strchr(ends, text->ptr[n]) == NULL) n++;
    gg_str out = gg_str_slice(*text, 0, n);
    *text = gg_str_slice(*text, n, text->len);
    return out;
}

static bool is_of(gg_str text, const char *letters) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || strchr(letters, text.ptr[i]) == NULL) return false;
    return text.len > 0;
}

static bool split(parts *out, gg_str url) {
    static const char digits[] = "0123456789",
                      names[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
    *out = (parts){until(&url, ":"), GG_STR_NULL, GG_STR_NULL, GG_STR_NULL};
    if (!gg_str_starts_with(url, GG_STR("://"))) return false;
    url = gg_str_slice(url, 3, url.len);
    bool bracketed = gg_str_starts_with(url, GG_STR("["));
    gg_str authority = until(&url, "/?#");
    out->rest = url;
    out->host = until(&authority, bracketed ? "]" : ":");
    if (bracketed) {
        out->host = gg_str_slice(out->host, 1, out->host.len);
        if (!gg_str_starts_with(authority, GG_STR("]"))) return false;
        authority = gg_str_slice(authority, 1, authority.len);
    }
    if (gg_str_starts_with(authority, GG_STR(":"))) out->port = gg_str_slice(authority, 1, authority.len);
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || url.ptr[i] == '\\') return false;
    return is_of(out->host, bracketed ? "0123456789abcdefABCDEF:." : names) &&
           (authority.len == 0 || is_of(out->port, digits));
}

static bool is_loopback(gg_str host) {
    struct in_addr four;
    struct in6_addr six;
    char *z = gg_str_dup(host);
    bool out = strcmp(z, "localhost") == 0 || (inet_pton(AF_INET, z, &four) == 1 && strncmp(z, "127.", 4) == 0) ||
               (inet_pton(AF_INET6, z, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
    gg_free(z);
    return out;
}

char *gg_url_shown(const char *given) {
    parts url;
    gg_str whole = gg_str_from(given);
    if (!split(&url, whole)) return gg_str_dup(GG_STR_NULL);
    gg_str tail = url.rest, path = until(&tail, "?#");
    return gg_str_dup((gg_str){whole.ptr, (size_t)(path.ptr + path.len - whole.ptr)});
}

static int read_url(gg_endpoint *out, const char *given, gg_error *err) {
    parts url;
    bool read = split(&url, gg_str_from(given));
    out->plain = gg_str_is(url.scheme, "http");
    if (!read || (!out->plain && !gg_str_is(url.scheme, "https")))
        return gg_fail(err, GG_EPARAMS,
                       "model.url wants https://HOST/PATH or http://HOST/PATH, without a user or password in it: "
                       "model.keyEnv names a variable");
    out->loopback = is_loopback(url.host);
    out->key_env = gg_str_is(url.host, out->api->own_host) && !out->plain ? dup_or_null(out->api->own_key) : NULL;
    out->url = gg_str_dup(gg_str_from(given));
    out->shown = gg_url_shown(given);
    return 0;
}

/* The path goes before a query (?api-version=…). */
char *gg_endpoint_target(const gg_endpoint *endpoint) {
    gg_str url = gg_str_from(endpoint->url);
    size_t query = gg_str_find(url, GG_STR("?"), 0);
    gg_str base = gg_str_slice(url, 0, query), rest = gg_str_slice(url, base.len, url.len);
    gg_buf out;
    while (gg_str_ends_with(base, GG_STR("/"))) base.len--;
    gg_buf_init(&out, url.len + 64);
    (void)gg_buf_printf(&out, "%.*s%s%.*s", GG_STR_ARG(base),
                        gg_str_ends_with(base, gg_str_from(endpoint->api->path)) ? "" : endpoint->api->path,
                        GG_STR_ARG(rest));
    return gg_buf_take(&out);
}

/* ---- the whole --------------------------------------------------------------------------------------------------------------- */

static void read_key(gg_endpoint *out, source *s) {
    const json_t *command = said(s, "model.keyCommand", true), *word;
    const char *named = text(s, "model.keyEnv", true, NULL), *ours = getenv("GRAPHGLUE_MODEL_KEY");
    size_t i;
    json_array_foreach(command, i, word) gg_list_push(&out->key_command, dup_or_null(json_string_value(word)));
    out->key_asked = named || out->key_command.len;
    if (named == NULL && ours && *ours) named = "GRAPHGLUE_MODEL_KEY";
    if (named == NULL) return;
    gg_free(out->key_env);
    out->key_env = dup_or_null(named);
}

static int nothing(const source *s, gg_error *err) {
    if (s->passed_over)
        return gg_fail(err, GG_ENOTFOUND,
                       "no model is configured: pyproject.toml names one, but its workspace is not "
                       "trusted to say where code and keys go");
    return gg_fail(err, GG_ENOTFOUND,
                   "no model is configured: set model.url and model.name, or GRAPHGLUE_MODEL_URL and "
                   "GRAPHGLUE_MODEL_NAME (docs/model.md)");
}

static int read(gg_endpoint *out, source *s, gg_error *err) {
    const char *api = text(s, "model.api", false, NULL), *url = text(s, "model.url", true, &out->from);
    const char *model = text(s, "model.name", false, NULL);
    out->api = gg_api_find(api ? api : "openai");
    if (out->api == NULL)
        return gg_fail(err, GG_EPARAMS, "GRAPHGLUE_MODEL_API wants openai or anthropic, not '%s'", api);
    if (url == NULL && api && !s->passed_over) {
        url = out->api->default_url;
        out->from = "model.api";
    }
    if (url == NULL) return nothing(s, err);
    if (model == NULL)
        return gg_fail(err, GG_EPARAMS, "model.name is not set: which of the endpoint's models is to be asked?");
    int error = read_url(out, url, err);
    if (error) return error;
    out->model = dup_or_null(model);
    out->ca_file = dup_or_null(text(s, "model.caFile", true, NULL));
    if (out->ca_file == NULL) out->ca_file = dup_or_null(getenv("SSL_CERT_FILE"));
    out->proxy = dup_or_null(text(s, "model.proxy", true, NULL));
    out->connect_ms = milliseconds(s, "model.connectTimeout", 10);
    out->idle_ms = milliseconds(s, "model.idleTimeout", 120);
    out->total_ms = milliseconds(s, "model.timeout", 600);
    out->input_price = price(s, "model.inputPrice");
    out->output_price = price(s, "model.outputPrice");
    read_key(out, s);
    return 0;
}

int gg_endpoint_read(gg_endpoint *out, const gg_options *options, bool trusted, gg_error *err) {
    source s = {options, trusted, false};
    *out = (gg_endpoint){.api = NULL};
    int error = read(out, &s, err);
    if (error) gg_endpoint_clear(out);
    return error;
}

void gg_endpoint_clear(gg_endpoint *endpoint) {
    char *texts[] = {endpoint->url,     endpoint->shown,   endpoint->model,
                     endpoint->key_env, endpoint->ca_file, endpoint->proxy};
    for (size_t i = 0; i < GG_COUNT(texts); i++) gg_free(texts[i]);
    gg_words_clear(&endpoint->key_command);
    *endpoint = (gg_endpoint){.api = NULL};
}

double gg_endpoint_cost(const gg_endpoint *endpoint, uint64_t input_tokens, uint64_t output_tokens) {
    if (endpoint->input_price < 0 || endpoint->output_price < 0) return -1;
    return ((double)input_tokens * endpoint->input_price + (double)output_tokens * endpoint->output_price) / 1e6;
}
