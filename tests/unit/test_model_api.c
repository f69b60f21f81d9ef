/* links: gg_server */
/* What the two APIs are asked, and what is read of their events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/llm/api.h"

static const gg_llm_message messages[] = {
    {GG_LLM_USER, {"a \"b\"\n", 6}}, {GG_LLM_ASSISTANT, {"c", 1}}, {GG_LLM_USER, {"d", 1}}};
#define SAID                                                                                          \
    "[{\"role\":\"user\",\"content\":\"a \\\"b\\\"\\n\"},{\"role\":\"assistant\",\"content\":\"c\"}," \
    "{\"role\":\"user\",\"content\":\"d\"}]"

static gg_llm_request request(void) {
    return (gg_llm_request){.messages = messages,
                            .message_count = GG_COUNT(messages),
                            .max_tokens = GG_LLM_MAX_TOKENS,
                            .temperature = 0.5,
                            .top_p = 0.25};
}

static void is(json_t *given_take, const char *wanted) {
    json_t *json = json_loads(wanted, 0, NULL);
    assert_non_null(json);
    if (!json_equal(given_take, json)) {
        char *text = json_dumps(given_take, JSON_INDENT(1));
        print_error("%s\n", text);
        free(text);
        fail();
    }
    json_decref(given_take);
    json_decref(json);
}

static void test_openai_is_asked(void **state) {
    (void)state;
    gg_llm_request r = request();
    is(gg_api_openai.body(&r, "m", 0),
       "{\"model\":\"m\",\"messages\":" SAID ",\"stream\":true,\"max_tokens\":8192,"
       "\"temperature\":0.5,\"top_p\":0.25,\"stream_options\":{\"include_usage\":true}}");
    is(gg_api_openai.body(
           &r, "m", GG_API_MAX_TOKENS | GG_API_TEMPERATURE | GG_API_TOP_P | GG_API_STREAM_OPTIONS | GG_API_SCHEMA),
       "{\"model\":\"m\",\"messages\":" SAID ",\"stream\":true,\"max_completion_tokens\":8192}");
    r.system = GG_STR("be brief");
    r.message_count = 0;
    r.schema = GG_STR("{\"type\":\"object\"}");
    is(gg_api_openai.body(&r, "m", GG_API_TEMPERATURE | GG_API_TOP_P | GG_API_STREAM_OPTIONS),
       "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be "
       "brief\"}],\"stream\":true,\"max_tokens\":8192,"
       "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"strict\":true,\"schema\":{"
       "\"type\":\"object\"}}}}");
}

static void test_anthropic_is_asked(void **state) {
    (void)state;
    gg_llm_request r = request();
    is(gg_api_anthropic.body(&r, "m", 0), "{\"model\":\"m\",\"messages\":" SAID ",\"stream\":true,\"max_tokens\":8192,"
                                          "\"temperature\":0.5,\"top_p\":0.25}");
    r.system = GG_STR("be brief");
    r.schema = GG_STR("{\"type\":\"object\"}");
    is(gg_api_anthropic.body(&r, "m", GG_API_TEMPERATURE | GG_API_TOP_P),
       "{\"model\":\"m\",\"messages\":" SAID ",\"stream\":true,\"max_tokens\":8192,\"system\":\"be brief\",\"tools\":[{"
       "\"name\":\"answer\",\"description\":\"Gives the answer.\",\"input_schema\":{\"type\":\"object\"}}],"
       "\"tool_choice\":{\"type\":\"tool\",\"name\":\"answer\"}}");
}

/* Events, each a string; returns what the last one returned. */
static int tell(gg_answer *answer, const gg_api *api, gg_error *err, const char *first, ...) {
    va_list events;
    int error = 0;
    va_start(events, first);
    for (const char *data = first; data && error == 0; data = va_arg(events, const char *)) {
        gg_sse_event event = {GG_STR_NULL, gg_str_from(data)};
        error = api->event(answer, &event, err);
    }
    va_end(events);
    return error;
}

static void test_openai_answers(void **state) {
    (void)state;
    gg_answer a;
    gg_error err = {0};
    gg_answer_init(&a, 64);
    assert_int_equal(
        tell(&a, &gg_api_openai, &err, "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
             "{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"content\":null}}]}",
             "{\"choices\":[{\"delta\":{\"content\":\"on\"}}]}", "{\"choices\":[{\"delta\":{\"content\":\"e\"}}]}",
             "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
             "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}", "[DONE]", NULL),
        0);
    assert_true(gg_str_is(gg_answer_text(&a), "one"));
    assert_true(a.stopped && a.over && a.stop == GG_LLM_STOP_END && a.input_tokens == 3 && a.output_tokens == 5);
    assert_int_equal(a.thought, 2);
    gg_answer_reset(&a);
    assert_int_equal(tell(&a, &gg_api_openai, &err,
                          "{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}", NULL),
                     0);
    assert_true(a.stopped && !a.over && a.stop == GG_LLM_STOP_LENGTH && a.input_tokens == 0);
    gg_answer_reset(&a);
    assert_int_equal(tell(&a, &gg_api_openai, &err, "{\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}", NULL), 0);
    assert_int_equal(a.stop, GG_LLM_STOP_REFUSED);
    assert_int_equal(tell(&a, &gg_api_openai, &err, "{\"error\":{\"message\":\"busy\\n now\",\"code\":503}}", NULL),
                     GG_EFAILED);
    assert_string_equal(err.message, "the endpoint broke off its answer: busy now");
    assert_true(a.can_wait);
    assert_int_equal(tell(&a, &gg_api_openai, &err, "{\"choices\":", NULL), GG_EPARSE);
    assert_int_equal(tell(&a, &gg_api_openai, &err, "7", NULL), GG_EPARSE);
    assert_int_equal(tell(&a, &gg_api_openai, &err, "{\"choices\":7,\"usage\":[],\"error\":null}", NULL), 0);
    gg_answer_reset(&a); /* no stream */
    assert_int_equal(tell(&a, &gg_api_openai, &err,
                          "{\"choices\":[{\"message\":{\"content\":\"one\",\"reasoning_content\":\"hm\"},"
                          "\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}",
                          NULL),
                     0);
    assert_true(a.over && a.stopped && a.stop == GG_LLM_STOP_LENGTH && a.input_tokens == 3 && a.thought == 2);
    assert_true(gg_str_is(gg_answer_text(&a), "one"));
    gg_answer_reset(&a);
    assert_int_equal(tell(&a, &gg_api_anthropic, &err,
                          "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},"
                          "{\"type\":\"text\",\"text\":\"o\"},{\"type\":\"tool_use\",\"input\":{\"n\":1}}],"
                          "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}",
                          NULL),
                     0);
    assert_true(a.over && a.stopped && a.stop == GG_LLM_STOP_END && a.output_tokens == 5 && a.thought == 2);
    assert_true(gg_str_is(gg_answer_text(&a), "o{\"n\":1}"));
    gg_answer_reset(&a);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            tell(&a, &gg_api_openai, &err, "{\"choices\":[{\"delta\":{\"content\":\"12345678901234567890\"}}]}", NULL),
            0);
    assert_int_equal(
        tell(&a, &gg_api_openai, &err, "{\"choices\":[{\"delta\":{\"content\":\"12345678901234567890\"}}]}", NULL),
        GG_ETOOBIG);
    gg_answer_clear(&a);
}

static void test_anthropic_answers(void **state) {
    (void)state;
    gg_answer a;
    gg_error err = {0};
    gg_answer_init(&a, 64);
    assert_int_equal(
        tell(&a, &gg_api_anthropic, &err,
             "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":4,"
             "\"output_tokens\":1}}}",
             "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
             "{\"type\":\"ping\"}",
             "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"one\"}}",
             "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}",
             "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}",
             "{\"type\":\"message_stop\"}", NULL),
        0);
    assert_true(gg_str_is(gg_answer_text(&a), "one{}"));
    assert_true(a.stopped && a.over && a.stop == GG_LLM_STOP_END && a.input_tokens == 7 && a.output_tokens == 5);
    assert_int_equal(a.thought, 2);
    assert_int_equal(tell(&a, &gg_api_anthropic, &err,
                          "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}", NULL),
                     0);
    assert_int_equal(a.stop, GG_LLM_STOP_LENGTH);
    assert_int_equal(
        tell(&a, &gg_api_anthropic, &err, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}", NULL),
        0);
    assert_int_equal(a.stop, GG_LLM_STOP_REFUSED);
    assert_int_equal(tell(&a, &gg_api_anthropic, &err,
                          "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}",
                          NULL),
                     GG_EFAILED);
    assert_false(a.can_wait);
    assert_int_equal(
        tell(&a, &gg_api_anthropic, &err, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", NULL),
        GG_EFAILED);
    assert_string_equal(err.message, "the endpoint broke off its answer: it does not say why");
    assert_true(a.can_wait);
    assert_int_equal(tell(&a, &gg_api_anthropic, &err, "[]", NULL), GG_EPARSE);
    gg_answer_clear(&a);
}

static void test_thinking_in_the_text_is_left_out(void **state) {
    (void)state;
    static const struct {
        const char *given, *text;
    } rows[] = {{"plain", "plain"},
                {"<think>a\n</think>\n\nb", "b"},
                {"\n<think></think>b</think>", "b</think>"},
                {"<think>never ends", ""},
                {"say <think>a</think>", "say <think>a</think>"}};
    gg_answer a;
    gg_answer_init(&a, 64);
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_answer_reset(&a);
        assert_int_equal(gg_buf_append_z(&a.text, rows[i].given), 0);
        assert_true(gg_str_is(gg_answer_text(&a), rows[i].text));
    }
    gg_answer_clear(&a);
}

static void test_words_of_errors(void **state) {
    (void)state;
    static const struct {
        const char *body, *words;
        unsigned refused;
    } rows[] = {
        {"{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' instead.\"}}",
         "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         GG_API_MAX_TOKENS},
        {"{\"type\":\"error\",\"error\":{\"message\":\"`temperature` and `top_p` cannot both be specified\"}}",
         "`temperature` and `top_p` cannot both be specified", GG_API_TOP_P},
        {"{\"error\":\"model 'm' not found\"}", "model 'm' not found", 0},
        {"[{\"detail\":\"  two\\r\\n lines \\u0007\"}]", "two lines", 0},
        {"{\"error\":{\"message\":7}}", "", 0},
        {"<html>no</html>", "", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        char words[128];
        gg_api_error_words(words, sizeof(words), gg_str_from(rows[i].body));
        assert_string_equal(words, rows[i].words);
        assert_int_equal(gg_api_refused(words), rows[i].refused);
    }
    char few[6];
    gg_api_error_words(few, sizeof(few), gg_str_from("{\"message\":\"abcd\xc3\xbc\"}"));
    assert_string_equal(few, "abcd"); /* not half of a letter */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai_is_asked), cmocka_unit_test(test_anthropic_is_asked),
        cmocka_unit_test(test_openai_answers),  cmocka_unit_test(test_anthropic_answers),
        cmocka_unit_test(test_words_of_errors), cmocka_unit_test(test_thinking_in_the_text_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
