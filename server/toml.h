/* TOML, read by toml++.  Private to server/.  Any thread. */
#ifndef GG_TOML_H
#define GG_TOML_H

#include <jansson.h>

#include "base/gg_base.h"

/* The document as JSON (a new reference): dates and times become strings, and so do numbers that JSON does not have.  NULL with err, whose
 * message begins with "line:column: ". */
json_t *gg_toml_parse(gg_str text, gg_error *err);

#endif
