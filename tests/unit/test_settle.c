/* links: gg_analysis */
/* Which predictions a capture settles: what the slow and plain way says of the same, over many random cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

enum { MOST = 40, CASES = 2000, KINDS = 6, LENGTH = 120 };

static uint32_t state = 12345;

static uint32_t below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static gg_span random_span(void) {
    uint32_t start = below(LENGTH);
    return (gg_span){start, start + below(12)};
}

static size_t random_list(gg_prediction *items) {
    size_t count = below(MOST);
    for (size_t i = 0; i < count; i++) items[i] = (gg_prediction){.alike = (uint64_t)below(KINDS) * 16};
    return count;
}

static size_t alike(const gg_prediction *items, size_t end, uint64_t kind) {
    size_t n = 0;
    for (size_t i = 0; i < end; i++) n += items[i].alike == kind;
    return n;
}

static void test_random(void **unused) {
    (void)unused;
    for (int round = 0; round < CASES; round++) {
        gg_prediction now[MOST], before[MOST];
        gg_span spans[MOST], sites[MOST];
        bool settled[MOST];
        gg_prediction_list list = {now, random_list(now)}, captured = {before, random_list(before)};
        size_t site_count = below(8);
        bool whole = below(2) == 0;
        for (size_t i = 0; i < list.len; i++) spans[i] = random_span();
        for (size_t i = 0; i < site_count; i++) sites[i] = random_span();
        gg_predictions_settle(settled, &list, spans, sites, site_count, whole ? &captured : NULL);
        for (size_t i = 0; i < list.len; i++) {
            bool expected = whole && alike(now, i, now[i].alike) < alike(before, captured.len, now[i].alike);
            for (size_t k = 0; k < site_count; k++)
                expected = expected || (sites[k].start <= spans[i].end && sites[k].end >= spans[i].start);
            assert_int_equal(settled[i], expected);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
