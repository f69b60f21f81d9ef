/* Static prediction: an abstract run of each entry of a file over its syntax tree.  Private to analysis/predict.
 *
 * Values are what is known of a Python value without running anything (gg__value).  The walk follows an entry as Dynamo does: into the
 * functions and classes of the file that it calls, past branches that cannot be taken while compiling.  What stands behind a condition
 * that may be false, or rests on a parameter of which nothing is known, is found conditionally; the rest for certain.
 * One owner at a time; everything lives in the walk's arena. */
#ifndef GG_PREDICT_H
#define GG_PREDICT_H

#include "analysis/predict/units.h"

typedef enum gg__kind {
    GG__UNKNOWN,
    GG__TENSOR,
    GG__NUMBER, /* int, float, bool */
    GG__STRING,
    GG__NONE,
    GG__SHAPE,    /* torch.Size */
    GG__SEQUENCE, /* list, tuple, set, generator: `of` is what all elements have in common */
    GG__MAPPING,
    GG__MODULE,   /* an nn.Module of a library: `path` is its class */
    GG__DOTTED,   /* what an import names: `path` */
    GG__FUNCTION, /* def or lambda of this file: `node`, `self` when bound */
    GG__CLASS,    /* of this file: `node` */
    GG__INSTANCE, /* of a class of this file: `object` */
    GG__METHOD,   /* of a value that is none of the file's: `path` is its name, `of` the receiver */
    GG__LOGGER,
    GG__ARRAY,  /* numpy.ndarray */
    GG__OBJECT, /* of a library's class: `path` */
    GG__OTHER,  /* something else, and surely no tensor */
} gg__kind;

typedef enum gg__dtype { GG__DTYPE_UNKNOWN, GG__BOOL, GG__INT, GG__FLOAT, GG__COMPLEX } gg__dtype;

/* What is known at compile time of a truth value. */
typedef enum gg__truth { GG__MAYBE, GG__FALSE, GG__TRUE } gg__truth;

typedef struct gg__value {
    TSNode node;
    gg_str path;
    const struct gg__value *of, *self;
    const struct gg__value *items; /* of a display whose elements are known one by one */
    struct gg__object *object;
    struct gg__scope *scope; /* where a function was defined: its free names */
    bool *
        confirmed; /* a bare parameter, taken for a tensor, or what comes of one: whether some use of it shows that it is; NULL: it surely is */
    int64_t integer;
    uint32_t item_count;
    gg__kind kind;
    gg__dtype dtype; /* of a tensor or an array; of a number */
    gg__truth truth; /* of what is no tensor */
    gg__truth usual; /* … where arguments that need not be given are not given */
    bool maybe_none; /* None on some calls */
    bool absent;     /* an argument that is None where it is not given */
    bool input;      /* a graph input as it came in, or a part of it taken by index */
    bool handed_on;  /* a tensor that was at hand where something broke, or may: an input of the graph behind it */
    bool zero_dim;   /* a tensor with no dimension; an array made of one number */
    bool constant;   /* a number: `integer` is it */
    bool
        folded; /* a NumPy scalar that is known while compiling; a tensor made of Python numbers, which is if it is one number */
    bool from_data; /* a Python value that is known only when the graph runs: a random number, text of a tensor */
} gg__value;

typedef struct gg__binding {
    gg_str name;
    gg__value value;
} gg__binding;

typedef GG_LIST(gg__value) gg__values;

/* Names of one function call, class body, instance or module. */
typedef struct gg__scope {
    gg__binding *items;
    uint32_t len, cap;
    bool of_module;  /* the module's own, or a copy for one of its branches: what is read and set here is noted */
    uint32_t born;   /* gg__walk.round */
    uint32_t saved;  /* the round that will put it back as it was */
    uint32_t stamp;  /* of gg__walk.stamp: which of two is older */
    uint32_t *slots; /* of many: 1 + which, by the name's print, 2 × cap of them; NULL: they are looked through */
    struct gg__scope *outer;
} gg__scope;

/* An instance of a class of this file. */
typedef struct gg__object {
    TSNode definition;
    gg__scope *attributes;
    gg__scope *scope;       /* where the class was defined */
    struct gg__hook *hooks; /* that its construction registered, on itself or on modules in it */
    bool is_module;         /* an nn.Module */
} gg__object;

/* A function that runs when a module is called. */
typedef struct gg__hook {
    gg__value function;
    struct gg__hook *next;
} gg__hook;

/* A condition that must hold for what is being walked to run. */
typedef struct gg__guard {
    gg_str text;  /* as the user wrote it, or words */
    bool negated; /* … must not hold */
    bool
        unlikely; /* it, or a condition around it, does not hold where arguments that need not be given are not given */
} gg__guard;

/* One call of a function of this file. */
typedef struct gg__frame {
    struct gg__frame *caller;
    TSNode definition;
    const gg__guard *guard; /* around the call */
    unsigned depth;         /* of the module: 0 */
    uint32_t unit;          /* that the function's body lies in */
    gg__scope *scope;
    gg__object *self;  /* of a method */
    gg__value result;  /* joined from all returns */
    bool returned;     /* some return was met */
    gg_str returns_if; /* what must hold for the rest to run, since some branch left the function; empty: nothing */
    gg_str skips_if;   /* … left this round of the loop */
    unsigned loops;    /* around what is being walked, in this function */
    unsigned shelters; /* … `try` with handlers, and `with` of contexts that are none of torch's */
    bool eager;        /* something broke in a loop or a shelter: Dynamo left the whole function to Python */
} gg__frame;

typedef enum gg__rule {
#define RULE(ordinal, name, id, text) GG__RULE_##ordinal,
#include "analysis/predict/rules.def"
#undef RULE
    GG__RULE_COUNT
} gg__rule;

typedef struct gg__finding {
    gg_prediction prediction;
    const bool *confirmed; /* gg__value's */
    bool only_confirmed;   /* it is dropped where nothing confirms it */
} gg__finding;

/* What is found at a node, as it is reached. */
typedef struct gg__event {
    gg__rule rule;
    const char *id; /* NULL: the rule's own */
    TSNode node;
    const bool *confirmed;    /* gg__value's */
    gg_str guard;             /* empty: none */
    int guard_depth;          /* of the frame that it is a condition of; -1: there is none */
    int loop_depth;           /* of the innermost frame in a loop; -1 */
    bool guarded, maybe_none; /* it is a condition around it; what it rests on may be None */
    bool eager;               /* gg__frame's */
    bool breaks;              /* what is at hand comes anew into the graph behind it */
    bool beyond;              /* gg__found_beyond */
} gg__event;

enum { GG__MAX_NESTING = 300, GG__MAX_DEPTH = 12 };

struct gg__uses;
struct gg__memo;

typedef struct gg__walk {
    const gg_tree *tree;
    gg_arena *arena;
    gg__scope *module;
    gg__frame *frame;
    const gg__guard *guard;
    gg__truth usual;       /* of the condition evaluated last: gg__value's */
    unsigned quiet;        /* nothing is found while it is not 0 */
    unsigned depth;        /* of calls */
    unsigned steps;        /* nodes evaluated, of max_steps */
    unsigned nesting;      /* of statements and expressions, of GG__MAX_NESTING */
    unsigned deepest;      /* it was, since a call began that is being recorded */
    unsigned deepest_call; /* the same of depth */
    unsigned max_steps;
    GG_LIST(gg__finding) found;
    bool only_tensors;  /* nothing is found but what rests on a tensor */
    gg__values *yields; /* what graphglue_inputs() yields, while it is walked; else NULL */
    uint32_t round;     /* of the walk: one for each statement of the module, then one for each piece (pieces.h) */
    uint32_t stamp;     /* of the newest scope */
    size_t compared;    /* names, to find some */
    gg__syntax *syntax;
    struct gg__uses *uses;
    struct gg__memo *memo; /* NULL: the module's statements are walked */
} gg__walk;

#define GG__FIELD(w, node, name) gg__field_in((w)->syntax, (node), GG__FIELD_##name)

/* How a block of statements ends. */
typedef enum gg__flow { GG__FALLS, GG__RETURNS, GG__SKIPS /* break, continue */, GG__RAISES } gg__flow;

/* ---- values.c */
gg__value gg__of_kind(gg__kind kind);
gg__value gg__tensor(gg__dtype dtype);
gg__value gg__number(gg__dtype dtype);
gg__value gg__truth_value(gg__truth truth);
gg__value gg__dotted(gg_str path);
gg__value gg__sequence_of(gg__walk *w, gg__value element);
gg__value gg__join(gg__value a, gg__value b);
gg__truth gg__truth_of(const gg__value *value);
gg__truth
gg__usual_of(const gg__value *value); /* as gg__truth_of, where arguments that need not be given are not given */
gg__truth gg__not(gg__truth truth);
gg__value *gg__keep(gg__walk *w, gg__value value); /* a copy in the arena */
bool gg__is_tensor(const gg__value *value);        /* also taken for one */
bool gg__is_surely_tensor(const gg__value *value); /* … and shown to be one by now */
void gg__confirm(const gg__value *value);          /* its use shows that it is a tensor */
bool *gg__doubt_of_two(const gg__value *a,
                       const gg__value *b); /* of what an operator makes of two values, of which one is a tensor */

/* ---- scopes.c */
gg__scope *gg__scope_new(gg__walk *w, gg__scope *outer);
gg__scope *gg__scope_copy(gg__walk *w, const gg__scope *scope);
void gg__scope_set(gg__walk *w, gg__scope *scope, gg_str name, gg__value value);
const gg__value *gg__scope_own(gg__walk *w, const gg__scope *scope, gg_str name);  /* NULL: not there */
const gg__value *gg__scope_find(gg__walk *w, const gg__scope *scope, gg_str name); /* … nor further out */
/* The same, to be changed in place. */
gg__value *gg__scope_own_to_change(gg__walk *w, gg__scope *scope, gg_str name);
gg__value *gg__scope_find_to_change(gg__walk *w, gg__scope *scope, gg_str name);
void gg__scope_join(gg__walk *w, gg__scope *into, const gg__scope *other);

struct gg__call;

/* ---- uses.c: what of the text a walk rests on */
void gg__touch(gg__walk *w, TSNode node);                           /* the unit that it lies in was looked at */
uint32_t gg__unit_of(const gg__walk *w, TSNode node);               /* UINT32_MAX: it lies in none */
void gg__note_read(gg__walk *w, gg_str name);                       /* what the module means by it */
void gg__before_change(gg__walk *w, gg__scope *scope, gg_str name); /* of what it stands for there */

/* ---- memo.c: what records of calls must know */
void gg__note_event(gg__walk *w, const gg__event *event);
void gg__note_telling(gg__walk *w); /* what follows depends on whether anything is found now */
void gg__note_change(gg__walk *w, gg__scope *scope);
/* What happens rests on more than a record keeps: of the calls that the scope is older than, or the frame outside of; of all, until the piece ends. */
void gg__spoil_outside(gg__walk *w, const gg__scope *scope);
void gg__spoil_below(gg__walk *w, const gg__frame *frame);
void gg__spoil_all(gg__walk *w);

/* ---- module.c */
void gg__walk_import(gg__walk *w, TSNode statement);
gg__value gg__instance_of(gg__walk *w, gg__value class_value, const struct gg__call *call);
gg__value gg__attribute_of(gg__walk *w, const gg__value *object, gg_str name);
bool gg__is_module_class(gg__walk *w, TSNode definition, gg__scope *scope);
TSNode gg__method_in(gg__walk *w, TSNode definition, gg__scope *scope, gg_str name, unsigned depth);

/* ---- statements.c */
gg__flow gg__walk_statement(gg__walk *w, TSNode node);
gg__flow gg__walk_block(gg__walk *w, TSNode block);
void gg__define(gg__walk *w, TSNode node, gg_str name); /* a class or function, where nothing is found in it */
void gg__bind(gg__walk *w, TSNode target, gg__value value);

/* ---- expressions.c */
bool gg__may_go_on(gg__walk *w); /* neither nested too deeply nor at it for too long; counts a step */
gg__value gg__eval(gg__walk *w, TSNode node);
gg__value gg__element_of(const gg__value *iterable);
/* ---- operators.c */
gg__value gg__eval_binary(gg__walk *w, TSNode node);
gg__value gg__eval_comparison(gg__walk *w, TSNode node);
/* ---- conditions.c */
void gg__ask_truth(gg__walk *w, TSNode node, const gg__value *value); /* tells the families */
gg__value gg__eval_boolean(gg__walk *w, TSNode node);
gg__value gg__eval_ternary(gg__walk *w, TSNode node);
/* Its truth is asked for: `if`, `while`, `and`, `not`, … */
gg__truth gg__eval_condition(gg__walk *w, TSNode node);
/* It usually holds where it must not, or the other way round. */
bool gg__is_opposed(gg__truth usual, bool holds);
/* What names stand for where the condition holds, or does not. */
void gg__narrow(gg__walk *w, TSNode condition, bool holds);

/* ---- calls.c */
typedef struct gg__argument {
    gg_str name; /* of a keyword argument; empty: positional */
    TSNode node;
    gg__value value;
} gg__argument;

typedef struct gg__call {
    TSNode node;
    gg__value callee;
    const gg__argument *arguments;
    uint32_t count;
    bool splat;     /* *args or **kwargs: not all are known */
    bool entry;     /* a call nobody wrote: what is not given may be anything that its declaration allows */
    bool forward;   /* … of a forward pass: a bare parameter is taken for a tensor */
    bool elsewhere; /* … from another file: whether arguments are left out is not known */
} gg__call;

gg__value gg__eval_call(gg__walk *w, TSNode node);
gg__value gg__call_value(gg__walk *w, gg__call *call);
gg__value gg__call_function(gg__walk *w, const gg__value *function, const gg__call *call);
const gg__argument *gg__argument_at(const gg__call *call, uint32_t position, const char *name); /* NULL: not given */

bool gg__is_tensor_type(gg_str annotation); /* torch.Tensor, Optional[Tensor], …; no container */

/* ---- unused.c */
/* torch.compile() in a statement of the module, whose result nothing can call. */
void gg__walk_unused_compile(gg__walk *w, gg_str name, const gg__value *statement);

/* ---- found.c */
void gg__place_event(gg__walk *w, gg__event *event); /* behind the condition, in the loop at hand */
void gg__found_event(gg__walk *w, const gg__event *event);
void gg__break_graph(gg__walk *w); /* here, as far as what follows can see it */
/* Dynamo leaves the function being walked to Python, from here on: of some instructions (a slice, `in`, `*` of a list, `%`) it cannot go on behind a
 * break. */
void gg__note_eager(gg__walk *w);

/* ---- torch.c, library.c, builtins.c: what a call gives */
gg__value gg__tensor_method(gg__walk *w, const gg__call *call);
bool gg__is_recurrent(gg_str path);   /* a class: nn.LSTM and the like */
bool gg__is_tensors_own(gg_str name); /* an attribute or method that hardly anything else has */
gg__value gg__tensor_attribute(gg__walk *w, const gg__value *tensor, gg_str name);
gg__value gg__library_call(gg__walk *w, const gg__call *call);
gg__value gg__builtin_call(gg__walk *w, const gg__call *call, gg_str name);
bool gg__is_builtin(gg_str name);

/* ---- families/: one file per family of breaks.  Each hook is called once its operands are known. */
typedef struct gg__family {
    void (*on_truth)(gg__walk *w, TSNode node, const gg__value *value);
    void (*on_call)(gg__walk *w, const gg__call *call);
    void (*on_subscript)(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store);
    void (*on_with)(gg__walk *w, TSNode item, const gg__value *value);
    void (*on_statement)(gg__walk *w, TSNode statement, gg__node type);
    void (*on_store)(gg__walk *w, TSNode target, const gg__value *object, gg_str attribute);
    void (*on_attribute)(gg__walk *w, TSNode node, const gg__value *object, gg_str name);
    void (*on_operator)(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right);
} gg__family;
extern const gg__family *const gg__families[]; /* ends with NULL */
/* GG__TELL(on_truth, w, node, value): each family that has the hook. */
#define GG__TELL(hook, ...)                                                        \
    do {                                                                           \
        for (size_t gg__i = 0; gg__families[gg__i]; gg__i++)                       \
            if (gg__families[gg__i]->hook) gg__families[gg__i]->hook(__VA_ARGS__); \
    } while (0)

/* Notes a break at `node`.  `id`: NULL for the rule's own.  `because`: the tensor it rests on: where that is never confirmed to be one, it is conditional; NULL: none. */
void gg__found(gg__walk *w, gg__rule rule, const char *id, TSNode node, const gg__value *because);
/* Notes what is no break, once at a place. */
void gg__found_beyond(gg__walk *w, gg__rule rule, TSNode node);
gg_str gg__text_of(gg__walk *w, TSNode node);
gg_str gg__node_words(gg__walk *w, TSNode node); /* its text in one line, shortened */

#endif
