/* links: gg_analysis */
/* The tables of what torch gives are searched by halves: each must be sorted, and name nothing twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/predict/results.c"

static void expect_sorted(const row *rows, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (gg_str_compare(gg_str_from(rows[i - 1].name), gg_str_from(rows[i].name)) >= 0)
            fail_msg("%s stands behind %s", rows[i].name, rows[i - 1].name);
}

static void test_tables_are_sorted(void **state) {
    (void)state;
    expect_sorted(methods, GG_COUNT(methods));
    expect_sorted(functions, GG_COUNT(functions));
    expect_sorted(attributes, GG_COUNT(attributes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables_are_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
