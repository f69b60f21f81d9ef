/* Names, calls, handlers, literals and definitions of one side that may be cheats.  See integrity.h. */
#include "repair/llm/integrity.h"

enum { MANY_NUMBERS = 8, LONG_STRING_BYTES = 200 };

#define IS_ONE_OF(text, ...)                                  \
    gg__is_one_of((text), (const char *const[]){__VA_ARGS__}, \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- names -------------------------------------------------------------------------------------------------------------- */

static gg__cheat judge_builtin(gg_str name) {
    if (IS_ONE_OF(name, "eval", "exec", "compile", "__import__")) return GG__CHEAT_TEXT;
    if (IS_ONE_OF(name, "open", "input", "breakpoint", "exit", "quit", "help", "__file__", "__loader__", "__spec__",
                  "__path__", "__builtins__", "memoryview"))
        return GG__CHEAT_SYSTEM;
    if (IS_ONE_OF(name, "globals", "locals", "vars", "setattr", "delattr")) return GG__CHEAT_PATCHES;
    return GG__CHEAT_OK;
}

static bool is_for_tests(gg_str name) {
    return IS_ONE_OF(name, "TESTCASES", "get_inputs", "get_init_inputs", "graphglue_inputs", "example_inputs");
}

static bool is_ascii(gg_str name) {
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] & 0x80) return false;
    return true;
}

static bool is_dunder(gg_str name) {
    return name.len > 4 && gg_str_starts_with(name, GG_STR("__")) && gg_str_ends_with(name, GG_STR("__"));
}

/* A name after a dot, or in getattr's quotes: whatever it is asked of. */
static gg__cheat judge_member(gg_str name) {
    if (IS_ONE_OF(name, "_dynamo", "_inductor", "graph_break", "allow_in_graph", "is_compiling", "is_dynamo_compiling",
                  "assume_constant_result", "leaf_function", "custom_op", "triton_op", "nonstrict_trace",
                  "substitute_in_graph", "disallow_in_graph", "is_exporting", "is_scripting", "is_tracing"))
        return GG__CHEAT_COMPILER;
    if (IS_ONE_OF(name, "_getframe", "f_globals", "f_locals", "f_back", "f_code", "f_builtins", "gi_frame", "tb_frame",
                  "cr_frame", "ag_frame", "_current_frames"))
        return GG__CHEAT_SYSTEM;
    if (IS_ONE_OF(name, "os", "sys", "subprocess", "socket", "ctypes", "inspect", "gc", "builtins", "importlib",
                  "pathlib", "shutil", "tempfile", "threading", "multiprocessing", "pickle", "marshal", "runpy",
                  "atexit", "posix", "torch", "from_file", "fromfile", "tofile", "memmap"))
        return GG__CHEAT_SYSTEM; /* what a module imports is had through it; and files */
    if (gg_str_is(name, "GetAttrKey")) return GG__CHEAT_TEXT;
    if (IS_ONE_OF(name, "lru_cache", "cached_property")) return GG__CHEAT_REMEMBERS;
    bool registers = gg_str_starts_with(name, GG_STR("register_")) || gg_str_starts_with(name, GG_STR("_register_"));
    if (registers && gg_str_contains(name, GG_STR("hook"))) return GG__CHEAT_HOOKS;
    if (is_for_tests(name)) return GG__CHEAT_TESTS;
    bool plain = IS_ONE_OF(name, "__init__", "__name__", "__len__", "__getitem__", "__version__");
    return is_dunder(name) && !plain ? GG__CHEAT_SYSTEM : GG__CHEAT_OK;
}

static void scan_name(gg__look *look, TSNode node) {
    gg_str name = gg__text(look->tree, node);
    if (!is_ascii(name)) gg__find(look, GG__CHEAT_TEXT, name, 1); /* Python reads other letters as these */
    if (gg__is_member_name(node)) return; /* asked about with its object; `f(name=…)` is no name of this scope */
    if (gg_node_is(gg__parent(node), "keyword_pattern") && ts_node_eq(gg__child(gg__parent(node), 0), node)) {
        gg__find(look, judge_member(name), name, 1); /* `case object(name=…)` asks for that attribute */
        return;
    }
    gg_str path = gg__path_of(look, node);
    gg__cheat cheat = gg__judge_path(path);
    if (cheat && (cheat != GG__CHEAT_SYSTEM || !gg_str_equal(path, name))) {
        gg__find(look, cheat, name, 1);
        return;
    }
    if (!cheat) cheat = judge_builtin(name);
    if (!cheat && is_for_tests(name)) cheat = GG__CHEAT_TESTS;
    if (!cheat && !gg__is_binding(node) && is_dunder(name) && !gg_str_is(name, "__name__")) cheat = GG__CHEAT_SYSTEM;
    if (!cheat && gg__is_loose_module(look, node)) cheat = GG__CHEAT_SYSTEM;
    if (!cheat && judge_member(name) == GG__CHEAT_COMPILER) cheat = GG__CHEAT_COMPILER;
    if (cheat && gg__is_bound_around(look, node, name))
        cheat = GG__CHEAT_OK; /* a variable `time`, an argument `input` */
    gg__find(look, cheat, name, 1);
}

static void scan_member(gg__look *look, TSNode node) {
    gg_str name = gg__text(look->tree, gg__field(node, "attribute"));
    TSNode root = node;
    while (gg_node_is(root, "attribute")) root = gg__strip_parentheses(gg__field(root, "object"));
    gg__cheat cheat = gg__judge_path(gg__path_of(look, node));
    gg_str head = gg__text(look->tree, root);
    if (cheat == GG__CHEAT_SYSTEM && gg__is_system_module(head) && gg__is_bound_around(look, root, head))
        cheat = GG__CHEAT_OK;
    if (!cheat) cheat = judge_member(name);
    if (!cheat && gg__is_loose_module(look, node)) cheat = GG__CHEAT_SYSTEM;
    if (!cheat && gg_str_is(name, "compiler") && !gg__is_self(look, gg__field(node, "object")))
        cheat = GG__CHEAT_COMPILER;
    bool is_super = gg_str_starts_with(gg__text(look->tree, gg__field(node, "object")), GG_STR("super("));
    if (!cheat && gg_str_is(name, "__init__") && !is_super) cheat = GG__CHEAT_PATCHES; /* makes an object anew */
    if (cheat) gg__find_node(look, cheat, node);
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------- */

static void scan_call(gg__look *look, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    gg_str name = gg__text(look->tree, function);
    uint32_t count = gg__child_count(arguments);
    if (IS_ONE_OF(name, "getattr", "hasattr") && count >= 2) {
        TSNode key = gg__child(arguments, 1);
        gg_str prefix, body;
        if (!gg__string_body(look->tree, key, &prefix, &body) || prefix.len)
            gg__find_node(look, GG__CHEAT_TEXT, node);
        else if (judge_member(body) || judge_builtin(body))
            gg__find_node(look, GG__CHEAT_TEXT, node);
    }
    if (gg_str_is(name, "type") && count == 3) gg__find_node(look, GG__CHEAT_TEXT, node);
    if (gg_str_is(name, "iter") && count == 2) gg__find_node(look, GG__CHEAT_ENDLESS, node);
}

/* ---- handlers ------------------------------------------------------------------------------------------------------------- */

static bool count_statement(TSNode node, void *data) {
    uint32_t *count = data;
    if (gg_node_is(gg__parent(node), "block")) ++*count;
    return true;
}

/* What is no name, or a name for something that is made here, may be any. */
static bool names_everything(gg__look *look, TSNode type) {
    for (uint32_t i = 0; gg_node_is(type, "tuple") && i < gg__child_count(type); i++)
        if (names_everything(look, gg__child(type, i))) return true;
    if (gg_node_is(type, "identifier") && gg__is_bound_around(look, type, gg__text(look->tree, type))) return true;
    if (!gg_node_is(type, "identifier") && !gg_node_is(type, "attribute") && !gg_node_is(type, "tuple")) return true;
    return IS_ONE_OF(gg__text(look->tree, type), "Exception", "BaseException", "object", "builtins.Exception",
                     "builtins.BaseException");
}

/* How much a handler of everything watches counts: moving more code into one that was there hides more. */
static void scan_handler(gg__look *look, TSNode node) {
    TSNode type = gg__child(node, 0);
    if (gg_node_is(type, "as_pattern")) type = gg__child(type, 0);
    type = gg__strip_parentheses(type);
    bool bare = gg_node_is(type, "block") || gg_node_is(type, "comment") || ts_node_is_null(type);
    if (!bare && !names_everything(look, type)) return;
    uint32_t watched = 1;
    gg__visit(gg__field(gg__parent(node), "body"), count_statement, &watched);
    gg__find(look, GG__CHEAT_CATCHES, bare ? GG_STR("except:") : gg__text(look->tree, type), watched);
}

static bool is_no_jump(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "return_statement") && !gg_node_is(node, "break_statement") &&
           !gg_node_is(node, "continue_statement");
}

/* ---- literals ------------------------------------------------------------------------------------------------------------- */

static bool is_list(TSNode node) {
    return gg_node_is(node, "list") || gg_node_is(node, "tuple") || gg_node_is(node, "set") ||
           gg_node_is(node, "dictionary");
}

static bool count_number(TSNode node, void *data) {
    uint32_t *count = data;
    *count += gg_node_is(node, "float") || gg_node_is(node, "integer");
    return true;
}

static void scan_list(gg__look *look, TSNode node) {
    for (TSNode at = gg__parent(node); !ts_node_is_null(at); at = gg__parent(at))
        if (is_list(at)) return; /* the outermost one tells */
    uint32_t count = 0;
    gg__visit(node, count_number, &count);
    if (count >= MANY_NUMBERS) gg__find(look, GG__CHEAT_LITERALS, gg__text(look->tree, node), 1);
}

/* `x.shape == (2, 4)`: which input is it? */
static void scan_comparison(gg__look *look, TSNode node) {
    bool shape = false, literal = false;
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode side = gg__strip_parentheses(gg__child(node, i));
        gg_str text = gg__text(look->tree, side);
        shape = shape || gg_str_ends_with(text, GG_STR(".shape")) || gg_str_ends_with(text, GG_STR(".size()")) ||
                gg_str_ends_with(text, GG_STR(".shape)"));
        uint32_t numbers = 0;
        gg__visit(side, count_number, &numbers);
        literal = literal || (numbers > 1 && (is_list(side) || gg_node_is(side, "call")));
    }
    if (shape && literal) gg__find_node(look, GG__CHEAT_TESTS, node);
}

/* ---- definitions ------------------------------------------------------------------------------------------------------------ */

static void scan_definition(gg__look *look, TSNode node) {
    gg_str name = gg__definition_name(look->tree, node);
    if (is_dunder(name) && gg_node_is(node, "function_definition")) gg__find(look, GG__CHEAT_HOOKS, name, 1);
    TSNode parameters = gg__field(node, "parameters");
    for (uint32_t i = 0; i < gg__child_count(parameters); i++) { /* a default is made once and kept */
        TSNode value = gg__field(gg__child(parameters, i), "value");
        if (gg_node_is(value, "list") || gg_node_is(value, "dictionary") || gg_node_is(value, "set") ||
            gg_node_is(value, "call"))
            gg__find_node(look, GG__CHEAT_REMEMBERS, gg__child(parameters, i));
    }
}

static void scan_decorator(gg__look *look, TSNode node) {
    if (!IS_ONE_OF(gg__text(look->tree, node), "@staticmethod", "@classmethod", "@property"))
        gg__find_node(look, GG__CHEAT_HOOKS, node);
}

static bool visit(TSNode node, void *data) {
    gg__look *look = data;
    gg_str text = GG_STR_NULL;
    if (gg_node_is(node, "identifier"))
        scan_name(look, node);
    else if (gg_node_is(node, "attribute"))
        scan_member(look, node);
    else if (gg_node_is(node, "call"))
        scan_call(look, node);
    else if (gg_node_is(node, "except_clause") || gg_node_is(node, "except_group_clause"))
        scan_handler(look, node);
    else if (gg_node_is(node, "finally_clause") && !gg__visit(node, is_no_jump, NULL))
        gg__find_node(look, GG__CHEAT_CATCHES, node);
    else if (is_list(node))
        scan_list(look, node);
    else if (gg_node_is(node, "comparison_operator"))
        scan_comparison(look, node);
    else if (gg__is_definition(node))
        scan_definition(look, node);
    else if (gg_node_is(node, "decorator"))
        scan_decorator(look, node);
    else if (gg_node_is(node, "string"))
        text = gg__text(look->tree, node);
    if (text.len > LONG_STRING_BYTES && !gg_node_is(gg__parent(node), "expression_statement"))
        gg__find(look, GG__CHEAT_LITERALS, text, 1);
    gg__scan_writes(look, node);
    gg__scan_loops(look, node);
    return true;
}

void gg__scan(gg__look *look) {
    if (!ts_node_is_null(look->definition)) gg__visit(look->definition, visit, look);
}
