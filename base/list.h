/* Typed growable arrays (after tree-sitter's array.h).
 *
 *   GG_LIST(int) xs = {0};
 *   gg_list_push(&xs, 3);
 *   for (size_t i = 0; i < xs.len; i++) use(xs.items[i]);
 *   gg_list_clear(&xs);        frees the array, not what the items point to
 */
#ifndef GG_LIST_H
#define GG_LIST_H

#include <string.h>

#include "base/mem.h"

#define GG_LIST(type)    \
    struct {             \
        type *items;     \
        size_t len, cap; \
    }

/* The item is evaluated first: what makes it may push to the same list. */
#define gg_list_push(list, item)                                                             \
    do {                                                                                     \
        __typeof__(*(list)->items) gg__item = (item);                                        \
        if ((list)->len == (list)->cap) {                                                    \
            (list)->cap = (list)->cap ? (list)->cap * 2 : 8;                                 \
            (list)->items = gg_realloc((list)->items, (list)->cap * sizeof(*(list)->items)); \
        }                                                                                    \
        (list)->items[(list)->len++] = gg__item;                                             \
    } while (0)

#define gg_list_clear(list)            \
    do {                               \
        gg_free((list)->items);        \
        (list)->items = NULL;          \
        (list)->len = (list)->cap = 0; \
    } while (0)

/* Removes item i, keeping the order. */
#define gg_list_remove(list, i)                                                                                \
    do {                                                                                                       \
        memmove(&(list)->items[i], &(list)->items[(i) + 1], ((list)->len - (i) - 1) * sizeof(*(list)->items)); \
        (list)->len--;                                                                                         \
    } while (0)

#endif
