/* links: gg_server */
/* The unified diff, judged by patch(1): what it prints must turn one text into the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/cli/cli.h"

enum { TEXT_BYTES = 4096 };

static char folder[] = "/tmp/graphglue-diff-XXXXXX";

static FILE *open_in(const char *name, const char *mode) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    return file;
}

static void write_file(const char *name, gg_str text) {
    FILE *file = open_in(name, "w");
    assert_int_equal(fwrite(text.ptr ? text.ptr : "", 1, text.len, file), text.len);
    fclose(file);
}

static void run(const char *command) {
    char line[512];
    snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c): fixed words in the test's own folder */
}

static size_t diff_size(const char *before, const char *after) {
    gg_error err = {0};
    gg_text *a = NULL, *b = NULL;
    assert_int_equal(gg_text_new(&a, gg_str_from(before), &err), 0);
    assert_int_equal(gg_text_new(&b, gg_str_from(after), &err), 0);
    FILE *out = open_in("diff", "w");
    gg_cli_print_diff(out, "file.py", a, b);
    size_t size = (size_t)ftell(out);
    fclose(out);
    gg_text_unref(&a);
    gg_text_unref(&b);
    return size;
}

static void check(const char *before, const char *after) {
    size_t size = diff_size(before, after);
    write_file("file.py", gg_str_from(before));
    write_file("wanted.py", gg_str_from(after));
    if (strcmp(before, after) == 0)
        assert_int_equal(size, 0);
    else
        run("patch -s -p1 --binary --fuzz=0 <diff && cmp file.py wanted.py");
}

static void test_small_cases(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "a",
                                        "a\n",
                                        "a\nb",
                                        "a\nb\n",
                                        "b\na\n",
                                        "a\r\nb\r\n",
                                        "\tx = 'é😀'\n",
                                        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                                        "1\n2\n3\n4\nfive\n6\n7\n8\n9",
                                        "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"};
    for (size_t i = 0; i < GG_COUNT(texts); i++)
        for (size_t j = 0; j < GG_COUNT(texts); j++)
            if (texts[i][0] && texts[j][0]) check(texts[i], texts[j]); /* patch removes a file that becomes empty */
}

static void append(char text[TEXT_BYTES], const char *line) {
    size_t n = strlen(text);
    assert_true((size_t)snprintf(text + n, TEXT_BYTES - n, "%s", line) < TEXT_BYTES - n);
}

static void test_random_texts(void **state) {
    (void)state;
    srand(7);
    for (int round = 0; round < 60; round++) {
        char before[TEXT_BYTES] = "", after[TEXT_BYTES] = "";
        for (int i = 0, n = 1 + rand() % 60; i < n; i++) {
            char line[16];
            snprintf(line, sizeof(line), "%d\n", rand() % 8);
            int what = rand() % 10;
            if (what > 0) append(before, line);
            if (what > 1) append(after, what == 2 ? "new\n" : line);
        }
        if (before[0] && after[0]) check(before, after);
    }
}

static void test_far_changes_make_hunks_of_their_own(void **state) {
    (void)state;
    char before[TEXT_BYTES] = "", after[TEXT_BYTES] = "";
    for (int i = 0; i < 40; i++) {
        char line[16];
        snprintf(line, sizeof(line), "%d\n", i);
        append(before, line);
        append(after, i == 5 || i == 30 ? "changed\n" : line);
    }
    check(before, after);
    run("test $(grep -c '^@@' diff) = 2 && test $(grep -c '^ ' diff) = 12");
}

static void test_two_huge_texts_are_one_replacement(void **state) {
    (void)state;
    gg_buf before, after;
    gg_buf_init(&before, 1 << 20);
    gg_buf_init(&after, 1 << 20);
    for (int i = 0; i < 6000; i++) {
        assert_int_equal(gg_buf_printf(&before, "a%d\n", i), 0);
        assert_int_equal(gg_buf_printf(&after, "b%d\n", i), 0);
    }
    check(before.ptr, after.ptr);
    gg_buf_clear(&before);
    gg_buf_clear(&after);
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    run("rm -f diff file.py wanted.py file.py.orig");
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_cases),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_far_changes_make_hunks_of_their_own),
        cmocka_unit_test(test_two_huge_texts_are_one_replacement),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
