/* check --llm: sites explained by a language model.  Private to server/cli/.  Loop thread only. */
#ifndef GG_CHECK_MODEL_H
#define GG_CHECK_MODEL_H

#include "server/cli/cli.h"

/* Where no model is configured, or wrongly so, that is said on stderr, and nothing is asked. */
gg_cli_explainer *gg_cli_explainer_new(gg_cli_run *run, const gg_cli_args *args);
void gg_cli_explainer_free(gg_cli_explainer *explainer); /* before the run.  NULL is fine */
/* Puts a model's words in the sites of the user's own files, from the cache or asked for: it waits.  What has none keeps ours; why is said on stderr, once.
 * The words live as long as the explainer. */
void gg_cli_explain_sites(gg_cli_explainer *explainer, const gg_cli_file *file, gg_site_list *sites,
                          gg_sources *sources);
/* The same of sites that were grouped otherwise: nothing is asked.  NULL explainer is fine. */
void gg_cli_explain_again(const gg_cli_explainer *explainer, gg_site_list *sites);

#endif
