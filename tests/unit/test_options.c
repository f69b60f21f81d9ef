/* links: gg_server */
/* Settings as clients and pyproject.toml say them: what is read, what is refused and said, and how loud a finding is then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/options.h"
#include "server/toml.h"

/* Settings given as JSON; what is wrong with them must be `problems`, each followed by a semicolon. */
static json_t *read_json(const char *json, bool toml, const char *problems) {
    json_t *values = json_object(), *given = json_loads(json, 0, NULL);
    gg_words said = {0};
    char all[2048] = "";
    assert_non_null(given);
    gg_settings_read(values, given, toml, &said);
    for (size_t i = 0; i < said.len; i++) snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s;", said.items[i]);
    assert_string_equal(all, problems);
    gg_words_clear(&said);
    json_decref(given);
    return values;
}

static void test_what_is_wrong_is_said_and_the_rest_kept(void **state) {
    (void)state;
    json_t *values =
        read_json("{\"capture\":{\"run\":\"sometimes\",\"timeout\":0.5,\"store\":false},\"maxSafety\":\"opaque\","
                  "\"predict\":null,\"python\":3,\"unknown\":1,\"ignore\":[\"170\",\"nonsense\",7,\"logging\"],"
                  "\"exclude\":[1],\"rules\":{\"GB59\":\"hint\",\"tolist\":\"loud\"}}",
                  false,
                  "ignore: there is no id or rule 'nonsense';ignore: there is no id or rule '(not a string)';"
                  "rules.tolist wants off, hint, information, warning or error;"
                  "exclude wants a list of shell patterns;python wants the path of an interpreter;"
                  "capture.run wants onSave, onType or manual;capture.timeout wants seconds, from 1 to 86400;"
                  "maxSafety wants exact, effects, numeric or config;");
    json_t *wanted = json_pack("{s:b, s:[s, s], s:{s:i}}", "capture.store", 0, "ignore", "GB0170", "logging", "rules",
                               "GB0059", (int)GG_LEVEL_HINT);
    assert_true(json_equal(values, wanted));
    json_decref(values);
    json_decref(wanted);
}

static void test_a_project_may_not_say_everything(void **state) {
    (void)state;
    json_t *values =
        read_json("{\"max-safety\":\"numeric\",\"maxSafety\":\"exact\",\"worker\":{\"command\":[\"ssh\"]},"
                  "\"trusted\":true,\"api-key\":\"secret\",\"capture\":{\"timeout\":5,\"run\":\"manual\"}}",
                  true,
                  "there is no setting 'maxSafety';worker is the editor's to say, not a project's;"
                  "trusted is the editor's to say, not a project's;there is no setting 'api-key';"
                  "capture.run is the editor's to say, not a project's;");
    json_t *wanted = json_pack("{s:s, s:i}", "maxSafety", "numeric", "capture.timeout", 5);
    assert_true(json_equal(values, wanted));
    json_decref(values);
    json_decref(wanted);
}

static void test_levels(void **state) {
    (void)state;
    json_t *over = read_json("{\"rules\":{\"logging\":\"error\"},\"ignore\":[]}", false, "");
    json_t *under = read_json("{\"rules\":{\"logging\":\"off\",\"GB0170\":\"hint\",\"tensor-condition\":\"off\"},"
                              "\"ignore\":[\"GB0124\"],\"predict\":false,\"capture\":{\"timeout\":2.5}}",
                              false, "");
    gg_options *o = gg_options_new(over, under, NULL);
    assert_int_equal(gg_options_level(o, GG_STR("GB4841"), GG_STR("logging")), GG_LEVEL_ERROR);
    assert_int_equal(gg_options_level(o, GG_STR("GB0170"), GG_STR("tensor-condition")), GG_LEVEL_HINT);
    assert_int_equal(gg_options_level(o, GG_STR("GB0124"), GG_STR_NULL), GG_LEVEL_DEFAULT);
    assert_true(!o->predict && o->timeout_ms == 2500 && o->store && !o->safety_given);
    gg_options_free(o);
    o = gg_options_new(NULL, under, NULL);
    assert_int_equal(gg_options_level(o, GG_STR("GB4841"), GG_STR("logging")), GG_LEVEL_OFF);
    assert_int_equal(gg_options_level(o, GG_STR("GB0124"), GG_STR_NULL), GG_LEVEL_OFF);
    gg_options_free(o);
    json_decref(over);
    over = read_json("{\"select\":[\"tolist\"]}", false, "");
    o = gg_options_new(over, NULL, NULL);
    assert_int_equal(gg_options_level(o, GG_STR("GB0033"), GG_STR("tolist")), GG_LEVEL_DEFAULT);
    assert_int_equal(gg_options_level(o, GG_STR("GB0033"), GG_STR_NULL), GG_LEVEL_OFF);
    gg_options_free(o);
    json_decref(over);
    json_decref(under);
}

static void test_excluded(void **state) {
    (void)state;
    json_t *values = read_json("{\"exclude\":[\"tests\",\"a/old_*.py\",\"*_pb2.py\"]}", false, "");
    gg_options *o = gg_options_new(values, NULL, "/p/tests");
    assert_true(gg_options_exclude(o, "/p/tests/tests/x.py"));
    assert_true(gg_options_exclude(o, "/p/tests/b/tests/c/x.py"));
    assert_true(gg_options_exclude(o, "/p/tests/a/old_x.py"));
    assert_true(gg_options_exclude(o, "/p/tests/b/x_pb2.py"));
    assert_false(gg_options_exclude(o, "/p/tests/b/old_x.py"));
    assert_false(gg_options_exclude(o, "/p/tests/x.py")); /* what lies above the project is not asked */
    assert_true(gg_options_exclude(o, "/elsewhere/x_pb2.py"));
    assert_true(gg_options_exclude_one(o, "/elsewhere/tests", "tests"));
    gg_options_free(o);
    json_decref(values);
}

static void test_toml(void **state) {
    (void)state;
    gg_error err = {0};
    json_t *found = gg_toml_parse(
        GG_STR("a = [1, 2.5, true, 'x']\nd = 2026-01-02T03:04:05\nn = nan\n[t.\"u v\"]\ni = -inf\n"), &err);
    json_t *wanted = json_loads(
        "{\"a\":[1,2.5,true,\"x\"],\"d\":\"2026-01-02T03:04:05\",\"n\":\"nan\",\"t\":{\"u v\":{\"i\":\"-inf\"}}}", 0,
        NULL);
    assert_true(json_equal(found, wanted));
    json_decref(found);
    json_decref(wanted);
    assert_null(gg_toml_parse(GG_STR("a = 1\nb = [1,\n"), &err));
    assert_int_equal(err.code, GG_ESYNTAX);
    assert_int_equal(strncmp(err.message, "2:", 2) == 0 || strncmp(err.message, "3:", 2) == 0, 1);
    assert_null(gg_toml_parse(GG_STR("a = '\xff'\n"), &err));
    gg_buf deep;
    gg_buf_init(&deep, 1 << 20);
    gg_buf_append_z(&deep, "a = ");
    for (int i = 0; i < 100000; i++) gg_buf_append_z(&deep, "[");
    assert_null(gg_toml_parse(gg_buf_str(&deep), &err));
    gg_buf_clear(&deep);
}

/* ---- files ---- */

static char root[] = "/tmp/gg-options-XXXXXX";

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_project(const char *folder, const char *of, const char *problem) {
    char path[256], wanted[256];
    gg_project project;
    snprintf(path, sizeof(path), "%s%s", root, folder);
    snprintf(wanted, sizeof(wanted), "%s%s", root, of ? of : "");
    gg_project_read(&project, path);
    if (of)
        assert_string_equal(project.folder ? project.folder : "none", wanted);
    else
        assert_null(project.folder);
    assert_int_equal(project.problems.len, problem != NULL);
    if (problem) assert_non_null(strstr(project.problems.items[0], problem));
    gg_project_clear(&project);
}

static void test_the_nearest_file_with_our_table(void **state) {
    (void)state;
    char path[256];
    assert_non_null(mkdtemp(root));
    for (const char *const *name = (const char *const[]){"a", "a/b", "a/b/c", NULL}; *name; name++) {
        snprintf(path, sizeof(path), "%s/%s", root, *name);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    expect_project("/a/b/c", NULL, NULL);
    put("a/pyproject.toml", "[tool.graphglue]\npython = 'venv/bin/python'\n");
    put("a/b/pyproject.toml", "[tool.ruff]\n");
    expect_project("/a/b/c", "/a", NULL);
    expect_project("/a", "/a", NULL);
    expect_project("", NULL, NULL);
    put("a/b/pyproject.toml", "[tool.graphglue\n");
    expect_project("/a/b/c", "/a", "a/b/pyproject.toml:1:");
    put("a/b/pyproject.toml", "[tool.graphglue]\nselct = []\n");
    expect_project("/a/b/c", "/a/b", "[tool.graphglue] there is no setting 'selct'");
    put("a/b/pyproject.toml", "[tool.graphglue]\n");
    snprintf(path, sizeof(path), "%s/a/b/c/pyproject.toml", root);
    assert_int_equal(mkfifo(path, 0700), 0); /* nobody writes to it */
    expect_project("/a/b/c", "/a/b", "it is no file");
}

static int remove_files(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_wrong_is_said_and_the_rest_kept),
        cmocka_unit_test(test_a_project_may_not_say_everything),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_excluded),
        cmocka_unit_test(test_toml),
        cmocka_unit_test_teardown(test_the_nearest_file_with_our_table, remove_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
