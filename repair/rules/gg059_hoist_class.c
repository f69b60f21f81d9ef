/* GG059 hoist-class: a class statement in a function makes a new class on each call, which Dynamo does not trace.
 * Offers: the class at module level, in front of the definition it stood in.  Refuses: unless one class serves all calls: it uses nothing of
 * the functions around it, holds nothing but methods and constants, nobody changes it, its bases are plain, and its name is free.
 * Safety: exact.  Page: docs/rules/GG059.md */
#include "repair/syntax.h"

static bool is_scope(TSNode node) {
    return gg_node_is(node, "function_definition") || gg_node_is(node, "lambda") || gg__is_comprehension(node);
}

static bool is_name_of_something(TSNode node) {
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "attribute")) return ts_node_eq(gg__field(parent, "attribute"), node);
    return gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node);
}

/* ---- what is inside the class -------------------------------------------------------------------------------------------- */

/* Immutable, and the same whenever it is evaluated. */
static bool is_constant(TSNode node) {
    static const char *const constants[] = {"integer", "float", "true", "false", "none", "ellipsis"};
    for (size_t i = 0; i < GG_COUNT(constants); i++)
        if (gg_node_is(node, constants[i])) return true;
    if (gg_node_is(node, "string")) { /* no f-string */
        for (uint32_t i = 0; i < gg__child_count(node); i++)
            if (gg_node_is(gg__child(node, i), "interpolation")) return false;
        return true;
    }
    if (gg_node_is(node, "unary_operator")) return is_constant(gg__field(node, "argument"));
    bool all = gg_node_is(node, "tuple");
    for (uint32_t i = 0; all && i < gg__child_count(node); i++) all = is_constant(gg__child(node, i));
    return all;
}

static bool is_method(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "decorated_definition")) {
        static const char *const known[] = {"staticmethod", "property"};
        TSNode decorator = gg__child(node, 0), name = gg__child(decorator, 0);
        bool plain = false;
        for (size_t i = 0; i < GG_COUNT(known); i++) plain = plain || gg__names_builtin(tree, name, known[i]);
        node = gg__field(node, "definition");
        if (!plain || !ts_node_eq(ts_node_next_named_sibling(decorator), node)) return false;
    }
    if (!gg_node_is(node, "function_definition") || !ts_node_is_null(gg__field(node, "return_type"))) return false;
    TSNode parameters = gg__field(node, "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) {
        TSNode parameter = gg__child(parameters, i);
        if (gg_node_is(parameter, "identifier") || gg_node_is(parameter, "list_splat_pattern") ||
            gg_node_is(parameter, "dictionary_splat_pattern") || gg_node_is(parameter, "keyword_separator"))
            continue;
        if (!gg_node_is(parameter, "default_parameter") || !is_constant(gg__field(parameter, "value"))) return false;
    }
    return true;
}

/* `a = 2`, `pass`, a docstring, or a method. */
static bool is_member(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "comment") || gg_node_is(node, "pass_statement")) return true;
    if (!gg_node_is(node, "expression_statement")) return is_method(tree, node);
    TSNode inner = gg__child(node, 0);
    if (gg__child_count(node) != 1) return false;
    if (!gg_node_is(inner, "assignment")) return is_constant(inner);
    return gg_node_is(gg__field(inner, "left"), "identifier") && ts_node_is_null(gg__field(inner, "type")) &&
           is_constant(gg__field(inner, "right"));
}

/* No base, or one whose subclasses are nobody's business. */
static bool has_plain_bases(const gg_tree *tree, TSNode class) {
    static const char *const builtins[] = {
        "object",         "Exception",     "ValueError",    "TypeError",           "RuntimeError",  "IndexError",
        "KeyError",       "StopIteration", "LookupError",   "ArithmeticError",     "BaseException", "AssertionError",
        "AttributeError", "OSError",       "OverflowError", "NotImplementedError", "NameError",     "ZeroDivisionError",
        "UserWarning",    "Warning",       "TimeoutError",  "FloatingPointError",  "EOFError"};
    TSNode bases = gg__field(class, "superclasses");
    if (gg__child_count(bases) > 1) return false;
    TSNode base = gg__child(bases, 0);
    bool plain = ts_node_is_null(base) || gg__refers_to(tree, base, "torch.nn.Module");
    for (size_t i = 0; i < GG_COUNT(builtins); i++) plain = plain || gg__names_builtin(tree, base, builtins[i]);
    return plain;
}

typedef struct class_search {
    const gg_tree *tree;
    TSNode class;
} class_search;

/* Is the name bound in a function of the class, around the node? */
static bool is_own(const gg_tree *tree, TSNode class, TSNode node, gg_str name) {
    for (TSNode at = node; !ts_node_eq(at, class); at = gg__parent(at))
        if (is_scope(at) && gg__binds(tree, at, name)) return true;
    return false;
}

static bool is_self_contained(TSNode node, void *data) {
    const class_search *s = data;
    static const char *const refused[] = {"nonlocal_statement", "global_statement", "class_definition",
                                          "import_statement", "import_from_statement"};
    for (size_t i = 0; i < GG_COUNT(refused); i++)
        if (gg_node_is(node, refused[i]) && !ts_node_eq(node, s->class)) return false;
    /* over lines its inside would move */
    if (gg_node_is(node, "string")) return ts_node_start_point(node).row == ts_node_end_point(node).row;
    if (!gg_node_is(node, "identifier")) return true;
    gg_str name = gg__text(s->tree, node);
    static const char *const reflecting[] = {"__class__", "cls",    "type", "setattr",
                                             "delattr",   "locals", "eval", "exec"};
    for (size_t i = 0; i < GG_COUNT(reflecting); i++)
        if (gg_str_is(name, reflecting[i])) return false;
    if (is_name_of_something(node) || is_own(s->tree, s->class, node, name)) return true;
    TSNode parent = gg__parent(node);
    if (ts_node_eq(parent, s->class) || ts_node_eq(gg__field(parent, "left"), node) ||
        gg_node_is(parent, "function_definition"))
        return true; /* its own name, or a member's */
    return !gg__is_local(s->tree, s->class, name);
}

/* ---- what is around it ----------------------------------------------------------------------------------------------------- */

typedef struct use_search {
    const gg_tree *tree;
    gg_str name;
    TSNode class, function;
} use_search;

/* Does no class stand between, whose body looks names up in its own way?  It may be that class's name. */
static bool is_straight_in(TSNode node, TSNode function) {
    TSNode at = gg__parent(node);
    if (gg_node_is(at, "class_definition") && ts_node_eq(gg__field(at, "name"), node)) at = gg__parent(at);
    for (; !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        if (gg_node_is(at, "class_definition")) return false;
    return true;
}

typedef struct own_search {
    const gg_tree *tree;
    gg_str name;
    TSNode function;
} own_search;

static bool binds_no_own(TSNode node, void *data) {
    const own_search *s = data;
    bool binds = gg_node_is(node, "identifier") && gg_str_equal(gg__text(s->tree, node), s->name) &&
                 gg__is_binding(node) && ts_node_eq(gg__function(node), s->function);
    for (TSNode at = node; binds && !ts_node_eq(at, s->function); at = gg__parent(at))
        binds = !gg__is_comprehension(at);
    return !binds || !is_straight_in(node, s->function);
}

/* Is it a local name of another function, whatever the module has under it? */
static bool is_of_another(const gg_tree *tree, TSNode node) {
    TSNode function = gg__function(node), body = gg__field(function, "body"), parent = gg__parent(node);
    own_search s = {tree, gg__text(tree, node), function};
    return gg_node_is(function, "function_definition") && gg__covers(body, gg_node_span(node)) &&
           !gg_node_is(parent, "global_statement") && !gg_node_is(parent, "nonlocal_statement") &&
           is_straight_in(node, function) && !gg__visit(body, binds_no_own, &s);
}

/* In its function the class is called, asked for a member, or named where exceptions and types are; it is not handed on or changed.
 * Elsewhere nobody has the name, but for locals of other functions. */
static bool is_fine(TSNode node, void *data) {
    const use_search *s = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(s->tree, node), s->name)) return true;
    TSNode parent = gg__parent(node), function = node;
    if (is_name_of_something(node)) return true;
    while (!ts_node_is_null(function) && !ts_node_eq(function, s->function)) function = gg__parent(function);
    if (ts_node_is_null(function)) return is_of_another(s->tree, node);
    if (gg_node_is(parent, "class_definition")) return ts_node_eq(parent, s->class);
    if (gg__is_binding(node)) return false;
    if (gg_node_is(parent, "call")) return ts_node_eq(gg__field(parent, "function"), node);
    if (gg_node_is(parent, "except_clause") || gg_node_is(parent, "raise_statement") ||
        (gg_node_is(parent, "as_pattern") && gg_node_is(gg__parent(parent), "except_clause")))
        return true;
    if (gg_node_is(parent, "argument_list"))
        return gg__names_builtin(s->tree, gg__field(gg__parent(parent), "function"), "isinstance");
    if (!gg_node_is(parent, "attribute")) return false;
    TSNode around = gg__parent(parent);
    static const char *const changing[] = {"assignment",   "augmented_assignment", "delete_statement",
                                           "pattern_list", "tuple_pattern",        "for_statement"};
    for (size_t i = 0; i < GG_COUNT(changing); i++)
        if (gg_node_is(around, changing[i])) return ts_node_eq(gg__field(around, "right"), parent);
    return true;
}

/* The class to move; null node when the break is not one. */
static TSNode class_at(const gg_rule_input *in) {
    TSNode class = gg_node_ancestor(gg_node_at(in->tree, in->span), "class_definition");
    TSNode name = gg__field(class, "name");
    return !ts_node_is_null(name) && in->span.start <= ts_node_start_byte(name) ? class : (TSNode) {
        0
    };
}

/* Every line of it starts as its first does, and nothing follows on its last. */
static bool is_indented(const gg_tree *tree, TSNode class) {
    const gg_text *text = gg_tree_text(tree);
    TSPoint end = ts_node_end_point(class);
    gg_str last = gg_text_line(text, end.row);
    if (gg_str_trim(gg_str_slice(last, end.column, last.len)).len) return false;
    gg_str indent = gg__indent(tree, ts_node_start_byte(class));
    for (uint32_t row = ts_node_start_point(class).row; row <= ts_node_end_point(class).row; row++) {
        gg_str line = gg_text_line(text, row);
        if (gg_str_trim(line).len && !gg_str_starts_with(line, indent)) return false;
    }
    return true;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB8977", "GB0075"};
    TSNode class = class_at(in), block = gg__parent(class), function = gg__parent(block),
           body = gg__field(class, "body");
    out->node = class;
    if (!gg__has_id(in, ids, GG_COUNT(ids)) || !gg_node_is(block, "block") ||
        !gg_node_is(function, "function_definition") || !gg__alone_on_line(in->tree, class) ||
        !is_indented(in->tree, class) || gg__has_star_import(in->tree) || !has_plain_bases(in->tree, class))
        return false;
    for (uint32_t i = 0; i < gg__child_count(body); i++)
        if (!is_member(in->tree, gg__child(body, i))) return false;
    class_search inside = {in->tree, class};
    use_search around = {in->tree, gg__text(in->tree, gg__field(class, "name")), class, function};
    return gg__visit(class, is_self_contained, &inside) && gg__visit(gg_tree_root(in->tree), is_fine, &around);
}

/* The class's lines, moved to the margin. */
static gg_str at_the_margin(const gg_tree *tree, TSNode class, gg_arena *arena) {
    const gg_text *text = gg_tree_text(tree);
    size_t indent = gg__indent(tree, ts_node_start_byte(class)).len;
    gg_str newline = gg__newline(tree);
    gg_buf lines;
    gg_buf_init(&lines, GG_MAX_DOCUMENT_BYTES);
    uint32_t last = ts_node_end_point(class).row;
    for (uint32_t row = ts_node_start_point(class).row; row <= last; row++) {
        gg_str line = gg_text_line(text, row);
        if (line.len > indent) gg_buf_append(&lines, gg_str_slice(line, indent, line.len));
        gg_buf_append(&lines, newline);
    }
    gg_buf_append(&lines, newline);
    gg_buf_append(&lines, newline);
    gg_str out = gg_arena_str(arena, gg_buf_str(&lines));
    gg_buf_clear(&lines);
    return out;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    uint32_t at = gg__front_of_definition(match->node);
    gg_edits_add(out, (gg_span){at, at}, at_the_margin(in->tree, match->node, arena));
    const gg_text *text = gg_tree_text(in->tree);
    gg_span span = gg_node_span(match->node);
    if (gg__statement_count(gg__parent(match->node)) == 1) {
        gg__delete_statement(in->tree, match->node, out);
        return 0;
    }
    /* with the empty lines behind it */
    uint32_t row = ts_node_end_point(match->node).row + 1, count = gg_text_line_count(text);
    for (; row < count && gg_str_trim(gg_text_line(text, row)).len == 0; row++)
        span.end = gg_text_line_start(text, row);
    gg__delete_lines(in->tree, span, out);
    return 0;
}

const gg_rule gg_rule_hoist_class = {
    .code = "GG059",
    .name = "hoist-class",
    .title = "Define the class once, at module level",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
