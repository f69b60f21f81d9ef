/* The parts of the inference behind gg__infer, for it and for rules that ask for one of them.  Private to repair/. */
#ifndef GG_REPAIR_INFER_H
#define GG_REPAIR_INFER_H

#include "repair/syntax.h"

typedef struct gg__inference {
    const gg_rule_input *in;
    uint32_t depth;      /* of the expression: what is nested deeper than a limit is unknown */
    uint32_t steps;      /* all that were looked at: a name may be read twice by each that is made of it */
    bool divides_safely; /* divisors are other than zero where the quotient is not wanted */
    bool loose;          /* see gg__infer_loosely */
    bool names;          /* … where a part of it is named: `(n := t.sum()) > 0` */
    bool draws;          /* see gg__infer_drawn */
    bool in_place;       /* see gg__infer_in_place */
    uint32_t calls;      /* of functions of the file that it is inside of */
} gg__inference;

extern const gg__meta gg__unknown;

gg__meta gg__infer_node(gg__inference *s, TSNode node);
/* What is known, as the fact of a name.  It borrows the shape. */
gg_fact gg__as_fact(gg_str name, const gg__meta *m);
gg__meta gg__infer_dividing(const gg_rule_input *in, TSNode node); /* gg__infer where the edit sees to divisors */
/* … where operations may fail, since the edit leaves them as they are: only what they give is asked.  Sizes may be GG__FITTING. */
gg__meta gg__infer_loosely(const gg_rule_input *in, TSNode node);
gg__meta gg__infer_naming(const gg_rule_input *in, TSNode node);
/* … where random numbers may be drawn, since the edit evaluates it as often as before. */
gg__meta gg__infer_drawn(const gg_rule_input *in, TSNode node);
/* What a chain of methods in place would give as a new tensor: `x.mul_(2).add_(1)` as x.mul(2).add(1). */
gg__meta gg__infer_in_place(const gg_rule_input *in, TSNode node);
enum { GG__FITTING = -2 };                           /* a size that nobody knows, and that fits what it meets */
bool gg__has_root(gg__meta base, gg__meta exponent); /* `x ** 0.5`: of one, the gradient is finite */
/* Is each element of the tensor, of which `m` is known, above zero by what the expression adds, `x.norm() + 1e-6`, or clamps it to?  It may be NaN.  Then the
 * gradients of a quotient, root or logarithm of it are finite.  (natural.c) */
bool gg__is_away_from_zero(const gg_rule_input *in, TSNode node, gg__meta m);
#define GG__AWAY 1e-12 /* its square has an inverse in single precision */
gg__meta gg__any_number(gg__sort sort);
gg__meta gg__seen(gg__sort sort, double value);     /* a number of this value when the capture was made */
gg__meta gg__constant(gg__sort sort, double value); /* … and whenever */
bool gg__is_number(gg__meta m);
bool gg__is_bool(gg_str dtype);
bool gg__is_integer(gg_str dtype);
bool gg__same_shape(gg__meta a, gg__meta b); /* for certain */
int64_t gg__elements(gg__meta x);            /* -1 when not known */
bool gg__has_one_element(gg__meta x);        /* a tensor with dimensions */
#define GG__MOST_ELEMENTS 0x1p47             /* no tensor has more */

/* ---- certain.c ------------------------------------------------------------------------------------------------------------ */
/* Has the expression that dtype by how the function makes it, `h > 0`, `h.argmax()`, whatever those of arguments and attributes are in another call? */
bool gg__has_certain_dtype(const gg_rule_input *in, TSNode node);

/* ---- promote.c: what two values give -------------------------------------------------------------------------------- */
gg__meta gg__elementwise(gg__meta a, gg__meta b); /* broadcast and promoted, as torch's operations of two tensors */
gg__meta gg__arithmetic(gg_str op, gg__meta a, gg__meta b);
gg__meta gg__compare(gg__meta a, gg__meta b);
gg__meta gg__matmul(gg__meta a, gg__meta b);
gg__meta gg__as_dtype(gg__meta x, gg_str dtype, gg__vagueness vague);
/* Under autocast: of float32 where it is of half precision; of half precision, as a matrix product. */
gg__meta gg__widened(gg__meta x, bool widens);
gg__meta gg__lowered(gg__meta x);
/* The dtype that an expression names: `torch.float16`, `x.dtype`; empty when it is none. */
gg_str gg__dtype_named(gg__inference *s, TSNode node, gg__vagueness *vague);
gg_str gg__dtype_of_method(gg_str name); /* `half` makes torch.float16 of a tensor; empty when no such method */
double gg__largest(gg_str dtype);
bool gg__holds(gg_str dtype, gg__meta number); /* can be made an element of it without an error, in any sensible call */

/* ---- plain.c: `x.shape == (2, 3)`, `x.dtype in (…)`: is the comparison one of what is no tensor, which gives a bool? --------------- */
bool gg__compares_plainly(gg__inference *s, TSNode comparison);

/* ---- shapes.c: sizes and dimensions -------------------------------------------------------------------------------------- */
typedef struct gg__sizes {
    int32_t rank;
    int64_t items[GG__MAX_RANK];
} gg__sizes;

bool gg__broadcast(gg__sizes *out, gg__meta a, gg__meta b);
gg__meta gg__with_sizes(gg__meta x, const gg__sizes *sizes);
bool gg__dim(gg__meta dim, int32_t rank, int32_t *out); /* a dimension that is there */
/* `(2, x.shape[1])`, `x.shape`, `x.size()[:-1] + (1,)` */
bool gg__sizes_of(gg__inference *s, TSNode node, gg__sizes *out);
/* … or written out as the arguments of a call from `from` on; those with a keyword are left out. */
bool gg__sizes_in(gg__inference *s, TSNode arguments, uint32_t from, gg__sizes *out);
/* `dims`: null for all of them */
gg__meta gg__reduced(gg__inference *s, gg__meta x, TSNode dims, TSNode keepdim);

/* ---- least.c ----------------------------------------------------------------------------------------------------------------- */
/* Has the dimension of a tensor of that rank as many elements in every call, and not only in the captured one?  One is taken for granted: of none, not
 * much is computed. */
bool gg__has_at_least(const gg_rule_input *in, TSNode node, int32_t rank, int32_t dim, int64_t count);
bool gg__whole_literal(const gg_tree *tree, TSNode node, int64_t *out); /* `3`, `-1` */
/* The value that the name holds at the node, or null; and how large that dimension, with `behind` behind it, is at least, as what is evaluated between in any
 * case tells: an element that is read, a size that is asked for. */
TSNode gg__read_since(const gg_rule_input *in, TSNode node, gg_str name, int32_t rank, int32_t behind, int64_t *least);
/* Is its number of elements a multiple, in every call? */
bool gg__has_a_multiple(const gg_rule_input *in, TSNode node, int32_t rank, int64_t of);

/* ---- views.c: the same elements in another form ---------------------------------------------------------------------------- */
typedef struct gg__call {
    TSNode node, arguments;
    gg_str name;
    enum { GG__METHOD = 1, GG__TORCH = 2, GG__FUNCTIONAL = 4 } form;
    uint32_t from; /* the first argument beside the tensor */
    gg__meta x;    /* the tensor; unknown when it is none */
} gg__call;

gg__meta gg__view(gg__inference *s, const gg__call *call, bool *known);
gg__meta gg__transposed(gg__meta x, int32_t a, int32_t b);

/* ---- moved.c: the same elements in other places ------------------------------------------------------------------------------ */
gg__meta gg__moved(gg__inference *s, const gg__call *call, bool *known);

/* ---- subscripts.c ------------------------------------------------------------------------------------------------------------ */
gg__meta gg__subscript(gg__inference *s, TSNode node);
/* The indices of a subscript one by one, and how many; 0 when there are more than `max`. */
uint32_t gg__indices_of(TSNode subscript, TSNode *out, uint32_t max);
/* `B, T, C = x.shape`, by which alone the name is bound: x, and which of its sizes the name is; else null (counted.c). */
TSNode gg__unpacked_of(const gg_tree *tree, TSNode name, int32_t *at);
/* Is the name the index of a loop over all there is in that dimension of the tensor, `for i in range(x.shape[0])`? (counted.c) */
bool gg__counts_through(const gg_tree *tree, TSNode index, TSNode x, int32_t dim);
bool gg__is_counter(const gg_tree *tree, TSNode index); /* … or of any range, or of enumerate(…) */
/* Is the name of a tensor bound nowhere in the function from there on, nor by a function inside, and given another form by no method? */
bool gg__stays_from(const gg_tree *tree, TSNode function, gg_str name, uint32_t from);

/* ---- containers.c ------------------------------------------------------------------------------------------------------------ */
/* What `d['loss']` is, where a display in front of it tells; unknown when it is no tensor. */
gg__meta gg__element(gg__inference *s, TSNode node);
/* The expression whose value it still is; null where no display tells. */
TSNode gg__element_value(const gg_rule_input *in, TSNode subscript);
/* What the local name was bound to just before and still holds as it is written there; null where that is not plain to see. */
TSNode gg__held_display(const gg_rule_input *in, TSNode name);

/* ---- makers.c: tensors from sizes and from other tensors ---------------------------------------------------------------------- */
/* What torch.where gives. */
gg__meta gg__chosen(gg__meta condition, gg__meta yes, gg__meta no);
gg__meta gg__of_two(gg__inference *s, const gg__call *call,
                    bool *known); /* in another dtype, or with a second operand */
gg__meta gg__made(gg__inference *s, const gg__call *call, bool *known);

/* ---- classes.c: F.cross_entropy of the rows that a mask chooses, the others ignored, where a branch asks for the mask ------------ */
gg__meta gg__class_loss(gg__inference *s, const gg__call *call);

/* ---- calls.c ------------------------------------------------------------------------------------------------------------------- */
gg__meta gg__infer_call(gg__inference *s, TSNode node);
/* Of a call whose function is an attribute: all but x.  x too; it stays unknown where it is no tensor. */
gg__call gg__read_call(gg__inference *s, TSNode node);
void gg__read_operand(gg__inference *s, gg__call *call);
/* Binds arguments to names, which are in the order of their positions; false when one has no place. */
bool gg__bind_arguments(gg__inference *s, const gg__call *call, const char *const *names, uint32_t count, TSNode *out);

/* The operand of a root, a logarithm and their like, and a number whose gradient is finite there; null when the node is none. */
TSNode gg__guardable(gg__inference *s, TSNode node, const char **fill);

/* ---- extremes.c: what gives values and their places at once --------------------------------------------------------------- */
/* `x.max(dim=1).values`, `x.topk(2)[0]`, of the attribute or subscript; unknown when it is none. */
gg__meta gg__one_of_two(gg__inference *s, TSNode node);

/* ---- modules.c: `self.proj(x)` -------------------------------------------------------------------------------------------- */
gg__meta gg__module_call(gg__inference *s, TSNode call, bool *known);

/* ---- inlined.c: `self.step(x)`, `clip(x, 2)`: functions of the file ----------------------------------------------------------- */
gg__meta gg__inlined_call(gg__inference *s, TSNode call, bool *known);
gg__meta gg__inlined_property(gg__inference *s, TSNode attribute); /* `self.ready`, of a @property of the class */
/* Does no statement of the file but those of __init__ bind an attribute of that name, or change one in place? */
bool gg__is_set_once(const gg_tree *tree, gg_str attribute);
/* The one definition of that name in the file, where nothing binds or changes the name, and it is not async; else null. */
TSNode gg__only_definition(const gg_tree *tree, gg_str name);
/* The decorator in front of it; empty: there is none.  Several are a text that no rule knows. */
gg_str gg__decorator_of(const gg_tree *tree, TSNode definition);
/* Is it a call of one that makes a new tensor, and only reads what it is given? */
bool gg__makes_by_own(const gg_rule_input *in, TSNode call);

/* ---- numbers.c: Python's own numbers ---------------------------------------------------------------------------------------------- */
gg__meta gg__number_call(gg__inference *s, TSNode node, bool *known);
gg__meta gg__number_attribute(gg__inference *s, TSNode node);
gg__meta gg__number_operation(gg_str op, gg__meta a, gg__meta b);
gg__meta gg__literal(const gg_tree *tree, TSNode node);
/* A name that the module gives a number, once and for all as far as the file tells. */
gg__meta gg__module_number(const gg_rule_input *in, TSNode node);

#endif
