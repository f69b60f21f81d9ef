/* Random numbers of Python, and generators other than torch's own. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"random.random", NULL, GG__RULE_SKIPPED, 0},
    {"random.choice", NULL, GG__RULE_SKIPPED, 0},
    {"random.choices", NULL, GG__RULE_SKIPPED, 0},
    {"random.shuffle", NULL, GG__RULE_SKIPPED, 0},
    {"random.sample", NULL, GG__RULE_SKIPPED, 0},
    {"random.seed", NULL, GG__RULE_SKIPPED, 0},
    {"random.gauss", NULL, GG__RULE_SKIPPED, 0},
    {"torch.Generator", NULL, GG__RULE_GENERATOR, 0},
    {"torch.manual_seed", NULL, GG__RULE_SKIPPED, 0},
    {"torch.seed", NULL, GG__RULE_SKIPPED, 0},
    {"torch.get_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"torch.set_rng_state", NULL, GG__RULE_SKIPPED, 0},
    {"random_", "GB0107", GG__RULE_GENERATOR, GG__OF_TENSOR},
    {"torch.Generator.*", "GB7650", GG__RULE_GENERATOR, GG__OF_OBJECT},
};

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    const gg__argument *generator = gg__argument_at(call, UINT32_MAX, "generator");
    bool torch = call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("torch."));
    bool method = call->callee.kind == GG__METHOD && gg__is_tensor(call->callee.of);
    if ((torch || method) && generator && generator->value.kind == GG__OBJECT)
        gg__found(w, GG__RULE_GENERATOR, "GB0055", call->node, NULL);
}

/* random.randint(0, 3) is traced, but not a branch on it. */
static void on_truth(gg__walk *w, TSNode node, const gg__value *value) {
    if (value->kind == GG__NUMBER && value->from_data) gg__found(w, GG__RULE_RANDOM, NULL, node, NULL);
}

const gg__family gg__family_random = {.on_call = on_call, .on_truth = on_truth};
