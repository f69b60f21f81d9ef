/* See slabs.h.
 *
 * DESIGN  One stretch of address space is reserved and cut into chunks, each of blocks of one size: an address tells its chunk, and that the size.  A
 * chunk with no block in use goes back to the system.  Where nothing can be reserved, or no more is left, blocks are malloc's. */
#include "base/slabs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { STEP_BYTES = 8, MAX_BYTES = 256, CLASSES = MAX_BYTES / STEP_BYTES + 1 };
enum { CHUNK_BYTES = 16 * 1024, CHUNKS = 64 * 1024, NONE = UINT32_MAX };

typedef struct free_block {
    struct free_block *next;
} free_block;

typedef struct chunk {
    free_block *freed;
    uint32_t before, next;       /* in the list of those with room, or with none in use */
    uint16_t class, used, begun; /* begun: blocks that were ever in use */
} chunk;

static char *base; /* NULL: nothing is reserved */
static chunk chunks[CHUNKS];
static struct {
    pthread_mutex_t lock;
    uint32_t first; /* with room */
} classes[CLASSES];
static struct {
    pthread_mutex_t lock;
    uint32_t first, begun;
} unused = {PTHREAD_MUTEX_INITIALIZER, NONE, 0};
static pthread_once_t reserved = PTHREAD_ONCE_INIT;

static void reserve(void) {
    size_t size = (size_t)CHUNKS * CHUNK_BYTES;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t i = 0; i < CLASSES; i++) {
        pthread_mutex_init(&classes[i].lock, NULL);
        classes[i].first = NONE;
    }
    base = at == MAP_FAILED ? NULL : at;
}

static size_t capacity(const chunk *c) {
    return CHUNK_BYTES / ((size_t)c->class * STEP_BYTES);
}

static char *address_of(const chunk *c) {
    return base + (size_t)(c - chunks) * CHUNK_BYTES;
}

static chunk *chunk_of(const void *block) {
    uintptr_t at = (uintptr_t)block - (uintptr_t)base; /* far beyond all where it lies in front of them */
    return base && at < (uintptr_t)CHUNKS * CHUNK_BYTES ? &chunks[at / CHUNK_BYTES] : NULL;
}

/* ---- chunks, their class locked ---------------------------------------------------------------------------------------------- */

static void link_in(chunk *c) {
    uint32_t at = (uint32_t)(c - chunks), *first = &classes[c->class].first;
    c->before = NONE;
    c->next = *first;
    if (*first != NONE) chunks[*first].before = at;
    *first = at;
}

static void unlink_out(chunk *c) {
    if (c->before == NONE)
        classes[c->class].first = c->next;
    else
        chunks[c->before].next = c->next;
    if (c->next != NONE) chunks[c->next].before = c->before;
}

static bool begin_chunk(uint16_t class) {
    pthread_mutex_lock(&unused.lock);
    uint32_t at = unused.first;
    if (at != NONE)
        unused.first = chunks[at].next;
    else if (unused.begun < CHUNKS)
        at = unused.begun++;
    pthread_mutex_unlock(&unused.lock);
    if (at == NONE) return false;
    chunks[at] = (chunk){.class = class};
    link_in(&chunks[at]);
    return true;
}

static void end_chunk(chunk *c) {
    unlink_out(c);
    (void)madvise(address_of(c), CHUNK_BYTES, MADV_DONTNEED);
    pthread_mutex_lock(&unused.lock);
    c->next = unused.first;
    unused.first = (uint32_t)(c - chunks);
    pthread_mutex_unlock(&unused.lock);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------------ */

static void *take(uint16_t class) {
    if (classes[class].first == NONE && !begin_chunk(class)) return NULL;
    chunk *c = &chunks[classes[class].first];
    void *block = c->freed;
    if (block)
        c->freed = c->freed->next;
    else
        block = address_of(c) + (size_t)c->begun++ * class * STEP_BYTES;
    if (++c->used == capacity(c)) unlink_out(c);
    return block;
}

void *gg_slab_malloc(size_t size_bytes) {
    size_t class = size_bytes ? (size_bytes + STEP_BYTES - 1) / STEP_BYTES : 1;
    if (size_bytes > MAX_BYTES) return gg_malloc(size_bytes);
    pthread_once(&reserved, reserve);
    if (base == NULL) return gg_malloc(size_bytes);
    pthread_mutex_lock(&classes[class].lock);
    void *block = take((uint16_t) class);
    pthread_mutex_unlock(&classes[class].lock);
    return block ? block : gg_malloc(size_bytes);
}

void gg_slab_free(void *block) {
    chunk *c = chunk_of(block);
    if (c == NULL) {
        gg_free(block);
        return;
    }
    pthread_mutex_t *lock = &classes[c->class].lock;
    free_block *freed = block;
    pthread_mutex_lock(lock);
    freed->next = c->freed;
    c->freed = freed;
    if (c->used-- == capacity(c)) link_in(c);
    if (c->used == 0 && (c->before != NONE || c->next != NONE)) end_chunk(c); /* the last one with room stays */
    pthread_mutex_unlock(lock);
}

void *gg_slab_calloc(size_t count, size_t size_bytes) {
    if (size_bytes && count > MAX_BYTES / size_bytes) return gg_calloc(count, size_bytes);
    void *block = gg_slab_malloc(count * size_bytes);
    memset(block, 0, count * size_bytes);
    return block;
}

void *gg_slab_realloc(void *block, size_t size_bytes) {
    const chunk *c = chunk_of(block);
    if (block == NULL) return gg_slab_malloc(size_bytes);
    if (c == NULL) return gg_realloc(block, size_bytes);
    size_t had = (size_t)c->class * STEP_BYTES;
    if (size_bytes <= had && size_bytes + STEP_BYTES > had) return block;
    void *moved = gg_slab_malloc(size_bytes);
    memcpy(moved, block, size_bytes < had ? size_bytes : had);
    gg_slab_free(block);
    return moved;
}
