/* base/ — what every other folder may use: strings, buffers, arenas, lists, maps, errors, logging.
 * Knows nothing of Python, LSP, JSON or the event loop.  Read top to bottom; each header is one noun. */
#ifndef GG_BASE_H
#define GG_BASE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/slabs.h"
#include "base/str.h"

#endif
