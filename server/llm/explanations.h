/* What a model said of breaks, kept by content, model and torch: .graphglue/cache/explanations/<hash>.json of the project.  Private to server/.
 * Blocking file I/O; any thread, no state.  What a file says is looked at as an answer is: the folder may come from somebody else. */
#ifndef GG_EXPLANATIONS_H
#define GG_EXPLANATIONS_H

#include "repair/llm/gg_llm.h"

enum { GG_EXPLANATION_KEY = 33 };
/* The name of what is kept: of gg_explain_subject and the model.  false: there is nothing to keep. */
bool gg_explanation_key(char out[GG_EXPLANATION_KEY], gg_str subject, const char *model);
typedef struct gg_explained_by {
    const char *root;  /* of the project */
    const char *model; /* whose words they are … */
    const char *torch; /* … of what this version says; "" where it is not known */
} gg_explained_by;
/* false: nothing is known of the site as it is.  *out lives in the arena. */
bool gg_explanation_find(gg_str *out, const gg_explained_by *by, const gg_tree *tree, const gg_site *site,
                         gg_arena *arena);
/* Failure is silent: a cache is a convenience. */
void gg_explanation_keep(const gg_explained_by *by, const gg_tree *tree, const gg_site *site, gg_str text);

#endif
