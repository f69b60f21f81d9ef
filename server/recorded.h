/* Recorded inputs, for a worker that cannot read them where they lie (docs/inputs.md, docs/remote.md).  Private to server/. */
#ifndef GG_RECORDED_H
#define GG_RECORDED_H

#include "server/remote.h"

/* What was recorded for a file of ours, an absolute path: a list of {"name", "document", "tensors": base64 of a file of torch's, or null}, with
 * the paths that the documents name as they are called there.  New reference; NULL when there is nothing.  Blocking file I/O with a ceiling;
 * any thread, with a remote of its own. */
json_t *gg_recorded_read(const char *file, gg_remote *remote);

/* Standard base64 of bytes; the caller frees. */
char *gg_base64(gg_str bytes);

#endif
