/* gg_map: numbers by 64-bit key, as prints of names and texts are.  Open addressing; nothing is ever taken out.  One owner at a time. */
#ifndef GG_MAP_H
#define GG_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct gg_map_slot {
    uint64_t key;
    uint32_t value, used;
} gg_map_slot;

typedef struct gg_map { /* all zero: empty */
    gg_map_slot *slots;
    size_t len, mask;
} gg_map;

void gg_map_clear(gg_map *map);
/* NULL: it is not there.  Borrowed until the next gg_map_at. */
uint32_t *gg_map_find(const gg_map *map, uint64_t key);
/* The same; a new one begins as 0. */
uint32_t *gg_map_at(gg_map *map, uint64_t key);

#endif
