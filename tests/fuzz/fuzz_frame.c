/* links: gg_protocol */
/* The frame reader, fed in pieces whose sizes the input chooses: it never reads past what it was given, and always makes progress. */
#include "protocol/gg_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gg_frame_reader *reader = gg_frame_reader_new(4096);
    gg_error err = {0};
    size_t at = 0, step = size ? data[0] % 17u + 1 : 1, taken = 0;
    while (at < size) {
        size_t n = size - at < step ? size - at : step;
        if (gg_frame_reader_push(reader, (gg_str){(const char *)data + at, n}, &err) != 0) break;
        at += n;
        gg_str body;
        int got;
        for (size_t turns = 0; (got = gg_frame_reader_next(reader, &body, &err)) != 0; turns++) {
            if (got > 0) taken += body.len + gg_utf8_valid_prefix(body) % 2; /* touches every byte */
            if (turns > size + 8) __builtin_trap();                          /* no progress */
        }
    }
    if (taken > 2 * size + 2) __builtin_trap();
    gg_frame_reader_free(reader);
    return 0;
}
