/* gg_arena: many allocations, one free.  For values that live as long as a request or a result. */
#ifndef GG_ARENA_H
#define GG_ARENA_H

#include "base/mem.h"
#include "base/str.h"

typedef struct gg_arena gg_arena;

gg_arena *gg_arena_new(void);
void gg_arena_free(gg_arena *arena); /* NULL is fine */
/* Zeroed, aligned for any type, never NULL. */
void *gg_arena_alloc(gg_arena *arena, size_t size_bytes);
void *gg_arena_calloc(gg_arena *arena, size_t count, size_t size_bytes);
/* Copies, NUL-terminated; they live as long as the arena. */
gg_str gg_arena_str(gg_arena *arena, gg_str s);
char *gg_arena_z(gg_arena *arena, gg_str s);
gg_str gg_arena_printf(gg_arena *arena, const char *format, ...) GG_PRINTF(2, 3);

#define GG_ARENA_NEW(arena, type)          ((type *)gg_arena_alloc((arena), sizeof(type)))
#define GG_ARENA_ARRAY(arena, type, count) ((type *)gg_arena_calloc((arena), (count), sizeof(type)))

#endif
