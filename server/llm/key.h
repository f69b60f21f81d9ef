/* The key to an endpoint: read when it is needed, from a variable or a program's output, kept in one place for one request, and wiped.
 * Private to server/.  Loop thread only. */
#ifndef GG_KEY_H
#define GG_KEY_H

#include <uv.h>

#include "server/llm/endpoint.h"

typedef struct gg_key_reading gg_key_reading;

/* key: NULL with words when there is none to be had; "" when none is to be sent.  Wiped when this returns. */
typedef void (*gg_key_done)(void *data, char *key, const gg_error *err);
/* done comes once, from a later turn. */
gg_key_reading *gg_key_read(uv_loop_t *loop, const gg_endpoint *endpoint, gg_key_done done, void *data);
void gg_key_cancel(gg_key_reading *reading); /* nothing is told any more */
/* Where it comes from: "the variable OPENAI_API_KEY", "the program pass", "no key". */
void gg_key_source(char *out, size_t size, const gg_endpoint *endpoint);
/* In place: each occurrence becomes "[key]". */
void gg_key_redact(char *text, const char *key);

#endif
