/* gg_buf: growable bytes with a ceiling.  One owner at a time. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

void gg_buf_init(gg_buf *buf, size_t max_bytes) {
    *buf = (gg_buf){.max = max_bytes};
}

void gg_buf_clear(gg_buf *buf) {
    gg_free(buf->ptr);
    gg_buf_init(buf, buf->max);
}

void gg_buf_reset(gg_buf *buf) {
    buf->len = 0;
    buf->overflow = false;
    if (buf->ptr) buf->ptr[0] = '\0';
}

static int reserve(gg_buf *buf, size_t extra) {
    if (extra > buf->max - buf->len) {
        buf->overflow = true;
        return GG_ETOOBIG;
    }
    size_t need = buf->len + extra + 1;
    if (need <= buf->cap) return 0;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need) cap *= 2;
    buf->ptr = gg_realloc(buf->ptr, cap);
    buf->cap = cap;
    return 0;
}

int gg_buf_append(gg_buf *buf, gg_str bytes) {
    int error = reserve(buf, bytes.len);
    if (error) return error;
    if (bytes.len) memcpy(buf->ptr + buf->len, bytes.ptr, bytes.len);
    buf->len += bytes.len;
    buf->ptr[buf->len] = '\0';
    return 0;
}

int gg_buf_append_z(gg_buf *buf, const char *z) {
    return gg_buf_append(buf, gg_str_from(z));
}

int gg_buf_append_char(gg_buf *buf, char c) {
    return gg_buf_append(buf, (gg_str){&c, 1});
}

int gg_buf_vprintf(gg_buf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return GG_EINTERNAL;
    int error = reserve(buf, (size_t)length);
    if (error) return error;
    vsnprintf(buf->ptr + buf->len, (size_t)length + 1, format, args);
    buf->len += (size_t)length;
    return 0;
}

int gg_buf_printf(gg_buf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int error = gg_buf_vprintf(buf, format, args);
    va_end(args);
    return error;
}

void gg_buf_consume(gg_buf *buf, size_t bytes) {
    if (bytes >= buf->len) {
        buf->len = 0;
    } else {
        memmove(buf->ptr, buf->ptr + bytes, buf->len - bytes);
        buf->len -= bytes;
    }
    if (buf->ptr) buf->ptr[buf->len] = '\0';
}

gg_str gg_buf_str(const gg_buf *buf) {
    return (gg_str){buf->ptr, buf->len};
}

char *gg_buf_take(gg_buf *buf) {
    char *bytes = buf->ptr ? buf->ptr : gg_calloc(1, 1);
    gg_buf_init(buf, buf->max);
    return bytes;
}
