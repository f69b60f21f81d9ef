/* gg_arena: a list of blocks, bumped through, each twice as large as the one before: most arenas stay small.  Requests larger than the next
 * block get one of their own.  One owner at a time. */
#include "base/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 512, MAX_BLOCK_BYTES = 32 * 1024 };

typedef struct block {
    struct block *next;
    size_t used, size;
    max_align_t data[];
} block;

struct gg_arena {
    block *first; /* the one being filled */
    size_t next_bytes;
};

gg_arena *gg_arena_new(void) {
    gg_arena *arena = gg_calloc(1, sizeof(gg_arena));
    arena->next_bytes = FIRST_BLOCK_BYTES;
    return arena;
}

void gg_arena_free(gg_arena *arena) {
    if (arena == NULL) return;
    for (block *b = arena->first; b;) {
        block *next = b->next;
        gg_free(b);
        b = next;
    }
    gg_free(arena);
}

void *gg_arena_alloc(gg_arena *arena, size_t size_bytes) {
    size_t align = sizeof(max_align_t);
    size_t size = (size_bytes + align - 1) / align * align;
    if (size < size_bytes) abort(); /* overflow: no ceiling allows this */
    block *b = arena->first;
    if (b == NULL || b->size - b->used < size) {
        bool alone = size > arena->next_bytes;
        size_t block_size = alone ? size : arena->next_bytes;
        if (!alone && arena->next_bytes < MAX_BLOCK_BYTES) arena->next_bytes *= 2;
        b = gg_malloc(sizeof(block) + block_size);
        *b = (block){.size = block_size};
        if (arena->first && alone) { /* keep filling the current block */
            b->next = arena->first->next;
            arena->first->next = b;
        } else {
            b->next = arena->first;
            arena->first = b;
        }
    }
    void *ptr = (char *)b->data + b->used;
    b->used += size;
    memset(ptr, 0, size_bytes);
    return ptr;
}

void *gg_arena_calloc(gg_arena *arena, size_t count, size_t size_bytes) {
    if (size_bytes && count > SIZE_MAX / size_bytes) abort();
    return gg_arena_alloc(arena, count * size_bytes);
}

char *gg_arena_z(gg_arena *arena, gg_str s) {
    char *copy = gg_arena_alloc(arena, s.len + 1);
    if (s.len) memcpy(copy, s.ptr, s.len);
    return copy;
}

gg_str gg_arena_str(gg_arena *arena, gg_str s) {
    return (gg_str){gg_arena_z(arena, s), s.len};
}

gg_str gg_arena_printf(gg_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) return GG_STR_NULL;
    char *text = gg_arena_alloc(arena, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return (gg_str){text, (size_t)length};
}
