/* See endpoint.h. */
#include "server/llm/endpoint.h"

#include <curl/curl.h>
#include <stdio.h>
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

/* ---- URLs: by libcurl's own reader, so that what is judged is what is connected to -------------------------------------------- */

static char *part_of(CURLU *url, CURLUPart part) {
    char *value = NULL, *out;
    out = curl_url_get(url, part, &value, 0) == CURLUE_OK ? gg_str_dup(gg_str_from(value)) : gg_str_dup(GG_STR_NULL);
    curl_free(value);
    return out;
}

static bool is_loopback(const char *host) {
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

static bool is_address(const char *host) {
    return host[strspn(host, "0123456789.")] == '\0';
}

char *gg_url_shown(const char *given) {
    CURLU *url = curl_url();
    char *out = NULL;
    if (curl_url_set(url, CURLUPART_URL, given, 0) == CURLUE_OK) {
        curl_url_set(url, CURLUPART_QUERY, NULL, 0);
        curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
        curl_url_set(url, CURLUPART_USER, NULL, 0);
        curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
        out = part_of(url, CURLUPART_URL);
    }
    curl_url_cleanup(url);
    return out ? out : gg_str_dup(GG_STR_NULL);
}

static int read_url(gg_endpoint *out, const char *given, gg_error *err) {
    CURLU *url = curl_url();
    int error = 0;
    char *scheme = NULL, *host = NULL, *user = NULL, *password = NULL;
    if (curl_url_set(url, CURLUPART_URL, given, 0) != CURLUE_OK) {
        error = gg_fail(err, GG_EPARAMS, "model.url wants a URL that begins with https:// or http://");
        goto cleanup;
    }
    scheme = part_of(url, CURLUPART_SCHEME);
    host = part_of(url, CURLUPART_HOST);
    user = part_of(url, CURLUPART_USER);
    password = part_of(url, CURLUPART_PASSWORD);
    out->plain = strcmp(scheme, "http") == 0;
    out->loopback = is_loopback(host) && (host[0] != '1' || is_address(host));
    out->key_env = strcmp(host, out->api->own_host) == 0 ? dup_or_null(out->api->own_key) : NULL;
    if (!out->plain && strcmp(scheme, "https") != 0)
        error = gg_fail(err, GG_EPARAMS, "model.url wants a URL that begins with https:// or http://");
    else if (*user || *password)
        error = gg_fail(err, GG_EPARAMS, "model.url must hold no user or password: model.keyEnv names a variable");
    out->url = gg_str_dup(gg_str_from(given));
    out->shown = gg_url_shown(given);

cleanup:
    gg_free(scheme);
    gg_free(host);
    gg_free(user);
    gg_free(password);
    curl_url_cleanup(url);
    return error;
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
