/* See map.h. */
#include "base/map.h"

#include "base/mem.h"

enum { FEWEST_SLOTS = 16 };

/* Where the key is, or would be. */
static gg_map_slot *slot_of(const gg_map *map, uint64_t key) {
    size_t at = (size_t)key & map->mask;
    while (map->slots[at].used && map->slots[at].key != key) at = (at + 1) & map->mask;
    return &map->slots[at];
}

static void grow(gg_map *map) {
    gg_map larger = {.len = map->len, .mask = map->slots ? map->mask * 2 + 1 : FEWEST_SLOTS - 1};
    larger.slots = gg_calloc(larger.mask + 1, sizeof(gg_map_slot));
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used) *slot_of(&larger, map->slots[i].key) = map->slots[i];
    gg_free(map->slots);
    *map = larger;
}

void gg_map_clear(gg_map *map) {
    gg_free(map->slots);
    *map = (gg_map){0};
}

uint32_t *gg_map_find(const gg_map *map, uint64_t key) {
    gg_map_slot *slot = map->slots ? slot_of(map, key) : NULL;
    return slot && slot->used ? &slot->value : NULL;
}

uint32_t *gg_map_at(gg_map *map, uint64_t key) {
    if ((map->len + 1) * 2 > map->mask) grow(map);
    gg_map_slot *slot = slot_of(map, key);
    if (!slot->used) {
        *slot = (gg_map_slot){.key = key, .used = 1};
        map->len++;
    }
    return &slot->value;
}
