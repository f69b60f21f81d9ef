/* Modules, parameters, classes and functions that cannot be traced as they are. */
#include "analysis/predict/predict.h"

/* Layers that have parameters; nn.ReLU() may be made anywhere. */
static bool has_parameters(gg_str path) {
    static const char *const names[] = {"Linear",
                                        "Bilinear",
                                        "Embedding",
                                        "EmbeddingBag",
                                        "LayerNorm",
                                        "GroupNorm",
                                        "LSTM",
                                        "GRU",
                                        "RNN",
                                        "LSTMCell",
                                        "GRUCell",
                                        "Conv1d",
                                        "Conv2d",
                                        "Conv3d",
                                        "ConvTranspose1d",
                                        "ConvTranspose2d",
                                        "ConvTranspose3d",
                                        "BatchNorm1d",
                                        "BatchNorm2d",
                                        "BatchNorm3d",
                                        "MultiheadAttention",
                                        "PReLU",
                                        "Parameter",
                                        "TransformerEncoderLayer",
                                        "TransformerDecoderLayer"};
    gg_str prefix = GG_STR("torch.nn.");
    if (!gg_str_starts_with(path, prefix)) return false;
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(gg_str_slice(path, prefix.len, path.len), names[i])) return true;
    return false;
}

/* nn.LayerNorm(4, elementwise_affine=False): nothing is learnt. */
static bool is_bare_norm(const gg__call *call) {
    for (uint32_t i = 0; i < call->count; i++)
        if (gg_str_ends_with(call->arguments[i].name, GG_STR("affine")) &&
            gg__truth_of(&call->arguments[i].value) == GG__FALSE)
            return true;
    return false;
}

static void on_call(gg__walk *w, const gg__call *call) {
    const gg__value *callee = &call->callee;
    if (callee->kind == GG__MODULE && gg__is_recurrent(callee->path)) {
        gg__found(w, GG__RULE_RNN, NULL, call->node, NULL);
        gg__note_eager(w);
    }
    if (callee->kind == GG__MODULE && gg_str_starts_with(callee->path, GG_STR("torch.jit.")))
        gg__found(w, GG__RULE_SCRIPTED, gg_str_is(callee->path, "torch.jit.trace") ? "GB0008" : NULL, call->node, NULL);
    const gg__argument *given = gg__argument_at(call, 0, "data");
    bool of_input = gg_str_ends_with(callee->path, GG_STR(".Parameter")) && given && gg__is_tensor(&given->value) &&
                    given->value.input; /* it stays a graph input */
    if (callee->kind == GG__DOTTED && has_parameters(callee->path) && !of_input && !is_bare_norm(call))
        gg__found(w, GG__RULE_CONSTRUCTION, NULL, call->node, NULL);
    if (callee->kind == GG__FUNCTION) {
        TSNode parent = ts_node_parent(callee->node);
        gg__touch(w, parent);
        if (gg__node_of(parent) != GG__NODE_decorated_definition) return;
        gg__nodes parts = gg__children(w->syntax, parent);
        for (uint32_t i = 0; i < parts.len; i++) {
            gg_str text = gg__text_of(w, parts.items[i]);
            if (gg__node_of(parts.items[i]) == GG__NODE_decorator &&
                (gg_str_contains(text, GG_STR("compiler.disable")) || gg_str_contains(text, GG_STR("_dynamo.disable"))))
                gg__found(w, GG__RULE_DISABLED, gg_str_contains(text, GG_STR("recursive=False")) ? "GB0099" : NULL,
                          call->node, NULL);
        }
    }
}

static void on_statement(gg__walk *w, TSNode statement, gg__node type) {
    if (type == GG__NODE_class_definition) gg__found(w, GG__RULE_CLASS, NULL, GG__FIELD(w, statement, name), NULL);
    if (type != GG__NODE_yield || w->frame->self == NULL || w->frame->caller == NULL) return;
    gg__spoil_below(w, w->frame->caller);
    if (w->frame->caller->caller == NULL) gg__found(w, GG__RULE_YIELD, NULL, statement, NULL);
}

const gg__family gg__family_modules = {.on_call = on_call, .on_statement = on_statement};
