/* Functions of the standard library and of torch that Dynamo does not trace into. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"time.*", NULL, GG__RULE_SKIPPED, 0},
    {"os.path.exists", NULL, GG__RULE_SKIPPED, 0},
    {"os.getpid", NULL, GG__RULE_SKIPPED, 0},
    {"os.cpu_count", NULL, GG__RULE_SKIPPED, 0},
    {"json.*", "GB0156", GG__RULE_SKIPPED, 0},
    {"pickle.*", NULL, GG__RULE_SKIPPED, 0},
    {"hashlib.*", NULL, GG__RULE_SKIPPED, 0},
    {"heapq.*", NULL, GG__RULE_SKIPPED, 0},
    {"bisect.*", NULL, GG__RULE_SKIPPED, 0},
    {"statistics.*", "GB0134", GG__RULE_SKIPPED, 0},
    {"uuid.*", NULL, GG__RULE_SKIPPED, 0},
    {"decimal.*", "GB0147", GG__RULE_SKIPPED, 0},
    {"pdb.*", NULL, GG__RULE_SKIPPED, 0},
    {"subprocess.*", NULL, GG__RULE_SKIPPED, 0},
    {"gc.collect", NULL, GG__RULE_SKIPPED, 0},
    {"copy.copy", "GB0208", GG__RULE_SKIPPED, GG__WITH_TENSOR},
    {"copy.deepcopy", NULL, GG__RULE_DEEPCOPY, GG__WITH_TENSOR | GG__WITH_MODULE},
    {"inspect.stack", NULL, GG__RULE_SKIPPED, 0},
    {"inspect.currentframe", NULL, GG__RULE_SKIPPED, 0},
    {"sys.getsizeof", NULL, GG__RULE_SKIPPED, 0},
    {"sys.stdout.write", "GB0156", GG__RULE_SKIPPED, 0},
    {"sys.stderr.write", "GB0156", GG__RULE_SKIPPED, 0},
    {"datetime.datetime.now", "GB0156", GG__RULE_SKIPPED, 0},
    {"importlib.*", NULL, GG__RULE_SKIPPED, 0},
    {"threading.current_thread", NULL, GG__RULE_SKIPPED, 0},
    {"threading.Lock.*", "GB0156", GG__RULE_SKIPPED, GG__OF_OBJECT},
    {"threading.RLock.*", "GB0156", GG__RULE_SKIPPED, GG__OF_OBJECT},
    {"contextvars.ContextVar.set", "GB0156", GG__RULE_SKIPPED, GG__OF_OBJECT},
    {"contextvars.ContextVar.get", "GB0156", GG__RULE_SKIPPED, GG__OF_OBJECT},
    {"types.SimpleNamespace", "GB0147", GG__RULE_SKIPPED, 0},
    {"tqdm.*", NULL, GG__RULE_SKIPPED, 0},
    {"torch.save", NULL, GG__RULE_SKIPPED, 0},
    {"torch.load", NULL, GG__RULE_SKIPPED, 0},
    {"torch.set_num_threads", NULL, GG__RULE_SKIPPED, 0},
    {"torch.get_num_threads", "GB0208", GG__RULE_SKIPPED, 0},
    {"torch.from_dlpack", NULL, GG__RULE_SKIPPED, 0},
    {"torch.to_dlpack", NULL, GG__RULE_SKIPPED, 0},
    {"torch.cuda.memory_allocated", "GB0208", GG__RULE_SKIPPED, 0},
    {"torch.cuda.device_count", "GB0208", GG__RULE_SKIPPED, 0},
    {"torch.distributed.barrier", NULL, GG__RULE_SKIPPED, 0},
    {"torch.distributed.broadcast", NULL, GG__RULE_SKIPPED, 0},
    {"torch.utils.checkpoint.checkpoint_sequential", NULL, GG__RULE_SKIPPED, 0},
    {"torch.nn.utils.rnn.pack_padded_sequence", NULL, GG__RULE_SKIPPED, 0},
    {"torch.nn.utils.rnn.pad_packed_sequence", NULL, GG__RULE_SKIPPED, 0},
    {"torch.autograd.Variable", NULL, GG__RULE_SKIPPED, 0},
    {"torch.autograd.variable.Variable", NULL, GG__RULE_SKIPPED, 0},
    {"torch.jit.isinstance", NULL, GG__RULE_SKIPPED, 0},
    {"torch.optim.*", "GB0025", GG__RULE_SKIPPED, GG__OF_OBJECT},
    {"torch.optim.*", "GB0008", GG__RULE_SKIPPED, 0},
    {"load_state_dict", "GB0208", GG__RULE_SKIPPED, GG__OF_MODULE},
    {"register_forward_hook", "GB0467", GG__RULE_SKIPPED, GG__OF_MODULE},
    {"register_forward_pre_hook", "GB0467", GG__RULE_SKIPPED, GG__OF_MODULE},
    {"is_pinned", "GB0208", GG__RULE_SKIPPED, GG__OF_TENSOR},
    {"storage", NULL, GG__RULE_SKIPPED, GG__OF_TENSOR},
    {"storage_offset", "GB0208", GG__RULE_SKIPPED, GG__OF_TENSOR},
    {"as_subclass", "GB0001", GG__RULE_SKIPPED, GG__OF_TENSOR},
    {"torch._dynamo.graph_break", NULL, GG__RULE_EXPLICIT, 0},
};

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    const gg__argument *async = gg__argument_at(call, UINT32_MAX, "async_op");
    if (call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("torch.distributed.")) &&
        async && gg__truth_of(&async->value) == GG__TRUE)
        gg__found(w, GG__RULE_SKIPPED, "GB0172", call->node, NULL);
}

/* os.environ["NAME"] = value; to read it is fine. */
static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    (void)index;
    if (store && object->kind == GG__DOTTED && gg_str_is(object->path, "os.environ"))
        gg__found(w, GG__RULE_SKIPPED, NULL, node, NULL);
}

const gg__family gg__family_skipped = {.on_call = on_call, .on_subscript = on_subscript};
