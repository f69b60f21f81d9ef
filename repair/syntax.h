/* What rules need to know of Python's syntax.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_SYNTAX_H
#define GG_REPAIR_SYNTAX_H

#include "repair/gg_repair.h"

/* Nearest statement around a node: the child of a block or module. Null node when none. */
TSNode gg__statement(TSNode node);
/* Nearest function (or the module) around a node. */
TSNode gg__function(TSNode node);
TSNode gg__field(TSNode node, const char *name);
TSNode gg__strip_parentheses(TSNode node);
/* Number of children that are no comments. */
uint32_t gg__statement_count(TSNode block);
TSNode gg__only_statement(TSNode block); /* null node when there are more */
/* White space in front of the line's first character, and whether `offset` is that character. */
gg_str gg__indent(const gg_tree *tree, uint32_t offset);
bool gg__starts_line(const gg_tree *tree, uint32_t offset);
/* One more level as the file writes it: the indentation of the first block, else four spaces. */
gg_str gg__indent_unit(const gg_tree *tree);
gg_str gg__newline(const gg_tree *tree); /* "\n" or "\r\n", as the file has it */

/* The name under which a module-level import makes `module` ("torch", "torch.nn.functional") available; empty when none does. */
gg_str gg__module_alias(const gg_tree *tree, const char *module, gg_arena *arena);
/* As above; when it is not imported, adds `import <module>` where imports belong. */
gg_str gg__require_module(const gg_tree *tree, const char *module, gg_arena *arena, gg_edits *edits);

/* A call whose only work is output or logging: print, warnings.warn, a method of a logger.  Resolved through imports and module-level
 * assignments; a shadowed name is refused. */
bool gg__is_diagnostic_call(const gg_tree *tree, TSNode call);
/* An expression statement that is such a call (its value unused). */
bool gg__is_diagnostic(const gg_tree *tree, TSNode statement);
/* All statements of the block are diagnostics (or `pass`, comments). */
bool gg__only_diagnostics(const gg_tree *tree, TSNode block);

/* Does any identifier inside `node` have this name? */
bool gg__reads(const gg_tree *tree, TSNode node, gg_str name);
/* Is the tensor of this name changed in place anywhere in the scope, as far as syntax tells? */
bool gg__mutates(const gg_tree *tree, TSNode scope, gg_str name);
/* Does a comment lie inside the span?  An edit that replaces the span would lose it. */
bool gg__has_comment(const gg_tree *tree, gg_span span);
/* Does the text need parentheses as an operand of `and`, `not` or an argument? */
bool gg__needs_parentheses(TSNode node);

/* Visits every named descendant (and node itself), parents first; stops when visit returns false. */
typedef bool (*gg__visitor)(TSNode node, void *data);
bool gg__visit(TSNode node, gg__visitor visit, void *data);

/* ---- inference (infer.c) -------------------------------------------------------------------------------------------- */
typedef enum gg__sort { GG__UNKNOWN, GG__SCALAR_INT, GG__SCALAR_FLOAT, GG__SCALAR_BOOL, GG__TENSOR } gg__sort;

/* What an expression is, proven from the capture's facts and an allow-list of pure operations. */
typedef struct gg__meta {
    gg__sort sort;
    gg_str dtype; /* "torch.float32" */
    int32_t rank;
    const int64_t *shape; /* rank items; NULL when rank is 0 */
    bool smooth;          /* an unselected value cannot poison gradients: no division by a tensor, root or logarithm */
    bool fresh;           /* a new tensor: no alias of a variable */
} gg__meta;

gg__meta gg__infer(const gg_rule_input *in, TSNode node);
bool gg__is_floating(gg_str dtype);
bool gg__same_tensor(gg__meta a, gg__meta b); /* equal dtype and shape */
bool gg__is_condition(gg__meta m);            /* a 0-d bool tensor */

#endif
