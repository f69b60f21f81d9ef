/* Levelled log to stderr.  Level from --log-level or GRAPHGLUE_LOG (error, warning, info, debug); default warning.
 * A sink (the client's output channel) may be added.  Never log file contents at info or above; never keys. */
#ifndef GG_LOG_H
#define GG_LOG_H

#include <stdbool.h>

#include "base/mem.h"
#include "base/str.h"

typedef enum gg_log_level { GG_LOG_ERROR = 1, GG_LOG_WARNING, GG_LOG_INFO, GG_LOG_DEBUG } gg_log_level;

typedef void (*gg_log_sink)(void *data, gg_log_level level, const char *line);

void gg_log_set_level(gg_log_level level);
gg_log_level gg_log_get_level(void);
bool gg_log_parse_level(const char *name, gg_log_level *out);
/* From now on a line that stderr cannot take at once is dropped, and counted in the next one: a server must not wait for an editor that does not
 * read what it logs. */
void gg_log_never_wait(void);
void gg_log_set_sink(gg_log_sink sink, void *data); /* loop thread only; NULL removes it */
void gg_log(gg_log_level level, const char *format, ...)
    GG_PRINTF(2, 3); /* any thread; the sink sees loop-thread lines only */

#endif
