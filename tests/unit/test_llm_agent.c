/* links: gg_repair */
/* The agent in a repair session, as the command line drives it; and what beginning again is worth: 60 scripted exchanges, with it and without. */
#include "llm_fixture.h"

/* ---- in a repair session ---------------------------------------------------------------------------------------------------- */

static json_t *frame_at(const gg_text *text, const char *code) {
    size_t at = gg_str_find(gg_text_bytes(text), gg_str_from(code), 0);
    assert_true(at != SIZE_MAX);
    gg_range r = gg_text_range(text, (gg_span){(uint32_t)at, (uint32_t)(at + strlen(code))}, GG_UTF8);
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s}", "file", FILE_PATH, "function", "forward", "line",
                     (int)r.start.line + 1, "end_line", (int)r.end.line + 1, "col", (int)r.start.character, "end_col",
                     (int)r.end.character, "origin", "workspace");
}

static json_t *entry(const gg_text *text, const char *const *codes) {
    json_t *records = json_array();
    for (; codes && *codes; codes++)
        json_array_append_new(
            records, json_pack("{s:s, s:s, s:[o]}", "id", "GB0170", "kind", "split", "stack", frame_at(text, *codes)));
    size_t count = json_array_size(records);
    return json_pack("{s:s, s:s, s:i, s:o}", "name", "e", "status", count ? "breaks" : "captured", "graphs",
                     (int)count + 1, "breaks", records);
}

typedef struct session {
    gg_fix *fix;
    gg_agent *agent;
    gg_lessons *lessons;
    gg_fix_action action;
    gg_error err;
    char room[16384];
    size_t foreign; /* candidates of rules that were */
} session;

static void begin_with(session *s, gg_safety max_safety, const gg_llm_limits *limits, const char *const *codes) {
    *s = (session){.lessons = gg_lessons_new()};
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, gg_str_from(net), NULL), 0);
    gg_llm_limits standard = gg_llm_limits_default();
    s->agent = gg_agent_new(limits ? limits : &standard, s->lessons);
    s->fix = gg_fix_new(GG_STR(FILE_PATH), text, max_safety, NULL);
    gg_fix_use(s->fix, gg_agent_source(s->agent));
    gg_text_unref(&text);
    gg_agent_clock(s->agent, 1);
    assert_int_equal(gg_fix_next(s->fix, &s->action, &s->err), 0);
    assert_int_equal(s->action.step, GG_FIX_CAPTURE);
    json_t *e = entry(s->action.original, codes);
    assert_int_equal(gg_fix_captured(s->fix, &e, 1, &s->err), 0);
    json_decref(e);
}

static void begin(session *s, const gg_llm_limits *limits, const char *const *codes) {
    begin_with(s, GG_SAFETY_EXACT, limits, codes);
}

static void end(session *s) {
    gg_fix_free(s->fix);
    gg_agent_free(s->agent);
    gg_lessons_free(s->lessons);
}

static void judge(session *s, bool accepted, int before, int after, const char *const *left) {
    json_t *v =
        json_pack("{s:b, s:b, s:s, s:i, s:i, s:[s], s:[s], s:[{s:s, s:o, s:o, s:b}]}", "accepted", accepted, "glued",
                  after == 0, "outputs", accepted ? "identical" : "different", "breaks_before", before, "breaks_after",
                  after, "compared", "on 4 input sets", "reasons", "output 0 differs", "entries", "name", "e", "before",
                  entry(s->action.original, NULL), "after", entry(s->action.edited, left), "glued", after == 0);
    assert_int_equal(gg_fix_verified(s->fix, v, GG_STR_NULL, &s->err), 0);
    json_decref(v);
}

/* The next step; candidates of rules are refused on the way. */
static void expect(session *s, gg_fix_step step) {
    for (;;) {
        gg_agent_clock(s->agent, 2);
        assert_int_equal(gg_fix_next(s->fix, &s->action, &s->err), 0);
        if (s->action.step != GG_FIX_VERIFY || s->action.rule == NULL) break;
        s->foreign += s->action.foreign;
        judge(s, false, 1, 1, NULL);
    }
    assert_int_equal(s->action.step, step);
}

static void answer(session *s, const char *code) {
    gg_llm_reply reply = {.text = tagged(code, s->room, sizeof s->room)};
    assert_int_equal(gg_fix_answered(s->fix, &reply, GG_STR_NULL, &s->err), 0);
}

static gg_str prompt_of(const session *s) {
    return s->action.request->messages[0].content;
}

static void test_in_a_repair_session(void **state) {
    (void)state;
    session s;
    begin(&s, NULL, BREAKS("h.sum() > 0", "h.max().item()"));
    expect(&s, GG_FIX_ASK);
    expect_part(prompt_of(&s), "2 places", true); /* both are of one class: one exchange */
    gg_fix_action again;
    assert_int_equal(gg_fix_next(s.fix, &again, &s.err), GG_EINTERNAL);
    answer(&s, mended_class);
    assert_int_equal(gg_fix_answered(s.fix, NULL, GG_STR_NULL, &s.err), GG_EINTERNAL);
    expect(&s, GG_FIX_VERIFY);
    assert_int_equal(s.action.safety, GG_SAFETY_EXACT);
    judge(&s, false, 2, 2, NULL);
    expect(&s, GG_FIX_ASK);
    assert_int_equal(s.action.request->message_count, 3);
    answer(&s, mended_class);
    expect(&s, GG_FIX_VERIFY);
    judge(&s, true, 2, 0, NULL);
    expect(&s, GG_FIX_DONE);
    expect_part(gg_text_bytes(gg_fix_text(s.fix)), "torch.where(h.sum() > 0, clip(h), scale(h))", true);
    size_t n;
    const gg_fix_repair *repairs = gg_fix_repairs(s.fix, &n);
    assert_null(repairs[n - 1].rule);
    assert_true(repairs[n - 1].verdict->accepted && !repairs[n - 2].verdict->accepted);
    assert_int_equal(repairs[n - 1].edit_count, 1);
    assert_int_equal(gg_lessons_count(s.lessons), 1); /* learned */
    gg_llm_usage spent = gg_agent_spent(s.agent);
    assert_true(spent.input_tokens > 1000 && spent.output_tokens > 50);
    gg_buf log;
    gg_buf_init(&log, 1 << 20);
    gg_agent_log(s.agent, &log);
    expect_part(gg_buf_str(&log), "## Net.forward: 2 breaks (GB0170)", true);
    expect_part(gg_buf_str(&log), "### Round 1: with the verdict", true);
    gg_buf_clear(&log);
    end(&s);
}

/* What mends some of it is kept when nothing better comes, and what is left is not asked about again. */
static void test_partly_mended(void **state) {
    (void)state;
    session s;
    gg_llm_limits limits = gg_llm_limits_default();
    limits.max_rounds = 1;
    begin(&s, &limits, BREAKS("h.sum() > 0", "h.max().item()"));
    expect(&s, GG_FIX_ASK);
    answer(&s, mended_class);
    expect(&s, GG_FIX_VERIFY);
    judge(&s, true, 2, 1, BREAKS("h.max().item()"));
    expect(&s, GG_FIX_ASK);
    answer(&s, "pass\n");
    expect(&s, GG_FIX_DONE);
    expect_part(gg_text_bytes(gg_fix_text(s.fix)), "torch.where", true);
    end(&s);
}

/* Breaks of different definitions are different exchanges; an endpoint that fails is not asked again, and a budget is the session's. */
static void test_several_definitions(void **state) {
    (void)state;
    session s;
    begin(&s, NULL, BREAKS("x.clamp(max=LIMIT)", "h.sum() > 0"));
    expect(&s, GG_FIX_ASK);
    expect_part(prompt_of(&s), "class Net", false);
    assert_int_equal(s.foreign, 0); /* what rules made of the user's own */
    answer(&s, "def clip(x):\n    return x.clip(max=LIMIT)\n");
    expect(&s, GG_FIX_VERIFY);
    assert_true(s.action.foreign);
    judge(&s, true, 2, 1, BREAKS("h.sum() > 0"));
    expect(&s, GG_FIX_ASK);
    expect_part(prompt_of(&s), "class Net", true);
    assert_int_equal(gg_fix_answered(s.fix, NULL, GG_STR("401"), &s.err), 0);
    expect(&s, GG_FIX_DONE);
    expect_part(gg_text_bytes(gg_fix_text(s.fix)), "x.clip(max=LIMIT)", true);
    end(&s);

    begin(&s, NULL, BREAKS("x.clamp(max=LIMIT)", "h.sum() > 0"));
    expect(&s, GG_FIX_ASK);
    assert_int_equal(gg_fix_answered(s.fix, NULL, GG_STR("401"), &s.err), 0);
    expect(&s, GG_FIX_DONE);
    end(&s);

    gg_llm_limits limits = gg_llm_limits_default();
    limits.max_tokens = 3000;
    limits.max_rounds = 0;
    begin(&s, &limits, BREAKS("x.clamp(max=LIMIT)", "h.sum() > 0"));
    expect(&s, GG_FIX_ASK);
    gg_llm_reply dear = {.text = GG_STR("no"), .input_tokens = 2500, .output_tokens = 600};
    assert_int_equal(gg_fix_answered(s.fix, &dear, GG_STR_NULL, &s.err), 0);
    expect(&s, GG_FIX_DONE);
    end(&s);
}

static void test_without_a_source(void **state) {
    (void)state;
    session s;
    begin(&s, NULL, BREAKS("h.sum() > 0"));
    gg_fix_use(s.fix, (gg_fix_source){0});
    expect(&s, GG_FIX_DONE);
    assert_int_equal(gg_fix_answered(s.fix, NULL, GG_STR_NULL, &s.err), GG_EINTERNAL);
    end(&s);
}

/* ---- more inputs ------------------------------------------------------------------------------------------------------------ */

static void answer_inputs(session *s) {
    gg_llm_reply reply = {.text = GG_STR("<Input>(torch.zeros(2, 4),)</Input>")};
    assert_int_equal(gg_fix_answered(s->fix, &reply, GG_STR_NULL, &s->err), 0);
}

static void next_step(session *s, gg_fix_step step) {
    gg_agent_clock(s->agent, 2);
    assert_int_equal(gg_fix_next(s->fix, &s->action, &s->err), 0);
    assert_int_equal(s->action.step, step);
}

/* The first candidate is a rule's.  It is tried on what the model proposes, and adopted or not. */
static void rule_on_more_inputs(bool holds) {
    session s;
    gg_llm_limits limits = gg_llm_limits_default();
    limits.more_inputs = 4;
    limits.max_rounds = 0;
    begin_with(&s, GG_SAFETY_EFFECTS, &limits, BREAKS("print('done', h.max().item())"));
    next_step(&s, GG_FIX_VERIFY);
    const gg_rule *rule = s.action.rule;
    assert_non_null(rule);
    judge(&s, true, 1, 0, NULL);
    assert_int_equal(gg_fix_verified(s.fix, NULL, GG_STR_NULL, &s.err), GG_EINTERNAL);
    next_step(&s, GG_FIX_ASK);
    expect_part(prompt_of(&s), "Propose up to 4 inputs", true);
    answer_inputs(&s);
    next_step(&s, GG_FIX_VERIFY);
    assert_ptr_equal(s.action.rule, rule);
    assert_false(s.action.foreign);
    assert_int_equal(s.action.input_count, 1);
    gg_fix_action again;
    assert_int_equal(gg_fix_next(s.fix, &again, &s.err), GG_EINTERNAL);
    judge(&s, holds, 1, holds ? 0 : 1, NULL);
    size_t n;
    if (holds) {
        next_step(&s, GG_FIX_DONE);
        assert_false(gg_str_equal(gg_text_bytes(gg_fix_text(s.fix)), gg_str_from(net)));
        const gg_fix_repair *repairs = gg_fix_repairs(s.fix, &n);
        assert_true(n == 1 && repairs[0].verdict->accepted);
    } else {
        expect(&s, GG_FIX_ASK); /* other rules, then the model */
        expect_part(prompt_of(&s), "Rewrite the code", true);
        const gg_fix_repair *repairs = gg_fix_repairs(s.fix, &n);
        assert_true(n > 0 && !repairs[0].verdict->accepted);
        assert_true(gg_str_equal(gg_text_bytes(gg_fix_text(s.fix)), gg_str_from(net)));
    }
    gg_buf log;
    gg_buf_init(&log, 1 << 20);
    gg_agent_log(s.agent, &log);
    expect_part(gg_buf_str(&log), "## Net.forward: inputs for a rule's edit (GB", true);
    expect_part(gg_buf_str(&log), holds ? "The edit holds on them" : "The edit does not hold on them", true);
    gg_buf_clear(&log);
    end(&s);
}

static void test_more_inputs_for_a_rule(void **state) {
    (void)state;
    rule_on_more_inputs(true);
    rule_on_more_inputs(false);
}

/* A model's candidate is one repair, however often it was tried. */
static void test_more_inputs_for_a_model(void **state) {
    (void)state;
    session s;
    gg_llm_limits limits = gg_llm_limits_default();
    limits.more_inputs = 4;
    begin(&s, &limits, BREAKS("h.sum() > 0", "h.max().item()"));
    expect(&s, GG_FIX_ASK);
    size_t before, n;
    gg_fix_repairs(s.fix, &before);
    answer(&s, mended_class);
    expect(&s, GG_FIX_VERIFY);
    judge(&s, true, 2, 0, NULL);
    expect(&s, GG_FIX_ASK);
    answer_inputs(&s);
    next_step(&s, GG_FIX_VERIFY);
    assert_true(s.action.foreign && s.action.rule == NULL && s.action.input_count == 1);
    judge(&s, false, 2, 2, NULL);
    const gg_fix_repair *repairs = gg_fix_repairs(s.fix, &n);
    assert_true(n == before + 1 && !repairs[n - 1].verdict->accepted);
    expect(&s, GG_FIX_ASK);
    assert_int_equal(s.action.request->message_count, 3);
    expect_part(s.action.request->messages[2].content, "output 0 differs", true);
    answer(&s, mended_class);
    expect(&s, GG_FIX_VERIFY);
    judge(&s, true, 2, 0, NULL);
    expect(&s, GG_FIX_ASK);
    assert_int_equal(gg_fix_answered(s.fix, NULL, GG_STR("gone"), &s.err), 0);
    expect(&s, GG_FIX_DONE);
    expect_part(gg_text_bytes(gg_fix_text(s.fix)), "torch.where(h.sum() > 0, clip(h), scale(h))", true);
    end(&s);
}

/* ---- what beginning again is worth ---------------------------------------------------------------------------------------------- */

typedef enum reaction { RIGHT, WRONG, NO_TAGS, CHEAT, SAME, CUT } reaction;

/* What a scripted model says, by what it is sent alone: how many messages, and how often it was asked afresh. */
typedef struct script {
    const char *name;
    reaction (*react)(size_t messages, size_t fresh);
    bool srs, plain; /* is it brought to a mended program within three rounds? */
} script;

static reaction at_once(size_t messages, size_t fresh) {
    (void)messages, (void)fresh;
    return RIGHT;
}
static reaction never(size_t messages, size_t fresh) {
    (void)messages, (void)fresh;
    return WRONG;
}
static reaction told_once(size_t messages, size_t fresh) {
    (void)fresh;
    return messages >= 3 ? RIGHT : WRONG;
}
static reaction told_of_tags(size_t messages, size_t fresh) {
    (void)fresh;
    return messages >= 3 ? RIGHT : NO_TAGS;
}
static reaction told_of_cheat(size_t messages, size_t fresh) {
    (void)fresh;
    return messages >= 3 ? RIGHT : CHEAT;
}
static reaction told_twice(size_t messages, size_t fresh) {
    (void)fresh;
    return messages >= 5 ? RIGHT : WRONG;
}
static reaction afresh(size_t messages, size_t fresh) {
    return messages == 1 && fresh >= 2 ? RIGHT : WRONG;
}
static reaction afresh_else_cheats(size_t messages, size_t fresh) {
    return messages == 1 && fresh >= 2 ? RIGHT : CHEAT;
}
static reaction afresh_else_cut(size_t messages, size_t fresh) {
    return messages == 1 && fresh >= 2 ? RIGHT : messages > 1 ? CUT : WRONG;
}
static reaction afresh_else_same(size_t messages, size_t fresh) {
    return messages == 1 && fresh >= 2 ? RIGHT : SAME;
}
static reaction afresh_and_told(size_t messages, size_t fresh) {
    return fresh >= 2 && messages >= 3 ? RIGHT : WRONG;
}
static reaction third_time(size_t messages, size_t fresh) {
    return messages == 1 && fresh >= 3 ? RIGHT : WRONG;
}

static const script scripts[] = {{"right at once", at_once, true, true},
                                 {"right once it is told", told_once, true, true},
                                 {"right once it is told of its form", told_of_tags, true, true},
                                 {"right once its cheat is refused", told_of_cheat, true, true},
                                 {"right when told twice", told_twice, false, true},
                                 {"right afresh, else led on by its own words", afresh, true, false},
                                 {"right afresh, else it cheats", afresh_else_cheats, true, false},
                                 {"right afresh, else too long", afresh_else_cut, true, false},
                                 {"right afresh, else it changes nothing", afresh_else_same, true, false},
                                 {"right afresh and told", afresh_and_told, true, false},
                                 {"right the third time", third_time, false, false},
                                 {"never right", never, false, false}};

/* Five ways to write an answer down. */
static gg_str written(const char *code, int way, gg_arena *arena) {
    static const char *const forms[] = {
        "<Optimized Code>\n%s</Optimized Code>", "<Optimized Code>\n```python\n%s```\n</Optimized Code>\n",
        "Thinking of <Optimized Code>.\n<Optimized Code>\nimport torch\n\n\n%s</Optimized Code>\nDone.",
        "<optimized_code>\n%s"};
    if (way < 4) {
        const char *form = forms[way], *slot = strstr(form, "%s");
        return gg_arena_printf(arena, "%.*s%s%s", (int)(slot - form), form, code, slot + 2);
    }
    json_t *json = json_pack("{s:s, s:[s]}", "code", code, "reasons", "because");
    char *text = json_dumps(json, 0);
    gg_str out = gg_arena_str(arena, gg_str_from(text));
    free(text);
    json_decref(json);
    return out;
}

static gg_llm_reply say(reaction r, int way, gg_arena *arena) {
    static const char same[] =
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, "
        "4)\n\n"
        "    def forward(self, x):\n        'A docstring'\n        h = self.fc(x)\n        if h.sum() > 0:\n           "
        " h = clip(h)\n"
        "        else:\n            h = scale(h)\n        print('done', h.max().item())\n        return h\n";
    static const char wrong[] = "    def forward(self, x):\n        h = self.fc(x)\n        return h + scale(h)\n";
    static const char cheat[] = "    @torch.compiler.disable\n    def forward(self, x):\n        return self.fc(x)\n";
    gg_llm_reply reply = {.stop = r == CUT ? GG_LLM_STOP_LENGTH : GG_LLM_STOP_END};
    switch (r) {
    case RIGHT:
        reply.text = written(mended_class, way, arena);
        break;
    case WRONG:
        reply.text = written(wrong, way == 2 ? 1 : way, arena);
        break;
    case CHEAT:
        reply.text = written(cheat, way == 2 ? 1 : way, arena);
        break;
    case SAME:
        reply.text = written(same, way, arena);
        break;
    case CUT:
        reply.text = GG_STR("<Optimized Code>\nclass Net(nn.Mod");
        break;
    default:
        reply.text = GG_STR("Use torch.where instead of the branch.");
        break;
    }
    return reply;
}

static bool is_mended(const script *model, int way, bool only_feedback) {
    world w;
    world_init(&w, net, BREAKS("GB0170|h.sum() > 0"));
    gg_llm_limits limits = gg_llm_limits_default();
    limits.only_feedback = only_feedback;
    gg_srs *srs = gg_srs_new(&w.task, &limits);
    gg_arena *arena = gg_arena_new();
    gg_verdict good = {.accepted = true, .glued = true, .outputs = GG_STR("identical"), .breaks_before = 1};
    gg_verdict bad = {.outputs = GG_STR("different"), .breaks_before = 1, .breaks_after = 1};
    gg_srs_action action;
    size_t fresh = 0;
    for (;;) {
        assert_int_equal(gg_srs_next(srs, &action, NULL), 0);
        if (action.step == GG_SRS_DONE) break;
        if (action.step == GG_SRS_VERIFY) {
            bool right = gg_str_contains(gg_text_bytes(action.edited), GG_STR("torch.where(h.sum() > 0"));
            assert_int_equal(gg_srs_verified(srs, right ? &good : &bad, NULL), 0);
            continue;
        }
        fresh += action.request->message_count == 1;
        gg_llm_reply reply = say(model->react(action.request->message_count, fresh), way, arena);
        assert_int_equal(gg_srs_answered(srs, &reply, GG_STR_NULL, NULL), 0);
    }
    bool mended = action.edited != NULL;
    size_t rounds;
    gg_srs_rounds(srs, &rounds);
    assert_true(rounds <= 4);
    gg_arena_free(arena);
    gg_srs_free(srs);
    world_clear(&w);
    return mended;
}

static void test_sixty_cases(void **state) {
    (void)state;
    enum { WAYS = 5 };
    int srs = 0, plain = 0, cases = 0;
    for (size_t i = 0; i < GG_COUNT(scripts); i++)
        for (int way = 0; way < WAYS; way++, cases++) {
            bool with = is_mended(&scripts[i], way, false), without = is_mended(&scripts[i], way, true);
            if (with != scripts[i].srs || without != scripts[i].plain)
                fail_msg("%s, way %d: %d with SRS, %d with feedback alone", scripts[i].name, way, with, without);
            srs += with;
            plain += without;
        }
    print_message("mended of %d scripted cases: %d with SRS, %d with feedback alone\n", cases, srs, plain);
    assert_int_equal(cases, 60);
    assert_true(srs > plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_a_repair_session),
                                       cmocka_unit_test(test_partly_mended),
                                       cmocka_unit_test(test_several_definitions),
                                       cmocka_unit_test(test_without_a_source),
                                       cmocka_unit_test(test_more_inputs_for_a_rule),
                                       cmocka_unit_test(test_more_inputs_for_a_model),
                                       cmocka_unit_test(test_sixty_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
