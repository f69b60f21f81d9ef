/* gg_buf: growable bytes with a mandatory ceiling (after curl's dynbuf: no buffer without a limit).
 * Invariant: len <= cap, len <= max, and ptr[len] is NUL whenever ptr is not NULL. */
#ifndef GG_BUF_H
#define GG_BUF_H

#include <stdarg.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

typedef struct gg_buf {
    char *ptr;
    size_t len, cap;
    size_t max;    /* the ceiling, in bytes */
    bool overflow; /* set once an append was refused; sticky until gg_buf_reset */
} gg_buf;

void gg_buf_init(gg_buf *buf, size_t max_bytes); /* allocates nothing */
void gg_buf_clear(gg_buf *buf);                  /* frees; the buffer can be used again */
void gg_buf_reset(gg_buf *buf);                  /* keeps the memory, len = 0 */

/* 0 or GG_ETOOBIG, in which case nothing was appended and `overflow` is set: callers may append many times
 * and check `overflow` once. */
int gg_buf_append(gg_buf *buf, gg_str bytes);
int gg_buf_append_z(gg_buf *buf, const char *z);
int gg_buf_append_char(gg_buf *buf, char c);
int gg_buf_printf(gg_buf *buf, const char *format, ...) GG_PRINTF(2, 3);
int gg_buf_vprintf(gg_buf *buf, const char *format, va_list args) GG_PRINTF(2, 0);
void gg_buf_consume(gg_buf *buf, size_t bytes); /* drops a prefix */
gg_str gg_buf_str(const gg_buf *buf);           /* borrowed until the next change */
char *gg_buf_take(gg_buf *buf);                 /* the bytes, NUL-terminated, now the caller's; never NULL */

#endif
