/* Branches on a tensor's value as selections: conditions as tensors, arms as values.  Private to repair/.  Any thread.
 *
 * DESIGN  Both arms are computed, each under names of its own, and torch.where selects for every name that is read behind the branch.  Nothing
 * in an arm may be seen to have run: everything in it is proven pure and total (gg__infer). */
#ifndef GG_REPAIR_SELECT_H
#define GG_REPAIR_SELECT_H

#include "repair/syntax.h"

enum { GG__MAX_BINDINGS = 24, GG__MAX_MADE = 128, GG__MAX_KNOWN = 192, GG__MAX_OUTER = 64 };

struct gg__replacement;

typedef struct gg__binding { /* what a name holds in an arm */
    gg_str name;
    gg_str text; /* the expression, or the name it has after the edit */
    gg__meta meta;
    TSNode from;    /* the expression whose value it is; null when it was selected */
    uint64_t reads; /* bits of select.outer: the names that it is made of, as they were before the branch */
    uint64_t flows; /* … those that its gradient comes to */
    struct gg__replacement *number; /* a number of Python's that was chosen; `meta` says nothing then */
    bool pending; /* the expression is not evaluated yet: it is written where it is used, or on a line of its own */
    bool form;    /* of "return": the text is what stands around the values that are returned (returned.c) */
} gg__binding;

typedef struct gg__arm {
    const char *suffix; /* of the names its values get */
    gg__binding items[GG__MAX_BINDINGS];
    size_t count;
} gg__arm;

/* Behind a tensor of one element, in a condition that asks for its truth. */
#define GG__ONE_ELEMENT ".reshape(())"

/* A condition. */
typedef struct gg__test {
    gg_str text;  /* of a 0-d bool tensor */
    bool negated; /* the condition is that it is false */
    bool atom;    /* needs no parentheses as an operand */
    bool
        loose; /* it may have another dtype in another call: of uint8 `~` is no negation, nor `&` a conjunction of integers */
} gg__test;

struct gg__events;

typedef struct gg__select {
    const gg_rule_input *in;
    gg_arena *arena;
    TSNode statement; /* what is replaced, or holds it */
    gg_str torch;     /* how it is called here */
    gg_buf lines;     /* what is computed before the selections, one a line */
    gg_str indent, newline;
    gg_str made[GG__MAX_MADE]; /* names that were made up; too many to be sure when there is no room for more */
    size_t made_count;
    gg_str outer[GG__MAX_OUTER]; /* names that arms read as they were before the branch; full: any name */
    size_t outer_count;
    bool copies; /* what is selected may be a tensor of its own where it was one that others hold: gg_edits.copies */
    bool on_cpu; /* the condition is a tensor of the CPU's, whatever device the arms are on */
    bool draws;  /* the condition draws a number: it is to be evaluated once, where it was */
    bool finite; /* the condition asks whether values are finite: the arm not taken may hold what is not */
    /* it will lie under a flag that was not so in the capture: no run of it may have shown that sizes differ */
    bool unseen;
    /* The condition is evaluated as before, once and whatever it gives: it may fail, as it would have; it may name a part, where `names`. */
    bool as_before, names;
    /* Sizes are other than in the capture (grown.h), and selected values have other shapes then. */
    bool grown, apart;
    /* `if c: continue`: one arm is what follows the statement in its block, the other one nothing. */
    bool skips;
    /* Divisors in arms are one where the arm is not taken (divisors.c), and `taken` says where it is: for the arm that is being read. */
    bool divides_safely;
    gg__test taken;
    bool keeps_tests; /* the conditions of nested arms get names: `taken` is read */
    bool
        says; /* messages in arms are for where nothing is compiled; else arms with such that are not so already are refused */
    /* What is in the arms may be stored (stored.c): then lines and stores are kept apart, in their order. */
    bool stores, stored;
    struct gg__events *events; /* of the arm that is being read */
    const gg__arm *outer_arm;  /* what names held in front of the branch that it is of */
    bool
        in_place; /* the expression is a chain of methods in place: it is read, and written, without their underscores */
} gg__select;

void gg__select_init(gg__select *s, const gg_rule_input *in, TSNode statement, gg_arena *arena);
void gg__select_clear(gg__select *s);
void gg__select_line(gg__select *s, gg_str name, gg_str text); /* name = text */
gg_str gg__new_name(gg__select *s, const char *base);          /* one that nothing in the file has */

/* Inference and text where the arm's names hold what they hold there.  `arm` may be NULL. */
gg__meta gg__infer_in(const gg__select *s, const gg__arm *arm, TSNode node);
gg_str gg__text_in(gg__select *s, gg__arm *arm, TSNode node);
gg_str gg__text_reading(gg__select *s, gg__arm *arm, TSNode node, uint64_t *reads, uint64_t *flows);
uint64_t gg__outer(gg__select *s, gg_str name);                     /* its bit; 0 when there are too many */
void gg__settle(gg__select *s, gg__binding *b, const char *suffix); /* computes what is pending on a line of its own */
bool gg__mentions(gg_str text, gg_str name);                        /* as a word */
gg_str gg__closed(gg__select *s, gg_str text, TSNode node);         /* with parentheses, unless the node is an atom */

/* ---- conditions.c ------------------------------------------------------------------------------------------------------- */
/* The condition as a tensor: `and`, `or`, `not` of 0-d tensors, chained comparisons, any(), all(), bool(), torch.is_nonzero(), `.item()`. */
bool gg__test_of(gg__select *s, gg__arm *arm, TSNode node, gg__test *out);
/* Inside one, `depth` deep. */
bool gg__test_at(gg__select *s, gg__arm *arm, TSNode node, uint32_t depth, gg__test *out);
/* condition_calls.c: any(), all(), `torch.equal(a, b)`, `torch.allclose(a, b)`; `3 in x` */
bool gg__test_of_call(gg__select *s, gg__arm *arm, TSNode call, uint32_t depth, gg__test *out);
bool gg__test_of_member(gg__select *s, gg__arm *arm, TSNode comparison, gg__test *out);
bool gg__is_order(gg_str op);                                             /* `<` and its like */
gg_str gg__test_text(gg__select *s, gg__test test);                       /* with the negation in it */
gg_str gg__truth_text(gg__select *s, gg__test test);                      /* … of dtype bool in any call */
gg_str gg__truth_operand(gg__select *s, gg__test test);                   /* … as an operand */
gg__test gg__joined_test(gg__select *s, gg__test a, char op, gg__test b); /* `&` or `|` */
bool gg__untestable(const gg__select *s, TSNode condition); /* says why it is none of these (hindrance.h); false */
/* `flag and t`: what is in front of the site is Python's; it was asked first and is so then.  Behind it may be flags, which change nothing, and
 * tensors.  The flags are left as a condition of Python's. */
bool gg__split_condition(gg__select *s, TSNode condition, gg_str *flags, gg__test *test);
/* The same of `flag or t`: the flags were asked first and are false then. */
bool gg__split_either(gg__select *s, TSNode condition, gg_str *flags, gg__test *test);
bool gg__is_branch(const gg_rule_input *in); /* a break that a condition may be */
bool gg__asks_finiteness(const gg_tree *tree, TSNode condition);
/* A number as it is written, beside a tensor that is one of Python's (gg_rule_input.numbers), is such a tensor; else `m`, what the value is. */
gg__meta gg__beside_number(const gg_rule_input *in, TSNode value, gg__meta m, gg__meta other);

/* ---- optional.c --------------------------------------------------------------------------------------------------------- */
/* Does the expression read a parameter whose default is None or whose type allows it, or an attribute that is None at first, where nothing in the
 * function has told that it is something else? */
bool gg__may_be_none(const gg_rule_input *in, TSNode node);

/* ---- draws.c ------------------------------------------------------------------------------------------------------------ */
/* `torch.rand(1) < p`, `random.randint(0, 1)`, as the whole condition: drawn exactly once, whichever arm is taken. */
bool gg__test_drawn(gg__select *s, TSNode node, gg__test *out);
/* `flip == 1`, `flip` (without `op` and `right`), of a name that holds an integer that was drawn by Python. */
bool gg__test_of_drawn(gg__select *s, gg__arm *arm, TSNode left, gg_str op, TSNode right, gg__test *out);
bool gg__is_drawn(const gg__select *s, TSNode node);           /* one of these */
bool gg__draws_a_float(const gg__select *s, TSNode condition); /* by Python: see draws.c */

/* ---- asked.c ------------------------------------------------------------------------------------------------------------ */
/* `t[i]` in the condition: what the condition reads whatever it gives, the arms may read. */
void gg__learn_asked(gg__select *s, gg__arm *arm, TSNode condition, TSNode last);
bool gg__is_evaluated_whole(TSNode condition);
/* `(n := t.sum()) > 0`: the name gets its value in front of the branch. */
bool gg__test_naming(gg__select *s, TSNode condition, gg__test *out);
bool gg__is_asked(gg_str name); /* a binding for such a part */

/* ---- spoken.c ------------------------------------------------------------------------------------------------------------- */
/* A message in an arm: `if not torch.compiler.is_compiling(): print(…)`, or, where `says`, print(…) alone. */
bool gg__is_said(const gg__select *s, TSNode statement);
/* Writes it behind what is computed so far, under that condition and that the arm is taken. */
void gg__say(gg__select *s, gg__arm *arm, TSNode statement);
bool gg__has_messages(const gg__select *s, TSNode node);

/* ---- divisors.c -----------------------------------------------------------------------------------------------------------------
 * `x / n if n > 0 else x`: where n is zero the quotient is not wanted, but its gradient, zero times infinity, is not a number.  So the divisor is one
 * there: torch.where(n > 0, x / torch.where(n > 0, n, 1), x).  Roots and logarithms get such an operand, too. */
/* The divisor of a division by a tensor of numbers, the operand of a root; null when the node is none.  `fill`: what it is where it is not wanted. */
TSNode gg__guarded(const gg__select *s, const gg__arm *arm, TSNode node, const char **fill);
/* Is what becomes of one made smoothly, as far as back as the function tells?  Says where it is not. */
bool gg__is_made_smoothly(const gg__select *s, const gg__arm *arm, TSNode node);
/* Are all divisors in the expression made smoothly, as far as back as the function tells?  Where they are not wanted, their gradients are zero. */
bool gg__divisors_are_smooth(const gg__select *s, const gg__arm *arm, TSNode node);

/* ---- select_number.c ----------------------------------------------------------------------------------------------------------
 * All of it, for the branch at the site: exact, or `approximate` where that is not (scalar.h).  With `edits`, adds them (texts in `arena`);
 * both may be NULL. */
bool gg__select_number(const gg_rule_input *in, bool approximate, TSNode *out_node, gg_arena *arena, gg_edits *edits);

/* ---- chosen_numbers.c -----------------------------------------------------------------------------------------------------
 * What takes the place of two constants, `wide` where they need double precision; false where they are none, or of two kinds. */
bool gg__of_constants(gg__meta a, gg__meta b, struct gg__replacement *r, bool *wide);
gg_str gg__wide_text(gg_str torch, gg_str text, gg_arena *arena); /* of a number in double precision */
/* The value that the name is given in the same block in front of the statement, and keeps until then; else null. */
TSNode gg__given_before(const gg_tree *tree, TSNode statement, gg_str name);
/* The selection of two constants, or of a count and one more. */
bool gg__choose_number(gg__select *s, gg__test test, const gg__binding *a, const gg__binding *b, gg__binding *out);
/* Is what reads the number behind the branch fine with a tensor?  `always`: the branch is taken out whole. */
bool gg__fits_number(const gg__select *s, const gg__arm *arm, const gg__binding *b, bool always);
gg_str gg__number_text(const gg__select *s, const gg__binding *b);

/* ---- branches.c --------------------------------------------------------------------------------------------------------- */
typedef struct gg__branch {
    TSNode node;
    gg_span span; /* what is replaced */
    gg_str text;
    bool copies;
    struct gg__replacement *numbers[GG__MAX_BINDINGS]; /* names that held numbers */
    size_t number_count;
} gg__branch;
/* All of it, for the branch at the site: with `stores`, one that stores something; else, one that does not.  With messages in its arms where `says`. */
bool gg__select_branch(const gg_rule_input *in, bool stores, bool says, gg_arena *arena, gg__branch *out);
/* The uses of its numbers that are written in another way (chosen_numbers.c). */
void gg__edit_numbers(const gg_rule_input *in, const gg__branch *branch, gg_str torch, gg_arena *arena, gg_edits *out);
/* Adds it to a rule's edits, with the import of torch where there is none. */
void gg__edit_branch(const gg_rule_input *in, const gg__branch *branch, gg_arena *arena, gg_edits *out);

/* ---- returned.c ----------------------------------------------------------------------------------------------------------- */
#define GG__RETURNED "return" /* the name of what an arm returns: no variable has it; its values are "return 1", … */
gg__binding *gg__arm_find(gg__arm *arm, gg_str name); /* NULL: it is not bound in the arm */
bool gg__arm_bind(gg__arm *arm, gg__binding value);
bool gg__is_returned(gg_str name);
/* What `return` gives: a value, or a display of values. */
bool gg__assign_returned(gg__select *s, gg__arm *arm, TSNode value);
/* Of two values of which one is returned, the first in the branch `node`: is nothing seen of it that a selection is a tensor of its own?  Notes
 * whether it is a copy.  What is made anew (`fresh`) is nobody else's. */
bool gg__may_select_returned(gg__select *s, TSNode node, TSNode first, bool first_fresh, TSNode second,
                             bool second_fresh);
gg_str gg__returned_text(gg__select *s, const gg__arm *arm); /* empty: not known */
/* `a, b = c, d`: the assignment, else null; and its names as values of the arm. */
TSNode gg__several_assigned(TSNode statement);
bool gg__assign_several(gg__select *s, gg__arm *arm, TSNode node);
/* `l.append(value)` of a local list: bound as "l.append". */
bool gg__is_appended(gg_str name);
TSNode gg__appended(const gg_tree *tree, TSNode statement);
bool gg__append(gg__select *s, gg__arm *arm, TSNode statement);

/* ---- stored.c -------------------------------------------------------------------------------------------------------------
 * Stores in arms: `self.n += 1`, `t.zero_()`, `out[i] = v`.  Each becomes a store in any case, of a selection from the new value and the old one, in
 * the order of its arm.  In the arm that is not taken it changes nothing: so what runs behind it, of either arm, reads what it would have. */
typedef struct gg__event { /* lines, or a store */
    gg_str lines;
    gg_str place, value; /* of a store */
    gg__meta meta;       /* of its value; a number's sort where it is one of Python's */
    bool assigned;       /* `place = value`; else place.copy_(value) */
    bool truth;          /* the place is of bools: a condition may be its memory */
    bool bound;          /* … and the place is an attribute */
    bool both;           /* … of which no old value is known where the other arm does not bind it */
} gg__event;

enum { GG__MAX_EVENTS = 40 };
typedef struct gg__events {
    gg__event items[GG__MAX_EVENTS];
    size_t count, stores;
    bool full;
} gg__events;

bool gg__is_store(const gg_tree *tree, TSNode statement); /* has it the form of one? */
TSNode gg__stored_base(const gg_tree *tree,
                       TSNode statement); /* `self.t` of self.t[0].zero_(); null when it is no store */
bool gg__store_in(gg__select *s, gg__arm *arm, TSNode statement);

/* woven.c */
gg__events *gg__new_events(gg__select *s);
void gg__push(gg__events *to, gg__event event);
void gg__flush(gg__select *s, gg__events *to); /* the lines that were written so far */
void gg__append_events(gg__events *to, const gg__events *more);
size_t gg__count_woven(const gg__events *yes, const gg__events *no); /* stores */
bool gg__stores_truth(const gg__events *in);
bool gg__weave(gg__select *s, gg__test test, const gg__events *yes, const gg__events *no, gg__events *out);
bool gg__write_events(gg__select *s, const gg__events *events); /* as lines; false when there are too many */

/* ---- live.c ----------------------------------------------------------------------------------------------------------------- */
/* The assignment that a statement is, of an expression to a name; else null. */
TSNode gg__assignment(TSNode statement);
TSNode gg__assigned(TSNode identifier); /* … that binds this identifier */
bool gg__bound_before(const gg_tree *tree, TSNode statement, gg_str name);
/* The last statement that is an arm's: that of the block where `skips`. */
TSNode gg__last_of_arms(const gg__select *s, TSNode node);
bool gg__is_live(const gg__select *s, gg_str name); /* read behind the statement */

/* ---- arms.c ----------------------------------------------------------------------------------------------------------------- */
/* Can the value be computed where it was not, and be selected? */
bool gg__selectable(const gg__select *s, gg__meta value);
/* Says why the value of an expression is not (hindrance.h); false. */
bool gg__unselectable(const gg__select *s, const gg__arm *arm, TSNode node);
bool gg__unselectable_of(const gg__select *s, const gg__arm *arm, TSNode node, gg__meta m);
/* Text of a selection. */
gg_str gg__where(gg__select *s, gg__test test, gg_str yes, gg_str no);
/* Binds the expression's value to a name of the arm; the variable `target` will hold it (empty: it is returned). */
bool gg__assign(gg__select *s, gg__arm *arm, gg_str name, gg_str target, TSNode right);
/* An if statement with its elifs and else as values: the arm gets what each name holds behind it, and what is returned under the name
 * "return".  `test`: of its condition.  `fallback`: the return behind it, or null. */
bool gg__select_if(gg__select *s, gg__arm *arm, TSNode node, const gg__test *test, TSNode fallback);

/* ---- merges.c --------------------------------------------------------------------------------------------------------------- */
/* The name behind the branch `node`, of what both its arms leave in it, as a part of the arm around them. */
bool gg__merge(gg__select *s, gg__arm *arm, gg__test *test, TSNode node, gg__arm *yes, gg__arm *no, gg_str name);
/* How many names are selected, as far as is known before. */
size_t gg__count_merges(const gg__select *s, gg__arm *arm, gg__arm *yes, gg__arm *no, uint32_t depth);
/* The first identifier of that name in the branch, and in what follows it where `skips`; null when there is none. */
TSNode gg__named_in_arms(const gg__select *s, TSNode node, gg_str name);
/* Of the names that have these bits, which only one way reads: is a gradient of zeros harmless to them (upstream.c)? */
bool gg__read_gently(const gg__select *s, uint64_t names);

/* Does it show, where the value of the expression `node` goes, that it is no longer one of the arms' own tensor? */
bool gg__value_alias_shows(const gg_rule_input *in, TSNode node, TSNode yes, TSNode no);
bool gg__value_is_copy(const gg_rule_input *in, TSNode node, TSNode yes, TSNode no);
/* The same where the value goes to a name, or is returned (an empty one). */
bool gg__arms_alias_shows(const gg_rule_input *in, TSNode statement, TSNode yes, TSNode no, gg_str target);
bool gg__arms_are_copies(const gg_rule_input *in, TSNode statement, TSNode yes, TSNode no, gg_str target);
/* Is its function called at several places of the file, some of which no record came through?  Its facts are not those of such calls. */
bool gg__has_unseen_callers(const gg_rule_input *in, TSNode node);
/* Values of equal shapes that have no name in common may differ all the same: a size of one may be larger with other inputs, and a
 * caller that the capture did not see may pass anything. */
bool gg__sizes_may_differ(const gg_rule_input *in, TSNode node, gg__meta x);
bool gg__may_broadcast(const gg_rule_input *in, gg__meta x, TSNode a, TSNode b);
bool gg__share_a_name(const gg_rule_input *in, TSNode a, TSNode b);

#endif
