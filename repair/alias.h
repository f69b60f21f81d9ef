/* In-place changes, and whether it shows that a tensor is a copy.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_ALIAS_H
#define GG_REPAIR_ALIAS_H

#include "repair/syntax.h"

/* ---- changes.c --------------------------------------------------------------------------------------------------------- */
/* Calls found for each expression whose tensor may be changed in place, or asked who it is, in the scope: from a byte on, and anywhere in
 * functions inside it, since they may be called whenever.  A call that may do so, as far as the file tells, does it to all it is given.
 * False when found returned false. */
bool gg__each_change(const gg_rule_input *in, TSNode scope, uint32_t from, gg__visitor found, void *data);
/* Is nothing in the file changed so? */
bool gg__changes_nothing(const gg_rule_input *in);
/* The same without facts, which are those of the break's own function: for what other functions do.  It borrows `nowhere`. */
gg_rule_input gg__blind(const gg_rule_input *in, gg_site *nowhere);
/* Is it graphglue_inputs()?  What it calls is called for the verification alone. */
bool gg__lists_inputs(const gg_tree *tree, TSNode function);
/* `F.relu(x, True)`: may an argument without a name say that it is done in place? */
bool gg__is_in_place_by_position(const gg_tree *tree, TSNode call);
bool gg__is_in_place_by_keyword(const gg_tree *tree, TSNode call); /* `out=t`, `inplace=True` */
/* Is it a function of torch that leaves alone what it is given, but for one that is named by `out` or ends in an underscore? */
bool gg__is_torchs(const gg_tree *tree, TSNode call);
/* From where on to look for what runs after the statement: from itself, or from the loop around it. */
uint32_t gg__runs_from(TSNode statement);
gg_str gg__called_name(const gg_tree *tree, TSNode call); /* `g` of g(x) and a.g(x); empty when it has none */
/* Calls found for each function of that name in the file. */
bool gg__each_definition(const gg_tree *tree, gg_str name, gg__visitor found, void *data);

/* ---- gentle_modules.c: modules that leave alone what they are given -------------------------------------------------------- */
typedef struct gg__habits {
    bool keeps; /* they change tensors of their own */
    bool draws; /* … draw random numbers, in training at least */
} gg__habits;

/* Where the modules are that a call calls: `self.proj` of `self.proj(x)`, `self.layers` of `layer(x)` in a loop through them; null when it is no such call. */
TSNode gg__modules_called(const gg_tree *tree, TSNode function);
/* Do the modules there leave alone what they are given, as the file makes them: torch's, and those whose class is in the file?  Calls forward for the
 * forward() of these, which is to say whether it does. */
bool gg__are_gentle_modules(const gg_tree *tree, TSNode modules, gg__visitor forward, void *data, gg__habits *habits);

/* ---- holders.c: who has a tensor --------------------------------------------------------------------------------------- */
/* The value that the name holds at a node: the right side of the nearest assignment before it in the same block, or in a block around
 * what is inside if statements; null when that is not plain to see. */
TSNode gg__value_at(const gg_tree *tree, TSNode node, gg_str name);
/* … also of `lo, hi = v, w`, whose other names are bound at once. */
TSNode gg__value_among(const gg_tree *tree, TSNode node, gg_str name);
/* Does the expression make a new tensor, as its form tells?  Of lists, binary operators make new ones too: of the same elements. */
bool gg__makes_new(const gg_rule_input *in, TSNode value);
/* Is the value of the node only read here, by what gives something new? */
bool gg__is_consumed(const gg_rule_input *in, TSNode node);
/* Is the node an element of a local list that only ever goes to what makes a new tensor of its elements, as torch.stack does: appended, or in a
 * comprehension, in a function that changes nothing in place? */
bool gg__is_gathered(const gg_rule_input *in, TSNode node);
/* The name that a chain of attributes, subscripts and calls begins with, or else the node itself. */
TSNode gg__root_of(TSNode node);
/* May one of the names be the memory that `self` holds, as far as the function's assignments and its callers in the file tell? */
bool gg__may_be_selfs(const gg_rule_input *in, TSNode function, const gg_str *names, size_t count);

/* ---- owners.c --------------------------------------------------------------------------------------------------------- */
/* `v[i] = x` and `v += x` on a list change the list alone; v[0].add_(1) and f(v) change what is in it. */
bool gg__changes_itself(TSNode changed);
/* Does nobody ever hold the name's tensor under another name, wherever it is in the function, but in the span `but`?  `returned`: it may be returned. */
bool gg__is_never_shared(const gg_rule_input *in, TSNode function, gg_str name, gg_span but, bool returned);
/* … in the node? */
bool gg__is_unshared_in(const gg_rule_input *in, TSNode node, gg_str name);

/* ---- unchanged.c ------------------------------------------------------------------------------------------------------------ */
/* Are the tensors of the attributes of these names, of whatever object, never changed in place in the file under another name, nor handed on to who
 * may?  What the branch does is left out. */
bool gg__are_unchanged_attributes(const gg_rule_input *in, TSNode branch, const gg_str *names, size_t count);

#endif
