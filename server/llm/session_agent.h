/* The repair agent of one repair session: its limits from settings, its lessons in a file of the project, what came of it.  Private to server/.
 * One owner at a time; the files are read and written where it is made and closed: not on a loop that must not wait. */
#ifndef GG_SESSION_AGENT_H
#define GG_SESSION_AGENT_H

#include "repair/llm/gg_llm.h"
#include "server/options.h"

typedef struct gg_session_agent {
    gg_agent *agent;
    gg_lessons *lessons;
    char *root;          /* of the project; NULL: lessons are kept nowhere */
    char *model, *torch; /* whose explanations are looked up there, and of which torch's breaks */
    size_t known;        /* bytes of the lessons, as it was opened */
} gg_session_agent;

/* What `model` explained before is told in questions; `out` stays where it is until it is closed.  Prices of a million tokens; negative: not known.  `root`: where .graphglue/lessons.jsonl is kept; NULL: nowhere. */
void gg_session_agent_open(gg_session_agent *out, const gg_options *options, double input_price, double output_price,
                           const char *root, const char *model, const char *torch);
/* `keep`: writes what was learnt.  A file that cannot be written is logged: nothing else is lost. */
void gg_session_agent_close(gg_session_agent *agent, bool keep);
unsigned gg_session_agent_round(const gg_session_agent *agent); /* of the question that is asked now */
/* The question itself, as people read it: what is sent, and nothing else is. */
void gg_request_show(const gg_llm_request *request, gg_buf *out);

#endif
