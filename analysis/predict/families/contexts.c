/* Context managers that Dynamo does not support. */
#include "analysis/predict/predict.h"

static const struct {
    const char *path, *id; /* id NULL: the rule's own */
} managers[] = {
    {"torch.autograd.detect_anomaly", "GB0008"},
    {"torch.autograd.set_detect_anomaly", NULL},
    {"torch.random.fork_rng", "GB0208"},
    {"torch.autograd.graph.saved_tensors_hooks", NULL},
    {"contextlib.redirect_stdout", "GB0262"},
    {"contextlib.redirect_stderr", "GB0262"},
    {"torch.backends.cuda.sdp_kernel", NULL},
    {"torch.device", NULL},
    {"threading.Lock", NULL},
    {"threading.RLock", NULL},
    {"concurrent.futures.ThreadPoolExecutor", NULL},
    {"tempfile.TemporaryFile", NULL},
    {"tempfile.TemporaryDirectory", NULL},
};

static void on_with(gg__walk *w, TSNode item, const gg__value *value) {
    gg__value callee = *value;
    if (gg__node_of(item) == GG__NODE_call) {
        w->quiet++;
        callee = gg__eval(w, GG__FIELD(w, item, function));
        w->quiet--;
    }
    if (callee.kind != GG__DOTTED && callee.kind != GG__OBJECT) return;
    for (size_t i = 0; i < GG_COUNT(managers); i++)
        if (gg_str_is(callee.path, managers[i].path)) {
            gg__found(w, GG__RULE_CONTEXT, managers[i].id, item, NULL);
            gg__note_eager(w); /* it cannot be entered again behind the break */
        }
}

const gg__family gg__family_contexts = {.on_with = on_with};
