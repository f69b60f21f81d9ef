/* fix --llm: a language model as the second source of repairs.  Private to server/cli/.  Loop thread only. */
#ifndef GG_FIX_MODEL_H
#define GG_FIX_MODEL_H

#include "server/cli/cli.h"

typedef struct gg_cli_model gg_cli_model;
/* GG_ENOTFOUND, GG_EPARAMS: no model is configured, or wrongly so; words say what to set. */
int gg_cli_model_new(gg_cli_model **out, gg_cli_run *run, const gg_cli_args *args, gg_error *err) GG_MUST_USE;
void gg_cli_model_free(gg_cli_model *model); /* before the run.  NULL is fine */
const char *gg_cli_model_name(const gg_cli_model *model);
/* Between these, `fix` asks the model for what no rule mends.  `end` keeps what was learnt. */
void gg_cli_model_begin(gg_cli_model *model, gg_fix *fix, const gg_cli_file *file);
void gg_cli_model_end(gg_cli_model *model, const gg_cli_file *file);
/* Carries the question of an ASK, and tells the session the answer. */
int gg_cli_model_ask(gg_cli_model *model, gg_fix *fix, const gg_fix_action *action, gg_error *err) GG_MUST_USE;
/* What the model was asked for this file, as JSON (docs/json.md) and as a line of text; null and nothing when it was not. */
json_t *gg_cli_model_json(const gg_cli_model *model);
void gg_cli_model_print(const gg_cli_model *model);

#endif
