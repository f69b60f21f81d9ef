/* What the files of analysis/ share among themselves.  Not for other folders. */
#ifndef GG_ANALYSIS_PRIVATE_H
#define GG_ANALYSIS_PRIVATE_H

#include "analysis/gg_analysis.h"

/* What is known of a text, so that its bytes need not be looked at. */
typedef struct gg__text_facts {
    bool maybe_cr;      /* false: there is no "\r" */
    bool maybe_lone_cr; /* false: every line ends in "\n" or "\r\n", so our lines are tree-sitter's rows */
    bool ascii;         /* false: it is not known */
} gg__text_facts;

/* How much of the text `before` the tree's text begins and ends with, for sure; false: it is not known. */
bool gg__tree_kept(const gg_tree *tree, const gg_text *before, uint32_t *head, uint32_t *tail);
uint64_t gg__text_serial(const gg_text *text); /* no two texts have the same */

/* tree-sitter's idea of a position: rows end at '\n' only, so that it differs from ours where a line ends in a lone '\r'. */
TSPoint gg__text_point(const gg_text *text, uint32_t offset);
/* The start of the code point that `offset` (clamped to the text) lies in. */
uint32_t gg__text_boundary(const gg_text *text, uint32_t offset);

/* Takes bytes (with room for the NUL, which is there) and starts. */
gg_text *gg__text_new_take(char *bytes, uint32_t len, uint32_t *starts, uint32_t line_count, gg__text_facts facts);
const uint32_t *gg__text_starts(const gg_text *text, gg__text_facts *facts); /* one for each line */
bool gg__is_ascii(gg_str bytes);
int gg__check_utf8(gg_str bytes, size_t base_offset, size_t line, gg_error *err) GG_MUST_USE;
/* Bytes from the begin of a line (without its terminator) to a character of it; clamps, and never splits a code point. */
uint32_t gg__line_offset(gg_str line, uint32_t character, gg_encoding encoding);

/* The expression that stands for a node in a diagnostic: the condition of an `if`, the value of a `return`, the name of a
 * definition; parentheses taken off. */
TSNode gg__header_expression(TSNode node);

/* The one-line message of a site, with the tree's help (NULL is fine); our words of its explanation, without Dynamo's. */
gg_str gg__explain_summary(const gg_site *site, const gg_tree *tree, gg_arena *arena);
gg_str gg__explain_words(const gg_site *site, const gg_tree *tree, const gg_registry *registry, gg_arena *arena);

gg_str gg__enclosing_name_of(const gg_tree *tree, TSNode node, gg_arena *arena);
TSNode gg__enclosing_function(TSNode node); /* function_definition or lambda; null node at module or class level */

#endif
