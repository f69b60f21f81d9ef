/* gg_slab: memory for very many small blocks, as the nodes of syntax trees are: eight bytes of header and padding to sixteen, as malloc has them, are a
 * tenth of such a tree; and what one thread frees by the thousand, malloc puts together when another one asks.  Any thread.
 *
 * malloc, calloc, realloc and free in shape; none fails (ADR-0002).  Large blocks are malloc's. */
#ifndef GG_SLABS_H
#define GG_SLABS_H

#include <stddef.h>

void *gg_slab_malloc(size_t size_bytes);
void *gg_slab_calloc(size_t count, size_t size_bytes);
void *gg_slab_realloc(void *block, size_t size_bytes);
void gg_slab_free(void *block);

#endif
