/* Memory: ordinary allocations never fail; the process aborts instead (ADR-0002).  The bargain is that
 * everything whose size an outsider chooses has a ceiling, kept by gg_buf and gg_arena. */
#ifndef GG_MEM_H
#define GG_MEM_H

#include <stddef.h>

#if defined(__GNUC__)
#define GG_MUST_USE          __attribute__((warn_unused_result))
#define GG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define GG_NORETURN          __attribute__((noreturn))
#else
#define GG_NORETURN
#define GG_MUST_USE
#define GG_PRINTF(fmt, args)
#endif

/* Built with a sanitizer that watches malloc: GCC and clang say so differently. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GG_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GG_SANITIZED 1
#endif
#endif
#ifndef GG_SANITIZED
#define GG_SANITIZED 0
#endif

#define GG_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Says so and aborts. */
GG_NORETURN void gg_out_of_memory(void);
/* Never NULL (for size 0 neither).  The caller frees with gg_free. */
void *gg_malloc(size_t size_bytes);
void *gg_calloc(size_t count, size_t size_bytes); /* zeroed; aborts on overflow of the product */
void *gg_realloc(void *ptr, size_t size_bytes);
void gg_free(void *ptr); /* NULL is fine */

#endif
