/* GG014 masked-loop: a loop over range(), or one that counts (`while t > 1 and i < 5`), that a tensor's value ends.
 * Offers: all iterations, of which those behind the end change nothing: torch.where keeps what the names hold.
 * Refuses: statements that are not assignments, what a value is not proven of in each iteration, more iterations than MAX_ITERATIONS, and what a
 * name held before the loop where it shows that it holds a copy of it behind it.
 * Safety: exact.  Page: docs/rules/GG014.md */
#include "repair/masked_loops.h"

/* A name for the new value: itself, or one that it gets in a line in front. */
static gg_str name_value(gg__masked_loop *l, const gg__loop_assigned *a, gg_str value, gg_edits *out) {
    if (gg_node_is(gg__strip_parentheses(a->value), "identifier")) return value;
    gg_str name = gg__new_name(&l->s, "new");
    uint32_t start = ts_node_start_byte(gg__statement(a->value));
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(l->s.arena, "%.*s = %.*s%.*s%.*s", GG_STR_ARG(name), GG_STR_ARG(value),
                                 GG_STR_ARG(l->s.newline), GG_STR_ARG(gg__indent(l->s.in->tree, start))));
    return name;
}

/* The new value comes first: where the strides of both differ, the result has those of the first. */
static void write_where(gg__masked_loop *l, gg_str condition, const gg__loop_assigned *a, bool ends, gg_edits *out) {
    gg_str value = gg__text(l->s.in->tree, gg__strip_parentheses(a->value)), kept = a->name;
    if (!ends) condition = gg_arena_printf(l->s.arena, "~%.*s", GG_STR_ARG(condition));
    if (a->lowered) {
        value = name_value(l, a, value, out);
        kept = gg_arena_printf(l->s.arena, "%.*s.to(%.*s.dtype)", GG_STR_ARG(a->name), GG_STR_ARG(value));
    }
    gg_str text = gg__where(&l->s, (gg__test){condition, false, true, false}, value, kept);
    if (ends)
        gg__select_line(&l->s, a->name, text);
    else
        gg_edits_add(out, gg_node_span(a->value), text);
}

/* What stands in the place of the if statement. */
static gg_str end_text(gg__masked_loop *l, gg_str done, gg_edits *out) {
    gg_arena *arena = l->s.arena;
    gg_str test = gg__test_text(&l->s, l->test), stops = GG_STR_NULL;
    for (size_t i = 0; i < l->count; i++) {
        if (!l->items[i].ends) continue;
        if (stops.len == 0) {
            stops = gg__new_name(&l->s, "stops");
            gg__select_line(&l->s, stops, gg_arena_printf(arena, "~%.*s & (%.*s)", GG_STR_ARG(done), GG_STR_ARG(test)));
        }
        write_where(l, stops, &l->items[i], true, out);
    }
    test = stops.len ? stops : gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(test));
    gg_str comments = gg__comments(l->s.in->tree, gg_node_span(l->form.end), NULL, 0, arena);
    gg_str lines = gg_arena_str(arena, gg_buf_str(&l->s.lines));
    return gg_arena_printf(arena, "%.*s%.*s%.*s = %.*s | %.*s", GG_STR_ARG(comments), GG_STR_ARG(lines),
                           GG_STR_ARG(done), GG_STR_ARG(done), GG_STR_ARG(test));
}

/* The value of the first return that was come to, and behind the loop the choice between it and the last one. */
static void write_early_return(gg__masked_loop *l, gg_str done, gg_str early, gg_edits *out) {
    gg_arena *arena = l->s.arena;
    const gg_tree *tree = l->s.in->tree;
    gg_str value = gg__text(tree, gg__strip_parentheses(l->form.value)), late = gg__text(tree, l->form.kept);
    gg_str test = gg__test_text(&l->s, l->test), head = GG_STR_NULL;
    gg__test chosen = {done, false, true, false};
    TSNode last = gg__parent(l->form.kept);
    gg_str comments = gg__comments(tree, gg_node_span(l->form.end), NULL, 0, arena);
    gg_edits_add(out, gg_node_span(l->form.end),
                 gg_arena_printf(arena, "%.*s%.*s = %.*s if %.*s is None else %.*s%.*s%.*s%.*s = %.*s | (%.*s)",
                                 GG_STR_ARG(comments), GG_STR_ARG(early),
                                 GG_STR_ARG(gg__closed(&l->s, value, l->form.value)), GG_STR_ARG(early),
                                 GG_STR_ARG(gg__where(&l->s, chosen, early, value)), GG_STR_ARG(l->s.newline),
                                 GG_STR_ARG(l->s.indent), GG_STR_ARG(done), GG_STR_ARG(done), GG_STR_ARG(test)));
    if (!gg_node_is(gg__strip_parentheses(l->form.kept), "identifier")) {
        gg_str name = gg__new_name(&l->s, "late"), indent = gg__indent(tree, ts_node_start_byte(last));
        head = gg_arena_printf(arena, "%.*s = %.*s%.*s%.*s", GG_STR_ARG(name), GG_STR_ARG(late),
                               GG_STR_ARG(l->s.newline), GG_STR_ARG(indent));
        late = name;
    }
    gg_edits_add(out, gg_node_span(last),
                 gg_arena_printf(arena, "%.*sreturn %.*s if %.*s is None else %.*s", GG_STR_ARG(head), GG_STR_ARG(late),
                                 GG_STR_ARG(early), GG_STR_ARG(gg__where(&l->s, chosen, early, late))));
}

/* The numbers' part of the condition, and the tensors' as the first thing that the body does. */
static void write_while(gg__masked_loop *l, gg_str done, gg_edits *out) {
    uint32_t start = ts_node_start_byte(gg__field(l->form.node, "body"));
    l->test.negated = !l->test.negated;
    gg_str stops = gg__test_text(&l->s, l->test);
    bool closed = l->test.negated || l->test.atom;
    gg_edits_add(out, gg_node_span(l->form.end), l->flags);
    gg_edits_add(out, (gg_span){start, start},
                 gg_arena_printf(l->s.arena, "%.*s = %.*s | %s%.*s%s%.*s%.*s", GG_STR_ARG(done), GG_STR_ARG(done),
                                 closed ? "" : "(", GG_STR_ARG(stops), closed ? "" : ")", GG_STR_ARG(l->s.newline),
                                 GG_STR_ARG(l->s.indent)));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    gg__masked_loop *l = gg_arena_alloc(arena, sizeof(*l));
    bool found = gg__find_masked_loop(in, l, arena);
    out->node = l->form.node;
    gg__select_clear(&l->s);
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__masked_loop *l = gg_arena_alloc(arena, sizeof(*l));
    bool found = gg__find_masked_loop(in, l, arena);
    if (found) {
        gg_str done = gg__new_name(&l->s, "done"), tensor = gg__first_carried(l)->name;
        gg_str indent = gg__indent(in->tree, ts_node_start_byte(l->form.node));
        uint32_t start = ts_node_start_byte(l->form.node);
        gg_str flag =
            gg_arena_printf(arena, "%.*s = %.*s.new_zeros((), dtype=%.*s.bool)%.*s%.*s", GG_STR_ARG(done),
                            GG_STR_ARG(tensor), GG_STR_ARG(l->s.torch), GG_STR_ARG(l->s.newline), GG_STR_ARG(indent));
        gg__require_module(in->tree, match->node, "torch", arena, out);
        gg_str early = l->form.late ? gg__new_name(&l->s, "early") : GG_STR_NULL;
        if (early.len)
            flag = gg_arena_printf(arena, "%.*s = None%.*s%.*s%.*s", GG_STR_ARG(early), GG_STR_ARG(l->s.newline),
                                   GG_STR_ARG(indent), GG_STR_ARG(flag));
        gg_edits_add(out, (gg_span){start, start}, flag);
        /* also behind a return, where nothing reads them: what goes on growing may have no finite gradient */
        for (size_t i = 0; i < l->count; i++)
            if ((l->items[i].carried || l->items[i].stored) && !l->items[i].ends)
                write_where(l, done, &l->items[i], false, out);
        if (l->form.late)
            write_early_return(l, done, early, out);
        else if (l->flags.len)
            write_while(l, done, out);
        else
            gg_edits_add(out, gg_node_span(l->form.end), end_text(l, done, out));
        out->copies = l->s.copies;
    }
    gg__select_clear(&l->s);
    return found ? 0 : gg_fail(err, GG_ENOMATCH, "the iterations are not proven to be alike");
}

const gg_rule gg_rule_masked_loop = {
    .code = "GG014",
    .name = "masked-loop",
    .title = "Run all iterations and keep what the last one gave",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
