/* What changes nothing, draws nothing and does not fail where tensors have no rows.  See nothing.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/nothing.h"

enum { MAX_DEPTH = 5 };

typedef struct quiet {
    const gg_rule_input *in; /* without facts: they are not of these functions */
    uint32_t depth;          /* of modules in modules */
} quiet;

static bool is_quiet(const quiet *q, TSNode node);
static bool is_quiet_module(TSNode value, void *data);

/* ---- modules --------------------------------------------------------------------------------------------------------------- */

/* What the loop around goes over, where its target, or the last of `for i, x in enumerate(…)`, has that name. */
static TSNode looped_over(const gg_tree *tree, TSNode node) {
    gg_str name = gg__text(tree, node);
    for (TSNode loop = node; !ts_node_is_null(loop); loop = gg__parent(loop)) {
        TSNode left = gg__field(loop, "left"), over = gg__field(loop, "right");
        TSNode last = gg_node_is(left, "pattern_list") ? gg__child(left, gg__child_count(left) - 1) : left;
        if (!gg_node_is(loop, "for_statement") || !gg_str_equal(gg__text(tree, last), name)) continue;
        bool counted = gg_node_is(over, "call") && gg__names_builtin(tree, gg__field(over, "function"), "enumerate");
        return counted ? gg__child(gg__field(over, "arguments"), 0) : over;
    }
    return (TSNode){0};
}

/* What an element, or a name, is of: one step towards where it is held; null when there is none. */
static TSNode held_by(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "subscript")) return gg__field(node, "value");
    if (gg_node_is(node, "call") && gg__names_builtin(tree, gg__field(node, "function"), "getattr"))
        return gg__child(gg__field(node, "arguments"), 0);
    if (!gg_node_is(node, "identifier")) return (TSNode){0};
    TSNode value = gg__value_at(tree, node, gg__text(tree, node));
    return ts_node_is_null(value) ? looped_over(tree, node) : value;
}

/* `self.experts` of `self.experts[i]`, of a name for it, of the name of one in a loop over them, and of getattr(self.experts, …); null when there is none. */
static TSNode holder_of(const gg_tree *tree, TSNode function) {
    TSNode node = gg__strip_parentheses(function), none = {0};
    for (uint32_t i = 0; i < MAX_DEPTH && !ts_node_is_null(node); i++, node = held_by(tree, node))
        if (gg_node_is(node, "attribute"))
            return gg_str_is(gg__text(tree, gg__field(node, "object")), "self") ? node : none;
    return none;
}

/* Its own forward; null when it is not the only class of that name, or has none. */
static TSNode forward_of(const gg_tree *tree, gg_str name) {
    bool only;
    TSNode body = gg__field(gg__class_named(tree, name, &only), "body"), none = {0};
    for (uint32_t i = 0; only && i < gg__child_count(body); i++) {
        TSNode method = gg__child(body, i);
        if (gg_node_is(method, "function_definition") &&
            gg_str_is(gg__text(tree, gg__field(method, "name")), "forward"))
            return method;
    }
    return none;
}

static bool binds_names(TSNode left) {
    if (gg_node_is(left, "identifier")) return true;
    if (!gg_node_is(left, "pattern_list") && !gg_node_is(left, "tuple_pattern")) return false;
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (!gg_node_is(gg__child(left, i), "identifier")) return false;
    return true;
}

static bool is_quiet_block(const quiet *q, TSNode block);

static bool is_quiet_branch(const quiet *q, TSNode branch) {
    for (uint32_t i = 0; i < gg__child_count(branch); i++) {
        TSNode child = gg__child(branch, i);
        bool clause = gg_node_is(child, "elif_clause") || gg_node_is(child, "else_clause");
        if (gg_node_is(child, "comment")) continue;
        if (gg_node_is(child, "block")) {
            if (!is_quiet_block(q, child)) return false;
        } else if (clause ? !is_quiet_branch(q, child) : !is_quiet(q, child)) {
            return false;
        }
    }
    return true;
}

static bool is_quiet_block(const quiet *q, TSNode block) {
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode at = gg__child(block, i), child = gg__child(at, 0);
        bool fine = gg_node_is(at, "comment") || gg_node_is(at, "pass_statement");
        if (gg_node_is(at, "return_statement")) fine = ts_node_is_null(child) || is_quiet(q, child);
        if (gg_node_is(at, "if_statement")) fine = is_quiet_branch(q, at);
        if (gg_node_is(at, "expression_statement"))
            fine = gg_node_is(child, "string") ||
                   ((gg_node_is(child, "assignment") || gg_node_is(child, "augmented_assignment")) &&
                    binds_names(gg__field(child, "left")) && is_quiet(q, gg__field(child, "right")));
        if (!fine) return false;
    }
    return true;
}

/* Of torch.nn: they neither count calls nor keep statistics, and take no rows. */
static bool is_torchs_module(const gg_tree *tree, TSNode function) {
    static const char *const names[] = {
        "torch.nn.Linear",    "torch.nn.Bilinear",  "torch.nn.Identity", "torch.nn.Dropout",   "torch.nn.LayerNorm",
        "torch.nn.RMSNorm",   "torch.nn.GELU",      "torch.nn.ReLU",     "torch.nn.ReLU6",     "torch.nn.SiLU",
        "torch.nn.Sigmoid",   "torch.nn.Tanh",      "torch.nn.ELU",      "torch.nn.LeakyReLU", "torch.nn.Mish",
        "torch.nn.Softplus",  "torch.nn.Hardswish", "torch.nn.Softmax",  "torch.nn.GLU",       "torch.nn.Embedding",
        "torch.nn.Unflatten", "torch.nn.Flatten",   "torch.nn.SELU",     "torch.nn.CELU"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg__refers_to(tree, function, names[i])) return true;
    return false;
}

/* What is in `nn.ModuleList([Expert(d) for _ in range(n)])` */
static bool are_quiet_elements(quiet *q, TSNode node) {
    if (gg__is_comprehension(node) || gg_node_is(node, "list_splat")) return are_quiet_elements(q, gg__child(node, 0));
    if (gg_node_is(node, "pair")) return are_quiet_elements(q, gg__field(node, "value"));
    bool display = gg_node_is(node, "list") || gg_node_is(node, "tuple") || gg_node_is(node, "dictionary");
    for (uint32_t i = 0; display && i < gg__child_count(node); i++)
        if (!gg_node_is(gg__child(node, i), "comment") && !are_quiet_elements(q, gg__child(node, i))) return false;
    return display || is_quiet_module(node, q);
}

/* `ACT2FN[config.hidden_act]`: of a table in capitals, which is of activations where it is called like a function */
static bool is_of_a_table(const gg_tree *tree, TSNode value) {
    gg_str name = gg__text(tree, gg__field(value, "value"));
    if (!gg_node_is(value, "subscript") || !gg_node_is(gg__field(value, "value"), "identifier")) return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] >= 'a' && name.ptr[i] <= 'z') return false;
    return gg_str_contains(name, GG_STR("ACT"));
}

static bool is_quiet_module(TSNode value, void *data) {
    static const char *const containers[] = {"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"};
    quiet *q = data;
    const gg_tree *tree = q->in->tree;
    TSNode function = gg__field(value, "function"), arguments = gg__field(value, "arguments");
    if (is_of_a_table(tree, value)) return true;
    if (gg_node_is(value, "conditional_expression"))
        return is_quiet_module(gg__child(value, 0), q) && is_quiet_module(gg__child(value, 2), q);
    if (!gg_node_is(value, "call")) return false;
    if (is_torchs_module(tree, function)) return true;
    for (size_t i = 0; i < GG_COUNT(containers); i++) {
        if (!gg__refers_to(tree, function, containers[i])) continue;
        if (gg__is_comprehension(arguments)) return are_quiet_elements(q, arguments); /* ModuleList(f(i) for i in …) */
        for (uint32_t k = 0; k < gg__child_count(arguments); k++)
            if (!gg_node_is(gg__child(arguments, k), "comment") && !are_quiet_elements(q, gg__child(arguments, k)))
                return false;
        return true;
    }
    TSNode forward = {0};
    if (gg_node_is(function, "identifier")) {
        gg_str usual = gg__class_by_default(tree, function);
        forward = forward_of(tree, usual.len ? usual : gg__text(tree, function));
    }
    if (ts_node_is_null(forward) || q->depth >= MAX_DEPTH) return false;
    q->depth++;
    bool known = is_quiet_block(q, gg__field(forward, "body"));
    q->depth--;
    return known;
}

typedef struct fillings {
    quiet *q;
    gg_str holder; /* "self.experts" */
} fillings;

/* `self.experts.append(Expert(d))`, `self.experts[key] = Expert(d)` */
static bool is_quiet_filling(TSNode node, void *data) {
    static const char *const fills[] = {"append", "extend", "insert", "add_module", "update", "__setitem__"};
    fillings *f = data;
    const gg_tree *tree = f->q->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"),
           left = gg__field(node, "left");
    if (gg_node_is(node, "assignment") && gg_node_is(left, "subscript") &&
        gg_str_equal(gg__text(tree, gg__field(left, "value")), f->holder))
        return is_quiet_module(gg__field(node, "right"), f->q);
    if (!gg_node_is(node, "call") || !gg_str_equal(gg__text(tree, gg__field(function, "object")), f->holder) ||
        !gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), fills, GG_COUNT(fills)))
        return true;
    return gg__child_count(arguments) > 0 &&
           are_quiet_elements(f->q, gg__child(arguments, gg__child_count(arguments) - 1));
}

static bool calls_a_quiet_module(const quiet *q, TSNode call) {
    TSNode holder = holder_of(q->in->tree, gg__field(call, "function")), owner = gg__class_around(holder);
    if (ts_node_is_null(holder)) return false;
    quiet inner = {q->in, q->depth + 1};
    fillings f = {&inner, gg__text(q->in->tree, holder)};
    return inner.depth <= MAX_DEPTH && gg__each_attribute_value(q->in->tree, holder, is_quiet_module, &inner) &&
           gg__visit(owner, is_quiet_filling, &f);
}

/* ---- expressions ----------------------------------------------------------------------------------------------------------- */

/* Of nothing there is no largest, Python gets no number, and a size that is left open may be any. */
static bool wants_rows(const gg_tree *tree, TSNode call) {
    static const char *const names[] = {"max",      "min",    "argmax",    "argmin", "amax",     "amin",
                                        "aminmax",  "median", "nanmedian", "mode",   "topk",     "item",
                                        "numpy",    "all",    "tolist",    "any",    "quantile", "kthvalue",
                                        "corrcoef", "unbind", "histc",     "sorted"};
    static const char *const builtins[] = {"float", "int", "bool", "round", "sum"};
    static const char *const forms[] = {"view", "reshape"};
    TSNode arguments = gg__field(call, "arguments");
    gg_str name = gg__called_name(tree, call);
    bool builtin = gg_node_is(gg__field(call, "function"), "identifier") &&
                   gg__is_one_of(name, builtins, GG_COUNT(builtins)); /* `float(x)`, but x.float() */
    for (uint32_t i = 1; gg__is_one_of(name, forms, GG_COUNT(forms)) && i < gg__child_count(arguments); i++)
        if (gg_str_is(gg__text(tree, gg__child(arguments, i)), "-1")) return true;
    return builtin || gg__is_one_of(name, names, GG_COUNT(names));
}

/* Functions of torch and methods that take tensors without rows, and neither draw numbers but one for each element nor keep anything. */
static bool takes_no_rows(const gg_tree *tree, TSNode call) {
    static const char *const names[] = {
        "linear",     "bilinear",  "silu",     "gelu",       "relu",         "relu6",      "leaky_relu",  "elu",
        "selu",       "celu",      "softplus", "sigmoid",    "tanh",         "softmax",    "log_softmax", "glu",
        "mish",       "hardswish", "dropout",  "layer_norm", "rms_norm",     "normalize",  "matmul",      "mm",
        "bmm",        "einsum",    "baddbmm",  "addmm",      "cat",          "concat",     "stack",       "where",
        "zeros_like", "ones_like", "mul",      "add",        "sub",          "div",        "exp",         "log",
        "sqrt",       "rsqrt",     "pow",      "clamp",      "abs",          "square",     "sum",         "mean",
        "gather",     "unsqueeze", "squeeze",  "transpose",  "permute",      "reshape",    "chunk",       "split",
        "zeros",      "ones",      "full",     "full_like",  "sin",          "cos",        "erf",         "log1p",
        "expm1",      "maximum",   "minimum",  "nonzero",    "index_select", "logsigmoid", "tanhshrink",  "flatten"};
    bool method = gg_node_is(gg__field(call, "function"), "attribute");
    return (method || gg__is_torchs(tree, call)) && gg__is_one_of(gg__called_name(tree, call), names, GG_COUNT(names));
}

static bool changes(const gg_tree *tree, TSNode call) {
    return gg_str_ends_with(gg__called_name(tree, call), GG_STR("_")) || gg__is_in_place_by_keyword(tree, call) ||
           gg__is_in_place_by_position(tree, call);
}

static bool is_quiet_node(TSNode node, void *data) {
    static const char *const acting[] = {"named_expression", "await", "yield", "lambda"};
    const quiet *q = data;
    for (size_t i = 0; i < GG_COUNT(acting); i++)
        if (gg_node_is(node, acting[i])) return false;
    if (gg__is_comprehension(node)) return false;
    if (!gg_node_is(node, "call")) return true;
    if (wants_rows(q->in->tree, node) || changes(q->in->tree, node)) return false;
    if (gg_str_is(gg__text(q->in->tree, gg__field(gg__field(node, "function"), "object")), "self"))
        return calls_a_quiet_module(q, node); /* `self.norm(x)` is no norm */
    return gg__reads_only(q->in->tree, node) || takes_no_rows(q->in->tree, node) || gg__is_operation(q->in, node) ||
           calls_a_quiet_module(q, node);
}

static bool is_quiet(const quiet *q, TSNode node) {
    return !ts_node_is_null(node) && gg__visit(node, is_quiet_node, (void *)q);
}

bool gg__is_quiet(const gg_rule_input *in, TSNode expression) {
    gg_site nowhere;
    gg_rule_input blind = gg__blind(in, &nowhere);
    quiet q = {&blind, 0};
    return is_quiet(&q, expression);
}
