/* The inside of gg_type: what the generated tables and the codec share.  Private to protocol/. */
#ifndef GG_CODEC_TABLE_H
#define GG_CODEC_TABLE_H

#include "protocol/codec.h"

/* RAW: any value, OBJECT: any object, both kept as JSON. */
typedef enum gg__kind {
    GG__BOOL,
    GG__INT,
    GG__UINT,
    GG__NUM,
    GG__STR,
    GG__TOKEN,
    GG__RAW,
    GG__OBJECT,
    GG__STRUCT
} gg__kind;

enum { GG__OPTIONAL = 1, GG__LIST = 2 };

typedef struct gg__field {
    const char *name;
    gg__kind kind;
    unsigned flags;
    size_t offset;
    const gg_type *type; /* of a struct */
} gg__field;

struct gg_type {
    const char *name;
    size_t size;
    const gg__field *fields;
    size_t field_count;
};

/* Every list field has this layout, whatever its items are. */
typedef struct gg__list {
    void *items;
    uint32_t len;
} gg__list;

#endif
