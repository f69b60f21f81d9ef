/* GG116 func-grad: torch.autograd.grad in the compiled code, of what was computed in front of it.
 * Offers: these statements as a function, whose gradient torch.func.grad is; a graph can hold that.  Refuses: where the statements do more than to bind names,
 * or where more depends on the tensor's requires_grad.
 * Safety: numeric.  Page: docs/rules/GG116.md */
#include "repair/gradient_function.h"
#include "repair/hindrance.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB9186", "GB8985", "GB0206", "GB0123", "GB0055"};
    gg__gradient g;
    if (!gg__has_id(in, ids, GG_COUNT(ids)) || !gg__find_gradient(in, &g)) return false;
    out->node = g.call;
    return gg__can_name(in->tree, g.call, "torch") &&
           (gg__may_define(in->tree, g.statement) ||
            gg__hinder(in, g.statement, "is where no function can be defined"));
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------------ */

typedef struct writing {
    const gg_rule_input *in;
    const gg__gradient *g;
    gg_arena *arena;
    gg_edits *out;
    gg_str torch, newline, indent, unit, function;
} writing;

/* `score` or `score.sum()` */
static gg_str value_text(const writing *w) {
    gg_str text = gg__text(w->in->tree, w->g->output);
    if (!w->g->summed) return text;
    bool loose = gg__needs_parentheses(w->g->output);
    return gg_arena_printf(w->arena, "%s%.*s%s.sum()", loose ? "(" : "", GG_STR_ARG(text), loose ? ")" : "");
}

/* `torch.func.grad(f, argnums=(0, 1))(w, b)` */
static gg_str gradient_text(const writing *w, gg_str function) {
    const gg__gradient *g = w->g;
    gg_str more = GG_STR("");
    for (size_t i = 0; g->inputs.count > 1 && i < g->inputs.count; i++)
        more = gg_arena_printf(w->arena, "%.*s%s%zu%s", GG_STR_ARG(more), i ? ", " : ", argnums=(", i,
                               i + 1 == g->inputs.count ? ")" : "");
    return gg_arena_printf(w->arena, "%.*s.func.grad(%.*s%.*s%s)(%.*s)", GG_STR_ARG(w->torch), GG_STR_ARG(function),
                           GG_STR_ARG(more), g->also.count ? ", has_aux=True" : "",
                           GG_STR_ARG(gg__names_text(&g->inputs, w->arena)));
}

/* The statements move into the function: all their lines to the right. */
static void write_function(const writing *w) {
    const gg__gradient *g = w->g;
    const gg_text *text = gg_tree_text(w->in->tree);
    TSNode first = gg__child(g->body.block, g->body.from), last = gg__child(g->body.block, g->body.to - 1);
    uint32_t row = ts_node_start_point(first).row, start = gg_text_line_start(text, row), end = ts_node_end_byte(last);
    bool apart = g->body.from == 0 || gg_str_trim(gg_text_line(text, row - 1)).len == 0;
    gg_edits_add(w->out, (gg_span){start, start},
                 gg_arena_printf(w->arena, "%.*s%.*sdef %.*s(%.*s):%.*s%.*s",
                                 GG_STR_ARG(apart ? GG_STR("") : w->newline), GG_STR_ARG(w->indent),
                                 GG_STR_ARG(w->function), GG_STR_ARG(gg__names_text(&g->inputs, w->arena)),
                                 GG_STR_ARG(w->newline), GG_STR_ARG(w->unit)));
    gg__indent_lines(w->in->tree, row + 1, ts_node_end_point(last).row, w->unit, w->out);
    gg_str also = gg__names_text(&g->also, w->arena);
    gg_str given = g->also.count == 0
                       ? GG_STR("")
                       : gg_arena_printf(w->arena, g->also.count == 1 ? ", %.*s" : ", (%.*s)", GG_STR_ARG(also));
    end = gg__line_end(w->in->tree, end);
    gg_edits_add(w->out, (gg_span){end, end},
                 gg_arena_printf(w->arena, "%.*s%.*s%.*sreturn %.*s%.*s%.*s", GG_STR_ARG(w->newline),
                                 GG_STR_ARG(w->indent), GG_STR_ARG(w->unit), GG_STR_ARG(value_text(w)),
                                 GG_STR_ARG(given), GG_STR_ARG(w->newline)));
}

static void write_gradient(const writing *w, gg_str function) {
    const gg__gradient *g = w->g;
    gg_str text = gradient_text(w, function);
    gg_span all = gg_node_span(g->taken);
    if (g->also.count) {
        gg_str also = gg__names_text(&g->also, w->arena);
        gg_str name = g->plain ? gg__text(w->in->tree, g->target) : gg__free_name(w->in->tree, "gradient", w->arena);
        gg_str line = gg_arena_printf(w->arena, g->also.count == 1 ? "%.*s, %.*s = %.*s" : "%.*s, (%.*s) = %.*s",
                                      GG_STR_ARG(name), GG_STR_ARG(also), GG_STR_ARG(text));
        if (g->plain) {
            gg_edits_add(w->out, gg_node_span(g->statement), line);
            return;
        }
        uint32_t start = ts_node_start_byte(g->statement);
        gg_edits_add(
            w->out, (gg_span){start, start},
            gg_arena_printf(w->arena, "%.*s%.*s%.*s", GG_STR_ARG(line), GG_STR_ARG(w->newline), GG_STR_ARG(w->indent)));
        text = name;
    }
    if (!g->attached) text = gg_arena_printf(w->arena, "%.*s.detach()", GG_STR_ARG(text));
    gg_edits_add(w->out, all, text);
    if (!ts_node_is_null(g->unpacked))
        gg_edits_add(w->out, gg_node_span(g->unpacked), gg__text(w->in->tree, g->target));
}

/* What stands alone on its line needs no parentheses. */
static TSNode unparenthesized(TSNode node) {
    return ts_node_start_point(node).row == ts_node_end_point(node).row ? gg__strip_parentheses(node) : node;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__gradient g;
    if (!gg__find_gradient(in, &g)) return gg_fail(err, GG_ENOMATCH, "the gradient is no function's");
    writing w = {.in = in,
                 .g = &g,
                 .arena = arena,
                 .out = out,
                 .newline = gg__newline(in->tree),
                 .unit = gg__indent_unit(in->tree)};
    w.torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    w.indent = gg__indent(in->tree, ts_node_start_byte(g.statement));
    const char *noun = gg_node_is(g.output, "identifier")
                           ? gg_arena_printf(arena, "%.*s_of", GG_STR_ARG(gg__text(in->tree, g.output))).ptr
                           : "value_of";
    w.function = gg__free_name(in->tree, noun, arena);
    if (w.function.len == 0) return gg_fail(err, GG_ENOMATCH, "no name is free");
    bool empty = g.body.from == g.body.to;
    if (!empty) write_function(&w);
    write_gradient(&w, empty ? gg_arena_printf(arena, "lambda %.*s: %.*s", GG_STR_ARG(gg__names_text(&g.inputs, arena)),
                                               GG_STR_ARG(value_text(&w)))
                             : w.function);
    if (!ts_node_is_null(g.mark)) {
        if (ts_node_is_null(g.marked))
            gg__delete_statement(in->tree, g.mark, out);
        else /* `.requires_grad_(True)` behind it, and parentheses that were for that */
            gg_edits_add(out, gg_node_span(g.mark), gg__text(in->tree, unparenthesized(g.marked)));
    }
    return 0;
}

const gg_rule gg_rule_func_grad = {
    .code = "GG116",
    .name = "func-grad",
    .title = "Take the gradient with torch.func.grad",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
