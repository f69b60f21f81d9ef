/* Random numbers of Python, and generators other than torch's own. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"random.randint", NULL, GG__RULE_SKIPPED, GG__TRACED},
    {"random.randrange", NULL, GG__RULE_SKIPPED, GG__TRACED},
    {"random.uniform", NULL, GG__RULE_SKIPPED, GG__TRACED},
    {"random.Random", NULL, GG__RULE_SKIPPED, GG__TRACED},
    {"random.*", NULL, GG__RULE_SKIPPED, 0},
    {"torch.Generator", NULL, GG__RULE_GENERATOR, 0},
    {"torch.manual_seed", NULL, GG__RULE_SKIPPED, 0},
    {"torch.random.get_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"torch.random.set_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"torch.random.manual_seed", NULL, GG__RULE_SKIPPED, 0},
    {"torch.get_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"torch.set_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"random_", "GB0107", GG__RULE_GENERATOR, GG__OF_TENSOR},
    {"torch.Generator.*", "GB7650", GG__RULE_GENERATOR, GG__OF_OBJECT},
};

/* **{'from': 0}: the only way to name it, since `from` is a word of Python's own. */
static bool names_from(gg_str text) {
    return gg_str_contains(text, GG_STR("'from'")) || gg_str_contains(text, GG_STR("\"from\""));
}

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    const gg__argument *generator = gg__argument_at(call, UINT32_MAX, "generator");
    bool torch = call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("torch."));
    bool method = call->callee.kind == GG__METHOD && gg__is_tensor(call->callee.of);
    if ((torch || method) && generator && generator->value.kind == GG__OBJECT)
        gg__found(w, GG__RULE_GENERATOR, "GB0055", call->node, NULL);
    if (method && call->splat && gg_str_is(call->callee.path, "uniform_") && names_from(gg__text_of(w, call->node)))
        gg__found(w, GG__RULE_GENERATOR, "GB0110", call->node, call->callee.of);
}

/* random.randint(0, 3) is traced, but not a branch on it. */
static void on_truth(gg__walk *w, TSNode node, const gg__value *value) {
    if (value->kind == GG__NUMBER && value->from_data) gg__found(w, GG__RULE_RANDOM, NULL, node, NULL);
}

const gg__family gg__family_random = {.on_call = on_call, .on_truth = on_truth};
