/* What several fuzz targets share. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "base/gg_base.h"

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

/* The valid UTF-8 prefix. */
static inline gg_str valid(const uint8_t *bytes, size_t len) {
    gg_str s = {(const char *)bytes, len};
    s.len = gg_utf8_valid_prefix(s);
    return s;
}

#endif
