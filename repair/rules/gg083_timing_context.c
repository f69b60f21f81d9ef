/* GG083 timing-context: a class of the file's own that measures the time of a `with` and tells it reads clocks, which no graph can.
 * Offers: no context while compiling, the author's otherwise, where the class is entered.  Refuses: unless entering and leaving it only reads,
 * keeps what it measures in itself, and says something; it is used behind `with` alone, without `as`; and nobody collects what it says.
 * Safety: effects.  Page: docs/rules/GG083.md */
#include "repair/syntax.h"

enum { MAX_USES = 32 };

typedef struct uses {
    const gg_rule_input *in;
    TSNode class;
    gg_str name;
    TSNode items[MAX_USES]; /* calls behind `with` */
    size_t count;
} uses;

static bool is_quiet(const uses *u, TSNode statement);

static bool are_quiet(const uses *u, TSNode block) {
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!is_quiet(u, gg__child(block, i))) return false;
    return true;
}

/* `self.start = time.time()`, `elapsed = …` */
static bool keeps_to_itself(const uses *u, TSNode assignment) {
    const gg_tree *tree = u->in->tree;
    TSNode left = gg__field(assignment, "left");
    bool own = gg_node_is(left, "identifier") ||
               (gg_node_is(left, "attribute") && gg_str_is(gg__text(tree, gg__field(left, "object")), "self") &&
                !gg_str_starts_with(gg__text(tree, gg__field(left, "attribute")), GG_STR("__"))); /* `__dict__` */
    return own && gg__is_harmless(tree, gg__field(assignment, "right"));
}

/* Nobody but the reader of a message can tell whether the statement ran. */
static bool is_quiet(const uses *u, TSNode statement) {
    const gg_tree *tree = u->in->tree;
    TSNode work = gg__child(statement, 0);
    if (gg_node_is(statement, "comment") || gg_node_is(statement, "pass_statement")) return true;
    if (gg_node_is(statement, "return_statement"))
        return gg__child_count(statement) == 0 || gg_node_is(work, "none") || gg_node_is(work, "false") ||
               (gg_str_is(gg__text(tree, work), "self") && /* by __exit__ it would swallow exceptions */
                !gg_str_is(gg__text(tree, gg__field(gg__function(statement), "name")), "__exit__"));
    if (gg_node_is(statement, "if_statement"))
        return ts_node_is_null(gg__field(statement, "alternative")) &&
               gg__is_harmless(tree, gg__field(statement, "condition")) &&
               are_quiet(u, gg__field(statement, "consequence"));
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    if (gg_node_is(work, "assignment")) return keeps_to_itself(u, work);
    return gg_node_is(work, "string") || gg__is_diagnostic(u->in, statement) ||
           (gg__refers_to(tree, gg__field(work, "function"), "torch.cuda.synchronize") &&
            gg__child_count(gg__field(work, "arguments")) == 0);
}

static bool is_timer(const uses *u) {
    static const char *const known[] = {"__init__", "__enter__", "__exit__"};
    const gg_tree *tree = u->in->tree;
    TSNode body = gg__field(u->class, "body");
    uint32_t methods = 0;
    if (!gg_node_is(gg__parent(u->class), "module") || gg__child_count(gg__field(u->class, "superclasses")))
        return false;
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode member = gg__child(body, i);
        if (gg_node_is(member, "comment") || gg_node_is(gg__child(member, 0), "string")) continue;
        if (!gg_node_is(member, "function_definition") ||
            !gg__is_one_of(gg__text(tree, gg__field(member, "name")), known, GG_COUNT(known)) ||
            gg_str_starts_with(gg__text(tree, member), GG_STR("async")) ||
            !gg_str_is(gg__text(tree, gg__child(gg__field(member, "parameters"), 0)), "self") ||
            !are_quiet(u, gg__field(member, "body")))
            return false;
        methods += !gg_str_is(gg__text(tree, gg__field(member, "name")), "__init__");
    }
    return methods == 2;
}

/* Is it entered where handlers or other contexts may see what it says? */
static bool is_overheard(const uses *u, TSNode with) {
    const gg_tree *tree = u->in->tree;
    gg_str torch = gg__module_alias(tree, with, "torch");
    for (TSNode at = with; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at)) {
        if (gg_node_is(at, "try_statement")) return true;
        if (!gg_node_is(at, "with_statement")) continue;
        TSNode clause = gg__child(at, 0);
        for (uint32_t i = 0; i < gg__child_count(clause); i++) {
            TSNode value = gg__field(gg__child(clause, i), "value");
            gg_str text = gg__text(tree, value);
            bool torchs =
                torch.len && gg_str_starts_with(text, torch) && text.len > torch.len && text.ptr[torch.len] == '.';
            if (!torchs && !gg_str_equal(gg__text(tree, gg__field(value, "function")), u->name)) return true;
        }
    }
    return false;
}

/* Every place that names the class enters it. */
static bool is_use(TSNode node, void *data) {
    uses *u = data;
    const gg_tree *tree = u->in->tree;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), u->name)) return true;
    TSNode call = gg__parent(node), item = gg__parent(call);
    if (gg__is_member_name(node) || ts_node_eq(call, u->class)) return true;
    if (!gg_node_is(call, "call") || !ts_node_eq(gg__field(call, "function"), node) || !gg_node_is(item, "with_item") ||
        !gg__is_harmless(tree, gg__field(call, "arguments")) ||
        !gg_node_is(gg__field(call, "arguments"), "argument_list"))
        return false;
    TSNode with = gg_node_ancestor(item, "with_statement");
    if (!gg_node_is(gg__function(with), "function_definition")) return true; /* of the module: never compiled */
    if (u->count == MAX_USES || gg__is_local(tree, node, u->name) || is_overheard(u, with) ||
        gg_str_starts_with(gg__text(tree, with), GG_STR("async")) || !gg__can_name(tree, with, "torch") ||
        !gg__can_name(tree, with, "contextlib"))
        return false;
    u->items[u->count++] = call;
    return true;
}

static bool find(const gg_rule_input *in, uses *u) {
    *u = (uses){.in = in, .class = gg_node_ancestor(gg_node_at(in->tree, in->span), "class_definition")};
    u->name = gg__text(in->tree, gg__field(u->class, "name"));
    return u->name.len && is_timer(u) && gg__visit(gg_tree_root(in->tree), is_use, u) && u->count > 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    uses u;
    bool found = find(in, &u);
    out->node = u.class;
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    uses u;
    (void)match;
    if (!find(in, &u)) return gg_fail(err, GG_ENOMATCH, "it does more than to measure");
    gg_str torch = gg__require_module(in->tree, u.items[0], "torch", arena, out);
    gg_str contextlib = gg__require_module(in->tree, u.items[0], "contextlib", arena, out);
    for (size_t i = 0; i < u.count; i++) {
        uint32_t start = ts_node_start_byte(u.items[i]);
        gg_edits_add(out, (gg_span){start, start},
                     gg_arena_printf(arena, "%.*s.nullcontext() if %.*s.compiler.is_compiling() else ",
                                     GG_STR_ARG(contextlib), GG_STR_ARG(torch)));
    }
    return 0;
}

const gg_rule gg_rule_timing_context = {
    .code = "GG083",
    .name = "timing-context",
    .title = "Measure the time only when not compiling",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
