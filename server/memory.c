/* Out of memory is one thing in the whole program (docs/adr/0002), the libraries' own allocations included: jansson's would else give a NULL that
 * nobody looks at, libuv's an abort without a word, and tree-sitter's one in words of its own. */
#include <jansson.h>
#include <tree_sitter/api.h>
#include <uv.h>

#include "server/gg_server.h"

void gg_memory_or_abort(void) {
    json_set_alloc_funcs(gg_malloc, gg_free);
    ts_set_allocator(gg_malloc, gg_calloc, gg_realloc, gg_free);
    (void)uv_replace_allocator(gg_malloc, gg_realloc, gg_calloc, gg_free);
}
