/* A CUDA driver without a device, below a real CUDA runtime: a line `pid cuInit` in $CUDA_FAKE_LOG tells which process wakes it.
 * The variable's name begins with what the launcher leaves to the process that forks the jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { NO_DEVICE = 100, VERSION = 13000 };

EXPORTED int cuInit(unsigned flags);
EXPORTED int cuDriverGetVersion(int *out);
EXPORTED int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags);
EXPORTED int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, int *found);

int cuInit(unsigned flags) {
    (void)flags;
    const char *path = getenv("CUDA_FAKE_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (log == NULL) return NO_DEVICE;
    fprintf(log, "%d cuInit\n", (int)getpid());
    fclose(log);
    return NO_DEVICE;
}

int cuDriverGetVersion(int *out) {
    *out = VERSION;
    return 0;
}

static int any(void) {
    return NO_DEVICE;
}

int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, int *found) {
    if (found) *found = 0;
    if (strncmp(name, "cuGetProcAddress", strlen("cuGetProcAddress")) == 0)
        *(int (**)(const char *, void **, int, unsigned long long, int *))out = cuGetProcAddress_v2;
    else if (strcmp(name, "cuInit") == 0)
        *(int (**)(unsigned))out = cuInit;
    else if (strcmp(name, "cuDriverGetVersion") == 0)
        *(int (**)(int *))out = cuDriverGetVersion;
    else
        *(int (**)(void))out = any;
    (void)version, (void)flags;
    return 0;
}

int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
