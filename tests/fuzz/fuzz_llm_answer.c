/* links: gg_repair */
/* Answers of a model: whatever comes is refused with words, or becomes a candidate that differs in the given class and imports alone, parses, and comes of
 * its edits.  Lessons: whatever a file of them holds is read or left out. */
#include "repair/llm/gg_llm.h"

#include "check.h"

static const char program[] = "import torch\n"
                              "import torch.nn as nn\n\n"
                              "LIMIT = 3.0\n\n\n"
                              "def clip(x):\n"
                              "    return x.clamp(max=LIMIT)\n\n\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.fc = nn.Linear(4, 4)  # the only layer\n\n"
                              "    def forward(self, x):\n"
                              "        'A docstring'\n"
                              "        h = self.fc(x)\n"
                              "        if h.sum() > 0:\n"
                              "            h = clip(h)\n"
                              "        return h\n\n\n"
                              "TESTCASES = [lambda: (torch.ones(2, 4),)]\n";
static const char site_code[] = "h.sum() > 0";

/* What stands in front of the class and behind it, but for imports. */
static void check_rest(gg_str before, gg_str after) {
    gg_str tail = gg_str_slice(before, gg_str_find(before, GG_STR("\n\n\nTESTCASES"), 0), before.len);
    gg_str head =
        gg_str_slice(before, gg_str_find(before, GG_STR("\n\nLIMIT"), 0), gg_str_find(before, GG_STR("class Net"), 0));
    CHECK(gg_str_ends_with(after, tail));
    CHECK(gg_str_contains(after, head));
}

/* `proposed`: the text answers the question for inputs, about a candidate that was accepted: it stays so, or is tried on what reads like some. */
static void propose(gg_srs *srs, const gg_llm_reply *proposed) {
    static const char mended[] = "<Optimized Code>\ndef forward(self, x):\n    h = self.fc(x)\n    return "
                                 "torch.where(h.sum() > 0, clip(h), h)\n</Optimized Code>";
    const gg_llm_reply right = {.text = {mended, sizeof mended - 1}};
    gg_verdict good = {.accepted = true, .glued = true, .outputs = GG_STR("identical"), .breaks_before = 1};
    gg_srs_action action;
    CHECK(gg_srs_answered(srs, &right, GG_STR_NULL, NULL) == 0);
    CHECK(gg_srs_next(srs, &action, NULL) == 0 && action.step == GG_SRS_VERIFY && action.input_count == 0);
    CHECK(gg_srs_verified(srs, &good, NULL) == 0);
    CHECK(gg_srs_next(srs, &action, NULL) == 0 && action.step == GG_SRS_ASK);
    CHECK(gg_srs_answered(srs, proposed, GG_STR_NULL, NULL) == 0);
    CHECK(gg_srs_next(srs, &action, NULL) == 0);
    if (action.step == GG_SRS_VERIFY) {
        CHECK(action.input_count > 0 && action.input_count <= 4);
        for (size_t i = 0; i < action.input_count; i++) CHECK(!gg_str_contains(action.inputs[i], GG_STR("\n")));
        CHECK(gg_srs_verified(srs, &good, NULL) == 0);
        CHECK(gg_srs_next(srs, &action, NULL) == 0);
    }
    CHECK(action.step == GG_SRS_DONE && action.edited && strcmp(action.end, "mended") == 0);
}

static void answer(gg_str text, gg_llm_stop stop, bool proposes) {
    gg_text *file = NULL, *again = NULL;
    gg_tree *tree = NULL, *edited = NULL;
    CHECK(gg_text_new(&file, gg_str_from(program), NULL) == 0);
    CHECK(gg_tree_parse(&tree, file, NULL, NULL, 0, NULL, NULL) == 0);
    uint32_t at = (uint32_t)gg_str_find(gg_text_bytes(file), gg_str_from(site_code), 0);
    gg_site site = {.id = GG_STR("GB0170"),
                    .count = 1,
                    .file = GG_STR("/net.py"),
                    .span = {at, at + (uint32_t)sizeof site_code - 1}};
    const gg_site *sites = &site;
    gg_llm_task task = {.tree = tree, .sites = &sites, .site_count = 1};
    gg_llm_limits limits = gg_llm_limits_default();
    limits.more_inputs = proposes ? 4 : 0;
    gg_srs *srs = gg_srs_new(&task, &limits);
    gg_srs_action action;
    gg_llm_reply reply = {.text = text, .stop = stop};
    CHECK(gg_srs_next(srs, &action, NULL) == 0 && action.step == GG_SRS_ASK);
    bool heard = !proposes && gg_srs_answered(srs, &reply, GG_STR_NULL, NULL) == 0;
    CHECK(heard != proposes && (proposes || gg_srs_next(srs, &action, NULL) == 0));
    if (proposes) {
        propose(srs, &reply);
    } else if (action.step == GG_SRS_VERIFY) {
        gg_str after = gg_text_bytes(action.edited);
        CHECK(gg_edits_apply(&again, file, action.edits, NULL) == 0);
        CHECK(gg_str_equal(gg_text_bytes(again), after));
        CHECK(gg_tree_parse(&edited, action.edited, NULL, NULL, 0, NULL, NULL) == 0);
        CHECK(!gg_tree_has_error(edited));
        check_rest(gg_text_bytes(file), after);
    } else {
        size_t count;
        CHECK(action.step == GG_SRS_ASK && gg_srs_rounds(srs, &count)[0].outcome.len > 0);
        CHECK(action.request->message_count == 3);
        gg_str told = action.request->messages[2].content;
        CHECK(gg_utf8_valid_prefix(told) == told.len);
    }
    gg_buf log;
    gg_buf_init(&log, 1 << 22);
    gg_srs_log(srs, &log);
    gg_buf_clear(&log);
    gg_srs_free(srs);
    gg_tree_unref(&edited);
    gg_tree_unref(&tree);
    gg_text_unref(&again);
    gg_text_unref(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    gg_str rest = {(const char *)data + 1, size - 1};
    if (data[0] == 'L') {
        gg_lessons *lessons = gg_lessons_new();
        gg_buf out;
        gg_buf_init(&out, 1 << 24);
        size_t added = gg_lessons_load(lessons, rest);
        gg_lessons_render(lessons, &out);
        gg_lessons *again = gg_lessons_new();
        CHECK(added < gg_lessons_count(lessons) + 1 || gg_lessons_count(lessons) == 512);
        CHECK(gg_lessons_load(again, gg_buf_str(&out)) == gg_lessons_count(lessons));
        const gg_lesson *near[3];
        CHECK(gg_lessons_nearest(lessons, GG_STR("GB0170"), rest, near, 3) <= 3);
        gg_lessons_free(again);
        gg_lessons_free(lessons);
        gg_buf_clear(&out);
        return 0;
    }
    gg_llm_stop stop = data[0] == 'C' ? GG_LLM_STOP_LENGTH : GG_LLM_STOP_END;
    if (data[0] != 'P') {
        answer(rest, stop, data[0] == 'I');
        return 0;
    }
    gg_buf wrapped; /* code alone */
    gg_buf_init(&wrapped, 1 << 24);
    gg_buf_append_z(&wrapped, "<Optimized Code>\n");
    gg_buf_append(&wrapped, rest);
    gg_buf_append_z(&wrapped, "\n</Optimized Code>");
    answer(gg_buf_str(&wrapped), stop, false);
    gg_buf_clear(&wrapped);
    return 0;
}
