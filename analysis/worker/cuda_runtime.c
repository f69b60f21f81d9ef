/* See cuda_runtime.h.  Only entry points whose form is the same from CUDA 11 on are used, so no header of CUDA is needed. */
#include "analysis/worker/cuda_runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, NOT_READY = 600 }; /* of cudaError_t */
/* cudaDeviceProp: its head is the same since CUDA 10, its size is not. */
typedef union properties {
    struct {
        char name[GG_CUDA_NAME_BYTES], uuid[16], luid[8];
        unsigned luid_mask;
        size_t total_bytes;
    } head;
    char whole[16384]; /* more than that of any version */
} properties;
_Static_assert(offsetof(properties, head.total_bytes) == 288, "as in driver_types.h of CUDA 12 and 13");

#define NO_RUNTIME "no CUDA runtime library (libcudart) was found"

static struct {
    const char *(*error_string)(int);
    int (*version)(int *);
    int (*device_count)(int *);
    int (*properties)(void *, int);
    int (*get_device)(int *);
    int (*set_device)(int);
    int (*memory)(size_t *, size_t *);
    int (*event_create)(void **);
    int (*event_record)(void *, void *);
    int (*event_query)(void *);
    int (*event_elapsed)(float *, void *, void *);
    int (*event_destroy)(void *);
} cuda;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void doze(void) {
    nanosleep(&(struct timespec){0, 100000}, NULL);
}

static void *find_library(void) {
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};
    static const int how[] = {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW}; /* that of the process's torch before any other */
    for (size_t h = 0; h < sizeof(how) / sizeof(how[0]); h++) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            void *library = dlopen(names[i], how[h]);
            if (library) return library;
        }
    }
    return NULL;
}

/* Once opened it stays open. */
static const char *open_runtime(void) {
    static const struct {
        const char *name;
        void *slot; /* a function pointer of `cuda` */
    } entry_points[] = {
        {"cudaGetErrorString", &cuda.error_string},
        {"cudaRuntimeGetVersion", &cuda.version},
        {"cudaGetDeviceCount", &cuda.device_count},
        {"cudaGetDeviceProperties", &cuda.properties},
        {"cudaGetDevice", &cuda.get_device},
        {"cudaSetDevice", &cuda.set_device},
        {"cudaMemGetInfo", &cuda.memory},
        {"cudaEventCreate", &cuda.event_create},
        {"cudaEventRecord", &cuda.event_record},
        {"cudaEventQuery", &cuda.event_query},
        {"cudaEventElapsedTime", &cuda.event_elapsed},
        {"cudaEventDestroy", &cuda.event_destroy},
    };
    static void *library;
    if (library) return NULL;
    void *found = find_library();
    if (found == NULL) return NO_RUNTIME;
    for (size_t i = 0; i < sizeof(entry_points) / sizeof(entry_points[0]); i++) {
        void *symbol = dlsym(found, entry_points[i].name);
        if (symbol == NULL) {
            dlclose(found);
            return "the CUDA runtime library (libcudart) lacks functions that are in every version known";
        }
        memcpy(entry_points[i].slot, &symbol, sizeof(symbol));
    }
    library = found;
    return NULL;
}

/* The runtime's own words. */
static const char *said(int status) {
    if (status == SUCCESS) return NULL;
    const char *words = cuda.error_string(status);
    return words ? words : "the CUDA runtime failed without a reason";
}

static const char *read_memory(int device, gg_cuda_memory *out) {
    int before = 0;
    *out = (gg_cuda_memory){0};
    int status = cuda.get_device(&before);
    if (status == SUCCESS) status = cuda.set_device(device);
    if (status != SUCCESS) return said(status);
    status = cuda.memory(&out->free_bytes, &out->total_bytes);
    if (status != SUCCESS) *out = (gg_cuda_memory){0};
    int restored = before == device ? SUCCESS : cuda.set_device(before);
    return said(status != SUCCESS ? status : restored);
}

void gg_cuda_list(gg_cuda_devices *out) {
    *out = (gg_cuda_devices){.error = open_runtime()};
    if (out->error) return;
    int found = 0;
    int status = cuda.version(&out->runtime);
    if (status == SUCCESS) status = cuda.device_count(&found);
    out->error = said(status);
    if (status != SUCCESS) return;
    if (found <= 0) out->error = "the driver has none";
    out->count = found < 0 ? 0 : found < GG_CUDA_MAX_DEVICES ? found : GG_CUDA_MAX_DEVICES;
    for (int i = 0; i < out->count; i++) {
        gg_cuda_device *device = &out->items[i];
        properties is = {.whole = {0}};
        device->error = said(cuda.properties(&is, i));
        if (device->error) continue;
        memcpy(device->name, is.head.name, GG_CUDA_NAME_BYTES - 1);
        device->total_bytes = is.head.total_bytes;
    }
}

const char *gg_cuda_memory_of(int device, gg_cuda_memory *out) {
    *out = (gg_cuda_memory){0};
    const char *error = open_runtime();
    return error ? error : read_memory(device, out);
}

/* ---- the watch ---------------------------------------------------------------------------------------------------------- */
/* Static, since a thread that hangs in the driver may still write to it when nobody waits any more. */
static struct {
    pthread_t thread;
    int device;
    unsigned interval_us;
    atomic_bool stop, ended;
    bool running; /* also of one that was left behind */
    gg_cuda_memory least;
    const char *error;
} watch;

static void look(void) {
    gg_cuda_memory now;
    const char *error = read_memory(watch.device, &now);
    if (error)
        watch.error = error;
    else if (watch.least.total_bytes == 0 || now.free_bytes < watch.least.free_bytes)
        watch.least = now;
}

static void *keep_looking(void *unused) {
    (void)unused;
    const struct timespec pause = {watch.interval_us / 1000000, (long)(watch.interval_us % 1000000) * 1000};
    do {
        look();
        nanosleep(&pause, NULL);
    } while (watch.error == NULL && !atomic_load(&watch.stop));
    atomic_store(&watch.ended, true);
    return NULL;
}

const char *gg_cuda_watch(int device, unsigned interval_us) {
    const char *error = open_runtime();
    if (error) return error;
    if (watch.running) return "a watch of this process has not ended";
    watch.device = device;
    watch.interval_us = interval_us;
    watch.least = (gg_cuda_memory){0};
    watch.error = NULL;
    atomic_store(&watch.stop, false);
    atomic_store(&watch.ended, false);
    look(); /* here, so that what is in use at the start is seen, and an error told at once */
    if (watch.error) return watch.error;
    if (pthread_create(&watch.thread, NULL, keep_looking, NULL) != 0) return "no thread could be started";
    watch.running = true;
    return NULL;
}

const char *gg_cuda_watch_end(int timeout_ms, gg_cuda_memory *out) {
    *out = (gg_cuda_memory){0};
    if (!watch.running) return "no watch was begun";
    atomic_store(&watch.stop, true);
    for (int64_t end = now_ms() + timeout_ms; !atomic_load(&watch.ended); doze())
        if (now_ms() >= end) return "the CUDA driver does not answer";
    (void)pthread_join(watch.thread, NULL);
    watch.running = false;
    if (watch.error == NULL) look();
    *out = watch.least;
    return watch.error;
}

/* ---- the timer ---------------------------------------------------------------------------------------------------------- */
static struct {
    void *stream, *start, *end; /* events; NULL when there is none */
} timer;

static void forget_timer(void) {
    if (timer.start) (void)cuda.event_destroy(timer.start);
    if (timer.end) (void)cuda.event_destroy(timer.end);
    timer.start = timer.end = NULL;
}

const char *gg_cuda_timer(void *stream) {
    const char *error = open_runtime();
    if (error) return error;
    forget_timer();
    timer.stream = stream;
    int status = cuda.event_create(&timer.start);
    if (status == SUCCESS) status = cuda.event_create(&timer.end);
    if (status == SUCCESS) status = cuda.event_record(timer.start, stream);
    if (status != SUCCESS) forget_timer();
    return said(status);
}

const char *gg_cuda_timer_end(int timeout_ms, double *out_ms) {
    *out_ms = 0;
    if (timer.end == NULL) return "no timer was begun";
    int status = cuda.event_record(timer.end, timer.stream);
    for (int64_t end = now_ms() + timeout_ms; status == SUCCESS; doze()) {
        status = cuda.event_query(timer.end);
        if (status != NOT_READY) break;
        if (now_ms() >= end) {
            forget_timer();
            return "the device did not end its work in time";
        }
        status = SUCCESS;
    }
    float ms = 0;
    if (status == SUCCESS) status = cuda.event_elapsed(&ms, timer.start, timer.end);
    if (status == SUCCESS) *out_ms = (double)ms;
    forget_timer();
    return said(status);
}
