/* Where torch's registry of breaks is to be had.  It is read when it is first needed, which is in a job: it is a third of a megabyte of JSON,
 * perhaps on a slow disk.  Counted references; any thread. */
#ifndef GG_REGISTRY_SOURCE_H
#define GG_REGISTRY_SOURCE_H

#include "analysis/gg_analysis.h"

typedef struct gg_registry_source gg_registry_source;

/* `text`: the registry itself, of a worker elsewhere; else `path`.  Both are copied.  NULL when neither is known. */
gg_registry_source *gg_registry_source_new(const char *path, const char *text);
gg_registry_source *gg_registry_source_ref(gg_registry_source *source); /* NULL: NULL */
void gg_registry_source_unref(gg_registry_source **source);
bool gg_registry_source_is(const gg_registry_source *source, const char *path, const char *text);
/* The version of the torch that it belongs to.  Tell it before others have the source.  "" until then, and of a NULL source. */
void gg_registry_source_tell(gg_registry_source *source, const char *torch);
const char *gg_registry_source_torch(const gg_registry_source *source);
/* Borrowed from the source.  NULL when it cannot be read, which is logged once; of a NULL source too. */
const gg_registry *gg_registry_source_get(gg_registry_source *source);

#endif
