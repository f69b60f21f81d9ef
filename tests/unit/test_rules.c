/* links: gg_repair */
/* Every repair rule against its fixtures: tests/fixtures/repair/<code>/.
 *
 * A fixture's first lines say what a capture would:  # site: GB0170 | <the expression>   and   # facts: h=float32[4,4] n=int64[] k=int d=other:device …
 * (`[4,4]/strided`: not row after row; `[4,4]/grad`: it requires gradients; `[4,4]/parameter`: it is one; `i=int:0`: its value then; `self.act=module`: a pure one, element by element, or `module:same`) and, where a rule asks for them, `# device: cuda:0` of all tensors and `# context: …` of the break.  The program begins behind them.
 * `# copies`: the edit says that a new tensor may be returned where the original gives back one that others hold.
 * x.py with x.expected.py: the rule's edits give the expected text, it parses, and once applied the rule offers nothing more there.
 * untouched_*.py: the rule offers nothing. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "repair/gg_repair.h"
#include "tests/rule_fixture.h"

typedef struct fixture {
    gg_arena *arena;
    gg_text *text;
    gg_tree *tree;
    rule_fixture said;
} fixture;

static void open_fixture(fixture *f, gg_text *text) {
    gg_error err = {0};
    *f = (fixture){.arena = gg_arena_new(), .text = text};
    assert_int_equal(gg_tree_parse(&f->tree, text, NULL, NULL, 0, NULL, &err), 0);
    rule_fixture_read(&f->said, f->arena, text);
    if (f->said.wrong) fail_msg("%s:\n%s", f->said.wrong, gg_text_bytes(text).ptr);
}

static void close_fixture(fixture *f) {
    gg_tree_unref(&f->tree);
    gg_text_unref(&f->text);
    gg_arena_free(f->arena);
}

static gg_text *read_file(const char *folder, const char *name) {
    char path[4096];
    gg_error err = {0};
    gg_text *text = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (gg_text_read(&text, path, &err) != 0) fail_msg("%s: %s", path, err.message);
    return text;
}

static size_t failures;

static void failed(const char *folder, const char *name, const char *words) {
    print_error("%s/%s: %s\n", folder, name, words);
    failures++;
}

static void run_untouched(const gg_rule *rule, const char *folder, const char *name) {
    fixture f;
    gg_rule_match match;
    open_fixture(&f, read_file(folder, name));
    gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
    if (f.said.site.span.end == 0) failed(folder, name, "the site is not in the program");
    if (gg_tree_has_error(f.tree)) failed(folder, name, "this is no Python");
    if (rule->check(&in, &match)) failed(folder, name, "the rule must not offer anything");
    close_fixture(&f);
}

static void run_expected(const gg_rule *rule, const char *folder, const char *name) {
    char expected_name[512];
    fixture f, again;
    gg_error err = {0};
    gg_edits edits = {0}, more = {0};
    gg_text *result = NULL, *expected = NULL;
    gg_rule_match match;
    open_fixture(&f, read_file(folder, name));
    gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
    snprintf(expected_name, sizeof(expected_name), "%.*s.expected.py", (int)(strlen(name) - 3), name);
    if (gg_repair_edits(rule, &in, f.arena, &edits, &err) != 0) {
        failed(folder, name, err.message);
        goto cleanup;
    }
    if (edits.copies != f.said.copies)
        failed(folder, name, edits.copies ? "it says that it copies" : "it does not say that it copies");
    assert_int_equal(gg_edits_apply(&result, f.text, &edits, &err), 0);
    expected = read_file(folder, expected_name);
    if (!gg_str_equal(gg_text_bytes(result), gg_text_bytes(expected)))
        failed(folder, name, gg_arena_z(f.arena, gg_arena_printf(f.arena, "gives:\n%s", gg_text_bytes(result).ptr)));
    open_fixture(&again, result); /* takes it */
    if (gg_tree_has_error(again.tree)) failed(folder, name, "the result is no Python");
    gg_rule_input in_again = {.tree = again.tree, .site = &again.said.site, .span = again.said.site.span};
    if (again.said.site.span.end && rule->check(&in_again, &match) &&
        gg_repair_edits(rule, &in_again, again.arena, &more, &err) == 0)
        failed(folder, name, "the rule offers the same again");
    close_fixture(&again);

cleanup:
    gg_edits_clear(&more);
    gg_text_unref(&expected);
    gg_edits_clear(&edits);
    close_fixture(&f);
}

static void test_every_rule_has_fixtures_and_a_page(void **state) {
    (void)state;
    size_t count;
    const gg_rule *const *rules = gg_rules(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        char folder[4096], page[4096];
        snprintf(folder, sizeof(folder), "%s/tests/fixtures/repair/%s", GG_SOURCE_DIR, rules[i]->code);
        snprintf(page, sizeof(page), "%s/docs/rules/%s.md", GG_SOURCE_DIR, rules[i]->code);
        if (access(page, R_OK) != 0) fail_msg("%s has no page %s", rules[i]->name, page);
        gg_str said = gg_rule_page(rules[i]);
        if (gg_str_contains(said, GG_STR("fill in")) || gg_str_contains(said, GG_STR("Fill in")))
            fail_msg("%s: the page is still the skeleton's", page);
        if (strncmp(rules[i]->title, "Fill in", 7) == 0) fail_msg("%s has no title", rules[i]->name);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(rules[i]->code, rules[j]->code);
        size_t expected = 0, untouched = 0;
        DIR *dir = opendir(folder);
        if (dir == NULL) {
            fail_msg("%s has no fixtures in %s", rules[i]->name, folder);
            return;
        }
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            gg_str name = gg_str_from(entry->d_name);
            if (!gg_str_ends_with(name, GG_STR(".py")) || gg_str_ends_with(name, GG_STR(".expected.py"))) continue;
            if (gg_str_starts_with(name, GG_STR("untouched"))) {
                run_untouched(rules[i], folder, entry->d_name);
                untouched++;
            } else {
                run_expected(rules[i], folder, entry->d_name);
                expected++;
            }
        }
        closedir(dir);
        assert_true(expected > 0);
        assert_true(untouched > 0);
    }
    assert_int_equal(failures, 0);
}

static void test_edits_must_not_overlap(void **state) {
    (void)state;
    gg_edits edits = {0};
    gg_error err = {0};
    gg_edits_add(&edits, (gg_span){4, 6}, GG_STR("x"));
    gg_edits_add(&edits, (gg_span){0, 4}, GG_STR("y"));
    assert_int_equal(gg_edits_sort(&edits, &err), 0);
    assert_int_equal(edits.list.items[0].span.start, 0);
    gg_edits_add(&edits, (gg_span){5, 9}, GG_STR("z"));
    assert_int_equal(gg_edits_sort(&edits, &err), GG_EPARAMS);
    gg_edits_clear(&edits);
}

static void test_max_safety_bounds_the_offers(void **state) {
    (void)state;
    char folder[4096];
    fixture f;
    const gg_rule *offers[8];
    snprintf(folder, sizeof(folder), "%s/tests/fixtures/repair/GG001", GG_SOURCE_DIR);
    open_fixture(&f, read_file(folder, "print.py"));
    gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
    assert_int_equal(gg_repair_offers(&in, GG_SAFETY_EXACT, offers, 8), 0);
    assert_int_equal(gg_repair_offers(&in, GG_SAFETY_EFFECTS, offers, 8), 1);
    assert_string_equal(offers[0]->code, "GG001");
    close_fixture(&f);
}

/* A rule that is made for a break and refuses it says what stands in its way; one that applies keeps the others' reasons from being told. */
static void test_what_hinders_is_said(void **state) {
    (void)state;
    static const struct {
        const char *rule, *name, *said;
    } cases[] = {
        {"GG003", "untouched_rounded.py",
         "line 8, `round(s)`: needs the number `s`, for which a tensor is not proven to do"},
        {"GG003", "untouched_list_of_rows.py",
         "line 8, `l[0]`: needs the number `l`, for which a tensor is not proven to do"},
        {"GG003", "untouched_in_a_lambda.py",
         "line 7, `s`: is read where it may hold something else, or by another function"},
        {"GG003", "untouched_comment_in_a_bound.py",
         "line 7, `max(…`: needs the number `h.max().item()`, for which a tensor is not proven to do"},
        {"GG010", "untouched_augmented_view.py", "line 11, `y += 1`: changes `y` in place, which other code may hold"},
        {"GG010", "untouched_call_of_a_module.py",
         "line 9, `self.layer(h)`: not proven to be harmless where it does not run now"},
        {"GG010", "untouched_comment_inside.py", "line 7, `if h.sum() > 0:…`: a comment inside of it would be lost"},
        {"GG010", "untouched_divided_by_a_root.py", "nothing"}, /* GG122 */
        {"GG010", "untouched_batch_of_one.py",
         "line 7, `if h.sum() > 0:…`: `a` may have other sizes on the other way with other inputs"},
        {"GG010", "untouched_drawn_float.py",
         "line 10, `random.uniform(0, 1) < 0.5`: draws a floating number, which torch hands to compiled code in a "
         "wrong form"},
        {"GG011", "untouched_other_dtype.py", "nothing"},
        {"GG013", "untouched_print_between.py",
         "line 9, `print(\"not yet\")`: would run behind the early return, and is no assignment to a name"},
        {"GG010", "untouched_simple.py", "nothing"},
        {"GG010", "untouched_nan_asked.py",
         "line 9, `h * h`: it may be infinite or NaN, which is what the condition asks"},
        {"GG014", "untouched_no_bound_counted.py",
         "line 9, `h.norm() > 1`: does not say by a number that is counted how many iterations there are at most"},
        {"GG014", "untouched_list_grows.py",
         "line 11, `seen.append(h)`: would run in each iteration, and is no assignment to a name"},
        {"GG042", "untouched_name_returned.py",
         "line 10, `chosen.sum(), chosen`: needs the elements that a mask chooses, not only a sum or a number of them"},
        {"GG042", "untouched_quotient_of_a_difference.py",
         "line 9, `(h[m] - x[m])`: may be zero where elements that are not chosen count as 1"},
        {"GG042", "untouched_std.py",
         "line 10, `h[m]`: is more than summed, counted or stored under the mask: how many elements it has is known at "
         "run time only"},
        {"GG115", "untouched_more_turns.py",
         "line 22, `self.experts[e]`: may be missing, or of another size, where no row is chosen"},
        {"GG071", "untouched_read_twice.py",
         "line 9, `if flag:…`: needs the number `flag`, for which a tensor is not proven to do"},
    };
    for (size_t i = 0; i < GG_COUNT(cases); i++) {
        char folder[4096];
        fixture f;
        gg_hindrance told;
        snprintf(folder, sizeof(folder), "%s/tests/fixtures/repair/%s", GG_SOURCE_DIR, cases[i].rule);
        open_fixture(&f, read_file(folder, cases[i].name));
        gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
        bool hindered = gg_repair_hindrance(&in, GG_SAFETY_NUMERIC, &told);
        gg_str said = hindered ? gg_hindrance_text(&told, f.tree, false, f.arena) : GG_STR("nothing");
        if (!gg_str_is(said, cases[i].said)) failed(folder, cases[i].name, gg_arena_z(f.arena, said));
        close_fixture(&f);
    }
    assert_int_equal(failures, 0);
}

/* `assert x.any() and x.all() and …` of so many conditions. */
static gg_text *chain_of(size_t count) {
    gg_buf program;
    gg_text *text = NULL;
    gg_error err = {0};
    gg_buf_init(&program, (size_t)1 << 20);
    gg_buf_append(&program, GG_STR("# site: GB0170 | x.any()\n# facts: x=bool[4]\n\n\ndef f(x):\n    assert x.any()"));
    for (size_t i = 1; i < count; i++) gg_buf_append(&program, i % 2 ? GG_STR(" and x.all()") : GG_STR(" and x.any()"));
    gg_buf_append(&program, GG_STR(", str(x)\n    return x\n"));
    assert_int_equal(gg_text_new(&text, gg_buf_str(&program), &err), 0);
    gg_buf_clear(&program);
    return text;
}

/* Work is bounded where a condition is long, and no rule goes down where the tree is too deep for its recursion. */
static void test_what_nests_deeply(void **state) {
    (void)state;
    static const size_t counts[] = {280, 30000};
    for (size_t i = 0; i < GG_COUNT(counts); i++) {
        fixture f;
        gg_error err = {0};
        gg_edits edits = {0};
        gg_hindrance told;
        const gg_rule *offers[128];
        open_fixture(&f, chain_of(counts[i]));
        gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
        size_t count = gg_repair_offers(&in, GG_SAFETY_CONFIG, offers, GG_COUNT(offers));
        gg_repair_hindrance(&in, GG_SAFETY_NUMERIC, &told);
        if (counts[i] > 300) {
            assert_int_equal(count, 0);
            assert_int_equal(gg_repair_edits(gg_rule_find(GG_STR("GG004")), &in, f.arena, &edits, &err), GG_ENOMATCH);
        }
        gg_edits_clear(&edits);
        close_fixture(&f);
    }
}

/* What is said is one line of whole characters, however long the code is. */
static void test_what_hinders_is_short(void **state) {
    (void)state;
    gg_error err = {0};
    gg_text *text = NULL;
    fixture f;
    gg_hindrance told;
    gg_buf name, program;
    gg_buf_init(&name, 4096);
    gg_buf_init(&program, 4096);
    gg_buf_append(&name, GG_STR("ss"));
    for (int i = 0; i < 90; i++) gg_buf_append(&name, GG_STR("ü")); /* two bytes each */
    gg_str n = gg_buf_str(&name);
    assert_int_equal(gg_buf_printf(&program,
                                   "# site: GB0124 | h.max().item()\n# facts: h=float32[4]\n\n\ndef f(h):\n"
                                   "    %.*s = h.max().item()\n    return round(\n        %.*s)\n",
                                   GG_STR_ARG(n), GG_STR_ARG(n)),
                     0);
    assert_int_equal(gg_text_new(&text, gg_buf_str(&program), &err), 0);
    open_fixture(&f, text);
    gg_rule_input in = {.tree = f.tree, .site = &f.said.site, .span = f.said.site.span};
    assert_true(gg_repair_hindrance(&in, GG_SAFETY_NUMERIC, &told));
    gg_str said = gg_hindrance_text(&told, f.tree, false, f.arena),
           start = GG_STR("line 7, `round(…`: needs the number `ssü");
    assert_true(gg_str_starts_with(said, start));
    assert_int_equal(gg_utf8_valid_prefix(said), said.len);
    assert_false(gg_str_contains(said, GG_STR("\n")));
    close_fixture(&f);
    gg_buf_clear(&program);
    gg_buf_clear(&name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rule_has_fixtures_and_a_page),
        cmocka_unit_test(test_edits_must_not_overlap),
        cmocka_unit_test(test_max_safety_bounds_the_offers),
        cmocka_unit_test(test_what_hinders_is_said),
        cmocka_unit_test(test_what_hinders_is_short),
        cmocka_unit_test(test_what_nests_deeply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
