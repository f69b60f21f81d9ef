/* What requires gradients, and where a tensor goes that is wanted for its values alone.  See gradients.h. */
#include "repair/gradients.h"

#include <stdio.h>

#include "repair/alias.h"
#include "repair/built.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/kept.h"

enum { MAX_DEPTH = 12 };

static bool carries(const gg_rule_input *in, TSNode node, uint32_t depth);

/* Operations through which a gradient flows from whatever tensor they are given first. */
static bool lets_through(gg_str name) {
    static const char *const names[] = {
        "abs",       "add",     "amax",        "bmm",       "clamp",     "cos",        "cumsum",     "div",
        "einsum",    "exp",     "expand",      "flatten",   "float",     "gelu",       "leaky_relu", "linear",
        "log",       "log1p",   "log_softmax", "matmul",    "mean",      "mm",         "mul",        "narrow",
        "neg",       "permute", "pow",         "relu",      "repeat",    "reshape",    "rsqrt",      "sigmoid",
        "silu",      "sin",     "softmax",     "softplus",  "sqrt",      "square",     "squeeze",    "sub",
        "sum",       "t",       "tanh",        "transpose", "unsqueeze", "view",       "contiguous", "layer_norm",
        "normalize", "elu",     "mish",        "std",       "var",       "group_norm", "batch_norm", "rms_norm",
        "prelu",     "dropout", "conv1d",      "conv2d",    "conv3d"};
    return gg__is_one_of(name, names, GG_COUNT(names));
}

static const char *const weighted[] = {"Linear",          "Conv1d",          "Conv2d",    "Conv3d",  "ConvTranspose1d",
                                       "ConvTranspose2d", "ConvTranspose3d", "Embedding", "Bilinear"};

static bool has_weights(const gg_fact *module) {
    if (gg__is_one_of(module->type, weighted, GG_COUNT(weighted))) return true;
    for (size_t i = 0; i < module->step_count; i++)
        if (module->steps[i].op == GG_STEP_LINEAR) return true;
    return false;
}

static bool makes_weights(TSNode value, void *data) {
    const gg_tree *tree = data;
    TSNode function = gg__field(value, "function");
    char path[40];
    for (size_t i = 0; i < GG_COUNT(weighted); i++) {
        (void)snprintf(path, sizeof(path), "torch.nn.%s", weighted[i]);
        if (gg__refers_to(tree, function, path)) return true;
    }
    return false;
}

static bool call_carries(const gg_rule_input *in, TSNode call, uint32_t depth) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    const gg_fact *fact = gg__fact_of(in, gg__text(in->tree, function));
    if (!gg_node_is(arguments, "argument_list") || !gg_node_is(function, "attribute")) return false;
    bool own = gg_str_is(gg__text(in->tree, gg__field(function, "object")), "self");
    if (fact && fact->kind == GG_VALUE_MODULE)
        return has_weights(fact) ||
               (fact->step_count && gg__child_count(arguments) == 1 && carries(in, gg__child(arguments, 0), depth + 1));
    if (!fact && own) return gg__each_attribute_value(in->tree, function, makes_weights, (void *)in->tree);
    gg__inference s = {.in = in};
    gg__call read = gg__read_call(&s, call);
    TSNode x = read.from ? gg__child(arguments, 0) : gg__field(function, "object");
    return lets_through(read.name) && carries(in, x, depth + 1);
}

/* A capture is made without gradients: facts tell of what was there before, parameters and arguments; the rest is what it is made of. */
static bool name_carries(const gg_rule_input *in, TSNode node, uint32_t depth) {
    gg_str text = gg__text(in->tree, node);
    TSNode function = gg__function(node);
    bool local = gg_node_is(node, "identifier");
    TSNode value = local ? gg__value_at(in->tree, node, text) : (TSNode){0};
    if (!ts_node_is_null(value)) return carries(in, value, depth + 1);
    const gg_fact *fact = gg__fact_of(in, text);
    if (!fact || fact->kind != GG_VALUE_TENSOR || !fact->requires_grad || !gg__is_floating(fact->dtype)) return false;
    return local ? gg__stays_from(in->tree, function, text, ts_node_start_byte(gg__field(function, "body")))
                 : !gg__binds_path(in->tree, function, text);
}

static bool operator_carries(const gg_rule_input *in, TSNode node, uint32_t depth) {
    static const char *const operators[] = {"+", "-", "*", "/", "@", "**"};
    return gg__is_one_of(gg__text(in->tree, gg__field(node, "operator")), operators, GG_COUNT(operators)) &&
           (carries(in, gg__field(node, "left"), depth + 1) || carries(in, gg__field(node, "right"), depth + 1));
}

static bool carries(const gg_rule_input *in, TSNode node, uint32_t depth) {
    node = gg__strip_parentheses(node);
    if (depth > MAX_DEPTH || ts_node_is_null(node)) return false;
    if (gg_node_is(node, "identifier") || gg_node_is(node, "attribute")) return name_carries(in, node, depth);
    if (gg_node_is(node, "call")) return call_carries(in, node, depth);
    if (gg_node_is(node, "subscript")) return carries(in, gg__field(node, "value"), depth + 1);
    if (gg_node_is(node, "unary_operator")) return carries(in, gg__field(node, "argument"), depth + 1);
    return gg_node_is(node, "binary_operator") && operator_carries(in, node, depth);
}

bool gg__carries_gradients(const gg_rule_input *in, TSNode node) {
    return carries(in, node, 0);
}

/* ---- where a tensor goes ------------------------------------------------------------------------------------------------ */

typedef struct way {
    const gg_rule_input *in;
    bool free;
    uint32_t depth;
} way;

typedef enum step { GOES_ON, ENDS_WELL, ENDS_BADLY } step;

/* Of a list or the arguments of a call: does another one carry gradients? */
static bool another_carries(const gg_rule_input *in, TSNode list, TSNode but) {
    for (uint32_t i = 0; i < gg__child_count(list); i++) {
        TSNode item = gg__child(list, i);
        if (ts_node_eq(item, but)) continue;
        if (gg_node_is(item, "keyword_argument")) item = gg__field(item, "value");
        if (gg__carries_gradients(in, item)) return true;
    }
    return false;
}

/* `h.mul(t)`: methods that compute a new tensor from two. */
static bool combines(gg_str name) {
    static const char *const names[] = {"add",     "sub",     "mul", "div",  "matmul", "mm",      "bmm",  "pow",
                                        "maximum", "minimum", "mv",  "lerp", "fmod",   "addcmul", "where"};
    return gg__is_one_of(name, names, GG_COUNT(names));
}

static step as_argument(const way *w, TSNode arguments, TSNode node) {
    const gg_rule_input *in = w->in;
    TSNode call = gg__parent(arguments), function = gg__field(call, "function"), object = gg__field(function, "object");
    if (gg__is_in_place_by_keyword(in->tree, call) || gg__is_in_place_by_position(in->tree, call)) return ENDS_BADLY;
    if (gg__is_torchs(in->tree, call)) {
        if (gg_str_ends_with(gg__called_name(in->tree, call), GG_STR("_"))) return ENDS_BADLY;
        return (w->free && gg__makes_new(in, call)) || another_carries(in, arguments, node) ? ENDS_WELL : GOES_ON;
    }
    bool method = combines(gg__called_name(in->tree, call)) && gg__infer_loosely(in, object).sort == GG__TENSOR;
    if (!method) return ENDS_BADLY;
    return w->free || gg__carries_gradients(in, object) || another_carries(in, arguments, node) ? ENDS_WELL : GOES_ON;
}

/* `t.shape`, `t.view(-1)` */
static step as_object(const way *w, TSNode attribute, TSNode *node) {
    static const char *const asked[] = {"shape", "dtype", "device", "ndim"}, *const sizes[] = {"size", "dim", "numel"},
                             *const views[] = {"view",  "reshape",   "unsqueeze", "squeeze",   "expand",
                                               "t",     "transpose", "permute",   "flatten",   "to",
                                               "float", "type_as",   "repeat",    "expand_as", "view_as"};
    const gg_rule_input *in = w->in;
    gg_str name = gg__text(in->tree, gg__field(attribute, "attribute"));
    TSNode call = gg__parent(attribute);
    bool called = gg_node_is(call, "call") && ts_node_eq(gg__field(call, "function"), attribute);
    if (!called) return gg__is_one_of(name, asked, GG_COUNT(asked)) ? ENDS_WELL : ENDS_BADLY;
    if (gg__is_one_of(name, sizes, GG_COUNT(sizes))) return ENDS_WELL;
    bool two = combines(name);
    if (!two && !gg__is_one_of(name, views, GG_COUNT(views)) && !gg__is_operation(in, call)) return ENDS_BADLY;
    if (two && (w->free || another_carries(in, gg__field(call, "arguments"), attribute))) return ENDS_WELL;
    *node = call;
    return GOES_ON;
}

static bool goes_well(TSNode node, void *data);

/* `scale = 1 + t`, where the name is bound once: its uses. */
static step as_value(const way *w, TSNode assignment) {
    TSNode name = gg__field(assignment, "left"), value = gg__field(assignment, "right");
    way deeper = {w->in, w->free, w->depth + 1};
    bool named = gg_node_is(name, "identifier") && ts_node_eq(gg__only_value(w->in->tree, name), value);
    return named && w->depth < MAX_DEPTH && gg__each_use(w->in->tree, name, goes_well, &deeper) ? ENDS_WELL
                                                                                                : ENDS_BADLY;
}

static step as_operand(const way *w, TSNode parent, TSNode node) {
    static const char *const orders[] = {"<", ">", "<=", ">=", "==", "!="};
    const gg_tree *tree = w->in->tree;
    if (gg_node_is(parent, "binary_operator")) {
        TSNode left = gg__field(parent, "left"), other = ts_node_eq(left, node) ? gg__field(parent, "right") : left;
        return w->free || gg__carries_gradients(w->in, other) ? ENDS_WELL : GOES_ON;
    }
    if (gg_node_is(parent, "comparison_operator"))
        return gg__child_count(parent) == 2 && gg__is_one_of(gg__text(tree, ts_node_child(parent, 1)), orders, 6)
                   ? ENDS_WELL
                   : ENDS_BADLY;
    return gg_str_is(gg__text(tree, gg__field(parent, "operator")), "-") ? GOES_ON : ENDS_BADLY; /* `+t` is t */
}

static step next(const way *w, TSNode *node) {
    TSNode parent = gg__parent(*node), at = *node;
    *node = parent;
    if (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "keyword_argument")) return GOES_ON;
    if (gg_node_is(parent, "binary_operator") || gg_node_is(parent, "comparison_operator") ||
        gg_node_is(parent, "unary_operator"))
        return as_operand(w, parent, at);
    if (gg_node_is(parent, "subscript")) return ts_node_eq(gg__field(parent, "value"), at) ? GOES_ON : ENDS_BADLY;
    if (gg_node_is(parent, "attribute")) return as_object(w, parent, node);
    if (gg_node_is(parent, "list") || gg_node_is(parent, "tuple")) { /* torch.stack([h, t]) */
        TSNode arguments = gg__parent(parent);
        bool given = gg_node_is(arguments, "argument_list") && gg__is_torchs(w->in->tree, gg__parent(arguments));
        return !given ? ENDS_BADLY : another_carries(w->in, parent, at) ? ENDS_WELL : GOES_ON;
    }
    if (gg_node_is(parent, "argument_list")) {
        *node = gg__parent(parent);
        return as_argument(w, parent, at);
    }
    if (gg_node_is(parent, "augmented_assignment"))
        return ts_node_eq(gg__field(parent, "right"), at) && gg__carries_gradients(w->in, gg__field(parent, "left"))
                   ? ENDS_WELL
                   : ENDS_BADLY;
    return gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "right"), at) ? as_value(w, parent)
                                                                                          : ENDS_BADLY;
}

static bool goes_well(TSNode node, void *data) {
    way w = *(const way *)data;
    TSNode from = node;
    step done = GOES_ON;
    w.free = w.free || gg__without_gradients(w.in->tree, node);
    for (uint32_t i = 0; done == GOES_ON && i < 4 * MAX_DEPTH; i++) done = next(&w, &node);
    return done == ENDS_WELL ||
           gg__hinder(w.in, from, "may be met as a parameter here, or where nothing else requires gradients");
}

bool gg__is_only_computed_with(const gg_rule_input *in, TSNode node, bool free) {
    way w = {in, free, 0};
    return goes_well(node, &w);
}
