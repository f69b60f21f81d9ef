/* Elements chosen by a boolean mask, `x[m]`, in expressions that treat each of them alike.  Private to repair/.  Any thread.
 *
 * How many elements a mask chooses is known at run time only, so Dynamo stops.  Where each is treated alike and the others can be told apart
 * later, all of them can be computed: the shape is then that of `x`. */
#ifndef GG_REPAIR_MASKS_H
#define GG_REPAIR_MASKS_H

#include "repair/syntax.h"

typedef struct gg__item { /* `x[m]`, `x.masked_select(m)`, `torch.masked_select(x, m)` */
    TSNode base, mask;
    gg__meta of, by; /* of the base and of the mask, whose sizes are the base's first ones */
    TSNode
        inner; /* … and of the row that is reduced, `x[m]` of `x[m].argmax(-1)`, which stands for the base x.argmax(-1) */
    TSNode row; /* x */
} gg__item;

/* Is the node such an item, proven by the facts? */
bool gg__masked_item(const gg_rule_input *in, TSNode node, gg__item *out);
/* … whose base is evaluated as before, once: it may draw random numbers. */
bool gg__masked_item_drawn(const gg_rule_input *in, TSNode node, gg__item *out);

typedef struct gg__masked {
    const gg_rule_input *in;
    bool names;    /* names may stand for expressions, as gg__masked_name */
    int depth;     /* of such names */
    bool draws;    /* items are evaluated as before, once */
    bool rounded;  /* also operations whose last bit depends on where an element lies: exp, tanh */
    gg__item item; /* mask and shape are those of every item in the expression; the mask is null before the first */
    gg_str dtype;  /* of the expression */
    bool alone;    /* a tensor without dimensions takes part */
    bool
        relies; /* on numbers that the program may give another value: else a gradient is not finite where no element is chosen */
    bool affine; /* nothing is kept for its gradient, which is finite whatever the elements are */
} gg__masked;

/* Is the node an item, or what is made of each row by `x[m].max(1)[0]` and its like? */
bool gg__item_of(const gg__masked *e, TSNode node, gg__item *out);
/* Is the expression made of items of one mask, numbers and 0-d tensors, element by element, and pure?  Fills in the rest of `e`, of which the
 * caller gives the first two (and may give item). */
bool gg__is_elementwise(gg__masked *e, TSNode node);
/* Is the node a name that stands for such an expression? */
bool gg__is_name_of_items(const gg__masked *e, TSNode node, TSNode *out_value);
/* Is `item op node`? */
bool gg__is_elementwise_with(gg__masked *e, gg_str op, TSNode node);
/* The expression for all elements of the bases.  Those not chosen count as 1 where their values could do harm: to gradients, or when what is
 * kept for the gradient is changed in place. */
gg_str gg__spread(const gg__masked *e, TSNode node, gg_str torch, gg_arena *arena);
gg_str gg__spread_item(const gg__masked *e, const gg__item *item, gg_str torch, gg_arena *arena);
/* The mask with as many dimensions as the base. */
gg_str gg__mask_text(const gg_rule_input *in, const gg__item *item, gg_arena *arena);
/* The text of a node with another one in the place of a part of it. */
gg_str gg__text_around(const gg_tree *tree, TSNode node, TSNode part, gg_str text, gg_arena *arena);
/* Its text as the operand of an attribute or subscript. */
gg_str gg__operand_text(const gg_rule_input *in, TSNode node, gg_arena *arena);

/* ---- stores and indices (stores.c) ------------------------------------------------------------------------------------------ */
typedef struct gg__store { /* `x[m] = f(x[m])`, `x[m] *= k` */
    TSNode assignment, right;
    gg_str op; /* "*" of `*=`; empty for `=` */
    gg__masked e;
} gg__store;

/* Is the statement such a store, of as many elements as the mask chooses?  Without `exact` f may be what rounds otherwise in another place, as exp().
 * Points into `in`. */
bool gg__masked_store(const gg_rule_input *in, TSNode statement, bool exact, gg__store *out);
/* … at the break: what a rule checks; with `edits`, it is written as well, texts in `arena`.  Both may be NULL. */
/* Is the assignment `x[m] = 0.0`, which is the same under any mask, and no break? */
bool gg__is_masked_fill(const gg_rule_input *in, TSNode assignment);
bool gg__take_masked_store(const gg_rule_input *in, bool exact, TSNode *out_node, gg_arena *arena, gg_edits *edits);
/* x.copy_(torch.where(m, f(x), x)) */
void gg__edit_masked_store(const gg__store *s, gg_str torch, gg_arena *arena, gg_edits *out);

/* `torch.name(E)` or, as a method where that may be, `E.name()`, with `extra` more arguments: E; null when it is neither. */
TSNode gg__call_operand(const gg_rule_input *in, TSNode call, const char *name, uint32_t extra, bool method);
/* E of `torch.where(E)` and `E.nonzero(as_tuple=True)`; of `torch.nonzero(E)` and `torch.argwhere(E)`; null when it is none. */
TSNode gg__nonzero_tuple_of(const gg_rule_input *in, TSNode node);
TSNode gg__nonzero_rows_of(const gg_rule_input *in, TSNode node);
/* `x.flatten()`, `x.view(-1)`, `x.squeeze(-1)`: what makes one column a list; x goes to `out`. */
bool gg__is_flattening(const gg_rule_input *in, TSNode call, TSNode *out);
/* The mask by which `i, j = torch.where(m)`, `i = torch.where(m)[0]`, `i = m.nonzero().flatten()` choose; null for another assignment.  `*which`: the
 * number in the brackets, or a null node; may be NULL. */
TSNode gg__chosen_by(const gg_rule_input *in, TSNode assignment, TSNode *which);

/* ---- how many there are (counts.c) ------------------------------------------------------------------------------------------ */

typedef struct gg__sized {
    TSNode asked;     /* `len(torch.nonzero(c))` */
    TSNode counted;   /* c, or k of a unique */
    gg__meta of;      /* … */
    bool unique;      /* counted are the values that differ */
    bool consecutive; /* … from the one in front */
    int32_t columns;  /* how often each counts, where that is more than once */
} gg__sized;

/* E of `E.shape[0]`, `E.size(0)`, `len(E)`: how many rows; and of `E.numel()`, the rows and columns, with `*elements`.  Null when it is none. */
TSNode gg__size_asked(const gg_tree *tree, TSNode node, bool *elements);
/* Does the expression ask how large such a tensor is, proven by the facts? */
bool gg__is_size(const gg_rule_input *in, TSNode node, gg__sized *out);
/* The same as an int64 tensor without dimensions, as an operand.  Text of the arena. */
gg_str gg__size_text(const gg_rule_input *in, const gg__sized *s, gg_str torch, gg_arena *arena);
/* … where a condition asks for it: of float64 unless it meets an integer or nothing, since a floating number is compared with others in single precision. */
gg_str gg__size_text_asked(const gg_rule_input *in, const gg__sized *s, gg_str torch, gg_arena *arena);
/* Can a tensor be the number wherever it is used?  `edits`: the uses are written; `to_double`: the tensor has to be of float64.  Each may be NULL. */
bool gg__take_size(const gg_rule_input *in, const gg__sized *s, bool *to_double, gg_arena *arena, gg_edits *edits);
void gg__edit_size(const gg_rule_input *in, const gg__sized *s, gg_arena *arena, gg_edits *edits);

/* ---- reductions (reductions.c) --------------------------------------------------------------------------------------------- */
typedef struct
    gg__reduction { /* `f(x[m]).sum()`, `torch.mean(f(x[m]), 0)`, `F.mse_loss(a[m], b[m])`, `F.cross_entropy(z[m], y[m])` */
    TSNode call;
    TSNode operand, other; /* other: the second of a loss; else null */
    size_t kind;           /* of a table */
    bool total;            /* a loss that is not divided */
    bool rows;             /* over the first dimension, where that is not all */
    TSNode ignored;        /* `ignore_index=…`; null: it is -100 */
    gg__masked e, classes; /* classes: of the second operand of what takes a class for each row */
} gg__reduction;

/* Puts ` / divisor` behind the call; `wrap`: in parentheses with it. */
void gg__divide_call(TSNode call, gg_str divisor, bool wrap, gg_arena *arena, gg_edits *edits);
/* Can a statement be put in front of the one the node lies in, to run just when the node is evaluated? */
bool gg__is_always_evaluated(const gg_rule_input *in, TSNode node);
/* Is the node a part of what a reduction gets, each time its statement runs? */
bool gg__is_reduced_each_time(const gg_rule_input *in, TSNode node);
/* When does a comparison of how many there are, `n > 0`, `n < 1`, tell that there are none? */
typedef enum gg__none { GG__NEITHER, GG__NONE_IF_IT_HOLDS, GG__NONE_UNLESS_IT_HOLDS } gg__none;
gg__none gg__compared_with_none(const gg_tree *tree, TSNode comparison);
/* The condition of the innermost branch around the node, or of one in front of it that returns, where the node runs only when the mask of this name chooses
 * something, and always then; null where there is none (classes.c). */
TSNode gg__asked_for_mask(const gg_tree *tree, TSNode node, gg_str mask);

/* The reduction around the site whose result is the same, whatever the order in which it takes the elements (`exact`), or is not.  */
bool gg__masked_reduction(const gg_rule_input *in, bool exact, gg__reduction *out);
/* … around a node, which may be a name. */
bool gg__masked_reduction_around(const gg_rule_input *in, TSNode from, bool exact, gg__reduction *out);
void gg__edit_masked_reduction(const gg__reduction *r, gg_arena *arena, gg_edits *out);

/* Says why none of these rules is made for what the site chooses (masked_why.c).  False. */
bool gg__masked_why(const gg_rule_input *in);
/* … or for what counts or finds elements there. */
bool gg__sized_why(const gg_rule_input *in);

/* ---- names (masked_names.c) ------------------------------------------------------------------------------------------------- */
enum { GG__MAX_NAMED = 8, GG__MAX_NAMES = 4, GG__MAX_NAMED_FACTS = 96 };

typedef struct gg__named_masked { /* `sel = x[m]`, and all that reads `sel` */
    const gg_rule_input *in;
    bool exact; /* each reduction is */
    TSNode statements[GG__MAX_NAMES];
    gg__reduction reductions[GG__MAX_NAMED];
    gg__sized sizes[GG__MAX_NAMED];
    uint32_t name_count, count, size_count;
    TSNode branch;       /* `if len(sel) > 0:` behind it, which asks for a size; null: none does */
    gg_rule_input known; /* with what is known of the names */
    gg_site site;
    gg_break record;
    gg_fact facts[GG__MAX_NAMED_FACTS];
    int64_t shapes[GG__MAX_NAMES][GG__MAX_RANK];
} gg__named_masked;

/* Does the name stand there for the expression that it was given, which would still give the same? */
bool gg__masked_name(const gg_rule_input *in, TSNode use, TSNode *out_value);
/* Is such a name bound at the site, and reduced by all that reads it?  Points into itself. */
bool gg__masked_name_uses(const gg_rule_input *in, bool exact, gg__named_masked *out);
/* False where no selection was found for the branch. */
bool gg__edit_named_masked(const gg__named_masked *n, gg_arena *arena, gg_edits *out);

/* then.c: the edits, and behind them a rule that selects instead of branching on `condition`, as one edit of what they change together.  False when no
 * such rule applies. */
bool gg__then_select(const gg_rule_input *in, gg_edits *first, TSNode condition, gg_arena *arena, gg_edits *out);
/* The text that the edits give, and its tree; false where there is none.  Unref both in any case. */
bool gg__edited(const gg_tree *tree, gg_edits *edits, gg_text **text, gg_tree **out);
/* The first of the rules of these codes that is offered for the site, as an edit of the text, which is that of in->tree; the text is replaced. */
bool gg__apply_one_of(const gg_rule_input *in, const char *const *codes, size_t count, gg_safety most, gg_arena *arena,
                      gg_text **text, bool *copies);
/* … for a break of that id at a span of the text, of which `tree` is; with the facts of the site. */
bool gg__apply_at(const gg_rule_input *in, gg_tree *tree, gg_str id, gg_span span, const char *const *codes,
                  size_t count, gg_safety most, gg_arena *arena, gg_text **text, bool *copies);
/* The lines in which the texts differ, as one edit, its text in the arena. */
void gg__add_difference(const gg_text *before, gg_str after, gg_arena *arena, gg_edits *out);

/* masked_indices.c: the indices of a mask that the site binds to names, and all that reads them, as the mask.  With `edits`, adds them (texts in `arena`);
 * both may be NULL. */
bool gg__take_indices(const gg_rule_input *in, gg_safety most, TSNode *out_node, gg_arena *arena, gg_edits *edits);

#endif
