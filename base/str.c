/* gg_str: slices of bytes, and what UTF-8 needs.  Any thread. */
#include "base/str.h"

#include <string.h>

#include "base/mem.h"

int gg_str_compare(gg_str a, gg_str b) {
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

size_t gg_str_find(gg_str s, gg_str part, size_t from) {
    if (part.len == 0) return from <= s.len ? from : SIZE_MAX;
    while (from < s.len && s.len - from >= part.len) {
        const char *hit = memchr(s.ptr + from, part.ptr[0], s.len - from - part.len + 1);
        if (hit == NULL) return SIZE_MAX;
        if (memcmp(hit, part.ptr, part.len) == 0) return (size_t)(hit - s.ptr);
        from = (size_t)(hit - s.ptr) + 1;
    }
    return SIZE_MAX;
}

bool gg_str_contains(gg_str s, gg_str part) {
    return gg_str_find(s, part, 0) != SIZE_MAX;
}

gg_str gg_str_slice(gg_str s, size_t start, size_t end) {
    if (end > s.len) end = s.len;
    if (start >= end) return GG_STR_NULL;
    return (gg_str){s.ptr + start, end - start};
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

gg_str gg_str_trim(gg_str s) {
    size_t start = 0;
    while (start < s.len && is_space(s.ptr[start])) start++;
    while (s.len > start && is_space(s.ptr[s.len - 1])) s.len--;
    return gg_str_slice(s, start, s.len);
}

char *gg_str_dup(gg_str s) {
    char *copy = gg_malloc(s.len + 1);
    if (s.len) memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return copy;
}

/* Length of the code point at p, or 0 when the bytes there are no well-formed UTF-8 (Unicode, table 3-7). */
static size_t utf8_step(const unsigned char *p, size_t left) {
    if (p[0] < 0x80) return 1;
    size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || left < length) return 0;
    unsigned char low = 0x80, high = 0xBF;
    if (p[0] == 0xE0) low = 0xA0;
    if (p[0] == 0xED) high = 0x9F;
    if (p[0] == 0xF0) low = 0x90;
    if (p[0] == 0xF4) high = 0x8F;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return length;
}

size_t gg_utf8_valid_prefix(gg_str s) {
    size_t at = 0;
    while (at < s.len) {
        uint64_t eight;
        if (s.len - at >= sizeof(eight)) { /* most text is ASCII */
            memcpy(&eight, s.ptr + at, sizeof(eight));
            if ((eight & 0x8080808080808080u) == 0) {
                at += sizeof(eight);
                continue;
            }
        }
        size_t step = utf8_step((const unsigned char *)s.ptr + at, s.len - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

size_t gg_utf16_length(gg_str s) {
    size_t units = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c & 0xC0) != 0x80) units += c >= 0xF0 ? 2 : 1;
    }
    return units;
}
