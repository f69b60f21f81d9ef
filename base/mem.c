/* Allocation that cannot fail: out of memory aborts (docs/adr/0002).  Any thread. */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void gg_out_of_memory(void) {
    fputs("graphglue: out of memory\n", stderr);
    abort();
}

static void *checked(void *ptr) {
    if (ptr == NULL) gg_out_of_memory();
    return ptr;
}

void *gg_malloc(size_t size_bytes) {
    return checked(malloc(size_bytes ? size_bytes : 1));
}

void *gg_calloc(size_t count, size_t size_bytes) {
    if (count == 0 || size_bytes == 0) count = size_bytes = 1;
    return checked(calloc(count, size_bytes)); /* calloc itself checks the product */
}

void *gg_realloc(void *ptr, size_t size_bytes) {
    return checked(realloc(ptr, size_bytes ? size_bytes : 1));
}

void gg_free(void *ptr) {
    free(ptr);
}
