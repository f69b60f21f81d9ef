/* The graphs of an entry, as they are shown: private to graphs*.c. */
#ifndef GG_GRAPHS_H
#define GG_GRAPHS_H

#include "analysis/gg_analysis.h"

/* What is shown, from top to bottom: graphs, and the breaks between them. */
typedef struct gg__shown {
    const gg_graph *graph;      /* NULL: a break */
    size_t number;              /* of the graph, from 1 */
    const gg_graph_break *ends; /* NULL: a graph */
} gg__shown;
typedef GG_LIST(gg__shown) gg__shown_list;
void gg__graphs_order(gg__shown_list *out, const gg_graphs *graphs); /* the caller clears */
gg_str gg__file_name(gg_str path);

#endif
