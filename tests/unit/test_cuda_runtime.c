/* links: gg_flags */
/* The CUDA runtime: found or not, devices that fail, memory, time.  The library is tests/unit/fake_cudart.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <time.h>

#include "analysis/worker/cuda_runtime.h"

#define GIB ((size_t)1 << 30)

static gg_cuda_devices found; /* large */

static void *fake(const char *name) {
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    assert_non_null(library); /* run by ctest, which sets LD_LIBRARY_PATH */
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

static void use(size_t bytes) {
    void (*call)(size_t);
    *(void **)&call = fake("fake_cudart_use");
    call(bytes);
}

static void work(double ms) {
    void (*call)(double);
    *(void **)&call = fake("fake_cudart_work");
    call(ms);
}

static int events(void) {
    int (*call)(void);
    *(void **)&call = fake("fake_cudart_events");
    return call();
}

static void wait_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static void with(const char *settings) {
    void (*call)(const char *);
    *(void **)&call = fake("fake_cudart_set");
    call(settings);
    use(0);
    work(0);
}

static void test_devices(void **state) {
    (void)state;
    with("devices=2");
    gg_cuda_list(&found);
    assert_null(found.error);
    assert_int_equal(found.runtime, 12080);
    assert_int_equal(found.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_null(found.items[i].error);
        assert_string_equal(found.items[i].name, i ? "Fake GPU 1" : "Fake GPU 0");
        assert_int_equal(found.items[i].total_bytes, 80 * GIB);
    }
}

static void test_no_driver_is_no_device(void **state) {
    (void)state;
    with("count=35");
    gg_cuda_list(&found);
    assert_int_equal(found.count, 0);
    assert_int_equal(found.runtime, 12080);
    assert_string_equal(found.error, "CUDA driver version is insufficient for CUDA runtime version");
    with("count=12345"); /* one that the runtime has no words for */
    gg_cuda_list(&found);
    assert_int_equal(found.count, 0);
    assert_string_equal(found.error, "the CUDA runtime failed without a reason");
    with("devices=0");
    gg_cuda_list(&found);
    assert_int_equal(found.count, 0);
    assert_non_null(found.error);
    with("devices=-3");
    gg_cuda_list(&found);
    assert_int_equal(found.count, 0);
    assert_non_null(found.error);
}

static void test_more_devices_than_there_is_room_for(void **state) {
    (void)state;
    with("devices=1000");
    gg_cuda_list(&found);
    assert_int_equal(found.count, GG_CUDA_MAX_DEVICES);
    assert_null(found.items[GG_CUDA_MAX_DEVICES - 1].error);
}

static void test_a_device_that_cannot_be_used_is_listed_with_the_reason(void **state) {
    (void)state;
    gg_cuda_memory memory;
    with("devices=1 memory=46");
    gg_cuda_list(&found);
    assert_null(found.items[0].error); /* it is not used to list it */
    assert_string_equal(gg_cuda_memory_of(0, &memory), "CUDA-capable device(s) is/are busy or unavailable");
    assert_int_equal(memory.total_bytes, 0);
    with("properties=46");
    gg_cuda_list(&found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].total_bytes, 0);
    assert_string_equal(found.items[0].error, "CUDA-capable device(s) is/are busy or unavailable");
}

static void test_the_current_device_stays(void **state) {
    (void)state;
    int (*get_device)(int *), (*set_device)(int), current;
    *(void **)&get_device = fake("cudaGetDevice");
    *(void **)&set_device = fake("cudaSetDevice");
    with("devices=3");
    assert_int_equal(set_device(2), 0);
    gg_cuda_memory memory;
    assert_null(gg_cuda_memory_of(1, &memory));
    assert_int_equal(memory.free_bytes, 69 * GIB);
    assert_int_equal(get_device(&current), 0);
    assert_int_equal(current, 2);
    assert_string_equal(gg_cuda_memory_of(3, &memory), "invalid device ordinal");
    assert_int_equal(memory.total_bytes, 0);
    assert_int_equal(get_device(&current), 0);
    assert_int_equal(current, 2);
    assert_int_equal(set_device(0), 0);
}

static void test_the_watch_sees_what_is_given_back_before_its_end(void **state) {
    (void)state;
    gg_cuda_memory least;
    with("devices=1");
    assert_string_equal(gg_cuda_watch_end(1000, &least), "no watch was begun");
    use(1 * GIB);
    assert_null(gg_cuda_watch(0, 200));
    assert_string_equal(gg_cuda_watch(0, 200), "a watch of this process has not ended");
    use(20 * GIB);
    wait_ms(200);
    use(2 * GIB);
    assert_null(gg_cuda_watch_end(10000, &least));
    assert_int_equal(least.free_bytes, 50 * GIB);
    assert_int_equal(least.total_bytes, 80 * GIB);
    use(3 * GIB); /* a second one begins anew, and sees what is in use at its end however rarely it looks */
    assert_null(gg_cuda_watch(0, 1000));
    use(4 * GIB);
    assert_null(gg_cuda_watch_end(10000, &least));
    assert_int_equal(least.free_bytes, 66 * GIB);
}

static void test_a_watch_that_fails(void **state) {
    (void)state;
    gg_cuda_memory least;
    with("memory=46");
    assert_string_equal(gg_cuda_watch(0, 200), "CUDA-capable device(s) is/are busy or unavailable");
    with("devices=1");
    assert_null(gg_cuda_watch(0, 200));
    with("memory=719"); /* the device fails meanwhile */
    wait_ms(50);
    assert_string_equal(gg_cuda_watch_end(10000, &least), "unspecified launch failure");
}

static void test_the_timer_waits_for_the_device(void **state) {
    (void)state;
    double ms;
    with("devices=1");
    assert_string_equal(gg_cuda_timer_end(1000, &ms), "no timer was begun");
    assert_null(gg_cuda_timer(NULL));
    work(120); /* the call returns at once, the device needs so long */
    assert_null(gg_cuda_timer_end(10000, &ms));
    assert_true(ms > 100 && ms < 10000);
    assert_int_equal(events(), 0);
    assert_null(gg_cuda_timer(NULL));
    assert_null(gg_cuda_timer(NULL)); /* forgets the first */
    assert_null(gg_cuda_timer_end(10000, &ms));
    assert_int_equal(events(), 0);
}

static void test_work_that_does_not_end_is_not_waited_for(void **state) {
    (void)state;
    double ms;
    with("busy=1");
    assert_null(gg_cuda_timer(NULL));
    assert_string_equal(gg_cuda_timer_end(50, &ms), "the device did not end its work in time");
    assert_true(ms == 0);
    assert_int_equal(events(), 0);
}

static void test_a_timer_that_fails(void **state) {
    (void)state;
    double ms;
    with("record=719");
    assert_string_equal(gg_cuda_timer(NULL), "unspecified launch failure");
    assert_string_equal(gg_cuda_timer_end(50, &ms), "no timer was begun");
    with("devices=1");
    assert_null(gg_cuda_timer(NULL));
    with("record=719");
    assert_string_equal(gg_cuda_timer_end(1000, &ms), "unspecified launch failure");
    assert_int_equal(events(), 0);
}

/* Last: what hangs is left behind, and no watch begins any more. */
static void test_a_driver_that_hangs_is_left_behind(void **state) {
    (void)state;
    gg_cuda_memory least;
    with("devices=1 hang_memory=2");
    assert_null(gg_cuda_watch(0, 200));
    wait_ms(20);
    assert_string_equal(gg_cuda_watch_end(100, &least), "the CUDA driver does not answer");
    with("devices=1");
    assert_string_equal(gg_cuda_watch(0, 200), "a watch of this process has not ended");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_no_driver_is_no_device),
        cmocka_unit_test(test_more_devices_than_there_is_room_for),
        cmocka_unit_test(test_a_device_that_cannot_be_used_is_listed_with_the_reason),
        cmocka_unit_test(test_the_current_device_stays),
        cmocka_unit_test(test_the_watch_sees_what_is_given_back_before_its_end),
        cmocka_unit_test(test_a_watch_that_fails),
        cmocka_unit_test(test_the_timer_waits_for_the_device),
        cmocka_unit_test(test_work_that_does_not_end_is_not_waited_for),
        cmocka_unit_test(test_a_timer_that_fails),
        cmocka_unit_test(test_a_driver_that_hangs_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
