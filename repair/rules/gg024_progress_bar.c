/* GG024 progress-bar: a loop over tqdm(…) leaves the graph to draw.
 * Offers: what the bar goes over while compiling, the bar otherwise; calls that only change how the bar looks are guarded.
 * Refuses: unless the name is certainly tqdm's and the bar is used for nothing else.  Safety: effects.  Page: docs/rules/GG024.md */
#include "repair/slice.h"

enum { MAX_CALLS = 32 };

typedef struct bar {
    TSNode call; /* tqdm(iterable, …) or trange(…) */
    bool range;
    TSNode looks[MAX_CALLS]; /* statements that only change how it looks */
    size_t len;
} bar;

static bool is_one_of(const gg_tree *tree, TSNode function, const char *const *paths, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg__refers_to(tree, function, paths[i])) return true;
    return false;
}

static bool is_bar(const gg_tree *tree, TSNode call, bool *range) {
    static const char *const bars[] = {"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.std.tqdm",
                                       "tqdm.autonotebook.tqdm"};
    static const char *const ranges[] = {"tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.std.trange"};
    TSNode function = gg__field(call, "function");
    *range = gg_node_is(call, "call") && is_one_of(tree, function, ranges, GG_COUNT(ranges));
    return *range || (gg_node_is(call, "call") && is_one_of(tree, function, bars, GG_COUNT(bars)));
}

/* Is the value only gone over: by a `for`, a comprehension, enumerate or zip? */
static bool is_gone_over(const gg_tree *tree, TSNode value) {
    TSNode parent = gg__parent(value);
    if (gg_node_is(parent, "for_statement") || gg_node_is(parent, "for_in_clause"))
        return ts_node_eq(gg__field(parent, "right"), value);
    TSNode call = gg__parent(parent), function = gg__field(call, "function");
    return gg_node_is(parent, "argument_list") && gg_node_is(call, "call") &&
           (gg__names_builtin(tree, function, "enumerate") || gg__names_builtin(tree, function, "zip"));
}

typedef struct uses {
    const gg_rule_input *in;
    gg_str name;
    TSNode binding;
    bar *bar;
} uses;

/* `bar.set_postfix(loss=…)` on a line of its own */
static bool changes_looks(const gg_rule_input *in, TSNode identifier, TSNode *out_statement) {
    static const char *const methods[] = {"set_description", "set_description_str",
                                          "set_postfix",     "set_postfix_str",
                                          "update",          "refresh",
                                          "close",           "write"};
    TSNode attribute = gg__parent(identifier), call = gg__parent(attribute), statement = gg__parent(call);
    gg_str name = gg__text(in->tree, gg__field(attribute, "attribute"));
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(methods); i++) known = known || gg_str_is(name, methods[i]);
    *out_statement = statement;
    return known && gg_node_is(attribute, "attribute") && ts_node_eq(gg__field(attribute, "object"), identifier) &&
           gg_node_is(call, "call") && gg_node_is(statement, "expression_statement") &&
           gg__is_harmless(in->tree, gg__field(call, "arguments")) && gg__alone_on_line(in->tree, statement) &&
           ts_node_start_point(statement).row == ts_node_end_point(statement).row &&
           !gg__is_watched(in->tree, statement);
}

static bool check_use(TSNode node, void *data) {
    uses *u = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(u->in->tree, node), u->name)) return true;
    if (ts_node_eq(node, u->binding) || is_gone_over(u->in->tree, node)) return true;
    TSNode parent = gg__parent(node), statement;
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) return true;
    if (u->bar->len == MAX_CALLS || !changes_looks(u->in, node, &statement)) return false;
    u->bar->looks[u->bar->len++] = statement;
    return true;
}

static bool find(const gg_rule_input *in, bar *b) {
    *b = (bar){0};
    TSNode at = gg_node_at(in->tree, in->span);
    if (gg_node_is(at, "for_statement")) at = gg__field(at, "right");
    for (; !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at)) {
        if (!is_bar(in->tree, at, &b->range)) continue;
        b->call = at;
        TSNode parent = gg__parent(at), arguments = gg__field(at, "arguments"), first = gg__child(arguments, 0);
        if (ts_node_is_null(first) || !gg__is_positional(first) || gg_node_is(arguments, "generator_expression"))
            return false;
        if (is_gone_over(in->tree, at)) return true;
        TSNode left = gg__field(parent, "left");
        if (!gg_node_is(parent, "assignment") || !gg_node_is(left, "identifier")) return false;
        uses u = {in, gg__text(in->tree, left), left, b};
        return gg_node_is(gg__function(at), "function_definition") && gg__visit(gg__function(at), check_use, &u);
    }
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    bar b;
    if (!find(in, &b)) return false;
    out->node = b.call;
    return gg__can_name(in->tree, b.call, "torch");
}

/* What the bar goes over. */
static gg_str iterable(const gg_rule_input *in, const bar *b, gg_arena *arena) {
    TSNode arguments = gg__field(b->call, "arguments"), first = gg__child(arguments, 0);
    gg_str text = gg__text(in->tree, first);
    if (!b->range) {
        bool wrap = gg__needs_parentheses(first);
        return gg_arena_printf(arena, "%s%.*s%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "");
    }
    gg_span span = gg_node_span(first);
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!gg_node_is(gg__child(arguments, i), "keyword_argument"))
            span.end = ts_node_end_byte(gg__child(arguments, i));
    return gg_arena_printf(arena, "range(%.*s)", GG_STR_ARG(gg_text_slice(gg_tree_text(in->tree), span)));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    bar b;
    if (!find(in, &b)) return gg_fail(err, GG_ENOMATCH, "the bar is used for more than its looks");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    uint32_t start = ts_node_start_byte(b.call);
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(arena, "%.*s if %.*s.compiler.is_compiling() else ",
                                 GG_STR_ARG(iterable(in, &b, arena)), GG_STR_ARG(torch)));
    for (size_t i = 0; i < b.len; i++) {
        uint32_t at = ts_node_start_byte(b.looks[i]);
        gg_str indent = gg__indent(in->tree, at), unit = gg__indent_unit(in->tree), newline = gg__newline(in->tree);
        gg_edits_add(out, (gg_span){at, at},
                     gg_arena_printf(arena, "if not %.*s.compiler.is_compiling():%.*s%.*s%.*s", GG_STR_ARG(torch),
                                     GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(unit)));
    }
    return 0;
}

const gg_rule gg_rule_progress_bar = {
    .code = "GG024",
    .name = "progress-bar",
    .title = "Draw no progress bar while compiling",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
