/* Memory: ordinary allocations never fail; the process aborts instead (ADR-0002).  The bargain is that
 * everything whose size an outsider chooses has a ceiling, kept by gg_buf and gg_arena. */
#ifndef GG_MEM_H
#define GG_MEM_H

#include <stddef.h>

#if defined(__GNUC__)
#define GG_MUST_USE          __attribute__((warn_unused_result))
#define GG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define GG_MUST_USE
#define GG_PRINTF(fmt, args)
#endif

#define GG_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Never NULL (for size 0 neither).  The caller frees with gg_free. */
void *gg_malloc(size_t size_bytes);
void *gg_calloc(size_t count, size_t size_bytes); /* zeroed; aborts on overflow of the product */
void *gg_realloc(void *ptr, size_t size_bytes);
void gg_free(void *ptr); /* NULL is fine */

#endif
