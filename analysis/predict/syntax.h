/* Python's syntax nodes by number: a walk over a tree asks for a node's type at every step, and a string comparison is dear there.
 * Private to analysis/predict.  Any thread. */
#ifndef GG_PREDICT_SYNTAX_H
#define GG_PREDICT_SYNTAX_H

#include "analysis/gg_analysis.h"

typedef enum gg__node {
    GG__NODE_OTHER,
#define NODE(name) GG__NODE_##name,
#include "analysis/predict/nodes.def"
#undef NODE
    GG__NODE_COUNT
} gg__node;

typedef enum gg__field_name {
#define FIELD(name) GG__FIELD_##name,
#include "analysis/predict/fields.def"
#undef FIELD
    GG__FIELD_COUNT
} gg__field_name;

gg__node gg__node_of(TSNode node); /* GG__NODE_OTHER for a null node too */
/* A null node's field is null. */
TSNode gg__field_of(TSNode node, gg__field_name field);
#define GG__FIELD(node, name) gg__field_of((node), GG__FIELD_##name)

TSNode gg__undecorated(TSNode node); /* the class or function below its decorators; any other node as it is */

typedef struct gg__nodes {
    TSNode *items;
    uint32_t len;
} gg__nodes;
/* The named children but comments. */
gg__nodes gg__children(TSNode parent, gg_arena *arena);

#endif
