/* What counts as a message, and what evaluating an expression may change.  See syntax.h. */
#include "repair/syntax.h"

static bool in_list(gg_str word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_is(word, list[i])) return true;
    return false;
}

/* ---- harmless expressions ------------------------------------------------------------------------------------------------ */

/* Methods of tensors, arrays, strings, dicts and modules, and functions of torch, NumPy and math that only read. */
static const char *const reading[] = {
    "abs",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "as_integer_ratio",
    "basename",
    "bool",
    "capitalize",
    "ceil",
    "center",
    "clamp",
    "clone",
    "contiguous",
    "copy",
    "corrcoef",
    "cos",
    "count",
    "count_nonzero",
    "cpu",
    "current_device",
    "data_ptr",
    "decode",
    "detach",
    "device_count",
    "diff",
    "dim",
    "double",
    "element_size",
    "encode",
    "endswith",
    "equal",
    "exp",
    "extra_repr",
    "find",
    "flatten",
    "float",
    "floor",
    "format",
    "get",
    "get_device_name",
    "get_default_dtype",
    "half",
    "hex",
    "histc",
    "index",
    "int",
    "is_available",
    "is_contiguous",
    "is_grad_enabled",
    "is_integer",
    "isclose",
    "isdigit",
    "isfinite",
    "isinf",
    "isnan",
    "item",
    "items",
    "join",
    "keys",
    "ljust",
    "log",
    "log10",
    "log2",
    "long",
    "lower",
    "lstrip",
    "max",
    "max_memory_allocated",
    "mean",
    "median",
    "memory_allocated",
    "memory_reserved",
    "min",
    "monotonic",
    "name",
    "named_buffers",
    "named_parameters",
    "nanmean",
    "ndimension",
    "nelement",
    "nonzero",
    "norm",
    "numel",
    "numpy",
    "parameters",
    "perf_counter",
    "permute",
    "prod",
    "quantile",
    "replace",
    "reshape",
    "rjust",
    "round",
    "rstrip",
    "shape",
    "sigmoid",
    "sign",
    "size",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "squeeze",
    "startswith",
    "std",
    "stride",
    "strip",
    "sum",
    "t",
    "tanh",
    "time",
    "title",
    "to",
    "tolist",
    "topk",
    "transpose",
    "type",
    "unique",
    "unsqueeze",
    "upper",
    "values",
    "var",
    "view",
    "zfill",
};
static const char *const builtins[] = {
    "abs",        "all",   "any",    "ascii",   "bin",     "bool", "callable", "chr",  "dict",  "divmod",
    "enumerate",  "float", "format", "getattr", "hasattr", "hash", "hex",      "id",   "int",   "isinstance",
    "issubclass", "len",   "list",   "max",     "min",     "oct",  "ord",      "pow",  "range", "repr",
    "reversed",   "round", "set",    "sorted",  "str",     "sum",  "tuple",    "type", "zip",
};
/* Modules whose functions keep something, whatever they are called. */
static const char *const keeping[] = {"random", "dist", "distributed", "pickle", "json", "os", "sys", "subprocess"};

bool gg__reads_only(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    gg_str name = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    if (gg_node_is(function, "identifier"))
        return in_list(name, builtins, GG_COUNT(builtins)) && !gg__is_local(tree, call, name) &&
               !gg__is_bound_in_module(tree, name);
    if (!gg_node_is(function, "attribute") || !in_list(name, reading, GG_COUNT(reading))) return false;
    TSNode object = gg__field(function, "object");
    if (gg_node_is(object, "attribute")) object = gg__field(object, "attribute");
    return !gg_node_is(object, "identifier") || !in_list(gg__text(tree, object), keeping, GG_COUNT(keeping));
}

static bool changes_nothing(TSNode node, void *data) {
    const gg_tree *tree = data;
    static const char *const acting[] = {"named_expression", "await", "yield", "assignment"};
    for (size_t i = 0; i < GG_COUNT(acting); i++)
        if (gg_node_is(node, acting[i])) return false;
    if (!gg_node_is(node, "call")) return true;
    for (TSNode at = gg__parent(node); !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "lambda")) return true; /* not called here */
    return gg__reads_only(tree, node) || gg__is_clock(tree, node);
}

bool gg__is_harmless(const gg_tree *tree, TSNode expression) {
    return !ts_node_is_null(expression) && gg__visit(expression, changes_nothing, (void *)tree);
}

/* ---- messages -------------------------------------------------------------------------------------------------------------- */

static bool is_log_method(gg_str name) {
    static const char *const methods[] = {"debug",     "info", "warning",      "warn",      "error",
                                          "exception", "log",  "warning_once", "info_once", "critical"};
    return in_list(name, methods, GG_COUNT(methods));
}

/* `logging.getLogger(…)`, `get_logger(…)`, `logging.get_logger(…)`, with a get_logger from elsewhere */
static bool makes_logger(const gg_tree *tree, TSNode value) {
    if (!gg_node_is(value, "call")) return false;
    TSNode function = gg__field(value, "function");
    bool attribute = gg_node_is(function, "attribute");
    gg_str name = gg__text(tree, attribute ? gg__field(function, "attribute") : function);
    return gg_str_is(name, "getLogger") || gg_str_is(name, "get_logger");
}

static bool binds_a_logger(TSNode node, void *data) {
    const gg_tree *tree = data;
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "assignment") && makes_logger(tree, gg__field(parent, "right"));
}

/* Is a get_logger defined in the file itself?  Then what it makes is not known. */
static bool defines_its_own(const gg_tree *tree) {
    static const char *const names[] = {"getLogger", "get_logger"};
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++) {
        TSNode child = gg__child(root, i);
        if (gg_node_is(child, "function_definition") &&
            in_list(gg__text(tree, gg__field(child, "name")), names, GG_COUNT(names)))
            return true;
    }
    return false;
}

static bool is_logger(const gg_tree *tree, TSNode object) {
    if (makes_logger(tree, object)) return !defines_its_own(tree);
    if (!gg_node_is(object, "identifier")) return false;
    gg_str name = gg__text(tree, object);
    if (gg_str_equal(gg__module_alias(tree, object, "logging"), name)) return true;
    return !gg__is_local(tree, object, name) && gg__is_bound_in_module(tree, name) && !defines_its_own(tree) &&
           gg__each_module_binding(tree, name, binds_a_logger, (void *)tree);
}

/* Output that goes to the terminal: a file may be read by somebody. */
static bool prints_to_terminal(const gg_tree *tree, TSNode arguments) {
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "dictionary_splat")) return false;
        if (!gg_node_is(argument, "keyword_argument") ||
            !gg_str_is(gg__text(tree, gg__field(argument, "name")), "file"))
            continue;
        gg_str value = gg__text(tree, gg__field(argument, "value"));
        if (!gg_str_is(value, "sys.stdout") && !gg_str_is(value, "sys.stderr") && !gg_str_is(value, "None"))
            return false;
    }
    return true;
}

/* What Dynamo says it stopped at: a logger's method, whatever the logger is called. */
static bool recorded_logger(const gg_rule_input *in, TSNode call) {
    const gg_break *record = in->site ? in->site->first : NULL;
    gg_span span = gg_node_span(call);
    return record && gg_str_is(in->site->id, "GB0291") && span.start == in->span.start && span.end == in->span.end &&
           gg_str_starts_with(record->context, GG_STR("method: <Logger "));
}

/* What only speaks to the person at the terminal, or stops for one. */
static const char *const speaking[] = {
    "warnings.warn",    "pdb.set_trace",    "ipdb.set_trace",   "pudb.set_trace",        "pprint.pprint",
    "sys.stdout.write", "sys.stdout.flush", "sys.stderr.write", "traceback.print_stack", "sys.stderr.flush",
};

/* Which warnings are shown: but for those that it makes errors. */
static bool sets_a_filter(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), action = gg__child(gg__field(call, "arguments"), 0);
    if (!gg__refers_to(tree, function, "warnings.simplefilter") &&
        !gg__refers_to(tree, function, "warnings.filterwarnings"))
        return false;
    gg_str text = gg__text(tree, action);
    return gg_node_is(action, "string") && !gg_str_contains(text, GG_STR("error")) &&
           !gg_str_contains(text, GG_STR("{"));
}

static bool is_message(const gg_rule_input *in, TSNode call) {
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function");
    if (gg__names_builtin(tree, function, "print")) return prints_to_terminal(tree, gg__field(call, "arguments"));
    if (gg__names_builtin(tree, function, "breakpoint")) return true;
    for (size_t i = 0; i < GG_COUNT(speaking); i++)
        if (gg__refers_to(tree, function, speaking[i])) return true;
    if (sets_a_filter(tree, call)) return true;
    if (!gg_node_is(function, "attribute")) return false;
    TSNode object = gg__field(function, "object");
    gg_str method = gg__text(tree, gg__field(function, "attribute"));
    return is_log_method(method) && (is_logger(tree, object) || recorded_logger(in, call));
}

bool gg__is_diagnostic(const gg_rule_input *in, TSNode statement) {
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    TSNode call = gg__child(statement, 0);
    return gg_node_is(call, "call") && is_message(in, call) && gg__is_harmless(in->tree, gg__field(call, "arguments"));
}

bool gg__only_diagnostics(const gg_rule_input *in, TSNode block) {
    bool any = false;
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i);
        if (gg_node_is(child, "comment") || gg_node_is(child, "pass_statement")) continue;
        if (!gg__is_diagnostic(in, child)) return false;
        any = true;
    }
    return any;
}
