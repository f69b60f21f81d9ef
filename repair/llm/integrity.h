/* What the files that look for cheats share.  Private to repair/llm/.
 *
 * DESIGN  Code the user wrote may do all of it; what counts is what a change adds.  So the same look is taken at the definition before and after, each thing
 * seen is a finding with a key, and a finding the original does not have as often is a cheat.  What cannot be counted (signatures, layers, whether results
 * depend on arguments) is compared. */
#ifndef GG_LLM_INTEGRITY_H
#define GG_LLM_INTEGRITY_H

#include "repair/llm/exchange.h"

typedef enum gg__cheat {
    GG__CHEAT_OK,
#define CHEAT(id, name, words) GG__CHEAT_##id,
#include "repair/llm/cheats.def"
#undef CHEAT
    GG__CHEAT_COUNT
} gg__cheat;

typedef struct gg__finding {
    gg__cheat cheat;
    gg_str key;      /* findings with the same key are the same thing; shown to the model */
    uint32_t weight; /* how much of it there is: 1, or the statements that a handler watches */
} gg__finding;

typedef struct gg__import { /* a name, and what it stands for */
    gg_str name, path;
    bool module; /* it is one for sure: not only something in one */
} gg__import;

typedef struct gg__look { /* at one side */
    const gg_tree *tree;
    TSNode definition;
    gg_arena *arena;
    GG_LIST(gg__import) imports;
    GG_LIST(gg__finding) findings;
    gg_map locals; /* what gg__is_bound_around found */
} gg__look;

/* ---- names.c ---- */
void gg__look_init(gg__look *look, const gg_tree *tree, TSNode definition, gg_arena *arena);
void gg__look_clear(gg__look *look);
/* "torch.nn.functional.relu", by whatever import or assignment; empty when the root is not imported. */
gg_str gg__path_of(const gg__look *look, TSNode node);
gg__cheat gg__judge_path(gg_str path);
/* Is a module (a name, or `torch.nn`) handed on as a value, so that nobody can tell what is asked of it?  `t = torch` is none: names are followed. */
bool gg__is_loose_module(const gg__look *look, TSNode name);
bool gg__is_system_module(gg_str name);
void gg__find(gg__look *look, gg__cheat cheat, gg_str key, uint32_t weight);
void gg__find_node(gg__look *look, gg__cheat cheat, TSNode node); /* its first line is the key */
/* Is it a variable of a function, lambda or comprehension around, as Python looks names up?  Imports make none. */
bool gg__is_bound_around(gg__look *look, TSNode identifier, gg_str name);
/* The name the method's own object goes by; empty outside a method. */
gg_str gg__self_name(const gg__look *look, TSNode at);
bool gg__is_self(const gg__look *look, TSNode node);
/* The function or class around it, in the definition; null node when none. */
TSNode gg__around(TSNode node, const char *type);

/* ---- scan.c, writes.c, loops.c ---- */
void gg__scan(gg__look *look);
void gg__scan_writes(gg__look *look, TSNode node);
void gg__scan_loops(gg__look *look, TSNode node);

/* ---- shape.c, layers.c, flow.c: 0 or the cheat, with the code that shows it ---- */
gg__cheat gg__compare_shape(gg__look *before, gg__look *after, gg_str *shown);
gg__cheat gg__compare_layers(gg__look *before, gg__look *after, gg_str *shown);
gg__cheat gg__compare_flow(gg__look *before, gg__look *after, gg_str *shown);
bool gg__is_modules_own(gg_str name); /* what torch.nn.Module does under that name */
/* Calls `visit` with each function of the definition (itself, methods, those of inner classes; no functions in functions) and its like in the other
 * side (null node: it is gone). */
typedef gg__cheat (*gg__pair_visitor)(gg__look *before, TSNode a, gg__look *after, TSNode b, gg_str *shown);
gg__cheat gg__each_pair(gg__look *before, gg__look *after, const char *type, gg__pair_visitor visit, gg_str *shown);

#endif
