/* GG047 python-shadow: numbers are read back from a tensor that was made of a Python list, which is still there.
 * Offers: the list: `t.tolist()` → `list(lens)`, `int(t.max())` → `max(lens)` (where it may be empty, `(max(lens) if lens else int(t.max()))`), `t[0].item()` and `x[: t[0]]` → `lens[0]`.
 * Also what stands in the tensor right there: `torch.tensor([1, 3]).tolist()` → `[1, 3]`.
 * Refuses: unless the list is proven to be of integers, local and never handed on, and neither it nor the tensor is changed between.
 * Safety: exact.  Page: docs/rules/GG047.md */
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/texts.h"

typedef struct shadow {
    TSNode read;     /* `t.tolist()`: what is replaced */
    TSNode index;    /* of `t[0]`; null when it is all of the tensor */
    const char *ask; /* "list", "max", "min", "sum"; NULL with an index */
    TSNode tensor;   /* the identifier in `read` */
    TSNode made;     /* the statement that binds it */
    gg_str list;
    bool filled; /* the list is never empty */
} shadow;

/* ---- what is read back ------------------------------------------------------------------------------------------------------------ */

static bool is_builtin(const gg_tree *tree, TSNode function, const char *name) {
    gg_str text = gg__text(tree, function);
    return gg_node_is(function, "identifier") && gg_str_is(text, name) && !gg__is_local(tree, function, text) &&
           !gg__is_bound_in_module(tree, text);
}

static bool is_list_tensor(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer(in, node);
    return gg_node_is(node, "identifier") && m.sort == GG__TENSOR && m.rank == 1 && m.shape[0] > 0 &&
           (gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"));
}

/* `t[k]` */
static bool match_element(const gg_rule_input *in, TSNode node, shadow *out) {
    if (!gg_node_is(node, "subscript") || gg__child_count(node) != 2) return false;
    out->tensor = gg__field(node, "value");
    out->index = gg__field(node, "subscript");
    return is_list_tensor(in, out->tensor) && gg__infer(in, out->index).sort == GG__SCALAR_INT;
}

/* `t.max()`, `torch.max(t)`; the sum of nothing is a float, so it is an integer only under int(). */
static bool match_reduced(const gg_rule_input *in, TSNode node, bool whole, shadow *out) {
    static const char *const asked[] = {"max", "min", "sum"};
    for (size_t i = 0; i < GG_COUNT(asked); i++) {
        out->tensor = gg__call_operand(in, node, asked[i], 0, true);
        out->ask = asked[i];
        if (!ts_node_is_null(out->tensor)) return is_list_tensor(in, out->tensor) && (i < 2 || whole);
    }
    return false;
}

static bool match_read(const gg_rule_input *in, TSNode node, shadow *out) {
    *out = (shadow){.read = node};
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (gg_node_is(node, "subscript")) return gg_node_is(gg__parent(node), "slice") && match_element(in, node, out);
    if (!gg_node_is(node, "call") || !gg_node_is(arguments, "argument_list")) return false;
    bool whole = is_builtin(in->tree, function, "int") && gg__child_count(arguments) == 1;
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    TSNode object = whole ? gg__child(arguments, 0) : gg__field(function, "object");
    if (gg_str_is(name, "tolist") && gg__child_count(arguments) == 0) {
        out->tensor = object;
        out->ask = "list";
        return is_list_tensor(in, object);
    }
    if (!whole && (!gg_str_is(name, "item") || gg__child_count(arguments))) return false;
    if (match_element(in, object, out)) return true;
    out->index = (TSNode){0};
    return match_reduced(in, object, whole, out);
}

/* ---- the tensor -------------------------------------------------------------------------------------------------------------------- */

static bool is_option(const gg_tree *tree, TSNode argument) {
    static const char *const whole[] = {"long", "int64", "int", "int32"};
    gg_str name = gg__text(tree, gg__field(argument, "name"));
    gg_str dtype = gg__text(tree, gg__field(gg__field(argument, "value"), "attribute"));
    if (gg_str_is(name, "device")) return true;
    for (size_t i = 0; i < GG_COUNT(whole); i++)
        if (gg_str_is(name, "dtype") && gg_str_is(dtype, whole[i])) return true;
    return false;
}

/* `t = torch.tensor(lens)` */
static bool match_made(const gg_rule_input *in, TSNode statement, shadow *out) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    TSNode call = gg__field(assignment, "right"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(in->tree, gg__field(gg__field(call, "function"), "attribute"));
    gg_str holder = gg__text(in->tree, gg__field(gg__field(call, "function"), "object"));
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment") ||
        !gg_node_is(left, "identifier") || !gg_str_equal(holder, gg__module_alias(in->tree, call, "torch")) ||
        (!gg_str_is(name, "tensor") && !gg_str_is(name, "as_tensor")) ||
        !gg_node_is(gg__child(arguments, 0), "identifier"))
        return false;
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!is_option(in->tree, gg__child(arguments, i))) return false;
    out->made = statement;
    out->list = gg__text(in->tree, gg__child(arguments, 0));
    return true;
}

/* The nearest binding of the name in front, in the block or one around it; any other binding in the function is too much. */
static bool find_made(const gg_rule_input *in, shadow *out) {
    gg_str name = gg__text(in->tree, out->tensor);
    for (TSNode at = gg__statement(out->read); gg_node_is(gg__parent(at), "block");
         at = gg__statement(gg__parent(at))) {
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before))
            if (gg__binds(in->tree, before, name)) return match_made(in, before, out);
        if (gg_node_is(at, "function_definition")) return false;
    }
    return false;
}

/* ---- nothing changes between ------------------------------------------------------------------------------------------------------- */

typedef struct region {
    const gg_rule_input *in;
    shadow *s;
    TSNode function;
    gg_span span;
    uint32_t bindings;
} region;

/* From the tensor's making to the reading; to the end of a loop around the reading alone. */
static gg_span region_of(const shadow *s) {
    gg_span span = {ts_node_end_byte(s->made), ts_node_end_byte(gg__statement(s->read))};
    for (TSNode at = s->read; !ts_node_is_null(at) && ts_node_start_byte(at) > span.start; at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) span.end = ts_node_end_byte(at);
    return span;
}

static bool is_word(gg_str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_is(text, words[i])) return true;
    return false;
}

/* Is the tensor only read there, without another name for it or a part of it? */
static bool tensor_is_read(const region *r, TSNode node) {
    static const char *const attributes[] = {"shape", "device", "dtype", "size", "numel", "ndim",  "dim",
                                             "sum",   "max",    "min",   "prod", "float", "cumsum"};
    const gg_tree *tree = r->in->tree;
    TSNode parent = gg__parent(node);
    shadow other;
    for (TSNode at = node; !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at))
        if (match_read(r->in, at, &other)) return true;
    if (gg_node_is(parent, "attribute"))
        return is_word(gg__text(tree, gg__field(parent, "attribute")), attributes, GG_COUNT(attributes));
    if (gg_node_is(parent, "binary_operator") || gg_node_is(parent, "comparison_operator")) return true;
    return gg_node_is(parent, "argument_list") && is_builtin(tree, gg__field(gg__parent(parent), "function"), "len");
}

/* An integer of Python's own, as far as syntax tells. */
static bool is_integer(const gg_tree *tree, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "integer")) return true;
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function");
        return is_builtin(tree, function, "len") || is_builtin(tree, function, "int");
    }
    if (gg_node_is(node, "subscript")) {
        TSNode shape = gg__field(node, "value");
        TSNode index = gg__field(node, "subscript");
        return gg_node_is(shape, "attribute") && gg_str_is(gg__text(tree, gg__field(shape, "attribute")), "shape") &&
               !gg_node_is(index, "slice");
    }
    if (!gg_node_is(node, "binary_operator")) return false;
    gg_str op = gg__text(tree, gg__field(node, "operator"));
    static const char *const ops[] = {"+", "-", "*", "//"};
    return is_word(op, ops, GG_COUNT(ops)) && is_integer(tree, gg__field(node, "left")) &&
           is_integer(tree, gg__field(node, "right"));
}

static bool makes_integers(const gg_tree *tree, TSNode value) {
    if (gg_node_is(value, "list_comprehension")) return is_integer(tree, gg__field(value, "body"));
    if (!gg_node_is(value, "list")) return false;
    for (uint32_t i = 0; i < gg__child_count(value); i++)
        if (!is_integer(tree, gg__child(value, i))) return false;
    return true;
}

/* `l[i] = v`, `l[0], l[1] = v`, `for l[i] in v:`, `del l[i]` */
static bool is_stored(TSNode node) {
    TSNode at = node, parent = gg__parent(at);
    while (gg_node_is(parent, "pattern_list") || gg_node_is(parent, "tuple_pattern") ||
           gg_node_is(parent, "list_pattern") || gg_node_is(parent, "list_splat_pattern") ||
           gg_node_is(parent, "expression_list")) {
        at = parent;
        parent = gg__parent(at);
    }
    return gg_node_is(parent, "delete_statement") || gg_node_is(parent, "as_pattern_target") ||
           ts_node_eq(gg__field(parent, "left"), at);
}

/* Bound once to integers, appended to, and else only read: nobody else has it. */
static bool list_is_own(region *r, TSNode node) {
    static const char *const readers[] = {"len", "sum", "max", "min", "enumerate", "zip", "list", "sorted", "tuple"};
    const gg_tree *tree = r->in->tree;
    TSNode parent = gg__parent(node), holder = gg__parent(parent), function = gg__field(holder, "function");
    bool between = ts_node_start_byte(node) >= r->span.start && ts_node_start_byte(node) < r->span.end;
    if (gg__is_binding(node)) {
        TSNode value = gg__field(parent, "right");
        r->bindings++;
        r->s->filled = gg_node_is(value, "list") && gg__child_count(value) > 0;
        return r->bindings == 1 && gg_node_is(parent, "assignment") && makes_integers(tree, value) &&
               ts_node_is_null(gg__field(parent, "type")) && !between;
    }
    if (gg_node_is(parent, "attribute"))
        return gg_str_is(gg__text(tree, gg__field(parent, "attribute")), "append") && !between &&
               gg_node_is(holder, "call") && gg__child_count(gg__field(holder, "arguments")) == 1 &&
               is_integer(tree, gg__child(gg__field(holder, "arguments"), 0));
    if (gg_node_is(parent, "subscript")) return ts_node_eq(gg__field(parent, "value"), node) && !is_stored(parent);
    if (gg_node_is(parent, "for_statement") || gg_node_is(parent, "for_in_clause")) return true;
    if (!gg_node_is(parent, "argument_list")) return false;
    for (size_t i = 0; i < GG_COUNT(readers); i++)
        if (is_builtin(tree, function, readers[i])) return true;
    gg_str torch = gg__module_alias(tree, node, "torch");
    return torch.len && gg_str_equal(gg__text(tree, gg__field(function, "object")), torch);
}

static bool visit(TSNode node, void *data) {
    region *r = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str text = gg__text(r->in->tree, node);
    bool ours = ts_node_eq(gg__function(node), r->function);
    if (gg_str_equal(text, r->s->list)) return ours && list_is_own(r, node);
    if (!gg_str_equal(text, gg__text(r->in->tree, r->s->tensor))) return true;
    bool between = ts_node_start_byte(node) >= r->span.start && ts_node_start_byte(node) < r->span.end;
    return ours && (!between || tensor_is_read(r, node));
}

typedef struct slice_search {
    const gg_rule_input *in;
    shadow *out;
} slice_search;

static bool is_no_bound(TSNode node, void *data) {
    slice_search *search = data;
    return !gg_node_is(node, "subscript") || !match_read(search->in, node, search->out);
}

/* The reading around the site, or in a slice of the subscript that the site is. */
static bool find_read(const gg_rule_input *in, shadow *out) {
    TSNode site = gg_node_at(in->tree, in->span);
    for (TSNode at = site; !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at))
        if (match_read(in, at, out)) return true;
    slice_search search = {in, out};
    return gg_node_is(site, "subscript") && !gg__visit(site, is_no_bound, &search);
}

static bool find(const gg_rule_input *in, shadow *out) {
    if (in->site->first == NULL || !find_read(in, out) || gg__has_comment(in->tree, gg_node_span(out->read)))
        return false;
    TSNode at = out->read;
    TSNode function = gg__function(at);
    if (!gg_node_is(function, "function_definition") || !find_made(in, out) ||
        (out->ask && (gg__is_local(in->tree, at, gg_str_from(out->ask)) ||
                      gg__is_bound_in_module(in->tree, gg_str_from(out->ask)))))
        return false;
    region r = {.in = in, .s = out, .function = function, .span = region_of(out)};
    return gg__visit(function, visit, &r) && r.bindings == 1;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0033", "GB0124"};
    TSNode content;
    shadow s = {0};
    if (!gg__has_id(in, ids, GG_COUNT(ids))) return false;
    if (gg__written_integers(in, &out->node, &content)) return true;
    bool found = find(in, &s);
    out->node = s.read;
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    shadow s;
    TSNode read, content;
    if (gg__written_integers(in, &read, &content)) {
        gg_edits_add(out, gg_node_span(read), gg__written_text(in, read, content, arena));
        return 0;
    }
    if (!find(in, &s)) return gg_fail(err, GG_ENOMATCH, "the list is not proven to hold what the tensor holds");
    gg_str text =
        s.ask ? gg_arena_printf(arena, "%s(%.*s)", s.ask, GG_STR_ARG(s.list))
              : gg_arena_printf(arena, "%.*s[%.*s]", GG_STR_ARG(s.list), GG_STR_ARG(gg__text(in->tree, s.index)));
    bool extreme = s.ask && s.ask[0] == 'm';
    if (extreme && !s.filled) /* of nothing there is none: the exception is the tensor's */
        text = gg_arena_printf(arena, "(%.*s if %.*s else %.*s)", GG_STR_ARG(text), GG_STR_ARG(s.list),
                               GG_STR_ARG(gg__text(in->tree, s.read)));
    gg_edits_add(out, gg_node_span(match->node), text);
    return 0;
}

const gg_rule gg_rule_python_shadow = {
    .code = "GG047",
    .name = "python-shadow",
    .title = "Use the Python list that the tensor was made of",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
