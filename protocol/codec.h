/* codec: one interpreter over generated field tables; no function per LSP type (style: wayland's signature tables).
 *
 * A generated struct is plain C: optional scalars are {bool set; T v;}, optional structs are pointers, optional strings have
 * ptr == NULL, lists are {T *items; uint32_t len;}.  Decoded strings borrow from the json_t; arrays and optional structs live
 * in the arena.  Errors name the path: "params.range.start.line wants uinteger". */
#ifndef GG_CODEC_H
#define GG_CODEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gg_base.h"

typedef struct gg_opt_bool {
    bool set, v;
} gg_opt_bool;
typedef struct gg_opt_int {
    bool set;
    int64_t v;
} gg_opt_int; /* integer, uinteger and enumerations */
typedef struct gg_opt_num {
    bool set;
    double v;
} gg_opt_num;
typedef struct gg_token {
    bool is_string;
    int64_t number;
    gg_str string;
} gg_token; /* integer | string */
typedef struct gg_opt_token {
    bool set;
    gg_token v;
} gg_opt_token;

typedef struct gg_type
    gg_type; /* a generated description, e.g. gg_type_hover_params; see codec_table.h for its inside */

/* Decodes json into *out (a struct of that type, zeroed first).  `path` starts error messages ("params").  Unknown fields are
 * ignored, unknown enum values kept: the protocol wants both.  0 or GG_EPARAMS. */
int gg_decode(const gg_type *type, const json_t *json, const char *path, void *out, gg_arena *arena,
              gg_error *err) GG_MUST_USE;
/* A new reference; fields that are not set are left out.  Strings must be valid UTF-8 (else NULL is returned). */
json_t *gg_encode(const gg_type *type, const void *value);
size_t gg_type_size(const gg_type *type);
const char *gg_type_name(const gg_type *type); /* "HoverParams" */

#endif
