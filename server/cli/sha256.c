/* SHA-256 of bytes in memory, in hex.  Any thread. */
#include <nettle/base16.h>
#include <nettle/sha2.h>

#include "server/cli/overlay.h"

_Static_assert(GG_SHA256_TEXT == BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1, "with a NUL");

void gg_sha256(char out[GG_SHA256_TEXT], gg_str bytes) {
    struct sha256_ctx state;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&state);
    sha256_update(&state, bytes.len, (const uint8_t *)bytes.ptr);
    sha256_digest(&state, sizeof(digest), digest);
    base16_encode_update(out, sizeof(digest), digest);
    out[GG_SHA256_TEXT - 1] = '\0';
}
