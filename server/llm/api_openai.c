/* OpenAI's chat/completions, as OpenAI and the servers that are compatible with it (llama.cpp, vLLM, Ollama, …) speak it. */
#include "server/llm/api.h"

static const char *role_name(gg_llm_role role) {
    return role == GG_LLM_ASSISTANT ? "assistant" : "user";
}

static json_t *message(const char *role, gg_str content) {
    return json_pack("{s:s, s:s%}", "role", role, "content", content.ptr ? content.ptr : "", content.len);
}

static json_t *body(const gg_llm_request *request, const char *model, unsigned without) {
    json_t *messages = json_array();
    if (request->system.len) json_array_append_new(messages, message("system", request->system));
    for (size_t i = 0; i < request->message_count; i++)
        json_array_append_new(messages, message(role_name(request->messages[i].role), request->messages[i].content));
    json_t *out = json_pack("{s:s, s:o, s:b}", "model", model, "messages", messages, "stream", 1);
    if (out == NULL) return NULL;
    const char *limit = without & GG_API_MAX_TOKENS ? "max_completion_tokens" : "max_tokens";
    json_object_set_new(out, limit, json_integer(request->max_tokens));
    if (!(without & GG_API_TEMPERATURE)) json_object_set_new(out, "temperature", json_real(request->temperature));
    if (!(without & GG_API_TOP_P)) json_object_set_new(out, "top_p", json_real(request->top_p));
    if (!(without & GG_API_STREAM_OPTIONS))
        json_object_set_new(out, "stream_options", json_pack("{s:b}", "include_usage", 1));
    json_t *schema = request->schema.len && !(without & GG_API_SCHEMA)
                         ? json_loadb(request->schema.ptr, request->schema.len, 0, NULL)
                         : NULL;
    if (schema)
        json_object_set_new(out, "response_format",
                            json_pack("{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema", "name",
                                      "answer", "strict", 1, "schema", schema));
    return out;
}

static uint64_t count_of(const json_t *usage, const char *name, uint64_t before) {
    const json_t *count = json_object_get(usage, name);
    return json_is_integer(count) && json_integer_value(count) >= 0 ? (uint64_t)json_integer_value(count) : before;
}

static int take_choice(gg_answer *answer, const json_t *choice, gg_error *err) {
    const json_t *delta = json_object_get(choice, "delta"), *whole = json_object_get(choice, "message");
    if (whole) delta = whole; /* of an answer that is no stream */
    if (whole) answer->over = true;
    const char *reason = json_string_value(json_object_get(choice, "finish_reason"));
    int error = gg__answer_add(answer, json_object_get(delta, "content"), err);
    answer->thought += json_string_length(json_object_get(delta, "reasoning_content")) +
                       json_string_length(json_object_get(delta, "reasoning"));
    if (json_string_length(json_object_get(delta, "refusal"))) answer->stop = GG_LLM_STOP_REFUSED;
    if (error || reason == NULL) return error;
    answer->stopped = true;
    if (strcmp(reason, "length") == 0) answer->stop = GG_LLM_STOP_LENGTH;
    if (strcmp(reason, "content_filter") == 0) answer->stop = GG_LLM_STOP_REFUSED;
    return 0;
}

/* An error in the middle of a stream: the status was 200 already. */
static int take_error(gg_answer *answer, const json_t *error, gg_str data, gg_error *err) {
    char words[512];
    const json_t *code = json_object_get(error, "code");
    answer->can_wait = json_is_integer(code) && (json_integer_value(code) == 429 || json_integer_value(code) >= 500);
    gg_api_error_words(words, sizeof(words), data);
    return gg_fail(err, GG_EFAILED, "the endpoint broke off its answer: %s", words[0] ? words : "it does not say why");
}

static int event(gg_answer *answer, const gg_sse_event *event, gg_error *err) {
    if (gg_str_is(event->data, "[DONE]")) {
        answer->over = true;
        return 0;
    }
    json_t *json = json_loadb(event->data.ptr ? event->data.ptr : "", event->data.len, 0, NULL);
    int error = 0;
    if (!json_is_object(json)) {
        error = gg_fail(err, GG_EPARSE, "an event of the answer is no JSON object");
    } else if (json_is_object(json_object_get(json, "error")) || json_is_string(json_object_get(json, "error"))) {
        error = take_error(answer, json_object_get(json, "error"), event->data, err);
    } else {
        const json_t *choice = json_array_get(json_object_get(json, "choices"), 0),
                     *usage = json_object_get(json, "usage");
        if (choice) error = take_choice(answer, choice, err);
        answer->input_tokens = count_of(usage, "prompt_tokens", answer->input_tokens);
        answer->output_tokens = count_of(usage, "completion_tokens", answer->output_tokens);
    }
    json_decref(json);
    return error;
}

const gg_api gg_api_openai = {.name = "openai",
                              .path = "/chat/completions",
                              .default_url = "https://api.openai.com/v1",
                              .own_host = "api.openai.com",
                              .own_key = "OPENAI_API_KEY",
                              .key_header = "Authorization: Bearer %s",
                              .body = body,
                              .event = event};
