/* Numbers taken out of tensors: uses as an argument.  See scalar.h.
 *
 * Some functions take a tensor without dimensions as they take a number; of others the call is rewritten, around the number's own text. */
#include "repair/scalar.h"

#include "repair/infer.h"

#include <math.h>
#include <string.h>

typedef struct place {                /* where the number is an argument */
    TSNode call, arguments, argument; /* the argument: its value, without a keyword */
    gg_str keyword, name;             /* name: of the function or method */
    uint32_t index, count;
    enum { BUILTIN, METHOD, TORCH, MATH, NUMPY, OTHER } form;
} place;

static bool find_place(const gg__scalar_uses *u, TSNode node, place *out) {
    const gg_tree *tree = u->in.tree;
    TSNode parent = gg__parent(node), argument = node;
    *out = (place){.argument = node};
    if (gg_node_is(parent, "keyword_argument")) {
        out->keyword = gg__text(tree, gg__field(parent, "name"));
        argument = parent;
        parent = gg__parent(parent);
    }
    out->arguments = parent;
    out->call = gg__parent(parent);
    if (!gg_node_is(parent, "argument_list") || !gg_node_is(out->call, "call")) return false;
    out->count = gg__child_count(parent);
    while (out->index < out->count && !ts_node_eq(gg__child(parent, out->index), argument)) out->index++;
    TSNode function = gg__field(out->call, "function");
    if (gg_node_is(function, "identifier")) {
        out->name = gg__text(tree, function);
        bool own = gg__is_local(tree, node, out->name) || gg__is_bound_in_module(tree, out->name);
        out->form = own ? OTHER : BUILTIN;
        return !own;
    }
    if (!gg_node_is(function, "attribute")) return false;
    out->name = gg__text(tree, gg__field(function, "attribute"));
    gg_str object = gg__text(tree, gg__field(function, "object"));
    out->form = METHOD;
    if (gg_str_equal(object, gg__module_alias(tree, node, "torch"))) out->form = TORCH;
    if (gg_str_equal(object, gg__module_alias(tree, node, "math"))) out->form = MATH;
    if (gg_str_equal(object, gg__module_alias(tree, node, "numpy"))) out->form = NUMPY;
    return true;
}

/* `f(…A…)` → `(A)suffix`, in two edits around A. */
static bool wrap(gg__scalar_uses *u, const place *p, gg_str after) {
    static const char *const primary[] = {"identifier", "call", "attribute", "parenthesized_expression"};
    gg_span call = gg_node_span(p->call), inner = gg_node_span(p->argument);
    if (gg__has_comment(u->in.tree, call)) return false;
    bool anew = after.len && !gg_str_is(after, ".long()"); /* which is the tensor itself where it is one of int64 */
    u->at_once = u->at_once || (anew && ts_node_eq(p->argument, u->taken));
    u->rewrites = true;
    if (u->edits == NULL) return true;
    bool simple = ts_node_eq(p->argument, u->taken);
    for (size_t i = 0; i < GG_COUNT(primary); i++) simple = simple || gg_node_is(p->argument, primary[i]);
    gg_edits_add(u->edits, (gg_span){call.start, inner.start}, simple ? GG_STR("") : GG_STR("("));
    gg_edits_add(u->edits, (gg_span){inner.end, call.end},
                 gg_arena_printf(u->arena, "%s%.*s", simple ? "" : ")", GG_STR_ARG(after)));
    return true;
}

static bool wants_whole(gg__scalar_uses *u, gg__scalar *s) {
    if (s->sort != GG__SCALAR_BOOL) return s->sort == GG__SCALAR_INT;
    gg__scalar_want(u, GG__TO_LONG);
    *s = (gg__scalar){.sort = GG__SCALAR_INT, .counted = true, .magnitude = 1, .natural = s->natural};
    return true;
}

/* `max(s, 1)` is s unless 1 is larger.  The first wins when neither is, as with NaN: clamp() keeps that, fmax() takes the other one.  A zero has
 * two signs. */
static bool bounds(gg__scalar_uses *u, const place *p, gg__scalar *s, bool upper) {
    double value = 0;
    if (p->count != 2 || p->keyword.len ||
        !gg__literal_value(u->in.tree, gg__child(p->arguments, 1 - p->index), &value))
        return false;
    TSNode other = gg__strip_parentheses(gg__child(p->arguments, 1 - p->index));
    gg_str text = gg__text(u->in.tree, other);
    bool whole = memchr(text.ptr, '.', text.len) == NULL && memchr(text.ptr, 'e', text.len) == NULL;
    bool other_first = s->sort == GG__SCALAR_FLOAT && p->index == 1;
    gg_str torch = gg__module_alias(u->in.tree, p->call, "torch");
    if (s->sort == GG__SCALAR_FLOAT) {
        if ((value == 0 && !u->approximate) || (other_first && torch.len == 0)) return false;
        gg__scalar_want(u, GG__TO_DOUBLE);
    } else {
        if (!whole || !wants_whole(u, s)) return false;
        gg__scalar_want(u, GG__TO_LONG);
        if (s->magnitude < fabs(value)) s->magnitude = fabs(value);
    }
    if (upper && !(s->topped && s->top < value)) s->top = value;
    if (!upper && s->top < value) s->top = value;
    s->topped = s->topped || upper;
    s->largest = s->largest > 0 ? fmax(s->largest, fabs(value)) : 0;
    s->counted = true;
    s->nonzero = false;
    s->natural = upper ? s->natural && value >= 0 : s->natural || value >= 0;
    s->positive = upper ? s->positive && value > 0 : s->positive || value > 0;
    if (!other_first)
        return wrap(u, p, gg_arena_printf(u->arena, ".clamp(%s=%.*s)", upper ? "max" : "min", GG_STR_ARG(text)));
    return wrap(u, p,
                gg_arena_printf(u->arena, ".%s(%.*s.tensor(%.*s, dtype=%.*s.float64))", upper ? "fmin" : "fmax",
                                GG_STR_ARG(torch), GG_STR_ARG(text), GG_STR_ARG(torch)));
}

/* What int() does where the tensor may be a floating one in another call; as an integer already, and in the same dtype. */
static gg_str cut_off(gg__scalar_uses *u) {
    if (!u->uncertain) return GG_STR("");
    if (!gg_str_is(u->dtype, "torch.int64")) gg__scalar_want(u, GG__TO_LONG);
    static const char *const texts[] = {
        [GG__AS_IS] = ".long()", [GG__TO_LONG] = "", [GG__TO_DOUBLE] = ".long().double()"};
    return gg_str_from(texts[u->widening]);
}

static bool in_builtin(gg__scalar_uses *u, const place *p, gg__scalar *s) {
    if (gg_str_is(p->name, "max") || gg_str_is(p->name, "min")) return bounds(u, p, s, gg_str_is(p->name, "min"));
    if (p->count != 1 || p->keyword.len) return false;
    if (gg_str_is(p->name, "abs")) {
        if (s->sort != GG__SCALAR_FLOAT) {
            if (!wants_whole(u, s)) return false;
            gg__scalar_want(u, GG__TO_LONG);
            s->counted = true;
        }
        s->natural = true;
        s->topped = false;
        return wrap(u, p, GG_STR(".abs()"));
    }
    if (gg_str_is(p->name, "float")) {
        if (s->sort != GG__SCALAR_FLOAT) {
            if (s->counted && s->magnitude > 0x1p53) return false;
            gg__scalar_want(u, GG__TO_DOUBLE);
            s->sort = GG__SCALAR_FLOAT;
            s->magnitude = INFINITY;
        }
        return wrap(u, p, GG_STR(""));
    }
    return gg_str_is(p->name, "int") && wants_whole(u, s) && wrap(u, p, cut_off(u));
}

/* math.exp() raises where a finite number is above 709.78, and not at infinity. */
static bool stays_below(const gg__scalar *s) {
    const double most = 709;
    return (s->topped && s->top <= most) || (s->largest > 0 && s->largest <= most);
}

/* `math.pow(s, 2)`, which raises where a double cannot hold it. */
static bool squared(gg__scalar_uses *u, const place *p, gg__scalar *s) {
    double value = 0;
    if (p->form != MATH || p->count != 2 || p->index != 0 || p->keyword.len || !u->approximate ||
        !gg__literal_value(u->in.tree, gg__child(p->arguments, 1), &value) || value != 2)
        return false;
    if (s->largest == 0 || s->largest > 1e150 || (s->counted && s->sort != GG__SCALAR_FLOAT && s->magnitude > 0x1p53))
        return false;
    gg__scalar_want(u, GG__TO_DOUBLE);
    *s = (gg__scalar){.sort = GG__SCALAR_FLOAT,
                      .counted = true,
                      .magnitude = INFINITY,
                      .natural = true,
                      .largest = s->largest * s->largest,
                      .finite = s->finite};
    return wrap(u, p, GG_STR(".square()"));
}

/* Python raises where torch gives NaN or an infinity, and NumPy warns: the number must be proven to lie where neither does.  A root is rounded correctly by
 * both; the others differ in the last bit. */
static bool in_math(gg__scalar_uses *u, const place *p, gg__scalar *s) {
    if (gg_str_is(p->name, "pow")) return squared(u, p, s);
    static const struct {
        const char *name, *method;
        enum { ANY, NATURAL, POSITIVE, BELOW, FINITE } domain; /* BELOW: where exp() does not overflow */
        bool same;
    } functions[] = {{"sqrt", ".sqrt()", NATURAL, true},    {"fabs", ".abs()", ANY, true},
                     {"log1p", ".log1p()", NATURAL, false}, {"log", ".log()", POSITIVE, false},
                     {"log2", ".log2()", POSITIVE, false},  {"log10", ".log10()", POSITIVE, false},
                     {"tanh", ".tanh()", ANY, false},       {"atan", ".atan()", ANY, false},
                     {"arctan", ".atan()", ANY, false},     {"asinh", ".asinh()", ANY, false},
                     {"arcsinh", ".asinh()", ANY, false},   {"erf", ".erf()", ANY, false},
                     {"exp", ".exp()", BELOW, false},       {"cos", ".cos()", FINITE, false},
                     {"sin", ".sin()", FINITE, false}};
    for (size_t i = 0; i < GG_COUNT(functions); i++) {
        if (!gg_str_is(p->name, functions[i].name)) continue;
        if (p->count != 1 || p->keyword.len || (!functions[i].same && !u->approximate)) return false;
        if (functions[i].domain == NATURAL && !s->natural) return false;
        if (functions[i].domain == POSITIVE && !s->positive) return false;
        if (functions[i].domain == BELOW && !stays_below(s)) return false;
        if (functions[i].domain == FINITE && !s->finite) return false;
        if (s->sort != GG__SCALAR_FLOAT && s->counted && s->magnitude > 0x1p53) return false;
        gg__scalar_want(u, GG__TO_DOUBLE);
        *s = (gg__scalar){.sort = GG__SCALAR_FLOAT,
                          .counted = true,
                          .magnitude = INFINITY,
                          .natural = functions[i].domain == NATURAL || functions[i].domain == BELOW || i == 1,
                          .positive = functions[i].domain == NATURAL && s->positive};
        return wrap(u, p, gg_str_from(functions[i].method));
    }
    return false;
}

/* Methods, and functions of torch, that do with a tensor without dimensions what they do with a number: as an operator (its sign), or
 * by converting it to the dtype of the first operand ('='). */
static const struct {
    const char *name;
    char op;
    uint32_t index; /* of the number, counted from the method's first argument */
    const char *keyword;
} takers[] = {
    {"add", '+', 0, NULL},
    {"sub", '-', 0, NULL},
    {"mul", '*', 0, NULL},
    {"add_", '+', 0, NULL},
    {"sub_", '-', 0, NULL},
    {"mul_", '*', 0, NULL},
    {"div", '/', 0, NULL},
    {"div_", '/', 0, NULL},
    {"eq", '<', 0, NULL},
    {"ne", '<', 0, NULL},
    {"gt", '<', 0, NULL},
    {"ge", '<', 0, NULL},
    {"lt", '<', 0, NULL},
    {"le", '<', 0, NULL},
    {"masked_fill", '=', 1, "value"},
    {"masked_fill_", '=', 1, "value"},
    {"fill_", '=', 0, NULL},
    {"clamp_min", '=', 0, "min"},
    {"clamp_max", '=', 0, "max"},
};

static bool taken(gg__scalar_uses *u, const place *p, gg__scalar s, TSNode first, uint32_t index) {
    bool single = p->count - (p->form == TORCH) == 1;
    if ((gg_str_is(p->name, "clamp") || gg_str_is(p->name, "clip")) && single)
        return gg_str_is(p->name, "clamp") && (p->keyword.len || index == 0) &&
               gg__scalar_meets(u, s, gg__infer_loosely(&u->in, first), '=');
    for (size_t i = 0; i < GG_COUNT(takers); i++) {
        if (!gg_str_is(p->name, takers[i].name)) continue;
        if (p->count - (p->form == TORCH) != takers[i].index + 1) return false;
        bool named = p->keyword.len && takers[i].keyword && gg_str_is(p->keyword, takers[i].keyword);
        if (!named && (p->keyword.len || index != takers[i].index)) return false;
        gg__meta x = gg__infer_loosely(&u->in, first);
        bool in_place = gg_str_ends_with(p->name, GG_STR("_"));
        if (takers[i].op == '/' && !u->on_cpu) return false;
        if (in_place && takers[i].op != '=' &&
            (gg_str_is(x.dtype, "torch.bool") || (takers[i].op == '/' && !gg__is_floating(x.dtype))))
            return false;
        return gg__scalar_meets(u, s, x, takers[i].op);
    }
    return false;
}

bool gg__scalar_told(const gg__scalar_uses *u, TSNode call, gg_str torch, gg_str *dtype) {
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 1; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        if (!gg_node_is(argument, "keyword_argument") ||
            !gg_str_is(gg__text(u->in.tree, gg__field(argument, "name")), "dtype") || !gg_node_is(value, "attribute") ||
            !gg_str_equal(gg__text(u->in.tree, gg__field(value, "object")), torch))
            return false;
        *dtype = gg__text(u->in.tree, value);
    }
    return true;
}

/* The dtype that torch makes of such a number, as text. */
static gg_str made_of(gg__scalar s, gg_str torch, gg_arena *arena) {
    if (s.sort == GG__SCALAR_FLOAT) return gg_arena_printf(arena, "%.*s.get_default_dtype()", GG_STR_ARG(torch));
    return gg_arena_printf(arena, "%.*s.%s", GG_STR_ARG(torch), s.sort == GG__SCALAR_INT ? "int64" : "bool");
}

/* `torch.tensor(s)`: new memory, whatever s is. */
static bool as_tensor(gg__scalar_uses *u, const place *p, gg__scalar s) {
    gg_str torch = gg__module_alias(u->in.tree, p->call, "torch"), dtype = GG_STR_NULL;
    if (p->index != 0 || p->keyword.len || !u->on_cpu || !gg__scalar_told(u, p->call, torch, &dtype)) return false;
    if (s.sort == GG__SCALAR_BOOL && u->widening != GG__AS_IS) return false;
    gg_str name = dtype.len > torch.len ? gg_str_slice(dtype, torch.len + 1, dtype.len) : GG_STR_NULL;
    bool floating = gg_str_is(name, "float32") || gg_str_is(name, "float64") || gg_str_is(name, "float");
    if (dtype.len && (s.sort != GG__SCALAR_FLOAT || !floating)) return false;
    if (u->settled && u->widening == GG__TO_DOUBLE && s.sort != GG__SCALAR_FLOAT) return false;
    u->count++;
    return wrap(
        u, p,
        gg_arena_printf(u->arena, ".to(%.*s, copy=True)", GG_STR_ARG(dtype.len ? dtype : made_of(s, torch, u->arena))));
}

/* `torch.full_like(x, s)` → `torch.empty_like(x).fill_(s)`, `x.new_full((2,), s)` → `x.new_empty((2,)).fill_(s)`: the edits leave the arguments' text
 * where it is.  `x`: the tensor that is named. */
static bool fills(gg__scalar_uses *u, const place *p, gg__scalar s, TSNode x) {
    gg_str torch = gg__module_alias(u->in.tree, p->call, "torch");
    TSNode first = gg__child(p->arguments, 0);
    bool anew = gg_str_is(p->name, "new_full"), like = anew || gg_str_is(p->name, "full_like");
    if (p->count != 2 || p->index != 1 || (p->keyword.len && !gg_str_is(p->keyword, "fill_value"))) return false;
    if (gg_node_is(first, "keyword_argument") || gg__has_comment(u->in.tree, gg_node_span(p->call))) return false;
    gg_str dtype = GG_STR_NULL;
    if (like) {
        if (!gg__scalar_meets(u, s, gg__infer_loosely(&u->in, x), '=')) return false;
    } else {
        /* What does not fit the default dtype raises in Python's place and becomes infinite in the tensor's. */
        bool fits = s.sort == GG__SCALAR_FLOAT ? gg_str_is(u->dtype, "torch.float32") && u->widening == GG__AS_IS
                                               : u->widening != GG__TO_DOUBLE;
        if (!u->on_cpu || (u->settled && !fits)) return false;
        u->count++;
        if (s.sort != GG__SCALAR_FLOAT)
            dtype = gg_arena_printf(u->arena, ", dtype=%.*s", GG_STR_ARG(made_of(s, torch, u->arena)));
    }
    u->at_once = u->at_once || ts_node_eq(p->argument, u->taken);
    u->rewrites = true;
    if (u->edits == NULL) return true;
    TSNode function = gg__field(p->call, "function");
    gg_edits_add(u->edits, gg_node_span(gg__field(function, "attribute")),
                 anew   ? GG_STR("new_empty")
                 : like ? GG_STR("empty_like")
                        : GG_STR("empty"));
    gg_edits_add(u->edits, (gg_span){ts_node_end_byte(first), ts_node_start_byte(p->argument)},
                 gg_arena_printf(u->arena, "%.*s).fill_(", GG_STR_ARG(dtype)));
    return true;
}

bool gg__scalar_in_call(gg__scalar_uses *u, TSNode *node, gg__scalar *s, bool *done) {
    place p;
    s->value_count = 0;
    if (!find_place(u, *node, &p)) return false;
    *node = p.call;
    if (p.form == BUILTIN) return in_builtin(u, &p, s);
    if (p.form == MATH || p.form == NUMPY) return in_math(u, &p, s);
    *done = true;
    TSNode first = p.form == TORCH ? gg__child(p.arguments, 0) : gg__field(gg__field(p.call, "function"), "object");
    if (p.form == TORCH && gg_str_is(p.name, "tensor")) return as_tensor(u, &p, *s);
    if (p.form == TORCH && (gg_str_is(p.name, "full_like") || gg_str_is(p.name, "full")))
        return fills(u, &p, *s, first);
    if (p.form == METHOD && gg_str_is(p.name, "new_full")) return fills(u, &p, *s, first);
    if (p.form == TORCH && gg_str_is(p.name, "where") && p.count == 3 && !p.keyword.len && p.index > 0)
        return gg__scalar_meets(u, *s, gg__infer_loosely(&u->in, gg__child(p.arguments, 3 - p.index)), '+');
    if (p.form == TORCH && p.index == 0) return false;
    return taken(u, &p, *s, first, p.index - (p.form == TORCH));
}
