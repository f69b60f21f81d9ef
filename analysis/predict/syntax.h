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
TSNode gg__undecorated(TSNode node); /* the class or function below its decorators; any other node as it is */

typedef struct gg__nodes {
    TSNode *items;
    uint32_t len;
} gg__nodes;

typedef struct gg__shape {
    gg__nodes children;
    struct gg__field *fields; /* the first of each name */
    uint32_t field_count;
} gg__shape;

/* What a walk asked for of a tree's nodes, each read once and in one pass: a walk comes by again and again.  All zero: new.  One owner at a time. */
typedef struct gg__syntax {
    gg_map by_node; /* 1 + which shape */
    GG_LIST(gg__shape) shapes;
    gg_arena *arena; /* NULL: nothing was asked for, and there is no cursor */
    TSTreeCursor cursor;
} gg__syntax;

void gg__syntax_clear(gg__syntax *syntax);
/* The named children but comments; not to be written to. */
gg__nodes gg__children(gg__syntax *syntax, TSNode parent);
TSNode gg__field_in(gg__syntax *syntax, TSNode node, gg__field_name name); /* as gg__field_of */

#endif
