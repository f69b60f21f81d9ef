/* GG066 ask-before: an operation in a `try` whose sizes do not fit: Dynamo meets the error while it traces, and no handler gets it.
 * Offers: to ask for the sizes first, and to raise the RuntimeError that is caught.  Refuses: unless the operation certainly raises a RuntimeError
 * for such sizes, nothing is done in its statement before it, and the handlers do not look at the error.
 * Safety: exact (where the test is true, the operation would have raised).  Page: docs/rules/GG066.md */
#include "repair/syntax.h"

typedef struct question {
    TSNode statement; /* of the operation */
    gg_str test;      /* true: it raises */
} question;

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static bool is_dotted(TSNode node) {
    while (gg_node_is(node, "attribute")) node = gg__field(node, "object");
    return gg_node_is(node, "identifier");
}

/* `w`, `self.weight`, `w.T`, `w.t()`: what may be written twice */
static bool is_cheap(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function");
    bool transposed = gg_node_is(node, "call") && gg__child_count(gg__field(node, "arguments")) == 0 &&
                      gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "t");
    return is_dotted(transposed ? gg__field(function, "object") : node);
}

static bool has_no_variable(TSNode node, void *data) {
    (void)data;
    TSNode parent = gg__parent(node);
    if (gg_node_is(node, "list_splat") || gg_node_is(node, "dictionary_splat")) return false;
    return !gg_node_is(node, "identifier") || gg_node_is(parent, "attribute") || gg_node_is(parent, "keyword_argument");
}

/* One size of the operand, as a tuple that is empty where the operand has none: its last one, or with `before` the one before it, if any.
 * Empty: not known, or not to be asked twice. */
static gg_str size_text(const gg_rule_input *in, TSNode node, bool before, gg_arena *arena) {
    node = gg__strip_parentheses(node);
    gg__meta m = gg__infer(in, node);
    if (m.sort != GG__TENSOR) return GG_STR_NULL;
    if (is_cheap(in, node))
        return gg_arena_printf(arena, "%.*s.shape[%s", GG_STR_ARG(gg__text(in->tree, node)),
                               before ? "-2:][:1]" : "-1:]");
    if (m.rank == 0 || !m.fresh || !gg_node_is(node, "call") || !gg__visit(node, has_no_variable, NULL))
        return GG_STR_NULL; /* torch.ones(3, 3) */
    int64_t size = m.shape[before && m.rank > 1 ? m.rank - 2 : m.rank - 1];
    return size < 0 ? GG_STR_NULL : gg_arena_printf(arena, "(%lld,)", (long long)size);
}

static gg_str differ(const gg_rule_input *in, TSNode a, TSNode b, bool before, gg_arena *arena) {
    gg_str p = size_text(in, a, false, arena), q = size_text(in, b, before, arena);
    if (p.len == 0 || q.len == 0 || (p.ptr[0] == '(' && q.ptr[0] == '(')) return GG_STR_NULL;
    return gg_arena_printf(arena, "%.*s != %.*s", GG_STR_ARG(p), GG_STR_ARG(q));
}

/* torch.stack([a, b]) wants one shape. */
static gg_str shapes_differ(const gg_rule_input *in, TSNode list, gg_arena *arena) {
    gg_str test = GG_STR_NULL;
    uint32_t count = gg__child_count(list);
    if ((!gg_node_is(list, "list") && !gg_node_is(list, "tuple")) || count < 2) return GG_STR_NULL;
    for (uint32_t i = 0; i < count; i++) {
        TSNode element = gg__child(list, i);
        if (!is_cheap(in, element) || gg__infer(in, element).sort != GG__TENSOR) return GG_STR_NULL;
        if (i == 0) continue;
        test = gg_arena_printf(arena, "%.*s%s%.*s.shape != %.*s.shape", GG_STR_ARG(test), i > 1 ? " or " : "",
                               GG_STR_ARG(gg__text(in->tree, gg__child(list, 0))),
                               GG_STR_ARG(gg__text(in->tree, element)));
    }
    return test;
}

static gg_str test_of_call(const gg_rule_input *in, TSNode call, gg_arena *arena) {
    static const char *const products[] = {"torch.matmul", "torch.mm", "torch.bmm", "torch.mv", "torch.dot"};
    enum { PREFIX = sizeof("torch.") - 1 };
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    uint32_t count = gg__child_count(arguments);
    if (!gg_node_is(arguments, "argument_list") || count == 0) return GG_STR_NULL;
    for (uint32_t i = 0; i < count; i++)
        if (gg_node_is(gg__child(arguments, i), "keyword_argument") ||
            gg_node_is(gg__child(arguments, i), "list_splat") ||
            gg_node_is(gg__child(arguments, i), "dictionary_splat"))
            return GG_STR_NULL;
    TSNode first = gg__child(arguments, 0), second = gg__child(arguments, 1);
    for (size_t i = 0; i < GG_COUNT(products); i++) {
        if (count == 2 && gg__refers_to(tree, function, products[i])) return differ(in, first, second, true, arena);
        if (count == 1 && gg_node_is(function, "attribute") &&
            gg_str_is(gg__text(tree, gg__field(function, "attribute")), products[i] + PREFIX))
            return differ(in, gg__field(function, "object"), first, true, arena);
    }
    if (count <= 3 && gg__refers_to(tree, function, "torch.nn.functional.linear"))
        return differ(in, first, second, false, arena);
    return gg__refers_to(tree, function, "torch.stack") ? shapes_differ(in, first, arena) : GG_STR_NULL;
}

static gg_str test_of(const gg_rule_input *in, TSNode operation, gg_arena *arena) {
    if (gg_node_is(operation, "call")) return test_of_call(in, operation, arena);
    if (!gg_node_is(operation, "binary_operator") ||
        !gg_str_is(gg__text(in->tree, gg__field(operation, "operator")), "@"))
        return GG_STR_NULL;
    return differ(in, gg__field(operation, "left"), gg__field(operation, "right"), true, arena);
}

/* ---- the statement and its handlers ------------------------------------------------------------------------------------- */

/* Is it what its statement does first?  Then the statement, else a null node. */
static TSNode first_in_statement(TSNode operation) {
    TSNode child = operation, at = gg__parent(operation);
    for (; !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "expression_statement") || gg_node_is(at, "return_statement")) return at;
        bool first = gg_node_is(at, "parenthesized_expression") ||
                     (gg_node_is(at, "assignment") && ts_node_eq(gg__field(at, "right"), child)) ||
                     (gg_node_is(at, "binary_operator") && ts_node_eq(gg__field(at, "left"), child)) ||
                     (gg_node_is(at, "attribute") && ts_node_eq(gg__field(at, "object"), child)) ||
                     (gg_node_is(at, "call") &&
                      (ts_node_eq(gg__field(at, "function"), child) || is_dotted(gg__field(at, "function")))) ||
                     (gg_node_is(at, "argument_list") && ts_node_eq(gg__child(at, 0), child));
        if (!first) break;
    }
    return (TSNode){0};
}

/* 1: it catches a RuntimeError for certain; 0: it may or may not; -1: it might catch what a question for a shape raises by itself. */
static int catches(const gg_tree *tree, TSNode type) {
    static const char *const surely[] = {"RuntimeError", "Exception", "BaseException"}, *const perhaps[] = {
                                                                                            "TypeError",
                                                                                            "AttributeError"};
    if (ts_node_is_null(type)) return 1;
    if (gg_node_is(type, "tuple")) {
        int most = 0;
        for (uint32_t i = 0; i < gg__child_count(type); i++) {
            int one = catches(tree, gg__child(type, i));
            if (one < 0) return one;
            if (one > most) most = one;
        }
        return most;
    }
    for (size_t i = 0; i < GG_COUNT(surely); i++)
        if (gg__names_builtin(tree, type, surely[i])) return 1;
    for (size_t i = 0; i < GG_COUNT(perhaps); i++)
        if (gg_str_is(gg__text(tree, type), perhaps[i])) return -1;
    return 0;
}

typedef struct look {
    const gg_rule_input *in;
    gg_str alias; /* `as e`: a name that must not be read */
} look;

/* torch's own, or a tensor's: they ask for no error that is being handled. */
static bool is_torchs(const gg_rule_input *in, TSNode call) {
    TSNode function = gg__field(call, "function"), root = gg__field(function, "object");
    gg_str text = gg__text(in->tree, root), torch = gg__module_alias(in->tree, call, "torch"),
           functional = gg__module_alias(in->tree, call, "torch.nn.functional");
    bool module = text.len && (gg_str_equal(text, torch) || gg_str_equal(text, functional));
    return gg_node_is(function, "attribute") && (module || gg__infer(in, root).sort == GG__TENSOR);
}

/* Nothing that shows which error it was: it has another text now. */
static bool looks_away(TSNode node, void *data) {
    const look *l = data;
    if (gg_node_is(node, "raise_statement")) return false;
    const gg_tree *tree = l->in->tree;
    if (gg_node_is(node, "call") && !is_torchs(l->in, node) && !gg__is_harmless(tree, node) &&
        !gg__names_builtin(tree, gg__field(node, "function"), "print"))
        return false;
    return !gg_node_is(node, "identifier") || l->alias.len == 0 || !gg_str_equal(gg__text(tree, node), l->alias);
}

static bool handlers_look_away(const gg_rule_input *in, TSNode try_statement) {
    const gg_tree *tree = in->tree;
    bool caught = false;
    for (uint32_t i = 0; i < gg__child_count(try_statement); i++) {
        TSNode clause = gg__child(try_statement, i), body = {0};
        if (gg_node_is(clause, "except_group_clause")) return false;
        if (!gg_node_is(clause, "except_clause")) continue;
        for (uint32_t k = 0; k < gg__child_count(clause); k++)
            if (gg_node_is(gg__child(clause, k), "block")) body = gg__child(clause, k);
        TSNode type = gg__field(clause, "value"), alias = gg__field(clause, "alias");
        if (gg_node_is(type, "as_pattern")) {
            alias = gg__field(type, "alias");
            type = gg__child(type, 0);
        }
        look l = {in, gg__text(tree, alias)};
        int how = catches(tree, type);
        if (ts_node_is_null(body) || how < 0 || !gg__visit(body, looks_away, &l)) return false;
        caught = caught || how > 0;
    }
    return caught;
}

static bool find(const gg_rule_input *in, question *q, gg_arena *arena) {
    const gg_tree *tree = in->tree;
    TSNode operation = gg__strip_parentheses(gg_node_at(tree, in->span));
    q->statement = first_in_statement(operation);
    TSNode block = gg__parent(q->statement), around = gg__parent(block);
    gg_str error = GG_STR("RuntimeError");
    if (!gg_node_is(around, "try_statement") || !ts_node_eq(gg__field(around, "body"), block) ||
        !gg_node_is(gg__function(around), "function_definition") || gg__is_local(tree, around, error) ||
        gg__is_bound_in_module(tree, error) || !gg__starts_line(tree, ts_node_start_byte(q->statement)) ||
        !handlers_look_away(in, around))
        return false;
    q->test = test_of(in, operation, arena);
    TSNode before = ts_node_prev_named_sibling(q->statement);
    bool asked = gg_node_is(before, "if_statement") && q->test.len &&
                 gg_str_equal(gg__text(tree, gg__field(before, "condition")), q->test);
    return q->test.len > 0 && !asked;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    question q;
    if (!gg_str_is(in->site->id, "GB4315") || in->site->first == NULL) return false;
    gg_arena *arena = gg_arena_new();
    bool found = find(in, &q, arena);
    out->node = q.statement;
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    question q;
    if (!find(in, &q, arena))
        return gg_fail(err, GG_ENOMATCH, "the operation is not proven to be caught for its sizes");
    uint32_t start = ts_node_start_byte(match->node);
    gg_str indent = gg__indent(in->tree, start), newline = gg__newline(in->tree), unit = gg__indent_unit(in->tree);
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(arena, "if %.*s:%.*s%.*s%.*sraise RuntimeError(\"the sizes do not fit\")%.*s%.*s",
                                 GG_STR_ARG(q.test), GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(unit),
                                 GG_STR_ARG(newline), GG_STR_ARG(indent)));
    return 0;
}

const gg_rule gg_rule_ask_before = {
    .code = "GG066",
    .name = "ask-before",
    .title = "Ask for the sizes before the operation",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
