/* See client.h: what is told of an attempt that failed, in words that say what to do. */
#include <stdio.h>

#include "server/llm/client.h"
#include "server/llm/key.h"

const char *gg_model_failure_id(gg_model_failure failure) {
    static const char *const ids[] = {
#define FAILURE(ordinal, id, code) [GG_MODEL_##ordinal] = (id),
#include "server/llm/failures.def"
#undef FAILURE
    };
    return ids[failure];
}

int gg_model_failure_code(gg_model_failure failure) {
    static const int codes[] = {
#define FAILURE(ordinal, id, code) [GG_MODEL_##ordinal] = (code),
#include "server/llm/failures.def"
#undef FAILURE
    };
    return codes[failure];
}

int gg__request_check(const gg_llm_request *request, gg_error *err) {
    bool valid = gg_utf8_valid_prefix(request->system) == request->system.len;
    for (size_t i = 0; i < request->message_count; i++)
        valid = valid && gg_utf8_valid_prefix(request->messages[i].content) == request->messages[i].content.len;
    return valid ? 0 : gg_fail(err, GG_EPARAMS, "what is to be sent to the model is not UTF-8");
}

/* ---- no answer --------------------------------------------------------------------------------------------------------------- */

static gg_model_failure judge_connection(const gg__attempt *a, bool *passing, char *words, size_t size) {
    const char *where = a->endpoint->shown, *curl = a->http->words;
    *passing = a->http->failure == GG_HTTP_NO_CONNECTION || a->http->failure == GG_HTTP_BROKEN ||
               a->http->failure == GG_HTTP_NO_HOST || a->http->failure == GG_HTTP_CONNECT_TIMEOUT;
    switch (a->http->failure) {
    case GG_HTTP_NO_HOST:
        snprintf(words, size, "the host of %s is not known (%s)", where, curl);
        return GG_MODEL_NO_HOST;
    case GG_HTTP_NO_CONNECTION:
        snprintf(words, size, "nobody answers at %s: is the server running?", where);
        return GG_MODEL_NO_CONNECTION;
    case GG_HTTP_CONNECT_TIMEOUT:
        snprintf(words, size, "%s could not be reached in %.3g s (model.connectTimeout)", where,
                 a->endpoint->connect_ms / 1e3);
        return GG_MODEL_TIMEOUT;
    case GG_HTTP_NOT_TRUSTED:
        snprintf(words, size,
                 "%s could not be trusted: %s; if its certificate is your organisation's, set model.caFile", where,
                 curl);
        return GG_MODEL_NOT_TRUSTED;
    case GG_HTTP_IDLE:
        snprintf(words, size, "%s said nothing for %.3g s (model.idleTimeout)", where, a->endpoint->idle_ms / 1e3);
        return GG_MODEL_TIMEOUT;
    case GG_HTTP_TOTAL:
        snprintf(words, size, "%s did not answer in %.3g s (model.timeout)", where, a->endpoint->total_ms / 1e3);
        return GG_MODEL_TIMEOUT;
    case GG_HTTP_TOO_BIG:
        snprintf(words, size, "the answer of %s is larger than any answer may be", where);
        return GG_MODEL_ANSWER_TOO_BIG;
    case GG_HTTP_BROKEN:
        snprintf(words, size, "%s broke the connection before its answer was complete (%s)", where, curl);
        return GG_MODEL_BROKEN;
    case GG_HTTP_FINE:
    case GG_HTTP_OTHER:
        break;
    }
    snprintf(words, size, "%s could not be asked: %s", where, curl);
    return GG_MODEL_OTHER;
}

/* ---- an error ------------------------------------------------------------------------------------------------------------------ */

static bool says_too_long(const char *words) {
    static const char *const ways[] = {
        "context length", "context_length", "maximum context", "prompt is too long",
        "context window", "context size",   "too many tokens", "exceeds the maximum number of tokens"};
    for (size_t i = 0; i < GG_COUNT(ways); i++)
        if (strcasestr(words, ways[i])) return true;
    return false;
}

static gg_model_failure judge_status(const gg__attempt *a, bool *passing, char *words, size_t size) {
    const gg_endpoint *e = a->endpoint;
    int status = a->http->status;
    char said[400], theirs[432] = "", key[300];
    gg_api_error_words(said, sizeof(said), a->body);
    if (said[0]) snprintf(theirs, sizeof(theirs), ": %s", said);
    gg_key_source(key, sizeof(key), e);
    *passing = status == 408 || status == 409 || status == 429 || status >= 500;
    if (status >= 300 && status < 400) {
        char *to = gg_url_shown(a->http->location);
        snprintf(words, size, "%s sends us to %s, where the key is not sent: if that is right, set model.url to it",
                 e->shown, *to ? to : "another place");
        gg_free(to);
        return GG_MODEL_REDIRECTED;
    }
    if (status == 401 || status == 403) {
        snprintf(words, size, "%s does not accept the key (HTTP %d); it came from %s%s", e->shown, status, key, theirs);
        return GG_MODEL_UNAUTHORIZED;
    }
    if (status == 404) {
        snprintf(words, size, "%s has no model '%s', or the URL is another one (HTTP 404%s); model.url ends before %s",
                 e->shown, e->model, theirs, e->api->path);
        return GG_MODEL_NOT_FOUND;
    }
    if (status == 413 || (status < 500 && says_too_long(said))) {
        *passing = false;
        snprintf(words, size, "what was sent is more than '%s' can read (HTTP %d%s)", e->model, status, theirs);
        return GG_MODEL_TOO_LONG;
    }
    if (status == 429) {
        snprintf(words, size, "%s has had enough requests for now (HTTP 429%s)", e->shown, theirs);
        return GG_MODEL_RATE_LIMITED;
    }
    snprintf(words, size, "%s %s (HTTP %d%s)", e->shown, status >= 500 ? "failed" : "refused the request", status,
             theirs);
    return status >= 500 ? GG_MODEL_SERVER : GG_MODEL_REFUSED;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------- */

gg_model_failure gg__attempt_judge(const gg__attempt *a, bool *passing, char *words, size_t size) {
    bool whole = a->answer->stopped || a->answer->over;
    *passing = false;
    words[0] = '\0';
    if (a->stream->code) {
        *passing = a->answer->can_wait;
        snprintf(words, size, "%s: %s", a->endpoint->shown, a->stream->message);
        return a->stream->code == GG_ETOOBIG   ? GG_MODEL_ANSWER_TOO_BIG
               : a->stream->code == GG_EFAILED ? GG_MODEL_SERVER
                                               : GG_MODEL_MALFORMED;
    }
    if (a->http->status >= 300 && a->http->failure == GG_HTTP_FINE) return judge_status(a, passing, words, size);
    if (whole) return GG_MODEL_NONE; /* however the connection ended then */
    if (a->http->failure != GG_HTTP_FINE) return judge_connection(a, passing, words, size);
    if (!a->events) {
        snprintf(words, size, "%s did not answer with the events of a stream: is model.url right, and model.api?",
                 a->endpoint->shown);
        return GG_MODEL_MALFORMED;
    }
    *passing = true;
    snprintf(words, size, "%s ended its answer without saying that it was complete", a->endpoint->shown);
    return GG_MODEL_BROKEN;
}
