/* links: gg_base */
/* Slices, UTF-8, buffers with ceilings, arenas, lists, errors. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/gg_base.h"

static void test_slices(void **state) {
    (void)state;
    gg_str s = GG_STR("  hello hello ");
    assert_true(gg_str_is(gg_str_trim(s), "hello hello"));
    assert_int_equal(gg_str_find(s, GG_STR("hello"), 3), 8);
    assert_true(gg_str_find(s, GG_STR("x"), 0) == SIZE_MAX);
    assert_true(gg_str_find(GG_STR("ab"), GG_STR("abc"), 0) == SIZE_MAX);
    assert_int_equal(gg_str_slice(s, 20, 30).len, 0);
    assert_true(gg_str_compare(GG_STR("a"), GG_STR("ab")) < 0);
    assert_true(gg_str_compare(GG_STR("b"), GG_STR("ab")) > 0);
    assert_true(gg_str_ends_with(GG_STR("x.py"), GG_STR(".py")));
    assert_false(gg_str_ends_with(GG_STR("py"), GG_STR(".py")));
}

static void test_utf8(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t valid;
    } rows[] = {
        {"plain", 5},    {"\xc3\xa9", 2},         {"\xf0\x9f\x98\x80!", 5}, {"\xc0\x80", 0}, {"a\xed\xa0\x80", 1},
        {"\xe2\x82", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf0\x80\x80\x80", 0},  {"a\x80", 1},    {"\xff", 0},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        assert_int_equal(gg_utf8_valid_prefix(gg_str_from(rows[i].bytes)), rows[i].valid);
    assert_int_equal(gg_utf16_length(GG_STR("a\xc3\xa9\xf0\x9f\x98\x80")), 4);
}

static void test_a_buffer_keeps_its_ceiling(void **state) {
    (void)state;
    gg_buf buf;
    gg_buf_init(&buf, 5);
    assert_int_equal(gg_buf_append_z(&buf, "abc"), 0);
    assert_int_equal(gg_buf_append_z(&buf, "def"), GG_ETOOBIG);
    assert_true(buf.overflow);
    assert_int_equal(gg_buf_printf(&buf, "%d", 42), 0);
    assert_true(gg_str_is(gg_buf_str(&buf), "abc42"));
    gg_buf_consume(&buf, 3);
    assert_string_equal(buf.ptr, "42");
    char *taken = gg_buf_take(&buf);
    assert_string_equal(taken, "42");
    gg_free(taken);
    taken = gg_buf_take(&buf);
    assert_string_equal(taken, "");
    gg_free(taken);
}

static void test_an_arena_hands_out_zeroed_memory(void **state) {
    (void)state;
    gg_arena *arena = gg_arena_new();
    for (size_t size = 1; size < 20000; size = size * 3 + 1) {
        unsigned char *bytes = gg_arena_alloc(arena, size);
        for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    assert_true(gg_str_is(gg_arena_printf(arena, "%s-%d", "x", 3), "x-3"));
    gg_arena_free(arena);
}

static void test_lists_keep_their_order(void **state) {
    (void)state;
    GG_LIST(int) xs = {0};
    for (int i = 0; i < 100; i++) gg_list_push(&xs, i);
    gg_list_remove(&xs, 0);
    gg_list_remove(&xs, 98);
    assert_int_equal(xs.len, 98);
    assert_int_equal(xs.items[0], 1);
    assert_int_equal(xs.items[97], 98);
    gg_list_clear(&xs);
}

static void test_errors_have_codes_and_words(void **state) {
    (void)state;
    gg_error err = {0};
    assert_int_equal(gg_error_rpc_code(GG_EPARAMS), -32602);
    assert_int_equal(gg_error_rpc_code(12345), -32603);
#define RPC(name, rpc, text) rpc,
    static const int codes[] = {GG_ERROR_MAP(RPC)};
#undef RPC
    int internal = 0; /* what a person, a file or a limit is to blame for is no defect of ours */
    for (size_t i = 0; i < GG_COUNT(codes); i++) internal += codes[i] == -32603;
    assert_int_equal(internal, 1);
    assert_string_equal(gg_error_text(GG_ECANCELED), "canceled");
    char longer[3000];
    memset(longer, 'x', sizeof(longer));
    memcpy(longer + sizeof(err.message) - 2, "\xc3\xa9", 2);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(gg_fail(&err, GG_EIO, "%s", longer), GG_EIO);
    assert_int_equal(gg_utf8_valid_prefix(gg_str_from(err.message)), strlen(err.message));
    assert_int_equal(gg_fail(NULL, GG_EIO, "nobody listens"), GG_EIO);
}

static void test_map(void **state) {
    (void)state;
    gg_map map = {0};
    assert_null(gg_map_find(&map, 7));
    for (uint64_t i = 0; i < 1000; i++)
        *gg_map_at(&map, i * 64) = (uint32_t)i + 1; /* keys that would share few slots */
    for (uint64_t i = 0; i < 1000; i++) assert_int_equal(*gg_map_find(&map, i * 64), i + 1);
    assert_null(gg_map_find(&map, 7));
    assert_int_equal(*gg_map_at(&map, 7), 0);
    ++*gg_map_at(&map, 7);
    assert_int_equal(*gg_map_find(&map, 7), 1);
    assert_int_equal(map.len, 1001);
    gg_map_clear(&map);
    assert_null(gg_map_find(&map, 7));
}

/* Blocks of all sizes keep what is in them, however others come and go, and grow with it. */
static void test_slabs(void **state) {
    (void)state;
    enum { BLOCKS = 20000, SIZES = 300 };
    static unsigned char *blocks[BLOCKS];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = round; i < BLOCKS; i += round + 1) {
            size_t size = 1 + (i * 7 + round) % SIZES;
            gg_slab_free(blocks[i]);
            blocks[i] = i % 2 ? gg_slab_malloc(size) : gg_slab_calloc(1, size);
            assert_int_equal((uintptr_t)blocks[i] % 8, 0);
            assert_int_equal(i % 2 ? 0 : blocks[i][size - 1], 0);
            memset(blocks[i], (int)(i % 251), size);
            blocks[i] = gg_slab_realloc(blocks[i], size + i % 40);
            blocks[i][0] = (unsigned char)(i % 251);
            assert_int_equal(blocks[i][size - 1], i % 251);
        }
        for (size_t i = 0; i < BLOCKS; i++)
            if (blocks[i]) assert_int_equal(blocks[i][0], i % 251);
    }
    for (size_t i = 0; i < BLOCKS; i++) gg_slab_free(blocks[i]);
    gg_slab_free(NULL);
    unsigned char *large = gg_slab_realloc(NULL, 100);
    memset(large, 7, 100);
    large = gg_slab_realloc(large, 100000);
    assert_int_equal(large[99], 7);
    gg_slab_free(large);
}

static void *use_slabs(void *seed) {
    enum { BLOCKS = 500, ROUNDS = 40 };
    unsigned char *blocks[BLOCKS] = {0}, mark = *(unsigned char *)seed;
    for (size_t i = 0; i < (size_t)BLOCKS * ROUNDS; i++) {
        unsigned char **block = &blocks[i * 31 % BLOCKS];
        if (*block && **block != mark) return seed;
        gg_slab_free(*block);
        *block = gg_slab_malloc(80 + i % 5 * 8);
        memset(*block, mark, 80);
    }
    for (size_t i = 0; i < BLOCKS; i++) gg_slab_free(blocks[i]);
    return NULL;
}

static void test_slabs_of_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    unsigned char seeds[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_slabs, &seeds[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_a_buffer_keeps_its_ceiling),
        cmocka_unit_test(test_an_arena_hands_out_zeroed_memory),
        cmocka_unit_test(test_lists_keep_their_order),
        cmocka_unit_test(test_errors_have_codes_and_words),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_slabs),
        cmocka_unit_test(test_slabs_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
