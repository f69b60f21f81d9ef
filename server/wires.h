/* Predictions as they went out: a text for each, all in one block, since most of them go out again behind the next edit as they are.  Loop thread
 * only. */
#ifndef GG_WIRES_H
#define GG_WIRES_H

#include "base/gg_base.h"
#include "server/documents.h"

/* One prediction's. */
typedef struct gg_wire {
    uint32_t at, len, rest; /* of the block; 0 bytes: it did not go out; rest: what begins behind the range */
    gg_range range;
    int level;
} gg_wire;

/* Of all predictions of a document that are shown, each a JSON object behind a ",".  Borrowed until the next call for it. */
gg_str gg_wires_write(const gg_document *document);

#endif
