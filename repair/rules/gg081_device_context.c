/* GG081 device-context: `with torch.device(…):`, which Dynamo cannot enter, gives a device to the calls in it that make tensors from nothing.
 * Offers: `device=…` in each of these calls, and no context.  Refuses: unless all that the block calls is known: such makers, and what makes no
 * tensor on that device by itself; and the device is a plain expression that the block does not change.
 * Safety: exact.  Page: docs/rules/GG081.md */
#include "repair/alias.h"
#include "repair/hindrance.h"

/* What torch.utils._device gives a device to: it adds `device=` where none is given. */
static const char *const makers[] = {"torch.arange",
                                     "torch.as_tensor",
                                     "torch.asarray",
                                     "torch.bartlett_window",
                                     "torch.blackman_window",
                                     "torch.empty",
                                     "torch.empty_permuted",
                                     "torch.empty_strided",
                                     "torch.eye",
                                     "torch.fft.fftfreq",
                                     "torch.fft.rfftfreq",
                                     "torch.full",
                                     "torch.hamming_window",
                                     "torch.hann_window",
                                     "torch.kaiser_window",
                                     "torch.linspace",
                                     "torch.logspace",
                                     "torch.ones",
                                     "torch.rand",
                                     "torch.randint",
                                     "torch.randn",
                                     "torch.randperm",
                                     "torch.range",
                                     "torch.scalar_tensor",
                                     "torch.tensor",
                                     "torch.tril_indices",
                                     "torch.triu_indices",
                                     "torch.zeros"};

/* Of torch, its functional module or a tensor: what they give lies where their operands do. */
static const char *const operations[] = {"add",
                                         "add_",
                                         "addmm",
                                         "amax",
                                         "append",
                                         "baddbmm",
                                         "bernoulli",
                                         "bernoulli_",
                                         "bmm",
                                         "broadcast_to",
                                         "cat",
                                         "chunk",
                                         "clamp_",
                                         "clip",
                                         "complex",
                                         "concat",
                                         "copy_",
                                         "cumprod",
                                         "cumsum",
                                         "diagonal",
                                         "div",
                                         "div_",
                                         "dot",
                                         "dropout",
                                         "einsum",
                                         "embedding",
                                         "empty_like",
                                         "eq",
                                         "erf",
                                         "expand",
                                         "expand_as",
                                         "extend",
                                         "fill_",
                                         "flip",
                                         "full_like",
                                         "gather",
                                         "ge",
                                         "gelu",
                                         "gt",
                                         "index_add",
                                         "index_add_",
                                         "index_copy_",
                                         "index_fill_",
                                         "index_select",
                                         "isin",
                                         "layer_norm",
                                         "le",
                                         "linear",
                                         "log1p",
                                         "logical_and",
                                         "logical_not",
                                         "logical_or",
                                         "lt",
                                         "masked_fill",
                                         "masked_fill_",
                                         "masked_select",
                                         "matmul",
                                         "meshgrid",
                                         "mm",
                                         "movedim",
                                         "mul",
                                         "mul_",
                                         "narrow",
                                         "ne",
                                         "neg",
                                         "neg_",
                                         "new_empty",
                                         "new_full",
                                         "new_ones",
                                         "new_tensor",
                                         "new_zeros",
                                         "normal_",
                                         "one_hot",
                                         "ones_like",
                                         "outer",
                                         "pad",
                                         "polar",
                                         "pow",
                                         "rand_like",
                                         "randint_like",
                                         "randn_like",
                                         "relu",
                                         "repeat",
                                         "repeat_interleave",
                                         "roll",
                                         "rsqrt",
                                         "scatter",
                                         "scatter_",
                                         "scatter_add",
                                         "scatter_add_",
                                         "searchsorted",
                                         "select",
                                         "silu",
                                         "sin",
                                         "softplus",
                                         "square",
                                         "stack",
                                         "sub",
                                         "sub_",
                                         "tril",
                                         "tril_",
                                         "triu",
                                         "triu_",
                                         "type_as",
                                         "unbind",
                                         "unflatten",
                                         "uniform_",
                                         "view_as",
                                         "view_as_complex",
                                         "view_as_real",
                                         "where",
                                         "zero_",
                                         "zeros_like"};

/* Contexts that have to do with no device. */
static const char *const contexts[] = {"torch.no_grad", "torch.enable_grad", "torch.set_grad_enabled", "torch.autocast",
                                       "contextlib.nullcontext"};

enum { MAX_CALLS = 64, MAX_DEPTH = 4 };

typedef struct block {
    const gg_rule_input *in;
    TSNode with, item, body;
    gg_str device; /* how it is written in calls */
    bool surely;   /* it is a device whatever the values are; else the expression may raise, and must do so as soon */
    TSNode calls[MAX_CALLS];
    size_t count;
} block;

/* ---- the device ---------------------------------------------------------------------------------------------------------------- */

static bool is_path(TSNode node) {
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    return gg_node_is(node, "identifier");
}

static bool is_literal(TSNode node) {
    if (!gg_node_is(node, "string")) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (gg_node_is(gg__child(node, i), "interpolation")) return false;
    return ts_node_start_point(node).row == ts_node_end_point(node).row;
}

/* `x.device` of a tensor. */
static bool is_tensors(const gg_rule_input *in, TSNode node) {
    return gg_node_is(node, "attribute") && is_path(node) &&
           gg_str_is(gg__text(in->tree, gg__field(node, "attribute")), "device") &&
           gg__infer(in, gg__field(node, "object")).sort == GG__TENSOR;
}

/* An expression that is a device: `x.device`, `torch.device("cuda", 0)`, `device` where it is bound to one. */
static bool is_device(block *b, TSNode node, uint32_t depth) {
    const gg_tree *tree = b->in->tree;
    node = gg__strip_parentheses(node);
    b->device = gg__text(tree, node);
    b->surely = true;
    if (is_tensors(b->in, node)) return true;
    if (gg_node_is(node, "identifier")) {
        gg_str name = b->device;
        TSNode value = gg__value_at(tree, node, name);
        bool known = depth < MAX_DEPTH && !ts_node_is_null(value) && is_device(b, value, depth + 1) && b->surely;
        b->device = name;
        return known;
    }
    if (!gg_node_is(node, "call") || !gg__refers_to(tree, gg__field(node, "function"), "torch.device")) return false;
    TSNode arguments = gg__field(node, "arguments"), first = gg__child(arguments, 0), second = gg__child(arguments, 1);
    uint32_t count = gg__child_count(arguments);
    if (is_literal(first)) { /* where it is none, no run got past it */
        if (count == 1) b->device = gg__text(tree, first);
        return count == 1 || (count == 2 && gg_node_is(second, "integer"));
    }
    if (count != 1 || !is_path(first)) return false;
    gg_str whole = b->device;
    if (is_device(b, first, depth + 1)) return true;
    b->device = whole;
    b->surely = false;
    return true;
}

/* ---- the block ----------------------------------------------------------------------------------------------------------------- */

static bool found_one(TSNode node, void *data) {
    (void)node, (void)data;
    return false;
}

static bool is_defined(const gg_tree *tree, gg_str name) {
    return name.len && !gg__each_definition(tree, name, found_one, NULL);
}

static bool refers_to_any(const gg_tree *tree, TSNode node, const char *const *paths, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg__refers_to(tree, node, paths[i])) return true;
    return false;
}

/* `a + b` and `a[i]` of what is no tensor, where the file says itself what that gives for something. */
static bool is_own_operator(const block *b, TSNode node) {
    static const char *const methods[] = {"__add__",  "__radd__",   "__sub__",     "__rsub__",    "__mul__",
                                          "__rmul__", "__matmul__", "__rmatmul__", "__truediv__", "__rtruediv__"};
    const gg_tree *tree = b->in->tree;
    bool part = gg_node_is(node, "subscript"), any = part && is_defined(tree, GG_STR("__getitem__"));
    if (!part && !gg_node_is(node, "binary_operator") && !gg_node_is(node, "augmented_assignment")) return false;
    for (size_t i = 0; !part && i < GG_COUNT(methods); i++) any = any || is_defined(tree, gg_str_from(methods[i]));
    TSNode first = gg__field(node, part ? "value" : "left"), second = gg__field(node, "right");
    return any && gg__infer(b->in, first).sort == GG__UNKNOWN && (part || gg__infer(b->in, second).sort == GG__UNKNOWN);
}

/* A call that the context gives a device to; it may have one of its own. */
static bool take_maker(block *b, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    if (!gg_node_is(arguments, "argument_list")) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        if (gg_node_is(argument, "dictionary_splat")) return gg__hinder(b->in, argument, "may hold a device");
        if (!gg_node_is(argument, "keyword_argument") ||
            !gg_str_is(gg__text(b->in->tree, gg__field(argument, "name")), "device"))
            continue;
        block own = *b;
        return is_literal(value) || (is_device(&own, value, 0) && own.surely) ||
               gg__hinder(b->in, argument, "may be None, where the context gives the device");
    }
    if (b->count == MAX_CALLS) return false;
    b->calls[b->count++] = call;
    return true;
}

/* What has the method: torch, its functional module, a tensor, what a call of these gives, or a list; a tokenizer's `pad` makes tensors. */
static bool is_owner_known(const block *b, TSNode object, gg_str name) {
    static const char *const modules[] = {"torch", "torch.nn.functional", "torch.special", "torch.linalg", "math"};
    const gg_tree *tree = b->in->tree;
    object = gg__strip_parentheses(object);
    if (refers_to_any(tree, object, modules, GG_COUNT(modules)) || gg__infer(b->in, object).sort == GG__TENSOR)
        return true;
    if (gg_node_is(object, "identifier") && !ts_node_is_null(gg__value_at(tree, object, gg__text(tree, object))))
        object = gg__strip_parentheses(gg__value_at(tree, object, gg__text(tree, object)));
    if (gg_str_is(name, "append") || gg_str_is(name, "extend")) return gg_node_is(object, "list");
    for (uint32_t depth = 0; gg_node_is(object, "call") && depth < 16; depth++) {
        TSNode function = gg__field(object, "function");
        if (refers_to_any(tree, function, makers, GG_COUNT(makers))) return true;
        object = gg__strip_parentheses(gg__field(function, "object"));
        if (refers_to_any(tree, object, modules, GG_COUNT(modules)) || gg__infer(b->in, object).sort == GG__TENSOR)
            return true;
    }
    return false;
}

/* Does a call make no tensor on the context's device by itself? */
static bool is_operation(block *b, TSNode call) {
    const gg_tree *tree = b->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    bool own = is_defined(tree, gg__called_name(tree, call)) &&
               (gg_node_is(function, "identifier") || gg_str_is(gg__text(tree, gg__field(function, "object")), "self"));
    if ((!own && gg__infer(b->in, call).sort != GG__UNKNOWN) ||
        refers_to_any(tree, function, contexts, GG_COUNT(contexts)))
        return true;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) /* a function that is called with elements */
        if (gg_str_is(gg__text(tree, gg__field(gg__child(arguments, i), "name")), "key")) return false;
    /* `self.to(…)` moves what the device may be taken from */
    if (is_defined(tree, name) || gg_str_is(gg__text(tree, gg__field(function, "object")), "self")) return false;
    return gg__reads_only(tree, call) ||
           (gg_node_is(function, "attribute") && gg__is_one_of(name, operations, GG_COUNT(operations)) &&
            is_owner_known(b, gg__field(function, "object"), name));
}

/* What a loop goes over makes nothing. */
static bool is_plain_iterable(const block *b, TSNode node) {
    return gg_node_is(node, "list") || gg_node_is(node, "tuple") ||
           gg__names_builtin(b->in->tree, gg__field(node, "function"), "range") ||
           gg__infer(b->in, node).sort == GG__TENSOR;
}

static bool is_known(TSNode node, void *data) {
    static const char *const refused[] = {"lambda",
                                          "generator_expression",
                                          "function_definition",
                                          "class_definition",
                                          "decorated_definition",
                                          "yield",
                                          "await",
                                          "import_statement",
                                          "import_from_statement",
                                          "match_statement",
                                          "global_statement",
                                          "nonlocal_statement",
                                          "ERROR"};
    block *b = data;
    const gg_tree *tree = b->in->tree;
    gg_str type = gg_str_from(ts_node_type(node));
    if (gg__is_one_of(type, refused, GG_COUNT(refused)))
        return gg__hinder(b->in, node, "is not understood inside of the context");
    if (gg_node_is(node, "for_statement") || gg_node_is(node, "for_in_clause"))
        return is_plain_iterable(b, gg__strip_parentheses(gg__field(node, "right"))) ||
               gg__hinder(b->in, gg__field(node, "right"), "may make tensors as it is gone over");
    if (gg_node_is(node, "string") && ts_node_start_point(node).row != ts_node_end_point(node).row)
        return gg__hinder(b->in, node, "would change when the block is moved to the left");
    if (is_own_operator(b, node)) return gg__hinder(b->in, node, "may be an operation of the file's own");
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function");
        bool good =
            refers_to_any(tree, function, makers, GG_COUNT(makers)) ? take_maker(b, node) : is_operation(b, node);
        return good || gg__hinder(b->in, node, "may make tensors on the device of the context");
    }
    if (gg_node_is(node, "attribute")) { /* a property; methods are looked at where they are called */
        bool called = ts_node_eq(gg__field(gg__parent(node), "function"), node);
        return called || !is_defined(tree, gg__text(tree, gg__field(node, "attribute"))) ||
               gg__hinder(b->in, node, "may be a property that makes tensors");
    }
    if (!gg_node_is(node, "identifier") || !gg__reads(tree, gg__field(b->item, "value"), gg__text(tree, node)) ||
        gg__is_member_name(node))
        return true;
    TSNode top = node; /* `x = …`, `x.data = …` */
    while (gg_node_is(gg__parent(top), "attribute") || gg_node_is(gg__parent(top), "subscript")) top = gg__parent(top);
    TSNode around = gg__parent(top);
    bool stored = !ts_node_eq(top, node) && gg_node_is(top, "attribute") &&
                  (gg_node_is(around, "pattern_list") || gg_node_is(around, "tuple_pattern") ||
                   gg_node_is(around, "for_statement") || gg_node_is(around, "delete_statement") ||
                   ((gg_node_is(around, "assignment") || gg_node_is(around, "augmented_assignment")) &&
                    ts_node_eq(gg__field(around, "left"), top)));
    return (!stored && !gg__is_binding(node)) || gg__hinder(b->in, node, "changes what the device is taken from");
}

/* Is one of the calls made by the first statement, whatever the values? */
static bool is_asked_at_once(const block *b) {
    TSNode first = gg__child(b->body, 0);
    if (!gg_node_is(first, "expression_statement") && !gg_node_is(first, "return_statement")) return false;
    for (size_t i = 0; i < b->count; i++) {
        bool surely = true;
        TSNode at = b->calls[i];
        for (; !ts_node_is_null(at) && !ts_node_eq(at, first); at = gg__parent(at))
            surely = surely && !gg_node_is(at, "conditional_expression") && !gg_node_is(at, "boolean_operator") &&
                     !gg_node_is(at, "comparison_operator") && !gg__is_comprehension(at);
        if (surely && ts_node_eq(at, first)) return true;
    }
    return false;
}

static bool find(const gg_rule_input *in, block *b) {
    *b = (block){.in = in};
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "with_item")) b->item = at;
        if (gg_node_is(at, "block")) return false;
        if (gg_node_is(at, "with_statement")) {
            b->with = at;
            break;
        }
    }
    TSNode value = gg__field(b->item, "value"), clause = gg__child(b->with, 0);
    b->body = gg__field(b->with, "body");
    if (ts_node_is_null(value) || ts_node_is_null(b->body) || gg_node_is(value, "as_pattern") ||
        !is_device(b, value, 0))
        return false;
    gg_span head = {ts_node_start_byte(b->with), ts_node_end_byte(clause)};
    if (!gg_node_is(clause, "with_clause") || gg__has_comment(in->tree, head) ||
        !gg__starts_line(in->tree, head.start) || !gg_str_starts_with(gg__text(in->tree, b->with), GG_STR("with")))
        return false;
    bool behind = false; /* what is entered later runs with the device, too */
    for (uint32_t i = 0; i < gg__child_count(clause); i++) {
        if (behind && !gg__visit(gg__child(clause, i), is_known, b)) return false;
        behind = behind || ts_node_eq(gg__child(clause, i), b->item);
    }
    if (!behind || !gg__visit(b->body, is_known, b)) return false;
    return b->surely || is_asked_at_once(b) || gg__hinder(in, value, "may be no device, which would be told later");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    block b = {.in = in};
    bool found = gg_str_is(in->site->id, "GB0142") && find(in, &b);
    out->node = b.with;
    return found;
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------------- */

static void give_device(const block *b, TSNode call, gg_arena *arena, gg_edits *out) {
    TSNode arguments = gg__field(call, "arguments"), last = {0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++)
        if (!gg_node_is(gg__child(arguments, i), "comment")) last = gg__child(arguments, i);
    bool none = ts_node_is_null(last);
    uint32_t at = none ? ts_node_start_byte(arguments) + 1 : ts_node_end_byte(last);
    gg_edits_add(out, (gg_span){at, at},
                 gg_arena_printf(arena, "%sdevice=%.*s", none ? "" : ", ", GG_STR_ARG(b->device)));
}

/* Takes the head of the statement away and moves its block to the left; comments stay. */
static void unwrap(const block *b, gg_edits *out) {
    const gg_tree *tree = b->in->tree;
    const gg_text *text = gg_tree_text(tree);
    gg_str all = gg_text_bytes(text);
    uint32_t start = ts_node_start_byte(b->with), first = ts_node_start_byte(b->body);
    uint32_t end = ts_node_end_byte(gg__child(b->with, 0));
    while (end < first && all.ptr[end] != ':') end++;
    uint32_t row = gg_text_position(text, end, GG_UTF8).line;
    for (end++; end < first && (all.ptr[end] == ' ' || all.ptr[end] == '\t');) end++;
    bool shares = end == first || all.ptr[end] == '#'; /* a comment, or the block itself */
    gg_str indent = gg__indent(tree, start);
    gg_edits_add(out,
                 shares ? (gg_span){start, end}
                        : (gg_span){gg_text_line_start(text, gg_text_position(text, start, GG_UTF8).line),
                                    gg_text_line_start(text, row + 1)},
                 GG_STR_NULL);
    if (end == first) return;
    size_t unit = gg__indent(tree, first).len - indent.len;
    for (uint32_t line = row + 1; line <= ts_node_end_point(b->with).row; line++) {
        gg_str content = gg_text_line(text, line);
        size_t blank = 0;
        while (blank < content.len && (content.ptr[blank] == ' ' || content.ptr[blank] == '\t')) blank++;
        if (blank < indent.len + unit && blank < content.len && content.ptr[blank] != '#')
            continue; /* in parentheses */
        uint32_t from = gg_text_line_start(text, line) + (uint32_t)indent.len;
        size_t taken = blank <= indent.len ? 0 : blank - indent.len < unit ? blank - indent.len : unit;
        if (taken) gg_edits_add(out, (gg_span){from, from + (uint32_t)taken}, GG_STR_NULL);
    }
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match;
    block b;
    if (!find(in, &b)) return gg_fail(err, GG_ENOMATCH, "not all that the block calls is known");
    for (size_t i = 0; i < b.count; i++) give_device(&b, b.calls[i], arena, out);
    TSNode next = ts_node_next_named_sibling(b.item), before = ts_node_prev_named_sibling(b.item);
    if (!ts_node_is_null(next))
        gg_edits_add(out, (gg_span){ts_node_start_byte(b.item), ts_node_start_byte(next)}, GG_STR_NULL);
    else if (!ts_node_is_null(before))
        gg_edits_add(out, (gg_span){ts_node_end_byte(before), ts_node_end_byte(b.item)}, GG_STR_NULL);
    else
        unwrap(&b, out);
    return 0;
}

const gg_rule gg_rule_device_context = {.code = "GG081",
                                        .name = "device-context",
                                        .title = "Give the device to the calls that make tensors",
                                        .safety = GG_SAFETY_EXACT,
                                        .check = check,
                                        .edit = edit};
