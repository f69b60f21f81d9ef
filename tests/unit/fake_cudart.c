/* A CUDA runtime without a device behind it, for the tests of what calls one: the entry points that cuda_runtime.c uses, and nothing else.
 * $FAKE_CUDART says what it has and how it fails, as words `key=number`:
 *
 *   devices=2         how many there are (1)
 *   count=35          cudaGetDeviceCount fails with this status; so memory=, record=, and properties=
 *   hang_memory=3     the third call of cudaMemGetInfo and all after it never return; hang_count=1 so cudaGetDeviceCount
 *   die_count=1       cudaGetDeviceCount ends the process
 *   busy=1            work that is on a stream never ends
 *
 * $FAKE_CUDART_LOG names a file that gets a line `pid function` for each call. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define GIB      ((size_t)1 << 30)

enum { NOT_READY = 600 };

typedef struct event {
    double due_ms; /* when the stream gets there */
} event;

static atomic_size_t in_use;
static atomic_int events_alive, memory_calls;
static _Thread_local int current;
static double busy_until_ms;

/* For the tests: other settings, what the program takes of each device's memory, work that keeps a stream busy, and events not destroyed. */
EXPORTED void fake_cudart_set(const char *settings);
EXPORTED void fake_cudart_use(size_t bytes);
EXPORTED void fake_cudart_work(double ms);
EXPORTED int fake_cudart_events(void);

EXPORTED const char *cudaGetErrorString(int status);
EXPORTED int cudaRuntimeGetVersion(int *out);
EXPORTED int cudaGetDeviceCount(int *out);
EXPORTED int cudaGetDeviceProperties(void *out, int device);
EXPORTED int cudaGetDevice(int *out);
EXPORTED int cudaSetDevice(int device);
EXPORTED int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
EXPORTED int cudaEventCreate(void **out);
EXPORTED int cudaEventRecord(void *e, void *stream);
EXPORTED int cudaEventQuery(void *e);
EXPORTED int cudaEventElapsedTime(float *out, void *start, void *end);
EXPORTED int cudaEventDestroy(void *e);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char words[256];
static atomic_bool words_set;

void fake_cudart_set(const char *settings) {
    pthread_mutex_lock(&lock);
    snprintf(words, sizeof(words), "%s", settings);
    words_set = true;
    pthread_mutex_unlock(&lock);
}

static int setting(const char *key, int otherwise) {
    size_t n = strlen(key);
    int found = otherwise;
    if (!words_set && getenv("FAKE_CUDART")) fake_cudart_set(getenv("FAKE_CUDART"));
    pthread_mutex_lock(&lock);
    for (const char *at = words; (at = strstr(at, key)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && at[n] == '=') found = (int)strtol(at + n + 1, NULL, 10);
    pthread_mutex_unlock(&lock);
    return found;
}

static void note(const char *function) {
    const char *path = getenv("FAKE_CUDART_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (log == NULL) return;
    fprintf(log, "%d %s\n", (int)getpid(), function);
    fclose(log);
}

static void hang(void) {
    for (;;) pause();
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void fake_cudart_use(size_t bytes) {
    atomic_store(&in_use, bytes);
}

void fake_cudart_work(double ms) {
    busy_until_ms = now_ms() + ms;
}

int fake_cudart_events(void) {
    return atomic_load(&events_alive);
}

const char *cudaGetErrorString(int status) {
    switch (status) {
    case 35:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case 46:
        return "CUDA-capable device(s) is/are busy or unavailable";
    case 100:
        return "no CUDA-capable device is detected";
    case 101:
        return "invalid device ordinal";
    case 719:
        return "unspecified launch failure";
    default:
        return NULL;
    }
}

int cudaRuntimeGetVersion(int *out) {
    note("cudaRuntimeGetVersion");
    *out = 12080;
    return 0;
}

int cudaGetDeviceCount(int *out) {
    note("cudaGetDeviceCount");
    if (setting("hang_count", 0)) hang();
    if (setting("die_count", 0)) abort();
    *out = setting("devices", 1);
    return setting("count", 0);
}

int cudaGetDeviceProperties(void *out, int device) {
    note("cudaGetDeviceProperties");
    if (device < 0 || device >= setting("devices", 1)) return 101;
    const size_t total = 80 * GIB;
    memset(out, 0xff, 1008); /* what follows the name is no text */
    snprintf(out, 256, "Fake GPU %d", device);
    memcpy((char *)out + 288, &total, sizeof(total)); /* offsetof(cudaDeviceProp, totalGlobalMem) of CUDA 13.0 */
    return setting("properties", 0);
}

int cudaGetDevice(int *out) {
    *out = current;
    return 0;
}

int cudaSetDevice(int device) {
    note("cudaSetDevice");
    if (device < 0 || device >= setting("devices", 1)) return 101;
    current = device;
    return 0;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    note("cudaMemGetInfo");
    int at = setting("hang_memory", 0);
    if (at && atomic_fetch_add(&memory_calls, 1) + 1 >= at) hang();
    *total_bytes = 80 * GIB;
    *free_bytes = (70 - (size_t)current) * GIB - atomic_load(&in_use);
    return setting("memory", 0);
}

int cudaEventCreate(void **out) {
    *out = calloc(1, sizeof(event));
    atomic_fetch_add(&events_alive, 1);
    return *out ? 0 : 2;
}

int cudaEventRecord(void *e, void *stream) {
    (void)stream;
    double now = now_ms();
    ((event *)e)->due_ms = now > busy_until_ms ? now : busy_until_ms;
    return setting("record", 0);
}

int cudaEventQuery(void *e) {
    return setting("busy", 0) || now_ms() < ((event *)e)->due_ms ? NOT_READY : 0;
}

int cudaEventElapsedTime(float *out, void *start, void *end) {
    *out = (float)(((event *)end)->due_ms - ((event *)start)->due_ms);
    return 0;
}

int cudaEventDestroy(void *e) {
    free(e);
    atomic_fetch_sub(&events_alive, 1);
    return 0;
}
