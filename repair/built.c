/* Modules that a class makes itself.  See built.h.
 *
 * A capture sees one instance.  Where the class makes the module, it is of that kind in all of them; where the class is given it, another instance may
 * have one that draws random numbers, or changes its operand in place. */
#include "repair/built.h"

#include "repair/scalar.h"
#include "repair/texts.h"

enum { MAX_DEPTH = 8, NEVER = 100 };

/* ---- attributes ---------------------------------------------------------------------------------------------------------- */

typedef struct values {
    const gg_tree *tree;
    TSNode owner; /* the class; null: the whole file */
    gg_str name;
    uint32_t count;
    gg__visitor found;
    void *data;
} values;

typedef struct class_search {
    const gg_tree *tree;
    gg_str name;
    TSNode found;
    bool only, all; /* all: look whether there is another */
} class_search;

static bool note_class(TSNode node, void *data) {
    class_search *s = data;
    if (!gg_node_is(node, "class_definition") || !gg_str_equal(gg__text(s->tree, gg__field(node, "name")), s->name))
        return true;
    s->only = ts_node_is_null(s->found);
    if (s->only) s->found = node;
    return s->only && s->all;
}

TSNode gg__class_named(const gg_tree *tree, gg_str name, bool *only) {
    class_search s = {.tree = tree, .name = name, .all = only != NULL};
    gg__visit(gg_tree_root(tree), note_class, &s);
    if (only) *only = s.only;
    return s.found;
}

/* Is the class the other one, or derived from it by classes of the file? */
static bool derives(const gg_tree *tree, TSNode class, TSNode base, uint32_t depth) {
    TSNode bases = gg__field(class, "superclasses");
    if (ts_node_eq(class, base)) return true;
    for (uint32_t i = 0; depth < MAX_DEPTH && i < gg__child_count(bases); i++) {
        if (!gg_node_is(gg__child(bases, i), "identifier")) continue; /* `nn.Module` is another file's */
        TSNode found = gg__class_named(tree, gg__text(tree, gg__child(bases, i)), NULL);
        if (!ts_node_is_null(found) && derives(tree, found, base, depth + 1)) return true;
    }
    return false;
}

typedef struct meeting {
    const values *v;
    TSNode class;
} meeting;

static bool does_not_meet(TSNode node, void *data) {
    const meeting *m = data;
    return !gg_node_is(node, "class_definition") || gg__child_count(gg__field(node, "superclasses")) < 2 ||
           !derives(m->v->tree, node, m->v->owner, 0) || !derives(m->v->tree, node, m->class, 0);
}

/* The class, one that it is derived from, one derived from it, or one that meets it in a third: a mixin. */
static bool is_related(const values *v, TSNode class) {
    meeting m = {v, class};
    if (ts_node_is_null(v->owner)) return true;
    return !ts_node_is_null(class) && (derives(v->tree, class, v->owner, 0) || derives(v->tree, v->owner, class, 0) ||
                                       !gg__visit(gg_tree_root(v->tree), does_not_meet, &m));
}

/* `self.t` in such a class; or `net.t`, of who knows which. */
static bool is_in_class(const values *v, TSNode node) {
    return !gg_str_is(gg__text(v->tree, gg__field(node, "object")), "self") || is_related(v, gg__class_around(node));
}

static bool note_value(TSNode node, void *data) {
    values *v = data;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(v->tree, gg__field(node, "attribute")), v->name) ||
        !gg__is_binding(node) || !is_in_class(v, node))
        return true;
    bool plain = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    if (plain && ts_node_is_null(gg__field(parent, "right"))) return true; /* `self.t: int` alone binds nothing */
    v->count++;
    TSNode value = plain ? gg__field(parent, "right") : (TSNode){0};
    while (gg_node_is(value, "assignment")) value = gg__field(value, "right"); /* a = b = … */
    return v->found(gg__strip_parentheses(value), v->data);
}

bool gg__each_attribute_value(const gg_tree *tree, TSNode attribute, gg__visitor found, void *data) {
    bool own = gg_str_is(gg__text(tree, gg__field(attribute, "object")), "self");
    values v = {.tree = tree, .name = gg__text(tree, gg__field(attribute, "attribute")), .found = found, .data = data};
    if (own) v.owner = gg__class_around(attribute);
    return gg__visit(gg_tree_root(tree), note_value, &v) && v.count > 0;
}

static bool is_in_init(TSNode value, void *data) {
    const gg_tree *tree = data;
    return !ts_node_is_null(value) && gg_str_is(gg__text(tree, gg__field(gg__function(value), "name")), "__init__");
}

bool gg__is_set_up_once(const gg_tree *tree, TSNode attribute) {
    values v = {.tree = tree, .name = gg__text(tree, gg__field(attribute, "attribute")), .found = gg__stop};
    return gg__each_attribute_value(tree, attribute, is_in_init, (void *)tree) ||
           gg__visit(gg_tree_root(tree), note_value, &v);
}

static bool registers_another(TSNode node, void *data) {
    const values *v = data;
    TSNode function = gg__field(node, "function"), first = gg__child(gg__field(node, "arguments"), 0);
    gg_str name;
    return !gg_node_is(node, "call") || !gg_str_is(gg__text(v->tree, function), "self.register_buffer") ||
           !gg__between_quotes(v->tree, first, &name) || !gg_str_equal(name, v->name);
}

bool gg__is_registered(const gg_tree *tree, TSNode attribute) {
    values v = {.tree = tree, .name = gg__text(tree, gg__field(attribute, "attribute"))};
    TSNode class = gg__class_around(attribute);
    return gg_str_is(gg__text(tree, gg__field(attribute, "object")), "self") && !ts_node_is_null(class) &&
           !gg__visit(class, registers_another, &v);
}

/* `t: torch.Tensor` alone binds nothing. */
static bool is_no_member(TSNode node, void *data) {
    const values *v = data;
    TSNode statement = gg__statement(node), block = gg__parent(statement), parent = gg__parent(node);
    if (gg_node_is(parent, "assignment") && ts_node_is_null(gg__field(parent, "right"))) return true;
    return !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(v->tree, node), v->name) ||
           !gg__is_binding(node) || !gg_node_is(gg__parent(block), "class_definition") ||
           !is_related(v, gg__parent(block));
}

bool gg__is_of_its_class(const gg_tree *tree, TSNode attribute) {
    values v = {.tree = tree, .name = gg__text(tree, gg__field(attribute, "attribute"))};
    if (gg_str_is(gg__text(tree, gg__field(attribute, "object")), "self")) v.owner = gg__class_around(attribute);
    return !gg__visit(gg_tree_root(tree), is_no_member, &v);
}

/* ---- modules --------------------------------------------------------------------------------------------------------------- */

/* KEPT: its call makes a tensor that autograd may keep; NEW: one that it does not; SAME: it returns the operand. */
typedef enum built { UNKNOWN, KEPT, NEW, SAME } built;

static const struct {
    const char *path;
    uint32_t in_place; /* the position of `inplace` */
    bool keeps;        /* its result; what may be done in place counts so, too */
} kinds[] = {
    {"torch.nn.CELU", 1, true},
    {"torch.nn.Conv1d", NEVER, false},
    {"torch.nn.Conv2d", NEVER, false},
    {"torch.nn.Conv3d", NEVER, false},
    {"torch.nn.ELU", 1, true},
    {"torch.nn.GELU", NEVER, false},
    {"torch.nn.Hardshrink", NEVER, false},
    {"torch.nn.Hardsigmoid", 0, true},
    {"torch.nn.Hardswish", 0, true},
    {"torch.nn.Hardtanh", 2, true},
    {"torch.nn.LayerNorm", NEVER, false},
    {"torch.nn.LeakyReLU", 1, true},
    {"torch.nn.Linear", NEVER, false},
    {"torch.nn.LogSigmoid", NEVER, false},
    {"torch.nn.LogSoftmax", NEVER, true},
    {"torch.nn.Mish", 0, true},
    {"torch.nn.ReLU", 0, true},
    {"torch.nn.ReLU6", 0, true},
    {"torch.nn.SELU", 0, true},
    {"torch.nn.SiLU", 0, true},
    {"torch.nn.Sigmoid", NEVER, true},
    {"torch.nn.Softmax", NEVER, true},
    {"torch.nn.Softplus", NEVER, false},
    {"torch.nn.Softshrink", NEVER, false},
    {"torch.nn.Softsign", NEVER, false},
    {"torch.nn.Tanh", NEVER, true},
    {"torch.nn.Tanhshrink", NEVER, false},
};

static bool names(const gg_tree *tree, TSNode function, const char *path) {
    gg_str own = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    size_t dot = sizeof("torch.nn") - 1;
    return gg_node_is(function, "identifier") || gg_str_is(own, path + dot + 1) ? gg__refers_to(tree, function, path)
                                                                                : false;
}

/* `inplace` is a literal, or not said. */
static bool says_in_place(const gg_tree *tree, TSNode arguments, uint32_t position) {
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = argument;
        bool named = gg_node_is(argument, "keyword_argument");
        if (gg_node_is(argument, "list_splat") || gg_node_is(argument, "dictionary_splat")) return position == NEVER;
        if (named) value = gg__field(argument, "value");
        bool asks = named ? gg_str_is(gg__text(tree, gg__field(argument, "name")), "inplace") : i >= position;
        if (asks && !gg_node_is(value, "true") && !gg_node_is(value, "false")) return false;
    }
    return true;
}

/* `nn.Dropout(0.0)` */
static bool drops_nothing(const gg_tree *tree, TSNode arguments) {
    TSNode first = gg__child(arguments, 0);
    double p = 1;
    if (gg_node_is(first, "keyword_argument")) {
        if (!gg_str_is(gg__text(tree, gg__field(first, "name")), "p")) return false;
        first = gg__field(first, "value");
    }
    return gg__literal_value(tree, first, &p) && p == 0 && gg__child_count(arguments) == 1;
}

/* What is known of both. */
static built of_either(built a, built b) {
    bool makes = (a == KEPT || a == NEW) && (b == KEPT || b == NEW);
    return a == b ? a : makes ? KEPT : UNKNOWN;
}

static built kind_of(const gg_tree *tree, TSNode value, uint32_t depth);

static built sequence(const gg_tree *tree, TSNode arguments, uint32_t depth) {
    built all = SAME;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode part = gg__child(arguments, i);
        if (gg_node_is(part, "comment")) continue;
        built one = kind_of(tree, part, depth + 1);
        if (one == UNKNOWN) return UNKNOWN;
        if (one != SAME) all = one; /* the last that makes one */
    }
    return all;
}

/* `nn.ModuleList([nn.Linear(4, 4), …])`, `nn.ModuleList(nn.Linear(4, 4) for _ in range(n))`: what is known of each of them. */
static built listed(const gg_tree *tree, TSNode arguments, uint32_t depth) {
    TSNode items = gg__is_comprehension(arguments) ? arguments : gg__child(arguments, 0);
    if (gg__is_comprehension(items)) return kind_of(tree, gg__field(items, "body"), depth + 1);
    if (gg__child_count(arguments) != 1 || !gg_node_is(items, "list") || gg__child_count(items) == 0) return UNKNOWN;
    built all = kind_of(tree, gg__child(items, 0), depth + 1);
    for (uint32_t i = 1; i < gg__child_count(items) && all != UNKNOWN; i++)
        all = of_either(all, kind_of(tree, gg__child(items, i), depth + 1));
    return all;
}

static built kind_of(const gg_tree *tree, TSNode value, uint32_t depth) {
    value = gg__strip_parentheses(value);
    TSNode function = gg__field(value, "function"), arguments = gg__field(value, "arguments");
    if (depth > MAX_DEPTH || ts_node_is_null(value)) return UNKNOWN;
    if (gg_node_is(value, "conditional_expression") && gg__child_count(value) == 3)
        return of_either(kind_of(tree, gg__child(value, 0), depth + 1), kind_of(tree, gg__child(value, 2), depth + 1));
    if (gg_node_is(value, "call") && names(tree, function, "torch.nn.ModuleList"))
        return listed(tree, arguments, depth);
    if (!gg_node_is(value, "call") || !gg_node_is(arguments, "argument_list")) return UNKNOWN;
    if (names(tree, function, "torch.nn.Sequential")) return sequence(tree, arguments, depth);
    if (names(tree, function, "torch.nn.Identity")) return SAME;
    if (names(tree, function, "torch.nn.Dropout") || names(tree, function, "torch.nn.AlphaDropout"))
        return drops_nothing(tree, arguments) ? SAME : UNKNOWN;
    for (size_t i = 0; i < GG_COUNT(kinds); i++)
        if (names(tree, function, kinds[i].path))
            return !says_in_place(tree, arguments, kinds[i].in_place) ? UNKNOWN : kinds[i].keeps ? KEPT : NEW;
    return UNKNOWN;
}

typedef struct building {
    const gg_tree *tree;
    built kind; /* of those so far */
} building;

static bool is_of_the_kind(TSNode value, void *data) {
    building *b = data;
    built kind = kind_of(b->tree, value, 0);
    b->kind = b->kind == UNKNOWN ? kind : of_either(b->kind, kind);
    return b->kind != UNKNOWN;
}

/* `enumerate(self.layers)`, `zip(self.layers, self.norms)`, `len(self.layers)` */
static bool is_gone_through(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    return gg__names_builtin(tree, function, "enumerate") || gg__names_builtin(tree, function, "zip") ||
           gg__names_builtin(tree, function, "len");
}

/* Nobody has set something of it, called a method of it (a hook, `append`), or handed it to a function that may change it (spectral_norm); and nobody
 * sets attributes by names that are computed. */
static bool leaves_alone(TSNode node, void *data) {
    static const char *const setters[] = {"setattr",  "add_module", "register_module", "__setattr__",  "__dict__",
                                          "_modules", "setdefault", "named_children",  "named_modules"};
    const values *v = data;
    gg_str text = gg__text(v->tree, node);
    if (gg_node_is(node, "identifier")) return !gg__is_one_of(text, setters, GG_COUNT(setters));
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(v->tree, gg__field(node, "attribute")), v->name))
        return true;
    TSNode parent = gg__parent(node), above = gg__parent(parent);
    bool called = gg_node_is(above, "call") && ts_node_eq(gg__field(above, "function"), parent);
    if (gg_node_is(parent, "attribute")) return !called && !gg__is_binding(parent);
    if (gg_node_is(parent, "subscript")) return !gg__is_binding(parent);
    if (gg_node_is(parent, "argument_list") && is_gone_through(v->tree, above)) return true;
    return !gg_node_is(parent, "argument_list") && !gg_node_is(parent, "keyword_argument");
}

static built built_by_class(const gg_tree *tree, TSNode attribute) {
    values v = {.tree = tree, .name = gg__text(tree, gg__field(attribute, "attribute"))};
    if (!gg__visit(gg_tree_root(tree), leaves_alone, &v)) return UNKNOWN;
    building b = {.tree = tree, .kind = UNKNOWN};
    return gg__each_attribute_value(tree, attribute, is_of_the_kind, &b) ? b.kind : UNKNOWN;
}

bool gg__is_built_by_class(const gg_tree *tree, TSNode attribute) {
    return built_by_class(tree, attribute) != UNKNOWN;
}

bool gg__is_built_to_forget(const gg_tree *tree, TSNode attribute) {
    return built_by_class(tree, attribute) == NEW;
}
