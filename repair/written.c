/* Integers that are written into a tensor where they stand, and read back from it at once: `torch.tensor([1, 3]).tolist()`.  See texts.h.  Any thread. */
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/texts.h"

/* `3` or `-3`: a tensor has the same. */
static bool is_integer(const gg_tree *tree, TSNode node) {
    double value = 0;
    TSNode digits = gg_node_is(node, "unary_operator") ? gg__field(node, "argument") : node;
    return gg_node_is(digits, "integer") && gg__literal_value(tree, node, &value) && value >= -1e15 && value <= 1e15;
}

static bool are_integers(const gg_tree *tree, TSNode list) {
    for (uint32_t i = 0; i < gg__child_count(list); i++)
        if (!is_integer(tree, gg__child(list, i))) return false;
    return gg_node_is(list, "list") && gg__child_count(list) > 0;
}

static bool is_option(const gg_tree *tree, TSNode argument) {
    gg_str name = gg__text(tree, gg__field(argument, "name")), inside;
    TSNode value = gg__field(argument, "value");
    if (!gg_node_is(argument, "keyword_argument")) return false;
    if (gg_str_is(name, "device"))
        return gg_node_is(value, "string") && gg__between_quotes(tree, value, &inside) && gg_str_is(inside, "cpu");
    return gg_str_is(name, "dtype") &&
           (gg__refers_to(tree, value, "torch.long") || gg__refers_to(tree, value, "torch.int64"));
}

/* What `torch.tensor([1, 3])` is made of, the list or one integer; else null. */
static TSNode content(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"), none = {0};
    TSNode first = gg__child(arguments, 0);
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return none;
    bool lists = are_integers(tree, first);
    if (!lists && !is_integer(tree, first)) return none;
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!is_option(tree, gg__child(arguments, i))) return none;
    bool plain = gg__refers_to(tree, function, "torch.tensor") || gg__refers_to(tree, function, "torch.as_tensor");
    bool named = lists && gg__child_count(arguments) == 1 && gg__refers_to(tree, function, "torch.LongTensor");
    return plain || named ? first : none; /* LongTensor(3) has three elements */
}

static TSNode content_if(const gg_tree *tree, TSNode call, bool list) {
    TSNode found = content(tree, call);
    return gg_node_is(found, "list") == list ? found : (TSNode){0};
}

/* `E.tolist()`, `E.item()`, `int(E)` */
static TSNode read_back(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"), none = {0};
    gg_str method = gg__text(tree, gg__field(function, "attribute"));
    uint32_t count = gg__child_count(arguments);
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return none;
    if (count == 1 && gg__names_builtin(tree, function, "int")) return content_if(tree, gg__child(arguments, 0), false);
    if (count || (!gg_str_is(method, "tolist") && !gg_str_is(method, "item"))) return none;
    return content_if(tree, gg__field(function, "object"), gg_str_is(method, "tolist"));
}

/* Where new tensors may lie on a device, tensor_split raises. */
static bool may_lie_elsewhere(const gg_tree *tree, TSNode node) {
    static const char *const setting[] = {"set_default_device", "set_default_tensor_type"};
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at))
        if (gg_node_is(at, "with_statement") && gg_str_contains(gg__text(tree, gg__child(at, 0)), GG_STR("device")))
            return true;
    return gg__has_word(tree, gg_tree_root(tree), setting, GG_COUNT(setting));
}

/* The tensor in `torch.tensor_split(x, E)` and `x.tensor_split(E)`, which reads it. */
static TSNode places_of(const gg_rule_input *in, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"), none = {0};
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return none;
    bool method = gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "tensor_split") &&
                  gg__infer(in, gg__field(function, "object")).sort == GG__TENSOR;
    bool whole = !method && gg__refers_to(in->tree, function, "torch.tensor_split") &&
                 gg__infer(in, gg__child(arguments, 0)).sort == GG__TENSOR;
    return (method || whole) && !may_lie_elsewhere(in->tree, call) ? gg__child(arguments, whole) : none;
}

/* The first bound in `x[: E]` that is such a tensor. */
static TSNode bound_in(const gg_rule_input *in, TSNode subscript) {
    TSNode none = {0};
    if (!gg_node_is(subscript, "subscript") || gg__infer(in, gg__field(subscript, "value")).sort != GG__TENSOR)
        return none;
    for (uint32_t i = 1; i < gg__child_count(subscript); i++) {
        TSNode slice = gg__child(subscript, i);
        for (uint32_t k = 0; gg_node_is(slice, "slice") && k < gg__child_count(slice); k++)
            if (!ts_node_is_null(content_if(in->tree, gg__child(slice, k), false))) return gg__child(slice, k);
    }
    return none;
}

bool gg__written_integers(const gg_rule_input *in, TSNode *out_read, TSNode *out_content) {
    TSNode at = gg__strip_parentheses(gg_node_at(in->tree, in->span)), tensor = places_of(in, at);
    *out_read = at;
    *out_content = read_back(in->tree, at);
    if (!ts_node_is_null(tensor)) {
        *out_read = tensor;
        *out_content = content_if(in->tree, tensor, true);
    } else if (ts_node_is_null(*out_content)) {
        *out_read = bound_in(in, at);
        *out_content = content(in->tree, *out_read);
    }
    return !ts_node_is_null(*out_content) && !gg__has_comment(in->tree, gg_node_span(*out_read)) &&
           !gg__has_star_import(in->tree);
}

gg_str gg__written_text(const gg_rule_input *in, TSNode read, TSNode content, gg_arena *arena) {
    gg_str all = gg_text_bytes(gg_tree_text(in->tree)), text = gg__text(in->tree, content);
    uint32_t end = ts_node_end_byte(read);
    bool touches = end < all.len && all.ptr[end] != ' ' && !strchr(")],:\r\n;", all.ptr[end]); /* `E.item()if c` */
    bool wrap = !gg_node_is(content, "list") && (gg_node_is(content, "unary_operator") || touches);
    return wrap ? gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(text)) : text;
}
