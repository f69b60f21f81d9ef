/* links: gg_server */
/* Settings of a worker elsewhere, and paths here and there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/remote.h"

static gg_remote read_ok(const char *text) {
    gg_remote remote;
    gg_error err = {0};
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    if (gg_remote_read(&remote, json, &err) != 0) fail_msg("%s", err.message);
    json_decref(json);
    return remote;
}

static void test_settings(void **state) {
    (void)state;
    gg_remote r =
        read_ok("{\"command\":[\"ssh\",\"gpu 01\"],\"program\":\"~/bin/graphglue-worker\",\"startTimeout\":1.5,"
                "\"pathMap\":[{\"local\":\"/here/\",\"remote\":\"/there\"}],\"unheard_of\":1}");
    assert_int_equal(r.command.len, 2);
    assert_string_equal(r.command.items[1], "gpu 01");
    assert_string_equal(r.program, "~/bin/graphglue-worker");
    assert_int_equal(r.start_ms, 1500);
    assert_string_equal(r.maps.items[0].local, "/here");
    gg_remote copy;
    gg_remote_copy(&copy, &r);
    gg_remote_clear(&r);
    assert_string_equal(copy.command.items[0], "ssh");
    assert_string_equal(copy.maps.items[0].remote, "/there");
    gg_remote_clear(&copy);
    r = read_ok("{\"command\":null,\"pathMap\":[],\"program\":null}");
    assert_int_equal(r.command.len, 0);
    gg_remote_clear(&r);
}

static void test_wrong_settings_are_named(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"[]", "worker wants an object"},
        {"{\"command\":\"ssh gpu01\"}", "worker.command wants a list"},
        {"{\"command\":[\"ssh\",1]}", "worker.command wants a list"},
        {"{\"command\":[\"\"]}", "worker.command wants a list"},
        {"{\"program\":\"\"}", "worker.program"},
        {"{\"pathMap\":{\"/a\":\"/b\"}}", "worker.pathMap wants"},
        {"{\"pathMap\":[{\"local\":\"/a\"}]}", "worker.pathMap wants"},
        {"{\"command\":[\"ssh\"],\"pathMap\":[{\"local\":\"/a\",\"remote\":\"b\"}]}", "worker.pathMap wants"},
        {"{\"startTimeout\":0}", "worker.startTimeout"},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_remote remote;
        gg_error err = {0};
        json_t *json = json_loads(rows[i][0], 0, NULL);
        assert_int_equal(gg_remote_read(&remote, json, &err), GG_EPARAMS);
        if (!strstr(err.message, rows[i][1])) fail_msg("%s: %s", rows[i][0], err.message);
        assert_int_equal(remote.command.len + remote.maps.len, 0);
        json_decref(json);
    }
}

static void test_words_of_a_command(void **state) {
    (void)state;
    gg_remote r = {0};
    gg_error err = {0};
    assert_int_equal(gg_remote_set_command(&r, "docker exec -i 'a b' \"c d\" e\\ f", &err), 0);
    assert_int_equal(r.command.len, 6);
    assert_string_equal(r.command.items[3], "a b");
    assert_string_equal(r.command.items[5], "e f");
    assert_int_equal(gg_remote_set_command(&r, "", &err), 0);
    assert_int_equal(r.command.len, 0);
    assert_int_equal(gg_remote_set_command(&r, "ssh a; rm x", &err), GG_EPARAMS);
    assert_int_equal(gg_remote_set_command(&r, "ssh $(whoami)", &err), GG_EPARAMS);
    assert_int_equal(gg_remote_set_command(&r, "ssh 'open", &err), GG_EPARAMS);
    assert_int_equal(gg_remote_add_map(&r, "/a", &err), GG_EPARAMS);
    assert_int_equal(gg_remote_add_map(&r, "a=/b", &err), GG_EPARAMS);
    gg_remote_clear(&r);
}

static void expect_there(gg_remote *r, const char *here, const char *there) {
    char *found = gg_remote_path_there(r, gg_str_from(here));
    if (there == NULL) assert_null(found);
    if (there) assert_string_equal(found, there);
    gg_free(found);
}

static void expect_here(const gg_remote *r, const char *there, const char *here) {
    char *found = gg_remote_path_here(r, gg_str_from(there));
    assert_string_equal(found, here);
    gg_free(found);
}

static void test_paths(void **state) {
    (void)state;
    gg_remote r = {0};
    expect_there(&r, "/a/x.py", "/a/x.py"); /* a shared file system */
    expect_here(&r, "/a/x.py", "/a/x.py");
    assert_int_equal(gg_remote_add_map(&r, "/a=/r", NULL), 0);
    assert_int_equal(gg_remote_add_map(&r, "/a/deep/=/other/", NULL), 0);
    assert_int_equal(gg_remote_add_map(&r, "/a=/alias", NULL), 0);
    expect_there(&r, "/a/x.py", "/r/x.py");
    expect_there(&r, "/a", "/r");
    expect_there(&r, "/a/deep/y/x.py", "/other/y/x.py");
    expect_there(&r, "/a/deeper/x.py", "/r/deeper/x.py");
    expect_there(&r, "/ab/x.py", NULL);
    expect_here(&r, "/r/x.py", "/a/x.py");
    expect_here(&r, "/r", "/a");
    expect_here(&r, "/other/x.py", "/a/deep/x.py");
    expect_here(&r, "/alias/x.py", "/a/x.py");
    expect_here(&r, "/rest/x.py", "remote:/rest/x.py");
    expect_here(&r, "<string>", "<string>");
    gg_remote_clear(&r);
}

static void test_the_root(void **state) {
    (void)state;
    gg_remote r = {0};
    assert_int_equal(gg_remote_add_map(&r, "/w=/", NULL), 0);
    expect_there(&r, "/w/x.py", "/x.py");
    expect_there(&r, "/w", "/");
    expect_here(&r, "/usr/x.py", "/w/usr/x.py");
    gg_remote_clear(&r);
    assert_int_equal(gg_remote_add_map(&r, "/=/", NULL), 0);
    expect_there(&r, "/any/x.py", "/any/x.py");
    expect_here(&r, "/any/x.py", "/any/x.py");
    gg_remote_clear(&r);
}

/* An answer names a file as the question did: by the link, or by what it points to. */
static void test_a_folder_behind_a_link(void **state) {
    (void)state;
    char folder[] = "/tmp/graphglue-remote-XXXXXX", real[64], link[64], pair[128], file[128];
    assert_non_null(mkdtemp(folder));
    snprintf(real, sizeof(real), "%s/real", folder);
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink("real", link), 0);
    FILE *made = fopen(real, "w"); /* what realpath finds need not be a folder */
    assert_non_null(made);
    fclose(made);
    gg_remote r = {0};
    snprintf(pair, sizeof(pair), "%s=/r", link);
    assert_int_equal(gg_remote_add_map(&r, pair, NULL), 0);
    snprintf(file, sizeof(file), "%s/x.py", real);
    expect_there(&r, file, "/r/x.py");
    expect_here(&r, "/r/x.py", file);
    snprintf(file, sizeof(file), "%s/x.py", link);
    expect_there(&r, file, "/r/x.py");
    expect_here(&r, "/r/x.py", file);
    gg_remote_clear(&r);
    unlink(real);
    unlink(link);
    rmdir(folder);
}

static void test_requests(void **state) {
    (void)state;
    gg_remote r = {0};
    gg_error err = {0};
    assert_int_equal(gg_remote_set_command(&r, "ssh gpu01", NULL), 0);
    assert_int_equal(gg_remote_add_map(&r, "/w=/r", NULL), 0);
    json_t *original = json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}], s:[]}", "file", "/w/x.py", "overlay", "file",
                                 "/w/y.py", "text", "/w/y.py", "file", "/home/z.py", "text", "", "edited");
    json_t *request = json_copy(original);
    assert_int_equal(gg_remote_request(&r, request, &err), 0);
    assert_string_equal(json_string_value(json_object_get(request, "file")), "/r/x.py");
    const json_t *overlay = json_object_get(request, "overlay");
    assert_int_equal(json_array_size(overlay), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(overlay, 0), "file")), "/r/y.py");
    assert_string_equal(json_string_value(json_object_get(json_array_get(overlay, 0), "text")), "/w/y.py");
    assert_int_equal(json_array_size(json_object_get(original, "overlay")),
                     2); /* untouched: a copy of it may be sent again */
    json_decref(request);
    json_decref(original);
    request = json_pack("{s:s}", "file", "/home/z.py");
    assert_int_equal(gg_remote_request(&r, request, &err), GG_ENOTFOUND);
    assert_non_null(strstr(err.message, "/home/z.py") ? strstr(err.message, "behind ssh") : NULL);
    json_decref(request);
    gg_remote_clear(&r);
}

static void test_frames(void **state) {
    (void)state;
    gg_remote r = {0};
    assert_int_equal(gg_remote_add_map(&r, "/my work=/r/ws", NULL), 0);
    json_t *frame = json_loads(
        "{\"op\":\"entry\",\"entry\":{\"name\":\"/r/ws/kept\",\"file\":\"/r/ws/n.py\",\"message\":\"(/r/ws/n.py): bad, "
        "see "
        "/r/ws/a.py and x/r/ws/b /r/wsx /r/ws\",\"breaks\":[{\"reason\":\"File \\\"/r/ws/n.py\\\", line 3\",\"stack\":["
        "{\"file\":\"/usr/lib/t.py\"},{\"file\":\"/r/ws/"
        "n.py\"}],\"facts\":{\"file\":{\"kind\":\"str\"}}}]},\"verdict\":{"
        "\"reasons\":[\"/r/ws/n.py\",5]}}",
        0, NULL);
    json_t *wanted = json_loads("{\"op\":\"entry\",\"entry\":{\"name\":\"/r/ws/kept\",\"file\":\"/my "
                                "work/n.py\",\"message\":\"(/my work/n.py): bad, "
                                "see /my work/a.py and x/r/ws/b /r/wsx /my work\",\"breaks\":[{\"reason\":\"File "
                                "\\\"/my work/n.py\\\", line 3\","
                                "\"stack\":[{\"file\":\"remote:/usr/lib/t.py\"},{\"file\":\"/my "
                                "work/n.py\"}],\"facts\":{\"file\":{\"kind\":\"str\"}}}"
                                "]},\"verdict\":{\"reasons\":[\"/my work/n.py\",5]}}",
                                0, NULL);
    assert_non_null(frame);
    assert_non_null(wanted);
    gg_remote_frame(&r, frame);
    char *got = json_dumps(frame, JSON_COMPACT);
    if (!json_equal(frame, wanted)) fail_msg("%s", got);
    free(got);
    json_decref(frame);
    json_decref(wanted);
    gg_remote_clear(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),           cmocka_unit_test(test_wrong_settings_are_named),
        cmocka_unit_test(test_words_of_a_command), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_the_root),           cmocka_unit_test(test_a_folder_behind_a_link),
        cmocka_unit_test(test_requests),           cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
