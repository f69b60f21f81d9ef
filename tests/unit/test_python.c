/* links: gg_server */
/* Where the interpreter is looked for, in a folder of its own that holds every kind of place. */
#include "server/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/graphglue-python-XXXXXX";

static const char *in_root(const char *rest) {
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", root, rest);
    return path;
}

static void run(const char *format, const char *a) {
    char command[8192];
    snprintf(command, sizeof(command), format, root, a, root, a);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the test's own folder */
}

/* An interpreter as far as files show: an executable that is never started. */
static void make_python(const char *folder) {
    run("mkdir -p %s/%s/bin && printf '#!/bin/sh\\nexit 9\\n' >%s/%s/bin/python", folder);
    assert_int_equal(chmod(in_root(folder), 0755), 0);
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/bin/python", root, folder);
    assert_int_equal(chmod(path, 0755), 0);
}

static void make_file(const char *path, const char *text) {
    FILE *file = fopen(in_root(path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void clear_environment(void) {
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("PYENV_ROOT");
    unsetenv("PYENV_VERSION");
    setenv("HOME", in_root("home"), 1);
    setenv("PATH", in_root("usr/bin"), 1);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(root));
    run("mkdir -p %s/home %s", "");
    make_python("active");
    make_python("conda");
    make_python("repo/.venv");
    make_python("repo/part/.venv");
    make_python("repo/part/zoo");
    make_python("repo/part/ape");
    make_python("repo/part/not_marked");
    make_file("repo/part/zoo/pyvenv.cfg", "");
    make_file("repo/part/ape/pyvenv.cfg", "");
    make_python("home/.pyenv/versions/3.11.7");
    make_python("home/.pyenv/versions/3.12.1");
    make_python("home/.pyenv/versions/3.12.10");
    make_file("home/.pyenv/version", "3.11.7\n");
    run("mkdir -p %s/%s/a", "repo/other");
    run("mkdir -p %s/%s", "repo/.git");
    run("mkdir -p %s/%s", "home/deep/er");
    run("mkdir -p %s/%s", "home/.pyenv/shims");
    make_python("usr"); /* usr/bin/python */
    char link[4096];
    snprintf(link, sizeof(link), "%s", in_root("usr/bin/python3"));
    assert_int_equal(symlink("python", link), 0);
    run("mkdir -p %s/%s", "active/lib/python3.11/site-packages/torch");
    make_file("active/lib/python3.11/site-packages/torch/version.py",
              "from typing import Optional\n__all__ = ['__version__']\n__version__ = '2.9.1+cpu'\ndebug = False\n");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    setenv("PATH", "/usr/bin:/bin", 1);
    run("rm -rf %s%s", "");
    return 0;
}

static void expect(const char *setting, const char *workspace, const char *path, const char *why) {
    gg_python_choice choice;
    gg_error err = {0};
    char wanted[4096], folder[4096];
    snprintf(wanted, sizeof(wanted), "%s", in_root(path));
    snprintf(folder, sizeof(folder), "%s", workspace ? in_root(workspace) : "");
    assert_int_equal(gg_python_choose(&choice, setting, workspace ? folder : NULL, &err), 0);
    assert_string_equal(choice.path, wanted);
    assert_string_equal(choice.why, why);
}

static void test_order(void **state) {
    (void)state;
    clear_environment();
    setenv("VIRTUAL_ENV", in_root("active"), 1);
    setenv("CONDA_PREFIX", in_root("conda"), 1);
    expect(NULL, "repo/part", "active/bin/python", "VIRTUAL_ENV");
    unsetenv("VIRTUAL_ENV");
    expect(NULL, "repo/part", "conda/bin/python", "CONDA_PREFIX");
    setenv("CONDA_PREFIX", in_root("gone"), 1); /* an environment that was deleted */
    expect(NULL, "repo/part", "repo/part/.venv/bin/python", ".venv of the workspace");
    unsetenv("CONDA_PREFIX");
    expect(NULL, "repo/other/a", "repo/.venv/bin/python", ".venv above the workspace");
    expect(NULL, "home", "home/.pyenv/versions/3.11.7/bin/python", "pyenv (its global version is 3.11.7)");
    expect(NULL, NULL, "home/.pyenv/versions/3.11.7/bin/python", "pyenv (its global version is 3.11.7)");
    setenv("HOME", "/nonexistent", 1);
    expect(NULL, "home", "usr/bin/python3", "python3 on PATH");
}

static void test_all_are_found_once_in_a_fixed_order(void **state) {
    (void)state;
    clear_environment();
    setenv("VIRTUAL_ENV", in_root("repo/part/ape"), 1); /* also an environment of the workspace */
    static const char *const wanted[] = {
        "repo/part/ape/bin/python",
        "repo/part/.venv/bin/python",
        "repo/part/zoo/bin/python",
        "repo/.venv/bin/python",
        "home/.pyenv/versions/3.11.7/bin/python",
        "usr/bin/python3",
    };
    gg_python_list found = {0};
    gg_python_find_all(&found, in_root("repo/part"));
    assert_int_equal(found.len, sizeof(wanted) / sizeof(wanted[0]));
    for (size_t i = 0; i < found.len; i++) assert_string_equal(found.items[i].path, in_root(wanted[i]));
    gg_list_clear(&found);
}

static void test_pyenv_versions(void **state) {
    (void)state;
    clear_environment();
    setenv("PYENV_VERSION", "3.12.1:3.11.7", 1);
    expect(NULL, "home", "home/.pyenv/versions/3.12.1/bin/python", "pyenv (PYENV_VERSION says 3.12.1)");
    unsetenv("PYENV_VERSION");
    make_file("home/.python-version", "# of this project\n3.12\n");
    expect(NULL, "home/deep/er", "home/.pyenv/versions/3.12.10/bin/python", "pyenv (.python-version says 3.12)");
    make_file("home/.python-version", "system\n");
    expect(NULL, "home", "usr/bin/python3", "python3 on PATH");
    make_file("home/.python-version", "../../../active\n");
    expect(NULL, "home", "usr/bin/python3", "python3 on PATH");
    make_file("home/.python-version", "9.99\n");
    expect(NULL, "home", "usr/bin/python3", "python3 on PATH");
    unlink(in_root("home/.python-version"));
}

static void test_pyenv_shims_are_no_interpreters(void **state) {
    (void)state;
    clear_environment();
    char path[4096];
    snprintf(path, sizeof(path), "%s/home/.pyenv/shims:%s/usr/bin", root, root);
    setenv("PATH", path, 1);
    make_file("home/.pyenv/shims/python3", "#!/bin/sh\n");
    assert_int_equal(chmod(in_root("home/.pyenv/shims/python3"), 0755), 0);
    make_file("home/.python-version", "system\n");
    expect(NULL, "home", "usr/bin/python3", "python3 on PATH");
    unlink(in_root("home/.python-version"));
}

static void test_setting(void **state) {
    (void)state;
    clear_environment();
    static const char asked[] = "--python or the setting graphglue.python";
    char path[4096];
    snprintf(path, sizeof(path), "%s", in_root("conda/bin/python"));
    expect(path, "repo/part", "conda/bin/python", asked);
    snprintf(path, sizeof(path), "%s", in_root("conda")); /* the environment's folder */
    expect(path, "repo/part", "conda/bin/python", asked);
    expect("~/.pyenv/versions/3.12.1/bin/python", "repo", "home/.pyenv/versions/3.12.1/bin/python", asked);
    expect("zoo/bin/python", "repo/part", "repo/part/zoo/bin/python", asked);
    expect("python", "repo/part", "usr/bin/python", "--python or the setting graphglue.python, found on PATH");
    gg_python_choice choice;
    gg_error err = {0};
    assert_int_equal(gg_python_choose(&choice, "/no/such", NULL, &err), GG_ENOTFOUND);
    assert_non_null(strstr(err.message, "/no/such is no executable file"));
    assert_int_equal(gg_python_choose(&choice, "python9", NULL, &err), GG_ENOTFOUND);
    assert_non_null(strstr(err.message, "no python9 on PATH"));
}

static void test_torch_is_seen_in_files(void **state) {
    (void)state;
    clear_environment();
    gg_python_choice choice;
    gg_error err = {0};
    assert_int_equal(gg_python_choose(&choice, in_root("active"), NULL, &err), 0);
    assert_string_equal(choice.torch, "2.9.1+cpu");
    assert_int_equal(gg_python_choose(&choice, in_root("conda"), NULL, &err), 0);
    assert_string_equal(choice.torch, "");
}

static void test_nothing_found_says_what_was_looked_at(void **state) {
    (void)state;
    clear_environment();
    setenv("HOME", "/nonexistent", 1);
    setenv("PATH", "relative:", 1);
    gg_python_choice choice;
    gg_error err = {0};
    assert_int_equal(gg_python_choose(&choice, NULL, "/nonexistent", &err), GG_ENOTFOUND);
    assert_non_null(strstr(err.message, "no VIRTUAL_ENV, no CONDA_PREFIX"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_all_are_found_once_in_a_fixed_order),
        cmocka_unit_test(test_pyenv_versions),
        cmocka_unit_test(test_pyenv_shims_are_no_interpreters),
        cmocka_unit_test(test_setting),
        cmocka_unit_test(test_torch_is_seen_in_files),
        cmocka_unit_test(test_nothing_found_says_what_was_looked_at),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
