/* What counts as a message, and what evaluating an expression may change.  See syntax.h. */
#include "repair/alias.h"
#include "repair/speakers.h"
#include "repair/texts.h"

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
    "children",
    "clamp",
    "clone",
    "contiguous",
    "copy",
    "corrcoef",
    "cos",
    "count",
    "count_nonzero",
    "cpu",
    "ctime",
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
    "eq",
    "equal",
    "exp",
    "extra_repr",
    "find",
    "flatten",
    "float",
    "floor",
    "format",
    "ge",
    "get",
    "getEffectiveLevel",
    "get_default_dtype",
    "get_device_name",
    "get_last_lr",
    "gt",
    "half",
    "hex",
    "histc",
    "index",
    "int",
    "isEnabledFor",
    "is_available",
    "is_contiguous",
    "is_grad_enabled",
    "is_integer",
    "isclose",
    "isdigit",
    "isfinite",
    "isinf",
    "isnan",
    "isoformat",
    "item",
    "items",
    "join",
    "keys",
    "le",
    "ljust",
    "log",
    "log10",
    "log2",
    "long",
    "lower",
    "lstrip",
    "lt",
    "max",
    "max_memory_allocated",
    "mean",
    "median",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "min",
    "modules",
    "monotonic",
    "name",
    "named_buffers",
    "named_children",
    "named_modules",
    "named_parameters",
    "nanmean",
    "ndimension",
    "ne",
    "nelement",
    "nonzero",
    "norm",
    "numel",
    "numpy",
    "parameters",
    "perf_counter",
    "permute",
    "pow",
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
    "square",
    "squeeze",
    "startswith",
    "std",
    "strftime",
    "stride",
    "strip",
    "sum",
    "t",
    "tanh",
    "time",
    "timestamp",
    "title",
    "to",
    "tobytes",
    "tolist",
    "topk",
    "total_seconds",
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
    if (gg__only_looks(tree, call)) return true;
    if (gg_node_is(function, "identifier"))
        return in_list(name, builtins, GG_COUNT(builtins)) && !gg__is_local(tree, call, name) &&
               !gg__is_bound_in_module(tree, name);
    if (!gg_node_is(function, "attribute") || !in_list(name, reading, GG_COUNT(reading))) return false;
    TSNode object = gg__field(function, "object");
    if (gg_node_is(object, "attribute")) object = gg__field(object, "attribute");
    return !gg_node_is(object, "identifier") || !in_list(gg__text(tree, object), keeping, GG_COUNT(keeping));
}

/* `*it`, `list(it)`, `for a in it` of a name that holds an iterator: it is used up, and whoever goes over it next sees less. */
static bool uses_up(const gg_tree *tree, TSNode name) {
    static const char *const makers[] = {"iter", "map", "filter", "zip", "enumerate", "reversed"};
    TSNode parent = gg__parent(name);
    if (!gg_node_is(name, "identifier") || (!gg_node_is(parent, "list_splat") && !gg_node_is(parent, "argument_list") &&
                                            !gg_node_is(parent, "for_in_clause")))
        return false;
    TSNode value = gg__strip_parentheses(gg__value_at(tree, name, gg__text(tree, name)));
    for (size_t i = 0; i < GG_COUNT(makers); i++)
        if (gg_node_is(value, "call") && gg__names_builtin(tree, gg__field(value, "function"), makers[i])) return true;
    return gg_node_is(value, "generator_expression");
}

static bool changes_nothing(TSNode node, void *data) {
    const gg_tree *tree = data;
    if (uses_up(tree, node)) return false;
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
    if (sets_a_filter(tree, call) || gg__is_idle(tree, call)) return true;
    if (!gg_node_is(function, "attribute")) return false;
    TSNode object = gg__field(function, "object");
    gg_str method = gg__text(tree, gg__field(function, "attribute"));
    return is_log_method(method) && (gg__is_logger(tree, object) || recorded_logger(in, call));
}

typedef struct saying {
    const gg_rule_input *in;
    bool says;
} saying;

static bool is_called_elsewhere(TSNode node) {
    for (TSNode at = gg__parent(node); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "lambda")) return true;
        if (gg_node_is(at, "expression_statement")) return false;
    }
    return false;
}

/* Messages, and what changes nothing. */
static bool only_says(TSNode node, void *data) {
    saying *s = data;
    if (!gg_node_is(node, "call") || is_called_elsewhere(node) || !is_message(s->in, node))
        return changes_nothing(node, (void *)s->in->tree);
    s->says = true;
    return true;
}

/* `print(x)`, and `verbose and print(x)`, `[print(x) for x in xs]`, `print(x) if verbose else None` */
bool gg__is_diagnostic(const gg_rule_input *in, TSNode statement) {
    static const char *const forms[] = {"call", "boolean_operator", "conditional_expression", "list_comprehension"};
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    TSNode work = gg__child(statement, 0);
    saying s = {in, false};
    if (!gg__is_one_of(gg_str_from(ts_node_type(work)), forms, GG_COUNT(forms))) return false;
    if (gg_node_is(work, "call"))
        return is_message(in, work) && gg__is_harmless(in->tree, gg__field(work, "arguments"));
    return gg__visit(work, only_says, &s) && s.says;
}

bool gg__is_message_of_none(const gg_rule_input *in, TSNode call) {
    static const char *const telling[] = {"warnings.warn", "pprint.pprint", "traceback.print_stack"};
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function");
    if (!gg_node_is(call, "call") || !is_message(in, call) || !gg__is_harmless(tree, gg__field(call, "arguments")))
        return false;
    bool none = gg__names_builtin(tree, function, "print");
    for (size_t i = 0; i < GG_COUNT(telling); i++) none = none || gg__refers_to(tree, function, telling[i]);
    return none || gg__is_own_logger(tree, gg__field(function, "object"));
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
