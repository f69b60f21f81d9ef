/* What cannot fail.  See syntax.h.  Any thread.
 *
 * An allow-list: literals, what inference knows, values brought to Python from a tensor of one element, clocks, and texts of all these. */
#include "repair/syntax.h"

enum { MAX_DEPTH = 16 };

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

static bool is_tensor(const gg_rule_input *in, TSNode node) {
    return gg__infer(in, node).sort == GG__TENSOR;
}

static bool has_one_element(const gg_rule_input *in, TSNode node) {
    gg__meta x = gg__infer(in, node);
    bool real = gg__is_floating(x.dtype) || gg_str_starts_with(x.dtype, GG_STR("torch.int")) ||
                gg_str_is(x.dtype, "torch.uint8") || gg_str_is(x.dtype, "torch.bool");
    return x.sort == GG__TENSOR && x.rank == 0 && real;
}

static bool is_integer_of_one_element(const gg_rule_input *in, TSNode node) {
    return has_one_element(in, node) && !gg__is_floating(gg__infer(in, node).dtype);
}

/* `category=UserWarning` */
static bool is_warning_class(const gg_tree *tree, TSNode node) {
    static const char *const classes[] = {"Warning",
                                          "UserWarning",
                                          "DeprecationWarning",
                                          "FutureWarning",
                                          "RuntimeWarning",
                                          "SyntaxWarning",
                                          "PendingDeprecationWarning",
                                          "ImportWarning",
                                          "UnicodeWarning",
                                          "BytesWarning",
                                          "ResourceWarning"};
    for (size_t i = 0; i < GG_COUNT(classes); i++)
        if (gg__names_builtin(tree, node, classes[i])) return true;
    return false;
}

static bool is_total(const gg_rule_input *in, TSNode node, int depth);

static bool are_total(const gg_rule_input *in, TSNode node, int depth) {
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i);
        if (gg_node_is(child, "comment")) continue;
        if (gg_node_is(child, "keyword_argument")) child = gg__field(child, "value");
        if (!is_total(in, child, depth)) return false;
    }
    return true;
}

typedef struct search {
    const gg_rule_input *in;
    gg_str name;
    TSNode value; /* right side of its only binding */
    uint32_t bindings;
} search;

static bool find_binding(TSNode node, void *data) {
    search *s = data;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node) || !gg_str_equal(gg__text(s->in->tree, node), s->name))
        return true;
    TSNode parent = gg__parent(node);
    s->bindings++;
    s->value = gg_node_is(parent, "assignment") ? gg__field(parent, "right") : (TSNode){0};
    return true;
}

/* The value of a name that an earlier statement of an enclosing block binds, and nothing else in the function; a null node else. */
static TSNode value_of(const gg_rule_input *in, TSNode identifier) {
    search s = {.in = in, .name = gg__text(in->tree, identifier)};
    gg__visit(gg__function(identifier), find_binding, &s);
    if (s.bindings != 1 || ts_node_is_null(s.value)) return (TSNode){0};
    TSNode block = gg__parent(gg__statement(s.value));
    bool before = ts_node_end_byte(s.value) <= ts_node_start_byte(identifier) &&
                  ts_node_end_byte(block) >= ts_node_end_byte(identifier);
    return before ? s.value : (TSNode){0};
}

/* A Python number that is certainly one. */
static bool is_number(const gg_rule_input *in, TSNode node, int depth) {
    node = gg__strip_parentheses(node);
    gg__sort sort = gg__infer(in, node).sort;
    if (sort != GG__UNKNOWN) return sort != GG__TENSOR;
    if (gg_node_is(node, "identifier")) {
        TSNode value = value_of(in, node);
        return depth < MAX_DEPTH && !ts_node_is_null(value) && is_number(in, value, depth + 1);
    }
    if (gg_node_is(node, "binary_operator")) {
        gg_str op = gg__text(in->tree, gg__field(node, "operator"));
        return (gg_str_is(op, "+") || gg_str_is(op, "-") || gg_str_is(op, "*")) &&
               is_number(in, gg__field(node, "left"), depth) && is_number(in, gg__field(node, "right"), depth);
    }
    if (gg__is_clock(in->tree, node)) return !gg_str_contains(gg__text(in->tree, node), GG_STR("now"));
    TSNode function = gg__field(node, "function");
    bool takes = gg__names_builtin(in->tree, function, "float") || gg__names_builtin(in->tree, function, "int") ||
                 gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item");
    return takes && is_total(in, node, depth + 1);
}

static bool method_is_total(const gg_rule_input *in, TSNode function) {
    static const char *const readers[] = {"tolist", "numel",    "dim",          "size",  "detach",
                                          "clone",  "data_ptr", "element_size", "stride"};
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    TSNode object = gg__field(function, "object");
    if (gg_str_is(name, "item")) return has_one_element(in, object);
    return gg__is_one_of(name, readers, GG_COUNT(readers)) && is_tensor(in, object);
}

static bool call_is_total(const gg_rule_input *in, TSNode node, int depth) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    uint32_t count = gg__child_count(arguments);
    TSNode first = gg__child(arguments, 0);
    const gg_tree *tree = in->tree;
    if (gg__is_clock(tree, node)) return true;
    if (gg_node_is(function, "attribute") && count == 0) return method_is_total(in, function);
    if (count == 2 && gg__names_builtin(tree, function, "round"))
        return is_number(in, first, depth) && gg_node_is(gg__child(arguments, 1), "integer");
    if (count != 1) return false;
    if (gg__names_builtin(tree, function, "float") || gg__names_builtin(tree, function, "bool"))
        return has_one_element(in, first);
    if (gg__names_builtin(tree, function, "int")) return is_integer_of_one_element(in, first);
    static const char *const texts[] = {"str", "repr", "type", "id"};
    for (size_t i = 0; i < GG_COUNT(texts); i++)
        if (gg__names_builtin(tree, function, texts[i])) return is_total(in, first, depth);
    bool sized = gg__names_builtin(tree, function, "len") && gg__infer(in, first).rank > 0;
    return sized && is_tensor(in, first);
}

/* `{x}`, and `{x:.3f}` of a number */
static bool interpolation_is_total(const gg_rule_input *in, TSNode node, int depth) {
    TSNode expression = gg__child(node, 0), format = {0};
    for (uint32_t i = 1; i < gg__child_count(node); i++)
        if (gg_node_is(gg__child(node, i), "format_specifier")) format = gg__child(node, i);
    if (!is_total(in, expression, depth)) return false;
    if (ts_node_is_null(format)) return true;
    gg_str text = gg__text(in->tree, format);
    bool plain = text.len > 1 && strchr("efg", text.ptr[text.len - 1]) != NULL;
    for (size_t i = 1; plain && i + 1 < text.len; i++) plain = strchr("0123456789.", text.ptr[i]) != NULL;
    return plain && (is_number(in, expression, depth) || has_one_element(in, expression));
}

static bool is_total(const gg_rule_input *in, TSNode node, int depth) {
    static const char *const literals[] = {"integer",        "float",        "true",       "false",          "none",
                                           "string_content", "string_start", "string_end", "escape_sequence"};
    static const char *const displays[] = {"tuple", "list", "argument_list", "expression_list", "concatenated_string",
                                           "string"};
    static const char *const attributes[] = {"shape",   "dtype",   "device", "ndim",  "requires_grad",
                                             "is_cuda", "grad_fn", "grad",   "layout"};
    node = gg__strip_parentheses(node);
    if (ts_node_is_null(node) || depth > MAX_DEPTH) return false;
    gg_str type = gg_str_from(ts_node_type(node));
    if (gg__is_one_of(type, literals, GG_COUNT(literals)) || gg__infer(in, node).sort != GG__UNKNOWN) return true;
    if (gg__is_one_of(type, displays, GG_COUNT(displays))) return are_total(in, node, depth + 1);
    if (gg_node_is(node, "interpolation")) return interpolation_is_total(in, node, depth + 1);
    if (gg_node_is(node, "call")) return call_is_total(in, node, depth + 1);
    if (gg_node_is(node, "attribute"))
        return gg__is_one_of(gg__text(in->tree, gg__field(node, "attribute")), attributes, GG_COUNT(attributes)) &&
               is_tensor(in, gg__field(node, "object"));
    if (gg_node_is(node, "identifier")) {
        TSNode value = value_of(in, node);
        return is_warning_class(in->tree, node) || (!ts_node_is_null(value) && is_total(in, value, depth + 1));
    }
    return is_number(in, node, depth + 1);
}

bool gg__cannot_fail(const gg_rule_input *in, TSNode node) {
    return is_total(in, node, 0);
}
