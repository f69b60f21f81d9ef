/* links: gg_server */
/* How many workers a machine bears. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "server/cli/machine.h"

static const uint64_t GIB = UINT64_C(1) << 30;

static void test_as_many_as_processors(void **state) {
    (void)state;
    assert_int_equal(gg_machine_workers(8, 64 * GIB, 1000), 8);
    assert_int_equal(gg_machine_workers(1, 64 * GIB, 1000), 1);
}

static void test_memory_bounds_them(void **state) {
    (void)state;
    assert_true(gg_machine_workers(64, 8 * GIB, 1000) < 16);
    assert_true(gg_machine_workers(64, 8 * GIB, 1000) > 4);
    assert_int_equal(gg_machine_workers(64, 1, 1000), 1);
    assert_int_equal(gg_machine_workers(8, 0, 1000), 8); /* not known */
}

static void test_none_is_started_for_a_handful_of_files(void **state) {
    (void)state;
    assert_int_equal(gg_machine_workers(8, 64 * GIB, 0), 1);
    assert_int_equal(gg_machine_workers(8, 64 * GIB, 4), 1);
    assert_int_equal(gg_machine_workers(8, 64 * GIB, 5), 2);
    assert_int_equal(gg_machine_workers(8, 64 * GIB, 30), 8);
}

static void test_this_machine(void **state) {
    (void)state;
    assert_true(gg_machine_cores() >= 1);
    assert_true(gg_machine_free_bytes() > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_processors),
        cmocka_unit_test(test_memory_bounds_them),
        cmocka_unit_test(test_none_is_started_for_a_handful_of_files),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
