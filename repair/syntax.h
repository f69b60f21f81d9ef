/* What rules need to know of Python's syntax.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_SYNTAX_H
#define GG_REPAIR_SYNTAX_H

#include "repair/gg_repair.h"

/* Nearest statement around a node: the child of a block or module. Null node when none. */
TSNode gg__statement(TSNode node);
/* Nearest function (or the module) around a node. */
TSNode gg__function(TSNode node);
/* As tree-sitter's, but a null node has no fields, parent, children or text. */
TSNode gg__field(TSNode node, const char *name);
TSNode gg__parent(TSNode node);
bool gg__is_comprehension(TSNode node);    /* or a generator expression */
bool gg__is_operator(TSNode node);         /* arithmetic or a comparison: a subscript binds tighter */
bool gg__is_target(TSNode subscript);      /* `l[n] = v`, `l[n] += v`, `del l[n]`, `l[n], b = …`: no reading */
TSNode gg__child(TSNode node, uint32_t i); /* named */
uint32_t gg__child_count(TSNode node);     /* named */
gg_str gg__text(const gg_tree *tree, TSNode node);
bool gg__covers(TSNode node, gg_span span); /* not when it is null */
TSNode gg__strip_parentheses(TSNode node);
/* Number of children that are no comments. */
uint32_t gg__statement_count(TSNode block);
bool gg__ends_with(TSNode block, const char *const *types, size_t count); /* is its last statement one of these? */
TSNode gg__only_statement(TSNode block);                                  /* null node when there are more */
/* White space in front of the line's first character, and whether `offset` is that character. */
gg_str gg__indent(const gg_tree *tree, uint32_t offset);
bool gg__starts_line(const gg_tree *tree, uint32_t offset);
bool gg__is_word(char c); /* of a name */
/* Puts `unit` in front of these rows, but for empty ones. */
void gg__indent_lines(const gg_tree *tree, uint32_t from, uint32_t to, gg_str unit, gg_edits *edits);
uint32_t gg__line_end(const gg_tree *tree, uint32_t offset); /* behind a comment on the same line */
/* One more level as the file writes it: the indentation of the first block, else four spaces. */
gg_str gg__indent_unit(const gg_tree *tree);
/* In a file whose lines end in \r\n those of the edits do so, too: a comment's node has the \r in it.  Texts in `arena`. */
void gg__keep_line_ends(const gg_text *before, gg_edits *edits, gg_arena *arena);
gg_str gg__newline(const gg_tree *tree); /* "\n" or "\r\n", as the file has it */

bool gg__is_in_inner_function(TSNode node, TSNode scope); /* of one inside the scope, which may be called whenever */
bool gg__is_one_of(gg_str text, const char *const *words, size_t count);

/* ---- names (scope.c) ------------------------------------------------------------------------------------------------ */
bool gg__is_member_name(TSNode identifier); /* `x.name`, `f(name=…)`: no variable */
/* Is this identifier a place where its name is bound (or unbound, or declared global)? */
bool gg__is_binding(TSNode identifier);
bool gg__binds(const gg_tree *tree, TSNode scope, gg_str name);      /* anywhere inside, nested functions too */
bool gg__binds_path(const gg_tree *tree, TSNode scope, gg_str path); /* … or an attribute, `self.t`; not by an import */
/* Is the name bound in a function, lambda or comprehension around `at`?  Then nothing at module level is known of it. */
bool gg__is_local(const gg_tree *tree, TSNode at, gg_str name);
/* The module's own bindings of a name, and `global` ones; until found returns false. */
bool gg__each_module_binding(const gg_tree *tree, gg_str name, bool (*found)(TSNode node, void *data), void *data);
bool gg__is_bound_in_module(const gg_tree *tree, gg_str name);
/* The text by which `module` ("torch", "torch.nn.functional") is reached at a place; empty when it is not imported at module level, or
 * the name may be something else there. */
gg_str gg__module_alias(const gg_tree *tree, TSNode at, const char *module);
/* Is the dotted name that function, class or module ("torch._dynamo.graph_break"), by whatever import, at module level or in a function
 * around it?  A name bound to anything else as well is not. */
bool gg__refers_to(const gg_tree *tree, TSNode node, const char *path);
bool gg__has_star_import(const gg_tree *tree); /* `from m import *`: any global name may be another's */
/* Is any identifier in the node one of the words, a member's name or a keyword too? */
bool gg__has_word(const gg_tree *tree, TSNode node, const char *const *words, size_t count);
bool gg__is_positional(TSNode argument); /* a value given by its place: no keyword, nothing unpacked, no comment */
bool gg__names_builtin(const gg_tree *tree, TSNode node, const char *name);
/* Can it be reached there, if need be by a new import? */
bool gg__can_name(const gg_tree *tree, TSNode at, const char *module);
/* Adds it where imports belong. */
void gg__add_import(const gg_tree *tree, gg_str statement, gg_arena *arena, gg_edits *edits);
/* Its alias; when it is not imported, adds `import <module>` where imports belong.  Call only where gg__can_name. */
gg_str gg__require_module(const gg_tree *tree, TSNode at, const char *module, gg_arena *arena, gg_edits *edits);
/* In front of the module's statement around the node, and of the comments that belong to it. */
uint32_t gg__front_of_definition(TSNode node);
/* The noun, numbered where need be, that the file has nowhere, not even in a text; empty: none is free. */
gg_str gg__free_name(const gg_tree *tree, const char *noun, gg_arena *arena);

/* ---- Dynamo's settings (settings.c) ----------------------------------------------------------------------------------- */
bool gg__has_id(const gg_rule_input *in, const char *const *ids, size_t count); /* is the site's one of them? */
/* Can `torch._dynamo.config.<name>` be set in this file?  Not when the file speaks of it: whatever it says is the author's choice. */
bool gg__can_set(const gg_tree *tree, const char *name);
bool gg__is_set(const gg_tree *tree, const char *name); /* to True, by a statement of the module */
/* A statement that sets it: behind the module's other settings, else before its first torch.compile, else after its imports.  `member`: the
 * expression that a set gets; empty: true.  Call only where gg__can_set. */
void gg__set(const gg_tree *tree, const char *name, gg_str member, gg_arena *arena, gg_edits *edits);

/* ---- messages (diagnostics.c) ----------------------------------------------------------------------------------------- */
/* An expression statement whose only work is output or logging (print, warnings.warn, a method of a logger), or to wait and to free memory, with its value unused and
 * arguments that change nothing.  Resolved through imports and module-level assignments, or by the break's own record. */
bool gg__is_diagnostic(const gg_rule_input *in, TSNode statement);
/* … or a call of the kind, whose value is certainly None, wherever it stands. */
bool gg__is_message_of_none(const gg_rule_input *in, TSNode call);
/* All statements of the block are diagnostics (or `pass`, comments). */
bool gg__only_diagnostics(const gg_rule_input *in, TSNode block);
/* Evaluating it changes nothing, as far as names tell: an allow-list of operations, functions and methods. */
bool gg__is_harmless(const gg_tree *tree, TSNode expression);
/* Evaluating it raises nothing, for no values. */
bool gg__cannot_fail(const gg_rule_input *in, TSNode expression);
bool gg__reads_only(const gg_tree *tree, TSNode call); /* a function or method known by its name to change nothing */
bool gg__is_clock(const gg_tree *tree, TSNode call);   /* time.perf_counter() and its like */
/* May an exception raised here be caught, or what is printed be collected, by code around it in the same function? */
bool gg__is_watched(const gg_tree *tree, TSNode statement);
/* … or may an exception be caught by a function of the file that calls this one, over others or as a module (caught.c)? */
bool gg__may_be_caught(const gg_tree *tree, TSNode statement);
bool gg__may_be_caught_as(const gg_tree *tree, TSNode statement,
                          gg_str type); /* … of that type; empty: of what it raises by itself */
/* Is there an `except` in the file that could catch what the statement raises, or the RuntimeError of an assert in its place, if its body led here (handlers.c)? */
bool gg__has_handler(const gg_tree *tree, TSNode statement, gg_str type);
/* The same of a message, and of what it is made of: what cannot fail meets no handler, and most contexts do not listen. */
bool gg__is_heard(const gg_rule_input *in, TSNode statement);

/* Does any identifier inside `node` have this name? */
bool gg__reads(const gg_tree *tree, TSNode node, gg_str name);
bool gg__reads_path(const gg_tree *tree, TSNode node, gg_str path); /* … or `self.scale`, as facts have it */
/* What the local name is bound to, where it is bound once in the function around it: the right side of an assignment, or the pattern `**kwargs`.
 * Null where that is not so. */
TSNode gg__only_value(const gg_tree *tree, TSNode name);
/* The only binding of the name in the function around it, of whichever form; else null. */
TSNode gg__only_binding(const gg_tree *tree, TSNode name);
/* Of such a name: all its uses, in nested functions too. */
bool gg__each_use(const gg_tree *tree, TSNode name, bool (*allowed)(TSNode node, void *data), void *data);
/* The list or tuple written there, or held all along and unchanged by the local name there, of constant numbers, none of them NaN; else null. */
TSNode gg__number_display(const gg_rule_input *in, TSNode node);
/* The call `torch.tensor(list)` or `torch.as_tensor(list, …)` of this first argument, which copies a list; else null. */
TSNode gg__tensor_made_of(const gg_tree *tree, TSNode list);
/* Does a comment lie inside the span?  An edit that replaces the span would lose it. */
bool gg__has_comment(const gg_tree *tree, gg_span span);
/* The comments inside the span but outside the kept nodes (null ones are fine), each on a line of its own in front of what starts there. */
gg_str gg__comments(const gg_tree *tree, gg_span span, const TSNode *kept, size_t count, gg_arena *arena);
/* Is the statement the only one on its lines? */
bool gg__alone_on_line(const gg_tree *tree, TSNode statement);
/* Takes a span that starts its line away, with its lines; a comment behind it stays. */
void gg__delete_lines(const gg_tree *tree, gg_span span, gg_edits *edits);
/* Takes a statement away; with `pass` in its place where Python wants a statement. */
void gg__delete_statement(const gg_tree *tree, TSNode statement, gg_edits *edits);
/* Does the text need parentheses as an operand of `and`, `not` or an argument? */
bool gg__needs_parentheses(TSNode node);

/* Visits every named descendant (and node itself), parents first; stops when visit returns false. */
typedef bool (*gg__visitor)(TSNode node, void *data);
bool gg__visit(TSNode node, gg__visitor visit, void *data);
bool gg__is_no_long_text(TSNode node, void *data); /* a visitor: false at a string of several lines */
bool gg__stop(TSNode node, void *data);            /* a visitor for whom one is enough: false */
TSNode gg__next_statement(TSNode statement);       /* behind comments; null at the end of the block */
TSNode gg__class_around(TSNode node);              /* the innermost class it stands in; null outside of any */
/* The parameter of that name, whole (`x: int = 3`); null when the function has none. */
TSNode gg__parameter(const gg_tree *tree, TSNode function, gg_str name);
uint32_t gg__place_of_parameter(TSNode parameters, TSNode parameter); /* how many stand in front of it */

/* ---- inference (infer.c) -------------------------------------------------------------------------------------------- */
typedef enum gg__sort { GG__UNKNOWN, GG__SCALAR_INT, GG__SCALAR_FLOAT, GG__SCALAR_BOOL, GG__TENSOR } gg__sort;

/* What the dtype depends on beside the operands; false when on nothing. */
typedef enum gg__vagueness {
    GG__CERTAIN,
    GG__LOWERED, /* under autocast it is of lower precision, as of a matrix product */
    GG__WIDENED, /* under autocast it is float32 */
    GG__DEFAULT, /* torch.set_default_dtype */
    GG__VAGUE    /* on more than one of them */
} gg__vagueness;

enum { GG__MAX_RANK = 8 };

/* What an expression is, proven from the capture's facts and an allow-list of pure operations: none of them fails for some values. */
typedef struct gg__meta {
    gg__sort sort;
    int32_t rank;
    gg_str dtype;                /* "torch.float32" */
    gg_str device;               /* "cpu"; empty when not known */
    gg_str layout;               /* empty: row after row; else whose strides it has, "?" when not known */
    int64_t shape[GG__MAX_RANK]; /* rank items; -1 when not known */
    gg__vagueness vague;
    bool smooth; /* gradients are finite where the values are: no division by a tensor, root or logarithm */
    bool linear; /* gradients do not depend on the values */
    bool fresh;  /* a new tensor: no alias of a variable */
    /* of a Python number */
    bool seen, constant; /* has this value in the capture; always has it */
    bool steady;         /* constant, or what the module gives a name once: another module may give it another */
    bool natural;        /* never below zero */
    bool filled;         /* never zero, unless a size of a tensor is */
    double value;
    TSNode source; /* the name or attribute whose memory a tensor that is not fresh may share */
} gg__meta;

gg__meta gg__infer(const gg_rule_input *in, TSNode node);
const gg_fact *gg__fact_of(const gg_rule_input *in, gg_str name); /* of the break; NULL: none */
bool gg__is_floating(gg_str dtype);                               /* of 16, 32 or 64 bits */
bool gg__is_half(gg_str dtype);
bool gg__is_pure_module(const gg_rule_input *in,
                        TSNode path); /* `self.proj`, as the capture has it and every instance */
bool gg__is_operation(const gg_rule_input *in,
                      TSNode call); /* a method or function known to read its operand and return a new tensor */

/* ---- in-place changes (alias.c) ----------------------------------------------------------------------------------------- */
/* Does it show when `target` (a name; empty for what is returned) and the name the arm consists of are no longer the same tensor, because one
 * is changed in place in the function, or by a caller in the file, as far as syntax tells? */
bool gg__alias_shows(const gg_rule_input *in, TSNode statement, TSNode arm, gg_str target);
/* The same where the arm is returned, so that nothing of the function itself runs any more but what it has handed out. */
bool gg__returned_alias_shows(const gg_rule_input *in, TSNode statement, TSNode arm);
/* Is the selected value a copy that the function's caller may meet, where the arm is a tensor that others hold? */
bool gg__is_copy(const gg_rule_input *in, TSNode statement, TSNode arm, gg_str target);
/* May both arms be the same memory?  Then a caller may count on getting it. */
bool gg__may_be_one(const gg_rule_input *in, TSNode statement, TSNode a, TSNode b);
/* Does nobody else hold the tensor of the name when the statement begins?  It was made by arithmetic before it, in the same block. */
bool gg__owns(const gg_rule_input *in, TSNode statement, gg_str name);
/* torch.empty(4, 4), torch.zeros(x.shape, dtype=…); `like`: torch.empty_like(x).  Memory that nobody else holds. */
bool gg__makes_anew(const gg_tree *tree, TSNode call, bool *like);
bool gg__same_tensor(gg__meta a, gg__meta b); /* equal dtype, shape and strides */
bool gg__is_condition(gg__meta m);            /* a 0-d bool tensor */

#endif
