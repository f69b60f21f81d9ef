/* What cannot fail.  See syntax.h.  Any thread.
 *
 * An allow-list: literals, what inference knows, values brought to Python from a tensor of one element, clocks, and texts of all these. */
#include "repair/texts.h"

#include <math.h>

enum { MAX_DEPTH = 16 };

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
static bool is_text(const gg_rule_input *in, TSNode node, int depth);

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

/* A number that any float holds: no product of others. */
static bool is_of_bounded_size(const gg_rule_input *in, TSNode node, int depth) {
    node = gg__strip_parentheses(node);
    if (depth > MAX_DEPTH) return false;
    if (gg_node_is(node, "identifier")) {
        TSNode value = value_of(in, node);
        return !ts_node_is_null(value) && is_of_bounded_size(in, value, depth + 1);
    }
    if (!gg_node_is(node, "binary_operator")) return gg_node_is(node, "call") || gg_node_is(node, "float");
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    return (gg_str_is(op, "+") || gg_str_is(op, "-") || gg_str_is(op, "/")) &&
           is_of_bounded_size(in, gg__field(node, "left"), depth + 1) &&
           is_of_bounded_size(in, gg__field(node, "right"), depth + 1);
}

/* `1e6`, `1024 ** 2` */
static bool is_certainly_not_zero(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer(in, node);
    return (m.sort == GG__SCALAR_INT || m.sort == GG__SCALAR_FLOAT) && m.constant && fabs(m.value) >= 1 &&
           fabs(m.value) < 0x1p63;
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
        if (gg_str_is(op, "/"))
            return is_certainly_not_zero(in, gg__field(node, "right")) &&
                   is_of_bounded_size(in, gg__field(node, "left"), depth) &&
                   is_number(in, gg__field(node, "left"), depth);
        return (gg_str_is(op, "+") || gg_str_is(op, "-") || gg_str_is(op, "*")) &&
               is_number(in, gg__field(node, "left"), depth) && is_number(in, gg__field(node, "right"), depth);
    }
    if (gg__is_clock(in->tree, node)) return gg__clock_counts(in->tree, node);
    if (gg__only_looks(in->tree, node)) return gg__looks_at_a_number(in->tree, node);
    TSNode function = gg__field(node, "function");
    bool takes = gg__names_builtin(in->tree, function, "float") || gg__names_builtin(in->tree, function, "int") ||
                 gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item");
    return takes && is_total(in, node, depth + 1);
}

static bool is_whole_number(const gg_rule_input *in, TSNode node, int depth) {
    TSNode function = gg__field(node, "function");
    bool sized = gg__names_builtin(in->tree, function, "len") || gg__names_builtin(in->tree, function, "int") ||
                 gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "numel");
    return gg__infer(in, node).sort == GG__SCALAR_INT || gg_node_is(node, "integer") ||
           (gg_node_is(node, "call") && sized && is_total(in, node, depth));
}

/* An array made of a tensor; as it is being made, it may have failed. */
static bool is_array(const gg_rule_input *in, TSNode node) {
    if (gg_node_is(node, "identifier")) node = value_of(in, node);
    TSNode function = gg__field(node, "function"), object = gg__field(function, "object");
    static const char *const keepers[] = {"detach", "cpu", "clone", "contiguous"};
    if (!gg_node_is(node, "call") || !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "numpy") ||
        gg__child_count(gg__field(node, "arguments")) > 0)
        return false;
    while (gg_node_is(object, "call") && gg__child_count(gg__field(object, "arguments")) == 0) {
        TSNode method = gg__field(object, "function");
        if (!gg__is_one_of(gg__text(in->tree, gg__field(method, "attribute")), keepers, GG_COUNT(keepers))) break;
        object = gg__field(method, "object");
    }
    return is_tensor(in, object);
}

static bool method_is_total(const gg_rule_input *in, TSNode function) {
    static const char *const readers[] = {"tolist", "numel",    "dim",          "size",  "detach",
                                          "clone",  "data_ptr", "element_size", "stride"};
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    TSNode object = gg__field(function, "object");
    if (gg_str_is(name, "item")) return has_one_element(in, object);
    if (gg_str_is(name, "isoformat")) return gg__is_clock(in->tree, object) && !gg__clock_counts(in->tree, object);
    if (gg_node_is(object, "identifier") && is_array(in, object))
        return gg_str_is(name, "tobytes") || gg_str_is(name, "tolist");
    return gg__is_one_of(name, readers, GG_COUNT(readers)) && is_tensor(in, object);
}

/* What a conversion of a format takes. */
static bool takes(const gg_rule_input *in, gg__conversion conversion, TSNode value, int depth) {
    if (conversion == GG__ANYTHING) return is_total(in, value, depth);
    if (conversion == GG__WHOLE) return is_whole_number(in, value, depth) && is_total(in, value, depth);
    return is_number(in, value, depth) && is_total(in, value, depth);
}

/* `"%s of %d" % (h, n)`: a value that is no tuple of several, unless it is written out. */
static bool percent_is_total(const gg_rule_input *in, TSNode text, TSNode value, int depth) {
    gg__conversion conversions[GG__MAX_CONVERSIONS];
    int32_t count = gg__percent_conversions(in->tree, text, conversions);
    value = gg__strip_parentheses(value);
    bool several = gg_node_is(value, "tuple");
    if (count < 0 || (several ? gg__child_count(value) : 1) != (uint32_t)count) return false;
    if (!several)
        return takes(in, conversions[0], value, depth) &&
               (is_tensor(in, value) || is_number(in, value, depth) || is_text(in, value, depth));
    for (int32_t i = 0; i < count; i++)
        if (!takes(in, conversions[i], gg__child(value, (uint32_t)i), depth)) return false;
    return true;
}

/* `"{} {:.3f}".format(h, n)` */
static bool format_is_total(const gg_rule_input *in, TSNode text, TSNode arguments, int depth) {
    gg__conversion conversions[GG__MAX_CONVERSIONS];
    int32_t count = gg__format_conversions(in->tree, text, conversions);
    if (count < 0 || gg__child_count(arguments) != (uint32_t)count) return false;
    for (int32_t i = 0; i < count; i++)
        if (!takes(in, conversions[i], gg__child(arguments, (uint32_t)i), depth)) return false;
    return true;
}

static bool is_text(const gg_rule_input *in, TSNode node, int depth) {
    node = gg__strip_parentheses(node);
    TSNode function = gg__field(node, "function");
    if (depth > MAX_DEPTH) return false;
    if (gg_node_is(node, "string")) return !gg__is_bytes(in->tree, node);
    if (gg__names_builtin(in->tree, function, "str") || gg__names_builtin(in->tree, function, "repr"))
        return gg_node_is(node, "call");
    if (gg_node_is(node, "identifier")) {
        TSNode value = value_of(in, node);
        return !ts_node_is_null(value) && is_text(in, value, depth + 1);
    }
    if (!gg_node_is(node, "binary_operator")) return false;
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    if (gg_str_is(op, "%")) return gg_node_is(left, "string") && !gg__is_bytes(in->tree, left);
    return gg_str_is(op, "+") && is_text(in, left, depth + 1) && is_text(in, right, depth + 1);
}

/* Numbers and texts, and lists and dictionaries of them. */
static bool is_for_json(const gg_rule_input *in, TSNode node, int depth) {
    node = gg__strip_parentheses(node);
    bool list = gg_node_is(node, "list"), dictionary = gg_node_is(node, "dictionary");
    if (depth > MAX_DEPTH) return false;
    if (!list && !dictionary)
        return gg_node_is(node, "none") || gg_node_is(node, "true") || gg_node_is(node, "false") ||
               is_number(in, node, depth) || is_text(in, node, depth);
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i);
        if (gg_node_is(child, "pair")) {
            if (gg__is_bytes(in->tree, gg__field(child, "key"))) return false;
            child = gg__field(child, "value");
        }
        if (!gg_node_is(child, "comment") && !is_for_json(in, child, depth + 1)) return false;
    }
    return true;
}

/* `{"a": n}`: keys that have a hash. */
static bool dictionary_is_total(const gg_rule_input *in, TSNode node, int depth) {
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i), key = gg__field(child, "key");
        if (gg_node_is(child, "comment")) continue;
        if (!gg_node_is(child, "pair") || (!gg_node_is(key, "string") && !gg_node_is(key, "integer")) ||
            !is_total(in, key, depth) || !is_total(in, gg__field(child, "value"), depth))
            return false;
    }
    return true;
}

/* `a if c else b` of a truth that is certainly one. */
static bool choice_is_total(const gg_rule_input *in, TSNode node, int depth) {
    TSNode condition = gg__strip_parentheses(gg__child(node, 1));
    return gg__child_count(node) == 3 && is_total(in, condition, depth) &&
           (is_number(in, condition, depth) || has_one_element(in, condition)) &&
           is_total(in, gg__child(node, 0), depth) && is_total(in, gg__child(node, 2), depth);
}

static bool call_is_total(const gg_rule_input *in, TSNode node, int depth) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    uint32_t count = gg__child_count(arguments);
    TSNode first = gg__child(arguments, 0);
    const gg_tree *tree = in->tree;
    if (gg__is_clock(tree, node)) return true;
    if (gg__refers_to(tree, function, "json.dumps"))
        return count == 1 && (gg_node_is(first, "dictionary") || gg_node_is(first, "list")) &&
               is_total(in, first, depth) && is_for_json(in, first, depth);
    if (gg__only_looks(tree, node)) return gg__looks_without_fail(tree, node);
    if (gg_str_is(gg__text(tree, gg__field(function, "attribute")), "strftime") && count == 1)
        return gg__is_clock(tree, gg__field(function, "object")) &&
               !gg__clock_counts(tree, gg__field(function, "object")) && gg__is_plain_date(tree, first);
    if (gg_str_is(gg__text(tree, gg__field(function, "attribute")), "format") &&
        gg_node_is(gg__field(function, "object"), "string"))
        return format_is_total(in, gg__field(function, "object"), arguments, depth);
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
    if (gg__names_builtin(tree, function, "tuple") || gg__names_builtin(tree, function, "list"))
        return gg_str_is(gg__text(tree, gg__field(first, "attribute")), "shape") && is_total(in, first, depth);
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
    if (gg_node_is(node, "dictionary")) return dictionary_is_total(in, node, depth + 1);
    if (gg_node_is(node, "conditional_expression")) return choice_is_total(in, node, depth + 1);
    if (gg_node_is(node, "interpolation")) return interpolation_is_total(in, node, depth + 1);
    if (gg_node_is(node, "call")) return call_is_total(in, node, depth + 1);
    if (gg_node_is(node, "attribute") && gg__is_thread_name(in->tree, node)) return true;
    if (gg_node_is(node, "attribute"))
        return gg__is_one_of(gg__text(in->tree, gg__field(node, "attribute")), attributes, GG_COUNT(attributes)) &&
               is_tensor(in, gg__field(node, "object"));
    if (gg_node_is(node, "identifier")) {
        TSNode value = value_of(in, node);
        return is_warning_class(in->tree, node) || (!ts_node_is_null(value) && is_total(in, value, depth + 1));
    }
    if (gg_node_is(node, "binary_operator")) {
        gg_str op = gg__text(in->tree, gg__field(node, "operator"));
        TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
        if (gg_node_is(left, "string") && gg_str_is(op, "%")) return percent_is_total(in, left, right, depth + 1);
        if (gg_str_is(op, "+") && is_text(in, node, depth + 1))
            return is_total(in, left, depth + 1) && is_total(in, right, depth + 1);
    }
    return is_number(in, node, depth + 1);
}

bool gg__cannot_fail(const gg_rule_input *in, TSNode node) {
    return is_total(in, node, 0);
}
