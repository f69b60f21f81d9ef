/* What a program asks for only to tell it: clocks, counters, names of the machine, loggers.  See texts.h. */
#include "repair/texts.h"

bool gg__is_clock(const gg_tree *tree, TSNode call) {
    static const char *const clocks[] = {
        "time.time",           "time.perf_counter", "time.monotonic",        "time.process_time",
        "time.time_ns",        "time.monotonic_ns", "time.process_time_ns",  "time.perf_counter_ns",
        "time.thread_time_ns", "time.thread_time",  "datetime.datetime.now", "datetime.datetime.utcnow",
        "datetime.date.today"};
    if (!gg_node_is(call, "call") || gg__child_count(gg__field(call, "arguments")) > 0) return false;
    for (size_t i = 0; i < GG_COUNT(clocks); i++)
        if (gg__refers_to(tree, gg__field(call, "function"), clocks[i])) return true;
    return false;
}

bool gg__clock_counts(const gg_tree *tree, TSNode call) {
    gg_str text = gg__text(tree, gg__field(call, "function"));
    return !gg_str_contains(text, GG_STR("now")) && !gg_str_contains(text, GG_STR("today"));
}

typedef enum taking { NOTHING, A_NAME, A_DEVICE, A_LITERAL, DATE, MAY_FAIL } taking; /* arguments that never fail */

static const struct look {
    const char *path;
    bool number;
    taking taking;
} looks[] = {
    {"inspect.currentframe", false, NOTHING},
    {"json.dumps", false, MAY_FAIL}, /* as its arguments are: total.c */
    {"logging.getLogger", false, A_LITERAL},
    {"os.cpu_count", false, NOTHING},
    {"os.getpid", true, NOTHING},
    {"platform.node", false, NOTHING},
    {"socket.gethostname", false, NOTHING},
    {"sys.getrefcount", true, A_NAME},
    {"sys.getsizeof", true, A_NAME},
    {"threading.active_count", true, NOTHING},
    {"threading.current_thread", false, NOTHING},
    {"threading.get_ident", true, NOTHING},
    {"time.strftime", false, DATE},
    {"torch.Generator", false, NOTHING},
    {"torch.cuda.device_count", true, NOTHING},
    {"torch.cuda.max_memory_allocated", true, A_DEVICE},
    {"torch.cuda.max_memory_reserved", true, A_DEVICE},
    {"torch.cuda.memory_allocated", true, A_DEVICE},
    {"torch.cuda.memory_reserved", true, A_DEVICE},
    {"torch.distributed.get_rank", true, MAY_FAIL},
    {"torch.distributed.get_world_size", true, MAY_FAIL},
    {"torch.distributed.is_available", false, NOTHING},
    {"torch.distributed.is_initialized", false, MAY_FAIL},
    {"torch.get_num_threads", true, NOTHING},
    {"torch.get_rng_state", false, NOTHING},
    {"torch.random.get_rng_state", false, NOTHING},
    {"torch.random.initial_seed", true, NOTHING},
    {"torch.initial_seed", true, NOTHING},
    {"uuid.uuid4", false, NOTHING},
};

static const struct look *look_of(const gg_tree *tree, TSNode call) {
    if (!gg_node_is(call, "call")) return NULL;
    for (size_t i = 0; i < GG_COUNT(looks); i++)
        if (gg__refers_to(tree, gg__field(call, "function"), looks[i].path)) return &looks[i];
    return NULL;
}

/* json.dumps(x, default=f) calls f. */
static bool is_given_no_function(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        gg_str name = gg__text(tree, gg__field(gg__child(arguments, i), "name"));
        if (gg_str_is(name, "default") || gg_str_is(name, "cls") ||
            gg_node_is(gg__child(arguments, i), "dictionary_splat"))
            return false;
    }
    return true;
}

bool gg__only_looks(const gg_tree *tree, TSNode call) {
    return look_of(tree, call) != NULL && is_given_no_function(tree, call);
}

bool gg__looks_at_a_number(const gg_tree *tree, TSNode call) {
    const struct look *look = look_of(tree, call);
    return look && look->number && gg__looks_without_fail(tree, call);
}

static bool is_name_of_a_logger(const gg_tree *tree, TSNode argument) {
    if (gg_node_is(argument, "string"))
        return !gg__is_bytes(tree, argument) && gg__child_count(argument) <= 3 &&
               !gg_str_contains(gg__text(tree, argument), GG_STR("{"));
    return gg__names_builtin(tree, argument, "__name__");
}

bool gg__looks_without_fail(const gg_tree *tree, TSNode call) {
    const struct look *look = look_of(tree, call);
    TSNode arguments = gg__field(call, "arguments"), first = gg__child(arguments, 0);
    uint32_t count = gg__child_count(arguments);
    if (!look || !gg_node_is(arguments, "argument_list")) return false;
    switch (look->taking) {
    case NOTHING:
        return count == 0;
    case A_NAME:
        return count == 1 && gg_node_is(first, "identifier");
    case A_DEVICE:
        return count == 0 || (count == 1 && gg_node_is(first, "identifier"));
    case A_LITERAL:
        return count == 0 || (count == 1 && is_name_of_a_logger(tree, first));
    case DATE:
        return count == 1 && gg__is_plain_date(tree, first);
    case MAY_FAIL:
        return false;
    }
    return false;
}

bool gg__is_thread_name(const gg_tree *tree, TSNode attribute) {
    TSNode call = gg__field(attribute, "object");
    return gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), "name") && gg_node_is(call, "call") &&
           gg__child_count(gg__field(call, "arguments")) == 0 &&
           gg__refers_to(tree, gg__field(call, "function"), "threading.current_thread");
}
