/* Anthropic's messages.  An answer that has to follow a schema is the input of a tool that the model has to call. */
#include "server/llm/api.h"

static json_t *messages_of(const gg_llm_request *request) {
    json_t *messages = json_array();
    for (size_t i = 0; i < request->message_count; i++) {
        const gg_llm_message *m = &request->messages[i];
        json_array_append_new(messages,
                              json_pack("{s:s, s:s%}", "role", m->role == GG_LLM_ASSISTANT ? "assistant" : "user",
                                        "content", m->content.ptr ? m->content.ptr : "", m->content.len));
    }
    return messages;
}

static json_t *body(const gg_llm_request *request, const char *model, unsigned without) {
    json_t *out = json_pack("{s:s, s:o, s:i, s:b}", "model", model, "messages", messages_of(request), "max_tokens",
                            (int)request->max_tokens, "stream", 1);
    if (out == NULL) return NULL;
    if (request->system.len) json_object_set_new(out, "system", json_stringn(request->system.ptr, request->system.len));
    if (!(without & GG_API_TEMPERATURE)) json_object_set_new(out, "temperature", json_real(request->temperature));
    if (!(without & GG_API_TOP_P)) json_object_set_new(out, "top_p", json_real(request->top_p));
    json_t *schema = request->schema.len && !(without & GG_API_SCHEMA)
                         ? json_loadb(request->schema.ptr, request->schema.len, 0, NULL)
                         : NULL;
    if (schema) {
        json_object_set_new(out, "tools",
                            json_pack("[{s:s, s:s, s:o}]", "name", "answer", "description", "Gives the answer.",
                                      "input_schema", schema));
        json_object_set_new(out, "tool_choice", json_pack("{s:s, s:s}", "type", "tool", "name", "answer"));
    }
    return out;
}

static void take_usage(gg_answer *answer, const json_t *usage) {
    /* What was read of a cache, or written to it, is input, too. */
    static const char *const inputs[] = {"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"};
    uint64_t input = 0;
    for (size_t i = 0; i < GG_COUNT(inputs); i++) {
        json_int_t count = json_integer_value(json_object_get(usage, inputs[i]));
        if (count > 0) input += (uint64_t)count;
    }
    json_int_t output = json_integer_value(json_object_get(usage, "output_tokens"));
    if (input) answer->input_tokens = input;
    if (output > 0) answer->output_tokens = (uint64_t)output;
}

static void take_reason(gg_answer *answer, const char *reason) {
    if (reason == NULL) return;
    answer->stopped = true;
    if (strcmp(reason, "max_tokens") == 0 || strcmp(reason, "model_context_window_exceeded") == 0)
        answer->stop = GG_LLM_STOP_LENGTH;
    if (strcmp(reason, "refusal") == 0) answer->stop = GG_LLM_STOP_REFUSED;
}

static int take_error(gg_answer *answer, const json_t *error, gg_str data, gg_error *err) {
    static const char *const passing[] = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"};
    const char *type = json_string_value(json_object_get(error, "type"));
    char words[512];
    for (size_t i = 0; type && i < GG_COUNT(passing); i++)
        if (strcmp(type, passing[i]) == 0) answer->can_wait = true;
    gg_api_error_words(words, sizeof(words), data);
    return gg_fail(err, GG_EFAILED, "the endpoint broke off its answer: %s", words[0] ? words : "it does not say why");
}

/* An answer that is no stream. */
static int take_whole(gg_answer *answer, const json_t *json, gg_error *err) {
    const json_t *blocks = json_object_get(json, "content");
    int error = 0;
    for (size_t i = 0; i < json_array_size(blocks) && error == 0; i++) {
        const json_t *block = json_array_get(blocks, i), *input = json_object_get(block, "input");
        char *text = json_is_object(input) ? json_dumps(input, JSON_COMPACT) : NULL;
        json_t *said = text ? json_string(text) : json_incref(json_object_get(block, "text"));
        answer->thought += json_string_length(json_object_get(block, "thinking"));
        error = gg__answer_add(answer, said, err);
        json_decref(said);
        free(text);
    }
    take_usage(answer, json_object_get(json, "usage"));
    take_reason(answer, json_string_value(json_object_get(json, "stop_reason")));
    answer->over = true;
    return error;
}

static int take(gg_answer *answer, const char *type, const json_t *json, gg_str data, gg_error *err) {
    const json_t *delta = json_object_get(json, "delta");
    int error = 0;
    if (strcmp(type, "content_block_delta") == 0) {
        answer->thought += json_string_length(json_object_get(delta, "thinking"));
        error = gg__answer_add(answer, json_object_get(delta, "text"), err);
        if (error == 0) error = gg__answer_add(answer, json_object_get(delta, "partial_json"), err);
    } else if (strcmp(type, "message") == 0) {
        error = take_whole(answer, json, err);
    } else if (strcmp(type, "message_start") == 0) {
        take_usage(answer, json_object_get(json_object_get(json, "message"), "usage"));
    } else if (strcmp(type, "message_delta") == 0) {
        take_usage(answer, json_object_get(json, "usage"));
        take_reason(answer, json_string_value(json_object_get(delta, "stop_reason")));
    } else if (strcmp(type, "message_stop") == 0) {
        answer->over = true;
    } else if (strcmp(type, "error") == 0) {
        error = take_error(answer, json_object_get(json, "error"), data, err);
    }
    return error;
}

static int event(gg_answer *answer, const gg_sse_event *event, gg_error *err) {
    json_t *json = json_loadb(event->data.ptr ? event->data.ptr : "", event->data.len, 0, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));
    int error = type ? take(answer, type, json, event->data, err)
                     : gg_fail(err, GG_EPARSE, "an event of the answer is no JSON object with a type");
    json_decref(json);
    return error;
}

const gg_api gg_api_anthropic = {.name = "anthropic",
                                 .path = "/messages",
                                 .default_url = "https://api.anthropic.com/v1",
                                 .own_host = "api.anthropic.com",
                                 .own_key = "ANTHROPIC_API_KEY",
                                 .key_header = "x-api-key: %s",
                                 .header = "anthropic-version: 2023-06-01",
                                 .body = body,
                                 .event = event};
