/* Every number of analysis/ that was chosen rather than given. */
#ifndef GG_ANALYSIS_COSTS_H
#define GG_ANALYSIS_COSTS_H

/* Parsers kept for the next parse: as many as threads of libuv's pool that parse at once, and the loop. */
#define GG__PARSER_POOL 8

/* Code quoted in an explanation is cut after this many bytes, in a one-line message after the second. */
#define GG__QUOTED_CODE_BYTES 160
#define GG__SHORT_CODE_BYTES  60

/* Dynamo's own words, folded below an explanation, are cut after this many bytes. */
#define GG__QUOTED_REASON_BYTES 4000

/* Whole explanations and the registry file have a ceiling, as every buffer. */
#define GG__EXPLANATION_BYTES  (64u * 1024)
#define GG__REGISTRY_BYTES_MAX (16u * 1024 * 1024)

/* Break records, frames and facts of one entry beyond which a worker's frame is refused: far over what Dynamo makes. */
#define GG__MAX_BREAKS       10000
#define GG__MAX_FRAMES       1000
#define GG__MAX_FACTS        10000
#define GG__MAX_MODULE_STEPS 64

#endif
