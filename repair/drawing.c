/* Does code draw torch's random numbers?  See drawing.h. */
#include "repair/drawing.h"

#include "repair/alias.h"

enum { MAX_DEPTH = 4 }; /* of functions of the file that call each other */

typedef struct drawing {
    const gg_rule_input *in;
    uint32_t depth;
    uint32_t count; /* definitions that were met */
} drawing;

static bool draws_nothing(TSNode node, void *data);

static bool is_drawing_name(gg_str name) {
    static const char *const parts[] = {"dropout",     "rand",       "normal",  "bernoulli", "multinomial",
                                        "poisson",     "gumbel",     "rrelu",   "sample",    "uniform",
                                        "exponential", "geometric_", "cauchy_", "binomial",  "perm",
                                        "attention",   "fractional", "lstm",    "gru",       "rnn"};
    for (size_t i = 0; i < GG_COUNT(parts); i++)
        if (gg_str_contains(name, gg_str_from(parts[i]))) return !gg_str_is(name, "permute");
    return false;
}

static bool is_plain_builtin(const gg_tree *tree, TSNode function) {
    static const char *const names[] = {"len",   "range",    "float",      "int",   "bool",      "min",
                                        "max",   "sum",      "abs",        "zip",   "enumerate", "list",
                                        "tuple", "reversed", "isinstance", "round", "getattr"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg__names_builtin(tree, function, names[i])) return true;
    return false;
}

static bool is_definition_without(TSNode definition, void *data) {
    drawing *d = data;
    drawing inner = {d->in, d->depth + 1, 0};
    d->count++;
    return inner.depth < MAX_DEPTH && gg__visit(gg__field(definition, "body"), draws_nothing, &inner);
}

static bool calls_nothing_that_draws(drawing *d, TSNode call) {
    const gg_tree *tree = d->in->tree;
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    drawing met = {d->in, d->depth, 0}, inside = {d->in, d->depth, 0};
    gg__habits habits;
    if (is_drawing_name(gg__called_name(tree, call))) return false;
    if (is_plain_builtin(tree, function) || gg__is_torchs(tree, call)) return true;
    TSNode modules = gg__modules_called(tree, function);
    if (!gg__each_definition(tree, gg__called_name(tree, call), is_definition_without, &met)) return false;
    if (!ts_node_is_null(modules) && gg__are_gentle_modules(tree, modules, is_definition_without, &inside, &habits))
        return !habits.draws;
    if (inside.count) return false; /* of a class of the file that is not known to draw nothing */
    if (met.count) return true;
    return gg_node_is(function, "attribute") &&
           (gg__infer(d->in, object).sort == GG__TENSOR || gg__is_operation(d->in, call) || gg__reads_only(tree, call));
}

static bool draws_nothing(TSNode node, void *data) {
    return !gg_node_is(node, "call") || calls_nothing_that_draws(data, node);
}

bool gg__may_draw(const gg_rule_input *in, TSNode node) {
    drawing d = {in, 0, 0};
    return !gg__visit(node, draws_nothing, &d);
}
