/* GG113 normalisation-made-inside: `norm = nn.LayerNorm(4)` in a forward pass makes a layer that nobody trains, and its parameters.
 * Offers: the function that it calls, with the values that its parameters have when they are made.  Refuses: layers that draw their weights, other
 * arguments, names that do anything but call it, and where nothing else requires gradients.  Safety: exact.  Page: docs/rules/GG113.md */
#include <stdio.h>

#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/kept.h"

enum { MOST_LAYERS = 4, MOST_USES = 8 };

typedef enum kind { LAYER, RMS, GROUP, BATCH, SLOPE } kind;

static const struct {
    const char *name, *function;
    const char *parameters[4]; /* by their positions; the last that is given is eps, or the slope */
    uint32_t wanted;           /* how many of them have no default */
    kind kind;
    int32_t least, most; /* dimensions of what it is given; 0: any */
} rows[] = {
    {"LayerNorm", "layer_norm", {"normalized_shape", "eps"}, 1, LAYER, 0, 0},
    {"RMSNorm", "rms_norm", {"normalized_shape", "eps"}, 1, RMS, 0, 0},
    {"GroupNorm", "group_norm", {"num_groups", "num_channels", "eps"}, 2, GROUP, 0, 0},
    {"BatchNorm1d", "batch_norm", {"num_features", "eps"}, 1, BATCH, 2, 3},
    {"BatchNorm2d", "batch_norm", {"num_features", "eps"}, 1, BATCH, 4, 4},
    {"BatchNorm3d", "batch_norm", {"num_features", "eps"}, 1, BATCH, 5, 5},
    {"PReLU", "prelu", {"num_parameters", "init"}, 0, SLOPE, 0, 0},
};

typedef struct layer {
    TSNode call;
    size_t row;
    TSNode given[4]; /* null where the default is meant */
} layer;

typedef struct stack {
    layer layers[MOST_LAYERS]; /* in the order in which they run */
    uint32_t layer_count;
    TSNode whole;           /* `nn.LayerNorm(4)`, `nn.Sequential(…)` */
    TSNode statement;       /* which gives it a name; null where it is called at once */
    TSNode uses[MOST_USES]; /* the calls */
    uint32_t use_count;
    const gg_rule_input *in; /* while uses are looked for */
} stack;

/* ---- how it is made ------------------------------------------------------------------------------------------------------ */

static bool draws(const gg_tree *tree, TSNode function) {
    static const char *const names[] = {"Linear",
                                        "Conv1d",
                                        "Conv2d",
                                        "Conv3d",
                                        "Embedding",
                                        "Bilinear",
                                        "LSTM",
                                        "GRU",
                                        "RNN",
                                        "LSTMCell",
                                        "GRUCell",
                                        "EmbeddingBag",
                                        "MultiheadAttention",
                                        "ConvTranspose1d",
                                        "ConvTranspose2d",
                                        "TransformerEncoderLayer"};
    char path[48];
    for (size_t i = 0; i < GG_COUNT(names); i++) {
        (void)snprintf(path, sizeof(path), "torch.nn.%s", names[i]);
        if (gg__refers_to(tree, function, path)) return true;
    }
    return false;
}

static bool find_row(const gg_tree *tree, TSNode call, size_t *row) {
    char path[48];
    for (*row = 0; gg_node_is(call, "call") && *row < GG_COUNT(rows); ++*row) {
        (void)snprintf(path, sizeof(path), "torch.nn.%s", rows[*row].name);
        if (gg__refers_to(tree, gg__field(call, "function"), path)) return true;
    }
    return false;
}

/* `h.shape[1:]`, `h.size()[-2:]` */
static bool is_part_of_a_shape(const gg_rule_input *in, TSNode node) {
    TSNode shape = gg__field(node, "value"), method = gg__field(shape, "function");
    bool called = gg_node_is(shape, "call") && gg__child_count(gg__field(shape, "arguments")) == 0;
    TSNode path = called ? method : shape;
    return gg_node_is(node, "subscript") && gg_node_is(gg__field(node, "subscript"), "slice") &&
           gg_str_is(gg__text(in->tree, gg__field(path, "attribute")), called ? "size" : "shape") &&
           gg__infer_loosely(in, gg__field(path, "object")).sort == GG__TENSOR;
}

/* A number, or a shape that is written out, or a part of another's; it is written again where the layer is called. */
static bool is_size(const gg_rule_input *in, const layer *l, TSNode node, size_t place) {
    kind k = rows[l->row].kind;
    bool display = gg_node_is(node, "tuple") || gg_node_is(node, "list");
    gg__sort sort = gg__infer_loosely(in, node).sort;
    if (place >= rows[l->row].wanted && k != SLOPE) return sort == GG__SCALAR_FLOAT;
    if (k == SLOPE && place == 1) return sort == GG__SCALAR_FLOAT;
    if (place == 0 && (k == LAYER || k == RMS) && is_part_of_a_shape(in, node)) return true;
    if (!display || place || (k != LAYER && k != RMS)) return sort == GG__SCALAR_INT;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (gg__infer_loosely(in, gg__child(node, i)).sort != GG__SCALAR_INT) return false;
    return gg__child_count(node) > 0;
}

static bool read_layer(const gg_rule_input *in, TSNode call, layer *l) {
    TSNode arguments = gg__field(call, "arguments");
    *l = (layer){.call = call};
    if (!gg_node_is(arguments, "argument_list") || !find_row(in->tree, call, &l->row)) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = argument;
        size_t place = i;
        if (gg_node_is(argument, "keyword_argument")) {
            gg_str name = gg__text(in->tree, gg__field(argument, "name"));
            value = gg__field(argument, "value");
            bool usual = gg_str_is(name, "affine") || gg_str_is(name, "elementwise_affine");
            if (usual && gg_node_is(value, "true")) continue;
            for (place = 0;
                 place < 4 && rows[l->row].parameters[place] && !gg_str_is(name, rows[l->row].parameters[place]);)
                place++;
        } else if (!gg__is_positional(argument)) {
            return gg__hinder(in, argument, "is no plain argument");
        }
        if (place >= 4 || !rows[l->row].parameters[place] || !is_size(in, l, value, place))
            return gg__hinder(in, argument, "is another argument than sizes and eps, or not known to be a number");
        l->given[place] = value;
    }
    for (uint32_t i = 0; i < rows[l->row].wanted; i++)
        if (ts_node_is_null(l->given[i])) return false;
    return true;
}

/* `nn.Sequential(nn.BatchNorm1d(4), nn.PReLU())`, of one such layer. */
static bool read_stack(const gg_rule_input *in, TSNode call, stack *s) {
    TSNode arguments = gg__parent(call), outer = gg__parent(arguments);
    s->whole = call;
    if (!gg_node_is(arguments, "argument_list") ||
        !gg__refers_to(in->tree, gg__field(outer, "function"), "torch.nn.Sequential"))
        return read_layer(in, call, &s->layers[s->layer_count++]);
    s->whole = outer;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode item = gg__child(arguments, i);
        if (s->layer_count == MOST_LAYERS || !read_layer(in, item, &s->layers[s->layer_count++]))
            return gg__hinder(in, item, "is in the same nn.Sequential, and no such layer");
    }
    return true;
}

/* ---- where it is called ---------------------------------------------------------------------------------------------------- */

static int32_t rank_of(const gg_rule_input *in, TSNode x) {
    TSNode value = {0};
    if (gg_node_is(x, "identifier")) value = gg__value_at(in->tree, x, gg__text(in->tree, x));
    bool later = !ts_node_is_null(value) && ts_node_start_byte(value) > in->span.end;
    gg__meta m = gg__infer_loosely(in, later ? value : x);
    return m.sort == GG__TENSOR ? m.rank : -1;
}

static bool takes(const stack *s, TSNode call) {
    const gg_rule_input *in = s->in;
    TSNode arguments = gg__field(call, "arguments"), x = gg__child(arguments, 0);
    gg_span all = gg_node_span(call);
    if (!gg_node_is(arguments, "argument_list") || gg__child_count(arguments) != 1 || !gg__is_positional(x))
        return gg__hinder(in, call, "has other arguments than the tensor");
    if (gg__has_comment(in->tree, all)) return gg__hinder(in, call, "a comment inside of it would be lost");
    for (uint32_t i = 0; i < s->layer_count; i++) {
        int32_t least = rows[s->layers[i].row].least, most = rows[s->layers[i].row].most, rank = rank_of(in, x);
        if (least && (rank < least || rank > most))
            return gg__hinder(in, x, "is not known to have as many dimensions as the layer asks for");
    }
    return gg__without_gradients(in->tree, call) || gg__carries_gradients(in, x) ||
           gg__hinder(in, x, "is not known to require gradients, as the result does by the layer's parameters");
}

static bool is_use(TSNode name, void *data) {
    stack *s = data;
    TSNode call = gg__parent(name), block = gg__parent(s->statement), at = call;
    if (!gg_node_is(call, "call") || !ts_node_eq(gg__field(call, "function"), name) || s->use_count == MOST_USES)
        return gg__hinder(s->in, name, "is more than a call of it");
    while (!ts_node_is_null(at) && !ts_node_eq(at, block)) at = gg__parent(at);
    if (ts_node_is_null(at) || ts_node_start_byte(call) < ts_node_end_byte(s->statement) ||
        !ts_node_eq(gg__function(call), gg__function(s->statement)))
        return gg__hinder(s->in, name, "is called elsewhere than behind the layer");
    s->uses[s->use_count++] = call;
    return takes(s, call);
}

/* What the sizes are made of has the same value where the layer is called. */
static bool stays(TSNode node, void *data) {
    const stack *s = data;
    TSNode function = gg__function(s->statement);
    if (gg_node_is(node, "attribute")) return !gg__binds_path(s->in->tree, function, gg__text(s->in->tree, node));
    return !gg_node_is(node, "identifier") || gg__is_member_name(node) ||
           gg__stays_from(s->in->tree, function, gg__text(s->in->tree, node), ts_node_end_byte(s->statement));
}

static bool find_uses(stack *s) {
    TSNode parent = gg__parent(s->whole), left = gg__field(parent, "left");
    if (gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), s->whole)) {
        s->uses[s->use_count++] = parent;
        return takes(s, parent);
    }
    bool named = gg_node_is(parent, "assignment") && gg_node_is(left, "identifier") &&
                 gg_node_is(gg__parent(parent), "expression_statement") &&
                 ts_node_eq(gg__only_value(s->in->tree, left), s->whole);
    if (!named) return gg__hinder(s->in, s->whole, "has no name of its own, and is not called at once");
    s->statement = gg__parent(parent);
    if (gg__has_comment(s->in->tree, gg_node_span(s->statement)))
        return gg__hinder(s->in, s->statement, "a comment inside of it would be lost");
    for (uint32_t i = 0; i < s->layer_count; i++)
        for (size_t j = 0; j < 4; j++)
            if (!ts_node_is_null(s->layers[i].given[j]) && !gg__visit(s->layers[i].given[j], stays, s))
                return gg__hinder(s->in, s->layers[i].given[j], "has another value where the layer is called");
    return gg__each_use(s->in->tree, left, is_use, s) && s->use_count > 0;
}

static bool find(const gg_rule_input *in, stack *s) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span));
    *s = (stack){.in = in};
    if (!gg_str_is(in->site->id, "GB0264") || !gg_node_is(call, "call")) return false;
    if (draws(in->tree, gg__field(call, "function")))
        return gg__hinder(in, call, "draws its initial weights each time it runs: make it in __init__");
    size_t row;
    return find_row(in->tree, call, &row) && gg_node_is(gg__function(call), "function_definition") &&
           read_stack(in, call, s) && gg__can_name(in->tree, call, "torch") && find_uses(s);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    stack s;
    if (!find(in, &s)) return false;
    out->node = s.whole;
    return true;
}

/* ---- the edit ---------------------------------------------------------------------------------------------------------------- */

/* What stands behind the tensor: its parameters as they are made. */
static gg_str rest(const gg_rule_input *in, const layer *l, gg_str torch, gg_arena *arena) {
    const TSNode *given = l->given;
    kind k = rows[l->row].kind;
    TSNode last = given[rows[l->row].wanted];
    gg_str size = gg__text(in->tree, given[k == GROUP ? 1 : 0]), shape = size, t = torch;
    if (k == SLOPE) {
        gg_str slope = ts_node_is_null(given[1]) ? GG_STR("0.25") : gg__text(in->tree, given[1]);
        return gg_arena_printf(arena, ", %.*s.full((%.*s,), %.*s)", GG_STR_ARG(t),
                               GG_STR_ARG(size.len ? size : GG_STR("1")), GG_STR_ARG(slope));
    }
    bool display = gg_node_is(given[0], "tuple") || gg_node_is(given[0], "list") || gg_node_is(given[0], "subscript");
    if (!display || gg__infer_loosely(in, given[0]).sort == GG__SCALAR_INT)
        shape = gg_arena_printf(arena, "(%.*s,)", GG_STR_ARG(size));
    gg_str ones = gg_arena_printf(arena, "%.*s.ones(%.*s)", GG_STR_ARG(t), GG_STR_ARG(size)),
           zeros = gg_arena_printf(arena, "%.*s.zeros(%.*s)", GG_STR_ARG(t), GG_STR_ARG(size)), eps = GG_STR_NULL;
    if (!ts_node_is_null(last)) eps = gg_arena_printf(arena, ", eps=%.*s", GG_STR_ARG(gg__text(in->tree, last)));
    if (k == RMS)
        return gg_arena_printf(arena, ", %.*s, %.*s%.*s", GG_STR_ARG(shape), GG_STR_ARG(ones), GG_STR_ARG(eps));
    if (k == BATCH)
        return gg_arena_printf(arena, ", None, None, %.*s, %.*s, training=True%.*s", GG_STR_ARG(ones),
                               GG_STR_ARG(zeros), GG_STR_ARG(eps));
    gg_str first = k == GROUP ? gg__text(in->tree, given[0]) : shape;
    return gg_arena_printf(arena, ", %.*s, %.*s, %.*s%.*s", GG_STR_ARG(first), GG_STR_ARG(ones), GG_STR_ARG(zeros),
                           GG_STR_ARG(eps));
}

/* torch.nn.functional, as it is reached there. */
static gg_str functional(const gg_rule_input *in, TSNode at, gg_str torch, gg_arena *arena) {
    gg_str own = gg__module_alias(in->tree, at, "torch.nn.functional"), nn = gg__module_alias(in->tree, at, "torch.nn");
    if (own.len) return own;
    return nn.len ? gg_arena_printf(arena, "%.*s.functional", GG_STR_ARG(nn))
                  : gg_arena_printf(arena, "%.*s.nn.functional", GG_STR_ARG(torch));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    stack s;
    if (!find(in, &s)) return gg_fail(err, GG_ENOMATCH, "it goes elsewhere");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out), before = GG_STR_NULL,
           behind = GG_STR_NULL, module = functional(in, match->node, torch, arena);
    for (uint32_t i = 0; i < s.layer_count; i++) {
        before = gg_arena_printf(arena, "%.*s.%s(%.*s", GG_STR_ARG(module), rows[s.layers[i].row].function,
                                 GG_STR_ARG(before));
        behind =
            gg_arena_printf(arena, "%.*s%.*s)", GG_STR_ARG(behind), GG_STR_ARG(rest(in, &s.layers[i], torch, arena)));
    }
    for (uint32_t i = 0; i < s.use_count; i++) {
        gg_span whole = gg_node_span(s.uses[i]), x = gg_node_span(gg__child(gg__field(s.uses[i], "arguments"), 0));
        gg_edits_add(out, (gg_span){whole.start, x.start}, before);
        gg_edits_add(out, (gg_span){x.end, whole.end}, behind);
    }
    if (!ts_node_is_null(s.statement)) gg__delete_statement(in->tree, s.statement, out);
    return 0;
}

const gg_rule gg_rule_normalisation_made_inside = {
    .code = "GG113",
    .name = "normalisation-made-inside",
    .title = "Call the layer's function instead of making the layer",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
