/* links: gg_repair */
/* The repair session, driven as the command line drives it, with captures and verdicts written by hand.
 *
 * A break is written "GB0059|print(h)": it lies at the first occurrence of that code in the text it is of ("@2" in front of the code: at the
 * second).  The rules are the real ones. */
#include "fix_fixture.h"

static const char two_prints[] = "import torch\n\n\n"
                                 "def g(h):\n"
                                 "    print('callee', flush=True)\n"
                                 "    return h + 1\n\n\n"
                                 "def f(h):\n"
                                 "    h = g(h)\n"
                                 "    print('caller', flush=True)\n"
                                 "    return h\n";
/* One site, two candidates: GG003 keeps the value as a tensor, GG001 guards the message. */
static const char two_offers[] = "import torch\n\n\n"
                                 "def f(h):\n"
                                 "    print(h * h.max().item())\n"
                                 "    return h\n";
static const char guarded[] = "    if not torch.compiler.is_compiling():\n";

/* ---- what is tried, and in which order ------------------------------------------------------------------------------ */

static void test_first_accepted_wins(void **state) {
    (void)state;
    session s = start(two_offers, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    accept(&s, NULL);
    expect_done(&s); /* the second candidate is not tried */
    expect_text(&s, "h.max().detach()", true);
    expect_text(&s, guarded, false);
    size_t count;
    assert_int_equal(gg_fix_after(s.fix, &count)[0].break_count, 0);
    assert_int_equal(gg_fix_before(s.fix, &count)[0].break_count, 1);
    finish(&s);
}

static void test_a_refused_candidate_gives_way_to_the_next(void **state) {
    (void)state;
    session s = start(two_offers, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    refuse(&s, "different");
    assert_string_equal(gg_text_bytes(gg_fix_text(s.fix)).ptr, two_offers);
    expect(&s, "GG001");
    accept(&s, NULL);
    expect_done(&s);
    expect_text(&s, guarded, true);
    expect_text(&s, "h.max().item()", true);
    finish(&s);
}

static void test_max_safety_bounds_what_is_tried(void **state) {
    (void)state;
    session s = start(two_offers, GG_SAFETY_EXACT);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    refuse(&s, "different");
    expect_done(&s);
    finish(&s);
}

static void test_callee_first_then_the_caller(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0059|print('caller', flush=True)")); /* a partial improvement: go on */
    expect_text(&s, "        print('callee', flush=True)\n", true);
    expect_text(&s, "\n    print('caller', flush=True)\n", true);
    expect(&s, "GG001");
    assert_true(gg_text_bytes(s.action.original).ptr == gg_text_bytes(gg_fix_text(s.fix)).ptr);
    accept(&s, NULL);
    expect_text(&s, "        print('caller', flush=True)\n", true); /* both edits are there */
    expect_text(&s, "        print('callee', flush=True)\n", true);
    expect_done(&s);
    size_t count;
    const gg_fix_repair *repairs = gg_fix_repairs(s.fix, &count);
    assert_int_equal(count, 2);
    assert_int_equal(repairs[0].range_utf16.start.line, 4);
    assert_int_equal(repairs[1].range_utf16.start.line, 11); /* in the text it was tried on */
    finish(&s);
}

/* A message guarded by an earlier repair is skipped as soon as a later one lets its function be compiled. */
static void test_what_a_repair_waived_stays_waived(void **state) {
    (void)state;
    session s = start("import torch\n\n\ndef f(h):\n    print(h)\n    return h * h.max().item()\n", GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print(h)", "GB0124|h.max().item()"));
    expect(&s, "GG001");
    refuse(&s, "different");
    expect(&s, "GG003");
    assert_int_equal(s.action.also_count, 0);
    finish(&s);
    s = start("import torch\n\n\ndef f(h):\n    print(h)\n    return h * h.max().item()\n", GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print(h)", "GB0124|h.max().item()"));
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    assert_int_equal(s.action.also_count, 1);
    assert_true(gg_str_is(s.action.also[0], "effects"));
    finish(&s);
}

static void test_the_first_of_several_sites_is_passed_over_when_refused(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
    expect(&s, "GG001");
    refuse(&s, "different");
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0059|print('callee', flush=True)"));
    expect_done(&s); /* outputs differed: another repair does not change that */
    expect_text(&s, "        print('caller', flush=True)\n", true);
    expect_text(&s, "        print('callee', flush=True)\n", false);
    finish(&s);
}

static void test_a_right_edit_that_did_not_help_is_tried_again_after_progress(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
    expect(&s, "GG001");
    refuse(&s, "identical");
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0059|print('callee', flush=True)"));
    expect(&s, "GG001");
    refuse(&s, "identical");
    expect_done(&s); /* nothing was mended since */
    finish(&s);
}

/* The branch has no rule while one of its values stops the graph. */
static const char branch_and_mask[] = "import torch\n\n\ndef f(h):\n"
                                      "    if h.sum() > 0:\n        y = h[h > 1].sum()\n"
                                      "    else:\n        y = h.sum() * 0\n    return y\n";

static void test_a_rule_that_another_repair_made_apply_is_tried(void **state) {
    (void)state;
    session s = start(branch_and_mask, GG_SAFETY_NUMERIC);
    captured(&s, BREAKS("GB0170|h.sum() > 0", "GB0036|h[h > 1]"));
    expect(&s, "GG042");
    accept(&s, BREAKS("GB0170|h.sum() > 0"));
    expect(&s, "GG002");
    refuse(&s, "different");
    expect(&s, "GG122"); /* a last resort */
    refuse(&s, "different");
    expect_done(&s);
    finish(&s);
}

static void test_nothing_improves(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
    expect(&s, "GG001");
    refuse(&s, "identical");
    expect(&s, "GG001");
    refuse(&s, "identical");
    expect_done(&s);
    expect_done(&s); /* and stays so */
    assert_string_equal(gg_text_bytes(gg_fix_text(s.fix)).ptr, two_prints);
    finish(&s);
}

static void test_a_mended_site_uncovers_another(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)"));
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0059|print('caller', flush=True)")); /* the verdict's capture shows what was hidden */
    expect(&s, "GG001");
    accept(&s, NULL);
    expect_done(&s);
    finish(&s);
}

/* `.item()` under a setting: GG051.  Behind it another break comes to light, which no rule mends. */
static const char three_numbers[] = "import torch\n\n\ndef f(h):\n"
                                    "    a = h.max().item()\n    b = h.min().item()\n"
                                    "    print('said', flush=True)\n    return mystery(a, b)\n";

static void test_a_setting_that_gained_nothing_is_taken_back(void **state) {
    (void)state;
    session s = start(three_numbers, GG_SAFETY_CONFIG);
    captured(&s, BREAKS("GB0059|print('said', flush=True)", "GB0124|h.max().item()"));
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG051");
    accept_of(&s, 1, BREAKS("GB0007|mystery(a, b)"));
    expect_done(&s);
    expect_text(&s, "capture_scalar_outputs", false);
    expect_text(&s, guarded, true); /* what came before stays */
    assert_false(last_verdict(&s, 2)->accepted);
    size_t count;
    assert_int_equal(gg_fix_after(s.fix, &count)[0].break_count, 1);
    assert_true(gg_str_is(gg_fix_after(s.fix, &count)[0].breaks[0].id, "GB0124"));
    expect_done(&s);
    finish(&s);
}

static void test_a_setting_stays_that_another_repair_was_made_on(void **state) {
    (void)state;
    session s = start(three_numbers, GG_SAFETY_CONFIG);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG051");
    accept_of(&s, 1, BREAKS("GB0059|print('said', flush=True)"));
    expect(&s, "GG001");
    accept(&s, NULL);
    expect_done(&s);
    expect_text(&s, "capture_scalar_outputs", true);
    finish(&s);
}

/* What needs no setting comes first.  Of two sites the edits are the same: once is enough. */
static void test_a_setting_is_tried_last_and_once_on_a_text(void **state) {
    (void)state;
    session s = start(three_numbers, GG_SAFETY_CONFIG);
    captured(&s, BREAKS("GB0124|h.max().item()", "GB0124|h.min().item()", "GB0059|print('said', flush=True)"));
    expect(&s, "GG001");
    accept(&s, BREAKS("GB0124|h.max().item()", "GB0124|h.min().item()"));
    expect(&s, "GG051");
    refuse(&s, "different");
    expect_done(&s);
    expect_text(&s, "capture_scalar_outputs", false);
    finish(&s);
}

static void test_equal_lines_are_sites_of_their_own(void **state) {
    (void)state;
    session s = start("import torch\n\n\ndef f(h):\n    print(1, flush=True)\n    h = h * 2\n    print(1, "
                      "flush=True)\n    return h\n",
                      GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0059|print(1, flush=True)", "GB0059|@2print(1, flush=True)"));
    expect(&s, "GG001");
    refuse(&s, "different");
    expect(&s, "GG001"); /* the second print is not the refused one */
    accept(&s, BREAKS("GB0059|print(1, flush=True)"));
    expect_text(&s, "h = h * 2\n    if not torch.compiler.is_compiling():\n        print(1, flush=True)\n", true);
    expect_text(&s, "def f(h):\n    print(1, flush=True)\n", true);
    finish(&s);
}

/* ---- what is not ours ------------------------------------------------------------------------------------------------ */

static void test_sites_of_other_files_and_without_rules_are_left(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    json_t *e = entry(s.action.original, BREAKS("GB0059|print('callee', flush=True)", "GB0007|h + 1"));
    json_t *elsewhere = json_array_get(json_object_get(json_array_get(json_object_get(e, "breaks"), 0), "stack"), 0);
    json_object_set_new(elsewhere, "file", json_string("/workspace/other.py"));
    assert_int_equal(gg_fix_captured(s.fix, &e, 1, &s.err), 0);
    json_decref(e);
    expect_done(&s);
    finish(&s);
}

static void test_a_capture_that_gave_nothing(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    assert_int_equal(gg_fix_captured(s.fix, NULL, 0, &s.err), 0);
    expect_done(&s);
    finish(&s);
    s = start(two_prints, GG_SAFETY_EFFECTS);
    json_t *odd = json_pack("{s:i}", "name", 7);
    assert_int_equal(gg_fix_captured(s.fix, &odd, 1, &s.err), GG_EPARAMS);
    json_decref(odd);
    expect_done(&s);
    finish(&s);
}

static void test_steps_out_of_order_are_refused(void **state) {
    (void)state;
    session s = start(two_prints, GG_SAFETY_EFFECTS);
    assert_int_equal(gg_fix_verified(s.fix, NULL, GG_STR("x"), &s.err), GG_EINTERNAL);
    captured(&s, BREAKS("GB0059|print('callee', flush=True)"));
    assert_int_equal(gg_fix_captured(s.fix, NULL, 0, &s.err), GG_EINTERNAL);
    expect(&s, "GG001");
    gg_fix_action again;
    assert_int_equal(gg_fix_next(s.fix, &again, &s.err), GG_EINTERNAL);
    refuse(&s, "different");
    assert_int_equal(gg_fix_verified(s.fix, NULL, GG_STR("x"), &s.err), GG_EINTERNAL);
    expect_done(&s);
    finish(&s);
}

/* ---- the worker misbehaves ------------------------------------------------------------------------------------------- */

static void test_a_lost_worker_refuses_the_candidate(void **state) {
    (void)state;
    session s = start(two_offers, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    assert_int_equal(gg_fix_verified(s.fix, NULL, GG_STR("killed by SIGKILL"), &s.err), 0);
    const gg_verdict *v = last_verdict(&s, 1);
    assert_false(v->accepted);
    assert_true(gg_str_is(v->outputs, "error") && gg_str_is(v->reasons[0], "killed by SIGKILL"));
    expect(&s, "GG001");
    assert_int_equal(gg_fix_verified(s.fix, NULL, GG_STR_NULL, &s.err), 0);
    assert_int_equal(last_verdict(&s, 2)->reason_count, 1);
    expect_done(&s);
    assert_string_equal(gg_text_bytes(gg_fix_text(s.fix)).ptr, two_offers);
    finish(&s);
}

/* What cannot be read proves nothing: the candidate is refused with the reason, and the session goes on. */
static void test_odd_verdicts_refuse_the_candidate(void **state) {
    (void)state;
    static const char *const odd[] = {
        "[]",
        "{}",
        "null",
        "{\"accepted\":\"yes\"}",
        "{\"accepted\":1,\"entries\":[]}",
        "{\"accepted\":true}",
        "{\"accepted\":true,\"breaks_before\":1,\"entries\":[]}",
        "{\"accepted\":true,\"breaks_before\":1,\"entries\":{}}",
        "{\"accepted\":true,\"breaks_before\":1,\"entries\":[7]}",
        "{\"accepted\":true,\"breaks_before\":1,\"entries\":[{\"name\":\"e\",\"before\":{}}]}",
        "{\"accepted\":true,\"breaks_before\":0,\"entries\":[{\"name\":\"e\",\"before\":{},\"after\":{}}]}",
        "{\"accepted\":true,\"breaks_before\":1,\"entries\":[{\"before\":{},\"after\":{\"breaks\":[1]}}]}",
    };
    for (size_t i = 0; i < GG_COUNT(odd); i++) {
        session s = start(two_offers, GG_SAFETY_EFFECTS);
        captured(&s, BREAKS("GB0124|h.max().item()"));
        expect(&s, "GG003");
        json_t *v = json_loads(odd[i], JSON_DECODE_ANY, NULL);
        assert_non_null(v);
        assert_int_equal(gg_fix_verified(s.fix, v, GG_STR_NULL, &s.err), 0);
        json_decref(v);
        if (last_verdict(&s, 1)->accepted) fail_msg("%s was accepted", odd[i]);
        assert_true(last_verdict(&s, 1)->reason_count > 0);
        assert_string_equal(gg_text_bytes(gg_fix_text(s.fix)).ptr, two_offers);
        expect(&s, "GG001");
        refuse(&s, "different");
        expect_done(&s);
        finish(&s);
    }
}

static void test_missing_keys_are_unknown(void **state) {
    (void)state;
    session s = start(two_offers, GG_SAFETY_EFFECTS);
    captured(&s, BREAKS("GB0124|h.max().item()"));
    expect(&s, "GG003");
    json_t *v = json_pack("{s:b, s:i, s:n, s:[s, i, n], s:[{s:{}, s:{}, s:i}], s:i}", "accepted", true, "breaks_before",
                          1, "outputs", "reasons", "a", 1, "entries", "before", "after", "from a newer worker", 1,
                          "graphs_before", -3);
    assert_int_equal(gg_fix_verified(s.fix, v, GG_STR_NULL, &s.err), 0);
    json_decref(v);
    assert_true(last_verdict(&s, 1)->accepted);
    expect_done(&s);
    gg_arena *arena = gg_arena_new();
    assert_true(gg_verdict_summary(last_verdict(&s, 1), arena).len > 0);
    gg_arena_free(arena);
    finish(&s);
}

/* A worker that accepts everything and always reports the same break: the session ends all the same. */
static void test_it_ends_whatever_the_worker_says(void **state) {
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        session s = start(two_prints, GG_SAFETY_EFFECTS);
        captured(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
        size_t steps = 0;
        for (; steps < MAX_STEP; steps++) {
            next(&s);
            if (s.action.step == GG_FIX_DONE) break;
            bool right = mode == 0 || (mode == 1 && steps % 2) || (mode == 2 && steps % 3 == 0);
            if (right)
                accept(&s, BREAKS("GB0059|print('callee', flush=True)", "GB0059|print('caller', flush=True)"));
            else
                refuse(&s, "identical");
        }
        assert_true(steps < MAX_STEP);
        finish(&s);
    }
}

/* ---- other files -------------------------------------------------------------------------------------------------- */

#define LIBRARY "/site/lib.py"

static bool is_library(const void *data, gg_str path) {
    (void)data;
    return gg_str_is(path, LIBRARY);
}

/* A break in f, and one in g of another file that f calls, in that order. */
static json_t *caller_and_callee(const session *s, const gg_text *library) {
    json_t *in_f = frame_at(gg_fix_text(s->fix), GG_STR("print('caller', flush=True)"), PATH);
    json_t *call = frame_at(gg_fix_text(s->fix), GG_STR("g(h)"), PATH);
    json_t *in_g = frame_at(library, GG_STR("print('callee', flush=True)"), LIBRARY);
    json_object_set_new(in_g, "function", json_string("g"));
    return json_pack("{s:s, s:s, s:i, s:[{s:s, s:s, s:[o]}, {s:s, s:s, s:[o, o]}]}", "name", "e", "status", "breaks",
                     "graphs", 3, "breaks", "id", "GB0059", "kind", "split", "stack", in_f, "id", "GB0059", "kind",
                     "split", "stack", in_g, call);
}

static session start_with_library(gg_text **library) {
    session s = start("from lib import g\n\n\ndef f(h):\n    print('caller', flush=True)\n    return g(h)\n",
                      GG_SAFETY_EFFECTS);
    assert_int_equal(
        gg_text_new(library, GG_STR("def g(h):\n    print('callee', flush=True)\n    return h + 1\n"), NULL), 0);
    gg_fix_cover(s.fix, is_library, NULL);
    gg_fix_put(s.fix, GG_STR(LIBRARY), *library, *library);
    json_t *e = caller_and_callee(&s, *library);
    assert_int_equal(gg_fix_captured(s.fix, &e, 1, &s.err), 0);
    json_decref(e);
    return s;
}

/* The candidate is accepted; one message is left, in that file. */
static void accept_but(session *s, const gg_text *text, const char *code, const char *file) {
    json_t *left =
        json_pack("{s:s, s:s, s:i, s:[{s:s, s:s, s:[o]}]}", "name", "e", "status", "breaks", "graphs", 2, "breaks",
                  "id", "GB0059", "kind", "split", "stack", frame_at(text, gg_str_from(code), file));
    json_t *v = json_pack("{s:b, s:s, s:i, s:[{s:s, s:O, s:o, s:b}]}", "accepted", 1, "outputs", "identical",
                          "breaks_before", 2, "entries", "name", "e", "before", left, "after", left, "glued", 0);
    assert_int_equal(gg_fix_verified(s->fix, v, GG_STR_NULL, &s->err), 0);
    json_decref(v);
}

/* Its text is as it was, but what it ran into may be gone. */
static void test_a_site_is_tried_again_when_another_file_was_mended(void **state) {
    (void)state;
    gg_text *library = NULL;
    session s = start_with_library(&library);
    expect_in(&s, "GG001", LIBRARY);
    refuse(&s, "identical");
    expect_in(&s, "GG001", PATH);
    accept_but(&s, library, "print('callee', flush=True)", LIBRARY);
    expect_in(&s, "GG001", LIBRARY);
    finish(&s);
    gg_text_unref(&library);
}

static void test_callee_in_another_file_comes_first(void **state) {
    (void)state;
    gg_text *library = NULL;
    session s = start_with_library(&library);
    expect_in(&s, "GG001", LIBRARY);
    assert_true(s.action.original == gg_fix_file_at(s.fix, 1)->text);
    accept_but(&s, gg_fix_text(s.fix), "print('caller', flush=True)", PATH);
    const gg_fix_file *f = gg_fix_file_at(s.fix, 1);
    assert_true(f->original == library && f->begun == library);
    assert_true(gg_str_contains(gg_text_bytes(f->text), GG_STR("is_compiling()")));
    expect_text(&s, guarded, false); /* its own file is untouched so far */
    expect_in(&s, "GG001", PATH);
    assert_null(gg_fix_file_at(s.fix, 2));
    finish(&s);
    gg_text_unref(&library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_accepted_wins),
        cmocka_unit_test(test_a_refused_candidate_gives_way_to_the_next),
        cmocka_unit_test(test_max_safety_bounds_what_is_tried),
        cmocka_unit_test(test_callee_first_then_the_caller),
        cmocka_unit_test(test_what_a_repair_waived_stays_waived),
        cmocka_unit_test(test_the_first_of_several_sites_is_passed_over_when_refused),
        cmocka_unit_test(test_a_right_edit_that_did_not_help_is_tried_again_after_progress),
        cmocka_unit_test(test_a_rule_that_another_repair_made_apply_is_tried),
        cmocka_unit_test(test_nothing_improves),
        cmocka_unit_test(test_a_mended_site_uncovers_another),
        cmocka_unit_test(test_a_setting_that_gained_nothing_is_taken_back),
        cmocka_unit_test(test_a_setting_stays_that_another_repair_was_made_on),
        cmocka_unit_test(test_a_setting_is_tried_last_and_once_on_a_text),
        cmocka_unit_test(test_equal_lines_are_sites_of_their_own),
        cmocka_unit_test(test_sites_of_other_files_and_without_rules_are_left),
        cmocka_unit_test(test_a_capture_that_gave_nothing),
        cmocka_unit_test(test_steps_out_of_order_are_refused),
        cmocka_unit_test(test_a_lost_worker_refuses_the_candidate),
        cmocka_unit_test(test_odd_verdicts_refuse_the_candidate),
        cmocka_unit_test(test_missing_keys_are_unknown),
        cmocka_unit_test(test_it_ends_whatever_the_worker_says),
        cmocka_unit_test(test_a_site_is_tried_again_when_another_file_was_mended),
        cmocka_unit_test(test_callee_in_another_file_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
