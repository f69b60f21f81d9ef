/* A Python number taken out of a tensor without dimensions, and what the program does with it: whether the tensor itself can do the same, to the
 * last bit.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_SCALAR_H
#define GG_REPAIR_SCALAR_H

#include "repair/syntax.h"

/* How the tensor is handed on: as it is, or in the precision that Python counts in. */
typedef enum gg__widening { GG__AS_IS, GG__TO_LONG, GG__TO_DOUBLE } gg__widening;

enum { GG__MAX_VALUES = 8 };

/* What is known of the number at one place. */
typedef struct gg__scalar {
    gg__sort sort;    /* GG__SCALAR_INT, GG__SCALAR_FLOAT or GG__SCALAR_BOOL */
    bool counted;     /* Python has computed with it */
    double magnitude; /* bound of an integer; INFINITY when none is known */
    double largest;   /* its magnitude is no larger, unless it is infinite; 0 when no bound is known */
    bool finite;      /* neither infinite nor NaN */
    bool topped;      /* it is not above `top`, unless it is infinite or NaN */
    double top;
    bool natural, positive; /* not below zero, above zero; either may be NaN */
    bool nonzero;           /* it may be below zero, or NaN */
    gg_str grid;            /* until it is counted: the dtype of the tensor whose element it is */
    double values[GG__MAX_VALUES];
    size_t value_count; /* it is one of `values`; 0: nothing is known */
} gg__scalar;

enum { GG__MAX_FACTS = 128, GG__MAX_TRACKED = 8, GG__MAX_ASKS = 8 };

/* What a rule takes beside uses that are the same to the last bit: those that differ there; or those as an index, of which one that is not there
 * raises otherwise. */
typedef enum gg__leeway { GG__EXACTLY, GG__NEARLY, GG__AS_INDEX } gg__leeway;

typedef struct gg__tracked { /* a local name that holds the number, or one computed from it */
    gg_str name;
    uint32_t bound, from; /* where it is bound; where that statement ends */
    gg__scalar scalar;
    int32_t lists; /* lists of such numbers: this deep; 0: it is one */
    bool rebound;  /* the name holds something else, too, which no edit may take for a tensor */
} gg__tracked;

/* One look at all uses.  `in` is the rule's at first, and later one whose facts follow the assignments. */
typedef struct gg__scalar_uses {
    gg_rule_input in;
    gg_site site;
    gg_break record;
    gg_fact facts[GG__MAX_FACTS];
    int64_t shapes[GG__MAX_FACTS][GG__MAX_RANK]; /* of what was learned */
    gg_str dtype;                                /* of the tensor */
    gg__widening widening;
    bool settled; /* `widening` is what is wanted by all uses; else they are being asked */
    bool
        approximate; /* what differs in the last bits is fine: functions of `math`, and under autocast what is of lower precision */
    bool lowered;               /* … of which some is known: what is made of it may be, too */
    bool indexes;               /* an index of a tensor is fine, too */
    bool one_dtype, by_default; /* see gg__replacement */
    bool rewrites;              /* a use is written in another way */
    bool on_cpu;
    bool uncertain; /* the tensor may be a floating one in another call: int() cuts it off */
    bool at_once;   /* the tensor is read where it is taken, and nothing keeps it for gradients */
    uint32_t count; /* uses by which a tensor gets the number */
    gg__tracked tracked[GG__MAX_TRACKED];
    size_t tracked_count;
    const TSNode *asked; /* names whose use is looked at by somebody else */
    uint32_t ask_count;
    TSNode asked_within[GG__MAX_ASKS]; /* conditions that become tensors' (scalar_asked.c) */
    gg_span mended[GG__MAX_ASKS];      /* … and their statements: a name that one binds is a tensor behind it, too */
    uint32_t asked_within_count;
    bool to_end;     /* … and all that is behind the last of them is written anew */
    bool within;     /* in what is written anew */
    TSNode taken;    /* the expression that becomes the tensor, or the statement that assigns it */
    bool inside;     /* … which may read the name */
    TSNode first;    /* see gg__replacement */
    gg_arena *arena; /* for texts */
    gg_edits *edits; /* where the uses are rewritten; NULL when only looking */
} gg__scalar_uses;

/* E.item(), float(E), int(E), bool(E), of a tensor without dimensions; and what E.tolist() is. */
typedef struct gg__extraction {
    TSNode call, value; /* the whole; E */
    gg__meta meta;      /* of E */
    gg__scalar scalar;
    gg__widening widening; /* what float() of an integer needs */
    bool single;           /* E has dimensions, and one element */
    bool any_float;        /* E is drawn, of the default dtype, whatever that is by then */
    bool truth;            /* bool() of what is no bool */
    bool truncates;        /* int() of a floating one that is proven to be finite */
    bool cuts;             /* int() of what may be a floating one in another call: the tensor is E.long() */
    int32_t lists;         /* E.tolist(): lists of such numbers, as deep as E has dimensions; 0: it is none */
} gg__extraction;

/* What the Python number is that `m`, the tensor of the expression `value`, holds; sort GG__UNKNOWN for complex ones. */
gg__scalar gg__scalar_of(const gg_rule_input *in, gg__meta m, TSNode value);
bool gg__match_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out);
/* … also of a tensor with dimensions that has one element. */
bool gg__match_single_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out);
/* … where it is evaluated as before: it may fail. */
bool gg__match_extraction_loosely(const gg_rule_input *in, TSNode call, gg__extraction *out);

/* Starts a look; not to be copied then.  The record's facts are copied: false when there are too many. */
bool gg__scalar_uses_init(gg__scalar_uses *u, const gg_rule_input *in, gg_str dtype, gg__widening widening);
/* Can the tensor take the number's place where `node` is, the expression that has it?  Names that it is assigned to are tracked. */
bool gg__scalar_use(gg__scalar_uses *u, TSNode node, gg__scalar scalar);
/* … a list of numbers, or of lists, this deep, for each number that is read. */
bool gg__scalar_list(gg__scalar_uses *u, TSNode node, gg__scalar scalar, int32_t deep);
/* Is it an element of a list that is tracked? */
bool gg__scalar_element(const gg__scalar_uses *u, TSNode node, gg__scalar *out);
/* … in a call, scalar.c's part of it in scalar_calls.c: on return true `*node` is the call, whose value is `*scalar`, or `*done`. */
bool gg__scalar_in_call(gg__scalar_uses *u, TSNode *node, gg__scalar *scalar, bool *done);
/* … beside an operator of arithmetic (scalar_count.c); the same of return. */
bool gg__scalar_in_binary(gg__scalar_uses *u, TSNode parent, TSNode use, gg__scalar *s, bool *done);
bool gg__is_arithmetic(char op);
int gg__bits_of(gg_str dtype); /* how many tell the size of an integer of that dtype; 0: it holds none */
/* … as an index, where those are fine (indexed.c). */
bool gg__scalar_in_index(gg__scalar_uses *u, TSNode subscript, TSNode node, gg__scalar scalar);
/* … and wherever the tracked names are used behind the statement?  To be asked last: a tensor must have got the number, and each name must be
 * fine for all that it holds. */
bool gg__scalar_follow(gg__scalar_uses *u, TSNode statement);
/* Of scalar_asked.c: is the name `node` compared with numbers as Python does it where it is of that dtype, or asked for its truth, in the condition of a branch? */
bool gg__asks_number(const gg_rule_input *in, gg_str dtype, TSNode node);
/* Is the name bound elsewhere than where it is tracked from, and not in a branch that was mended, nor in `statement`? */
bool gg__is_rebound(const gg__scalar_uses *u, const gg__tracked *t, gg_span statement);
/* If the statement branches on a tracked number: makes it a selection, where a rule does so.  `to_end`: and all that is behind it. */
bool gg__scalar_mend(gg__scalar_uses *u, TSNode statement, bool *to_end);
/* One statement: the uses in it, and what holds behind it.  Wants an arena. */
bool gg__scalar_pass(gg__scalar_uses *u, TSNode statement);
/* Tracks a name bound by this identifier, used from a byte on. */
bool gg__scalar_track(gg__scalar_uses *u, TSNode identifier, uint32_t from, gg__scalar scalar, int32_t lists);

/* … as an element of the list that torch.tensor gets (scalar_lists.c). */
bool gg__scalar_in_list(gg__scalar_uses *u, TSNode element, gg__scalar scalar);
/* The dtype that a maker of tensors is told by `dtype=torch.…`; false when it is told anything else behind its first argument. */
bool gg__scalar_told(const gg__scalar_uses *u, TSNode call, gg_str torch, gg_str *dtype);
/* What another operand is, if it is a number: also one that is still taken out of a tensor. */
gg__meta gg__scalar_operand(const gg__scalar_uses *u, TSNode node);
/* A visitor (scalar_names.c) with the uses as its data: false at a name that is used otherwise than a tensor could be. */
bool gg__scalar_check_name(TSNode node, void *data);
/* Says that what uses the number is why (hindrance.h); false. */
bool gg__scalar_refuse(const gg__scalar_uses *u, TSNode node);
/* What a name is from here on (scalar_learn.c). */
void gg__scalar_learn(gg__scalar_uses *u, gg_str name, gg__meta m);
void gg__scalar_learn_tracked(gg__scalar_uses *u, const gg__tracked *t);
/* … and each name of `lo, hi = v, w`; nothing is known of those that another statement binds. */
void gg__scalar_learn_several(gg__scalar_uses *u, TSNode statement);
/* What a name is that is bound to it: also a number that is still taken out of another tensor. */
gg__meta gg__scalar_given(const gg__scalar_uses *u, TSNode value);
void gg__scalar_forget(gg__scalar_uses *u, gg_str name);
/* Visitors with the uses as their data: forget what is bound, and what attributes are (`self.scale = …`). */
bool gg__scalar_forget_bound(TSNode node, void *data);
bool gg__scalar_forget_attributes(TSNode node, void *data);
bool gg__scalar_binds_nothing(TSNode node, void *data);
/* For scalar_calls.c: wants a precision; takes the number in by `op`, one of + - * / < and = (which converts to `other`'s dtype). */
bool gg__scalar_want(gg__scalar_uses *u, gg__widening widening);
/* Is the dtype of another operand known well enough? */
bool gg__scalar_takes(gg__scalar_uses *u, gg__meta other);
bool gg__scalar_meets(gg__scalar_uses *u, gg__scalar scalar, gg__meta other, char op);
bool gg__literal_value(const gg_tree *tree, TSNode node, double *out); /* of a number as it is written, with its sign */

/* Of scalar_values.c: the largest magnitude of a literal, or of a name that only holds literals; INFINITY where it is neither. */
double gg__number_bound(const gg_tree *tree, TSNode node);
/* Of such a number; GG__UNKNOWN where it is neither, or of two kinds. */
gg__sort gg__number_sort(const gg_tree *tree, TSNode node);
/* What the values become with such a number; none where it is another. */
void gg__scalar_values(gg__scalar *s, const gg_tree *tree, TSNode other, char op, bool is_left);
/* Are they known, and is `v ** 2`, which Python asks pow() for, what `v * v` is?  They become their squares. */
bool gg__scalar_squares(gg__scalar *s);

/* `E.detach()` and what is needed to keep it: text for the tensor that takes the number's place.  `at_once`: nobody keeps it. */
gg_str gg__tensor_text(const gg_rule_input *in, const gg__extraction *e, gg__widening widening, bool at_once,
                       gg_arena *arena);
/* Is it `locals` or another function that sees all names, being called? */
bool gg__watches_names(const gg_tree *tree, TSNode identifier);
bool gg__facts_on_cpu(const gg_rule_input *in);
/* Is the value of the expression never below zero, as far as its operations tell?  NaN is allowed. */
bool gg__is_natural(const gg_rule_input *in, TSNode node);
bool gg__is_positive(const gg_rule_input *in, TSNode node); /* … and above it, or NaN */

typedef struct gg__known_name { /* what a name holds behind a statement */
    gg_str name;
    gg__meta meta;
} gg__known_name;

/* A number whose place a tensor is to take. */
typedef struct gg__replacement {
    TSNode node;         /* the expression, or the statement that binds it to `name` */
    TSNode name;         /* null: an expression */
    const TSNode *asked; /* names whose use is looked at by somebody else */
    uint32_t ask_count;
    gg__scalar scalar;
    gg_str dtype;          /* of the tensor */
    gg__widening widening; /* that it has in any case; on return, that its uses want, too */
    bool approximate;      /* see gg__scalar_uses */
    bool
        one_dtype; /* on some ways it was that tensor: it stays of its dtype, is met by that only, and no use is written in another way */
    bool by_default; /* … which is torch's default one: what meets it has dimensions */
    bool rewrites;   /* on return: a use is written in another way */
    bool inside;     /* `node` may read the name itself */
    TSNode
        first; /* the value that the name is given in front of it, which becomes a tensor, too, where `rewrites`; else null */
    const gg__known_name *known; /* other names that `node` binds */
    size_t known_count;
} gg__replacement;

/* All its uses, once to ask for the precision that they want and once with it; with `edits`, they are written, texts in `arena`.  Both may be NULL. */
bool gg__scalar_replace(const gg_rule_input *in, gg__replacement *r, gg_arena *arena, gg_edits *edits);

/* All of it, for the number at the site.  Exactly; or with a leeway, where that is needed.
 * With `edits`, adds them (texts in `arena`); both may be NULL. */
bool gg__take_scalar(const gg_rule_input *in, gg__leeway leeway, TSNode *out_node, gg_arena *arena, gg_edits *edits);

#endif
