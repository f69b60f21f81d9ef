/* What settings say, as read from a client or from pyproject.toml by one table (settings.def), and put together for one folder.
 * Private to server/.  One owner at a time. */
#ifndef GG_OPTIONS_H
#define GG_OPTIONS_H

#include <jansson.h>

#include "repair/gg_repair.h"

typedef enum gg_run { GG_RUN_ON_SAVE, GG_RUN_ON_TYPE, GG_RUN_MANUAL } gg_run;

/* How loud a finding is; LSP's severities, and two more. */
typedef enum gg_level {
    GG_LEVEL_DEFAULT, /* nothing was said */
    GG_LEVEL_ERROR,
    GG_LEVEL_WARNING,
    GG_LEVEL_INFORMATION,
    GG_LEVEL_HINT,
    GG_LEVEL_OFF
} gg_level;

typedef GG_LIST(char *) gg_words; /* strings of the owner's */
void gg_words_clear(gg_words *words);

/* Reads settings into `values`, an object from key ("capture.timeout") to value; what is null, absent or wrong leaves it as it is.
 * `toml`: keys as pyproject.toml writes them, and only those of its scope.  What is wrong is said in `problems`, a line each. */
void gg_settings_read(json_t *values, const json_t *given, bool toml, gg_words *problems);

typedef struct gg_options {
    const char *python; /* NULL: none was said */
    gg_run run;
    bool predict, store, preview;
    bool levels; /* it says of some findings how loud they are */
    uint32_t timeout_ms;
    gg_safety max_safety;
    bool safety_given;
    json_t *values;
    json_t *client; /* of these, what the client said, or the command line; NULL: nothing */
    char *folder;   /* that excluded paths are relative to; NULL: none */
} gg_options;

/* `over` goes before `under` (both may be NULL), key by key; of `rules`, name by name. */
gg_options *gg_options_new(const json_t *over, const json_t *under, const char *folder);
void gg_options_free(gg_options *options);
/* `rule` may be empty. */
gg_level gg_options_level(const gg_options *options, gg_str id, gg_str rule);
/* Of an absolute path; a folder's exclusion is that of all in it. */
bool gg_options_exclude(const gg_options *options, const char *path);
/* Of one that was found by looking into a folder that is not excluded; `shown`: the same path as a person would write it. */
bool gg_options_exclude_one(const gg_options *options, const char *path, const char *shown);
typedef struct gg_project {
    char *folder;   /* of the nearest pyproject.toml with a [tool.graphglue]; NULL: there is none */
    json_t *values; /* what it says, as gg_settings_read reads it; NULL: nothing */
    gg_words problems;
} gg_project;

/* Of a folder (absolute).  A file that cannot be read is a problem, and passed over. */
void gg_project_read(gg_project *out, const char *folder);
void gg_project_clear(gg_project *project);

/* Options of many folders, each pyproject.toml read once.  One owner at a time. */
typedef struct gg_option_cache gg_option_cache;
/* `over` (borrowed; may be NULL) goes before what files say; `base`: what exclusions are relative to without one (NULL: nothing). */
gg_option_cache *gg_option_cache_new(const json_t *over, const char *base);
void gg_option_cache_free(gg_option_cache *cache);
const gg_options *gg_option_cache_at(gg_option_cache *cache,
                                     const char *folder);               /* absolute; borrowed from the cache */
const gg_words *gg_option_cache_problems(const gg_option_cache *cache); /* each once */

#endif
