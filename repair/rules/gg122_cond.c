/* GG122 cond: a branch on a tensor whose arms cannot both be computed: one may fail, has gradients that are not finite where it is not taken, draws, or costs much.
 * Offers: the arms as functions, for torch.cond; without the compiler Python calls one of them.
 * Refuses: arms that are more than assignments to names and what is made of these, what is no tensor behind them, and where it shows that a tensor is a copy.
 * Safety: exact.  Page: docs/rules/GG122.md */
#include "repair/drawing.h"
#include "repair/gradients.h"
#include "repair/graph_branches.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    gg__graph_branches *b = gg_arena_alloc(arena, sizeof(*b));
    bool found = gg__find_graph_branches(in, b, arena);
    out->node = b->node;
    gg__select_clear(&b->s);
    gg_arena_free(arena);
    return found;
}

typedef struct writing {
    gg__graph_branches *b;
    gg_arena *arena;
    gg_edits *out;
    gg_str torch, indent, unit, newline;
    gg_str given;                                         /* "h, y" */
    gg_str chosen[GG__MAX_ARMS], functions[GG__MAX_ARMS]; /* their names */
} writing;

/* `return y.clone()` */
static void copy_returned(const writing *w, gg__graph_arm *arm, TSNode value) {
    const gg_tree *tree = w->b->s.in->tree;
    value = gg__strip_parentheses(value);
    if (gg_node_is(value, "tuple") || gg_node_is(value, "expression_list")) {
        for (uint32_t i = 0; i < gg__child_count(value); i++) copy_returned(w, arm, gg__child(value, i));
    } else if (gg__is_returned_held(w->b, arm, value)) {
        gg_str text = gg__closed(&w->b->s, gg__text(tree, value), value);
        gg_edits_add(w->out, gg_node_span(value), gg_arena_printf(w->arena, "%.*s.clone()", GG_STR_ARG(text)));
    }
}

/* `return y, z.clone()` */
static gg_str give_back(const writing *w, gg__graph_arm *arm) {
    gg__graph_branches *b = w->b;
    gg_str out = GG_STR("return ");
    for (size_t i = 0; i < b->kept.count; i++) {
        gg_str name = b->kept.items[i];
        bool binds = gg__names_have(&arm->bound, name);
        TSNode value = binds ? gg__left_in(b->s.in->tree, arm->body, name) : (TSNode){0};
        bool held = !binds || (!ts_node_is_null(value) && gg__is_held(&b->s, &arm->inner, value));
        out = gg_arena_printf(w->arena, "%.*s%s%.*s%s", GG_STR_ARG(out), i ? ", " : "", GG_STR_ARG(name),
                              held ? ".clone()" : "");
    }
    return out;
}

/* `chosen = h.sum() > 0`, a line each, and an empty one. */
static gg_str conditions(const writing *w) {
    gg__graph_branches *b = w->b;
    gg_str out = GG_STR("");
    for (size_t i = 0; i + 1 < b->count; i++) {
        gg_str test = gg__truth_text(&b->s, b->arms[i].test);
        if (b->flags.len)
            test = gg_arena_printf(w->arena, "%.*s %s %.*s", GG_STR_ARG(b->flags), b->either ? "or" : "and",
                                   GG_STR_ARG(test));
        out = gg_arena_printf(w->arena, "%.*s%.*s = %.*s%.*s%.*s", GG_STR_ARG(out), GG_STR_ARG(w->chosen[i]),
                              GG_STR_ARG(test), GG_STR_ARG(w->newline), GG_STR_ARG(w->indent));
    }
    return gg_arena_printf(w->arena, "%.*s%.*s%.*s", (int)(out.len - w->indent.len), out.ptr, GG_STR_ARG(w->newline),
                           GG_STR_ARG(w->indent));
}

/* The calls that choose: torch.cond, one in the other, or Python's. */
static gg_str choices(const writing *w, bool compiled) {
    size_t count = w->b->count;
    gg_str operands = w->b->given.count ? gg_arena_printf(w->arena, ", (%.*s%s)", GG_STR_ARG(w->given),
                                                          w->b->given.count == 1 ? "," : "")
                                        : GG_STR("");
    const gg_str *f = w->functions;
    gg_str out = compiled ? f[count - 1]
                          : gg_arena_printf(w->arena, "%.*s(%.*s)", GG_STR_ARG(f[count - 1]), GG_STR_ARG(w->given));
    for (size_t i = count - 1; i-- > 0;) {
        bool nested = compiled && i + 2 < count;
        if (nested)
            out = gg_arena_printf(w->arena, "lambda%s%.*s: %.*s", w->given.len ? " " : "", GG_STR_ARG(w->given),
                                  GG_STR_ARG(out));
        out = compiled
                  ? gg_arena_printf(w->arena, "%.*s.cond(%.*s, %.*s, %.*s%.*s)", GG_STR_ARG(w->torch),
                                    GG_STR_ARG(w->chosen[i]), GG_STR_ARG(f[i]), GG_STR_ARG(out), GG_STR_ARG(operands))
                  : gg_arena_printf(w->arena, "%.*s(%.*s) if %.*s else %.*s", GG_STR_ARG(f[i]), GG_STR_ARG(w->given),
                                    GG_STR_ARG(w->chosen[i]), GG_STR_ARG(out));
    }
    return out;
}

static bool arm_gives_gradient(const gg__graph_branches *b, const gg__graph_arm *arm, gg_str name) {
    bool binds = gg__names_have(&arm->bound, name), gives = !binds && gg__names_have(&b->kept, name);
    for (uint32_t i = arm->body.from; !gives && i < arm->body.to; i++)
        gives = gg__gives_gradient(b->s.in->tree, gg__child(arm->body.block, i), name);
    return gives;
}

/* A name that another arm gives no gradient gets zeros for one where that arm is taken. */
static bool is_read_gently(TSNode node, void *data) {
    const gg__graph_branches *b = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(b->s.in->tree, node);
    bool all = true;
    for (size_t i = 0; i < b->count; i++) all = all && arm_gives_gradient(b, &b->arms[i], name);
    return all || !gg__is_made_roughly(b->s.in, b->node, name);
}

/* For a gradient the compiler runs the arm again, which draws other numbers, and gives one of zeros to what only the other arm reads, which may become NaN:
 * ` and not h.requires_grad`. */
static gg_str unless_differentiated(const writing *w) {
    gg__graph_branches *b = w->b;
    gg__stretch bodies[GG__MAX_ARMS];
    bool guarded = false;
    for (size_t i = 0; i < b->count; i++) {
        gg__stretch body = bodies[i] = b->arms[i].body;
        for (uint32_t j = body.from; j < body.to; j++)
            guarded = guarded || gg__may_draw(b->s.in, gg__child(body.block, j)) ||
                      !gg__visit(gg__child(body.block, j), is_read_gently, b);
    }
    if (!guarded) return GG_STR("");
    return gg_arena_printf(w->arena, " and %.*s",
                           GG_STR_ARG(gg__unless_differentiated(&b->s, &b->given, bodies, b->count, w->torch)));
}

/* The lines behind the functions. */
static gg_str choose(const writing *w) {
    gg__graph_branches *b = w->b;
    gg_str nl = w->newline, result = GG_STR("return "), asked = GG_STR("");
    gg_str names = b->expression ? gg__text(b->s.in->tree, b->target) : gg__names_text(&b->kept, w->arena);
    if (!b->valued || !ts_node_is_null(b->target)) result = gg_arena_printf(w->arena, "%.*s = ", GG_STR_ARG(names));
    if (b->flags.len)
        asked = gg_arena_printf(w->arena, "isinstance(%.*s, %.*s.Tensor) and ", GG_STR_ARG(w->chosen[0]),
                                GG_STR_ARG(w->torch));
    gg_str only = unless_differentiated(w);
    return gg_arena_printf(
        w->arena,
        "%.*s%.*s%.*sif %.*s%.*s.compiler.is_compiling()%.*s:%.*s%.*s%.*s%.*s%.*s%.*s%.*selse:%.*s%.*s%.*s%.*s%.*s",
        GG_STR_ARG(nl), GG_STR_ARG(nl), GG_STR_ARG(w->indent), GG_STR_ARG(asked), GG_STR_ARG(w->torch),
        GG_STR_ARG(only), GG_STR_ARG(nl), GG_STR_ARG(w->indent), GG_STR_ARG(w->unit), GG_STR_ARG(result),
        GG_STR_ARG(choices(w, true)), GG_STR_ARG(nl), GG_STR_ARG(w->indent), GG_STR_ARG(nl), GG_STR_ARG(w->indent),
        GG_STR_ARG(w->unit), GG_STR_ARG(result), GG_STR_ARG(choices(w, false)));
}

/* The indentation of the arm's statements in their function. */
static gg_str inner_indent(const writing *w, const gg__graph_arm *arm) {
    const gg_tree *tree = w->b->s.in->tree;
    if (!ts_node_is_null(arm->clause) && gg__starts_line(tree, ts_node_start_byte(arm->body.block)))
        return gg__indent(tree, ts_node_start_byte(arm->body.block));
    return gg_arena_printf(w->arena, "%.*s%.*s", GG_STR_ARG(w->indent), GG_STR_ARG(w->unit));
}

/* `if condition:` becomes `def when_true():`; the block, where it is on the same line, goes to the next. */
static void write_clause(const writing *w, const gg__graph_arm *arm, gg_str head) {
    const gg_tree *tree = w->b->s.in->tree;
    uint32_t start = ts_node_start_byte(arm->clause), block = ts_node_start_byte(arm->body.block);
    uint32_t colon = ts_node_end_byte(ts_node_is_null(arm->condition) ? ts_node_child(arm->clause, 0) : arm->condition);
    if (gg__starts_line(tree, block)) {
        gg_edits_add(w->out, (gg_span){start, colon}, head);
        return;
    }
    gg_edits_add(w->out, (gg_span){start, block},
                 gg_arena_printf(w->arena, "%.*s:%.*s%.*s", GG_STR_ARG(head), GG_STR_ARG(w->newline),
                                 GG_STR_ARG(inner_indent(w, arm))));
}

static gg_str head_of(const writing *w, size_t number) {
    return gg_arena_printf(w->arena, "%.*sdef %.*s(%.*s)", GG_STR_ARG(number ? GG_STR("") : conditions(w)),
                           GG_STR_ARG(w->functions[number]), GG_STR_ARG(w->given));
}

/* What follows the branch becomes a function: all its lines move to the right. */
static void write_rest(const writing *w, const gg__graph_arm *arm, gg_str head) {
    const gg_text *text = gg_tree_text(w->b->s.in->tree);
    TSNode first = gg__child(arm->body.block, arm->body.from), last = gg__child(arm->body.block, arm->body.to - 1);
    uint32_t row = ts_node_start_point(first).row, start = gg_text_line_start(text, row);
    bool apart = gg_str_trim(gg_text_line(text, row - 1)).len == 0;
    gg_edits_add(w->out, (gg_span){start, start},
                 gg_arena_printf(w->arena, "%.*s%.*s%.*s:%.*s%.*s", GG_STR_ARG(apart ? GG_STR("") : w->newline),
                                 GG_STR_ARG(w->indent), GG_STR_ARG(head), GG_STR_ARG(w->newline), GG_STR_ARG(w->unit)));
    gg__indent_lines(w->b->s.in->tree, row + 1, ts_node_end_point(last).row, w->unit, w->out);
}

static bool is_missing(const gg__graph_arm *arm) {
    return ts_node_is_null(arm->body.block);
}

/* What comes behind the arm's last statement. */
static gg_str foot_of(const writing *w, size_t number) {
    gg__graph_branches *b = w->b;
    gg__graph_arm *arm = &b->arms[number];
    gg_str nl = w->newline, out = GG_STR("");
    if (ts_node_is_null(arm->end))
        out = gg_arena_printf(w->arena, "%.*s%.*s%.*s", GG_STR_ARG(nl), GG_STR_ARG(inner_indent(w, arm)),
                              GG_STR_ARG(give_back(w, arm)));
    if (number + 1 == b->count) return gg_arena_printf(w->arena, "%.*s%.*s", GG_STR_ARG(out), GG_STR_ARG(choose(w)));
    const gg__graph_arm *next = &b->arms[number + 1];
    if (is_missing(next))
        return gg_arena_printf(w->arena, "%.*s%.*s%.*s%.*s%.*s:%.*s", GG_STR_ARG(out), GG_STR_ARG(nl), GG_STR_ARG(nl),
                               GG_STR_ARG(w->indent), GG_STR_ARG(head_of(w, number + 1)),
                               GG_STR_ARG(foot_of(w, number + 1)));
    bool rest = ts_node_is_null(next->clause);
    return rest ? out : gg_arena_printf(w->arena, "%.*s%.*s", GG_STR_ARG(out), GG_STR_ARG(nl));
}

static void write_arm(const writing *w, size_t number) {
    gg__graph_arm *arm = &w->b->arms[number];
    if (is_missing(arm)) return; /* the arm in front of it writes it */
    bool rest = ts_node_is_null(arm->clause);
    TSNode block = arm->body.block;
    uint32_t end = ts_node_end_byte(rest ? gg__child(block, arm->body.to - 1) : block);
    if (rest)
        write_rest(w, arm, head_of(w, number));
    else
        write_clause(w, arm, head_of(w, number));
    if (w->b->valued)
        copy_returned(w, arm, arm->value);
    else if (!ts_node_is_null(arm->end))
        gg_edits_add(w->out, gg_node_span(arm->end), give_back(w, arm));
    end = gg__line_end(w->b->s.in->tree, end);
    gg_edits_add(w->out, (gg_span){end, end}, foot_of(w, number));
}

/* The operands of a conditional expression become functions; the statement is written anew. */
static void write_operands(const writing *w) {
    gg__graph_branches *b = w->b;
    const gg_tree *tree = b->s.in->tree;
    gg_str nl = w->newline, out = GG_STR("");
    gg_str apart = gg_arena_printf(w->arena, "%.*s%.*s%.*s", GG_STR_ARG(nl), GG_STR_ARG(nl), GG_STR_ARG(w->indent));
    for (size_t i = 0; i < b->count; i++) {
        TSNode value = gg__strip_parentheses(b->arms[i].value);
        bool lines = ts_node_start_point(value).row != ts_node_end_point(value).row;
        gg_str text = gg__text(tree, value);
        if (gg__is_returned_held(b, &b->arms[i], value))
            text = gg_arena_printf(w->arena, "%.*s.clone()", GG_STR_ARG(gg__closed(&b->s, text, value)));
        out = gg_arena_printf(w->arena, "%.*s%.*s%.*s:%.*s%.*s%.*sreturn %s%.*s%s", GG_STR_ARG(out),
                              GG_STR_ARG(i ? apart : GG_STR("")), GG_STR_ARG(head_of(w, i)), GG_STR_ARG(nl),
                              GG_STR_ARG(w->indent), GG_STR_ARG(w->unit), lines ? "(" : "", GG_STR_ARG(text),
                              lines ? ")" : "");
    }
    out = gg_arena_printf(w->arena, "%.*s%.*s", GG_STR_ARG(out), GG_STR_ARG(choose(w)));
    gg_edits_add(w->out, gg_node_span(b->node), out);
}

static void write_all(gg__graph_branches *b, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = b->s.in->tree;
    writing w = {.b = b, .arena = arena, .out = out, .newline = b->s.newline};
    w.torch = gg__require_module(tree, b->node, "torch", arena, out);
    w.indent = gg__indent(tree, ts_node_start_byte(b->node));
    w.unit = gg__indent_unit(tree);
    w.given = gg__names_text(&b->given, arena);
    for (size_t i = 0; i < b->count; i++) {
        bool last = i + 1 == b->count;
        if (!last) w.chosen[i] = gg__new_name(&b->s, "chosen");
        w.functions[i] = gg__new_name(&b->s, last ? "when_false" : "when_true");
    }
    if (b->expression) write_operands(&w);
    for (size_t i = 0; i < b->count && !b->expression; i++) write_arm(&w, i);
    out->copies = b->s.copies;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__graph_branches *b = gg_arena_alloc(arena, sizeof(*b));
    (void)match;
    bool found = gg__find_graph_branches(in, b, arena);
    if (found) write_all(b, arena, out);
    gg__select_clear(&b->s);
    return found ? 0 : gg_fail(err, GG_ENOMATCH, "the arms are not proven to be branches of a graph");
}

const gg_rule gg_rule_cond = {
    .code = "GG122",
    .name = "cond",
    .title = "Hand the arms to the compiler, as torch.cond",
    .safety = GG_SAFETY_EXACT,
    .last_resort = true,
    .check = check,
    .edit = edit,
};
