/* GG122 cond: a branch on a tensor whose arms cannot both be computed: one may fail, has gradients that are not finite where it is not taken, draws, or costs much.
 * Offers: the arms as functions, for torch.cond; without the compiler Python calls one of them.
 * Refuses: arms that are more than assignments to names and what is made of these, what is no tensor behind them, and where it shows that a tensor is a copy.
 * Safety: exact.  Page: docs/rules/GG122.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/outline.h"

typedef struct branch {
    gg__select s;
    TSNode node, condition, arms[2]; /* arms[1]: the else's; the expression that is returned behind it; or null */
    TSNode returned[2];              /* both null: nothing is */
    TSNode behind;                   /* the return that is the other arm, or null */
    gg__names bound[2], given, kept; /* what the arms bind; what both get; what is read behind them */
    gg__arm inner[2];                /* what names hold behind the arms */
    gg__test test;
} branch;

static TSNode find_if(const gg_rule_input *in) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at))
        if (gg_node_is(at, "if_statement") && gg__covers(gg__field(at, "condition"), in->span)) return at;
    return (TSNode){0};
}

static TSNode last_return(TSNode block) {
    TSNode last = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!gg_node_is(gg__child(block, i), "comment")) last = gg__child(block, i);
    return gg_node_is(last, "return_statement") && gg__child_count(last) == 1 ? last : (TSNode){0};
}

static bool find_arms(branch *b) {
    const gg_rule_input *in = b->s.in;
    uint32_t alternatives = 0;
    TSNode otherwise = {0}, next = gg__next_statement(b->node);
    for (uint32_t i = 0; i < gg__child_count(b->node); i++) {
        TSNode child = gg__child(b->node, i);
        if (gg_node_is(child, "elif_clause"))
            return gg__hinder(in, child, "is asked behind the condition: an `else` with an `if` in it could be mended");
        if (gg_node_is(child, "else_clause")) {
            otherwise = gg__field(child, "body");
            alternatives++;
        }
    }
    b->arms[0] = gg__field(b->node, "consequence");
    b->arms[1] = otherwise;
    b->returned[0] = last_return(b->arms[0]);
    if (ts_node_is_null(b->returned[0])) return alternatives == 0 || ts_node_is_null(last_return(otherwise));
    if (alternatives) {
        b->returned[1] = last_return(otherwise);
    } else if (gg_node_is(next, "return_statement") && gg__child_count(next) == 1) {
        b->behind = b->returned[1] = next;
        b->arms[1] = gg__child(next, 0);
    }
    return !ts_node_is_null(b->returned[1]);
}

static bool is_returned_held(branch *b, size_t arm, TSNode value) {
    return gg__is_held(&b->s, &b->inner[arm], value) && !gg__is_made_in(b->s.in->tree, &b->inner[arm], value);
}

/* A tensor, or a tuple of them: what others hold is copied, where that does not show. */
static bool may_return(branch *b, size_t arm, TSNode value) {
    const gg_rule_input *in = b->s.in;
    value = gg__strip_parentheses(value);
    if (gg_node_is(value, "tuple") || gg_node_is(value, "expression_list")) {
        for (uint32_t i = 0; i < gg__child_count(value); i++)
            if (!may_return(b, arm, gg__child(value, i))) return false;
        return gg__child_count(value) > 0;
    }
    if (gg__is_no_tensor(&b->s, &b->inner[arm], value))
        return gg__hinder(in, value, "is no tensor, and a branch of a graph gives tensors");
    if (!is_returned_held(b, arm, value)) return true;
    if (gg__returned_alias_shows(in, b->node, value))
        return gg__hinder(in, value, "other code may hold this tensor, and a branch of a graph gives a new one");
    b->s.copies = b->s.copies || gg__is_copy(in, b->node, value, GG_STR_NULL);
    return true;
}

typedef struct identifier_search {
    const gg_tree *tree;
    gg_str name;
    TSNode found;
} identifier_search;

static bool find_identifier(TSNode node, void *data) {
    identifier_search *i = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(i->tree, node), i->name)) return true;
    i->found = node;
    return false;
}

/* Values of both arms, or displays of such. */
static bool are_alike(branch *b, gg_str name, TSNode first, TSNode second) {
    first = gg__strip_parentheses(first);
    second = gg__strip_parentheses(second);
    bool several = gg_node_is(first, "tuple") || gg_node_is(first, "expression_list");
    if (several && ts_node_symbol(first) == ts_node_symbol(second)) {
        if (gg__child_count(first) != gg__child_count(second)) return false;
        for (uint32_t i = 0; i < gg__child_count(first); i++)
            if (!are_alike(b, name, gg__child(first, i), gg__child(second, i))) return false;
        return true;
    }
    gg__meta yes = gg__outlined_meta(&b->s, &b->inner[0], first), no = gg__outlined_meta(&b->s, &b->inner[1], second);
    return gg__may_be_alike(&b->s, b->node, name, yes, first, no, second);
}

/* What the arm leaves in the name; the name, where it leaves what was there; null when that is not plain to see. */
static TSNode left_value(branch *b, size_t arm, gg_str name) {
    identifier_search i = {.tree = b->s.in->tree, .name = name};
    if (gg__names_have(&b->bound[arm], name)) return gg__left_in(b->s.in->tree, b->arms[arm], name);
    gg__visit(b->node, find_identifier, &i);
    return i.found;
}

static bool leave_alike(branch *b) {
    if (!ts_node_is_null(b->returned[0]))
        return are_alike(b, GG_STR("return"), gg__child(b->returned[0], 0), gg__child(b->returned[1], 0));
    for (size_t i = 0; i < b->kept.count; i++) {
        TSNode yes = left_value(b, 0, b->kept.items[i]), no = left_value(b, 1, b->kept.items[i]);
        if (!ts_node_is_null(yes) && !ts_node_is_null(no) && !are_alike(b, b->kept.items[i], yes, no)) return false;
    }
    return true;
}

/* What the arm leaves in the name is a tensor, and a copy where others hold it. */
static bool may_leave(branch *b, size_t arm, gg_str name) {
    const gg_rule_input *in = b->s.in;
    bool binds = gg__names_have(&b->bound[arm], name);
    TSNode value = left_value(b, arm, name);
    if (ts_node_is_null(value)) return true;
    if (binds && gg__is_no_tensor(&b->s, &b->inner[arm], value))
        return gg__hinder(in, value, "is no tensor, and a branch of a graph gives tensors");
    if (binds && !gg__is_held(&b->s, &b->inner[arm], value)) return true;
    if (!binds && gg__owns(in, b->node, name)) return true;
    if (gg__alias_shows(in, b->node, value, name))
        return gg__hinder(in, value, "other code may hold this tensor, and a branch of a graph gives a new one");
    b->s.copies = b->s.copies || gg__is_copy(in, b->node, value, name);
    return true;
}

/* What an arm reads before it binds it, or leaves as it was, both are given. */
static bool give(branch *b, size_t arm, gg_str name) {
    const gg_rule_input *in = b->s.in;
    bool binds = gg__names_have(&b->bound[arm], name), kept = gg__names_have(&b->kept, name);
    if (binds ? !gg__takes(in->tree, b->arms[arm], name) : !kept) return true;
    if (!gg__bound_before(in->tree, b->node, name))
        return kept ? gg__hinder(in, b->node, "may leave `%.*s` without a value", GG_STR_ARG(name)) : true;
    if (!gg__holds_tensor(in, name))
        return gg__hinder(in, b->node, "`%.*s` is no tensor, and the branch changes it", GG_STR_ARG(name));
    gg__names_add(&b->given, name);
    return true;
}

static bool is_no_change(TSNode node, void *data) {
    const branch *b = data;
    return !gg_node_is(node, "augmented_assignment") ||
           !gg__names_have(&b->given, gg__text(b->s.in->tree, gg__field(node, "left"))) ||
           gg__hinder(b->s.in, node, "changes a tensor in place, which a branch of a graph cannot");
}

static bool learn_names(branch *b) {
    const gg_tree *tree = b->s.in->tree;
    bool returns = !ts_node_is_null(b->returned[0]);
    for (size_t arm = 0; arm < 2; arm++)
        if (gg_node_is(b->arms[arm], "block")) gg__names_bound(tree, b->arms[arm], &b->bound[arm]);
    for (size_t arm = 0; arm < 2; arm++)
        for (size_t i = 0; i < b->bound[arm].count && !returns; i++)
            if (gg__is_live(&b->s, b->bound[arm].items[i])) gg__names_add(&b->kept, b->bound[arm].items[i]);
    for (size_t arm = 0; arm < 2; arm++)
        for (size_t other = 0; other < 2; other++)
            for (size_t i = 0; i < b->bound[other].count; i++)
                if (!give(b, arm, b->bound[other].items[i])) return false;
    bool full = b->bound[0].full || b->bound[1].full || b->kept.full || b->given.full;
    return !full && (returns || b->kept.count);
}

/* Clear b->s in any case. */
static bool look(const gg_rule_input *in, branch *b, gg_arena *arena) {
    *b = (branch){.node = find_if(in)};
    gg__select_init(&b->s, in, gg__statement(gg_node_at(in->tree, in->span)), arena);
    if (ts_node_is_null(b->node) || !gg__can_name(in->tree, b->node, "torch") || !gg__may_define(in->tree, b->node))
        return false;
    b->s.statement = b->node;
    b->condition = gg__field(b->node, "condition");
    if (!gg__alone_on_line(in->tree, b->node) || !find_arms(b)) return false;
    for (size_t arm = 0; arm < 2; arm++)
        if (gg_node_is(b->arms[arm], "block") && !gg__may_outline(in, b->arms[arm], b->returned[arm])) return false;
    if (!learn_names(b)) return false;
    for (size_t arm = 0; arm < 2; arm++)
        if (gg_node_is(b->arms[arm], "block") && !gg__learn_block(&b->s, &b->inner[arm], b->arms[arm])) return false;
    for (size_t arm = 0; arm < 2; arm++) {
        if (!gg__visit(b->arms[arm], is_no_change, b)) return false;
        if (!ts_node_is_null(b->returned[arm]) && !may_return(b, arm, gg__child(b->returned[arm], 0))) return false;
        for (size_t i = 0; i < b->kept.count; i++)
            if (!may_leave(b, arm, b->kept.items[i])) return false;
    }
    return leave_alike(b) && gg__outlined_test(&b->s, NULL, b->condition, &b->test);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    branch *b = gg_arena_alloc(arena, sizeof(*b));
    bool found = look(in, b, arena);
    out->node = b->node;
    gg__select_clear(&b->s);
    gg_arena_free(arena);
    return found;
}

/* `return y.clone()` */
static void copy_returned(branch *b, size_t arm, TSNode value, gg_edits *out) {
    value = gg__strip_parentheses(value);
    if (gg_node_is(value, "tuple") || gg_node_is(value, "expression_list")) {
        for (uint32_t i = 0; i < gg__child_count(value); i++) copy_returned(b, arm, gg__child(value, i), out);
    } else if (is_returned_held(b, arm, value)) {
        gg_str text = gg__closed(&b->s, gg__text(b->s.in->tree, value), value);
        gg_edits_add(out, gg_node_span(value), gg_arena_printf(b->s.arena, "%.*s.clone()", GG_STR_ARG(text)));
    }
}

static gg_str left_text(branch *b, size_t arm) {
    gg_str out = GG_STR("");
    for (size_t i = 0; i < b->kept.count; i++) {
        gg_str name = b->kept.items[i];
        bool binds = gg__names_have(&b->bound[arm], name);
        TSNode value = binds ? gg__left_in(b->s.in->tree, b->arms[arm], name) : (TSNode){0};
        bool held = !binds || (!ts_node_is_null(value) && gg__is_held(&b->s, &b->inner[arm], value));
        out = gg_arena_printf(b->s.arena, "%.*s%s%.*s%s", GG_STR_ARG(out), i ? ", " : "", GG_STR_ARG(name),
                              held ? ".clone()" : "");
    }
    return out;
}

/* From the statement's start, or the else's, to the colon; and to the block where that is on the same line. */
static void write_head(branch *b, uint32_t start, uint32_t colon, TSNode block, gg_str head, gg_str inner,
                       gg_edits *out) {
    if (gg__starts_line(b->s.in->tree, ts_node_start_byte(block))) {
        gg_edits_add(out, (gg_span){start, colon}, head);
        return;
    }
    gg_edits_add(
        out, (gg_span){start, ts_node_start_byte(block)},
        gg_arena_printf(b->s.arena, "%.*s:%.*s%.*s", GG_STR_ARG(head), GG_STR_ARG(b->s.newline), GG_STR_ARG(inner)));
}

static void write(branch *b, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = b->s.in->tree;
    gg_str torch = gg__require_module(tree, b->node, "torch", arena, out), nl = b->s.newline;
    gg_str indent = gg__indent(tree, ts_node_start_byte(b->node)), unit = gg__indent_unit(tree);
    gg_str inner = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(indent), GG_STR_ARG(unit));
    if (gg__starts_line(tree, ts_node_start_byte(b->arms[0]))) inner = gg__indent(tree, ts_node_start_byte(b->arms[0]));
    gg_str given = gg__names_text(&b->given, arena), kept = gg__names_text(&b->kept, arena);
    gg_str chosen = gg__new_name(&b->s, "chosen"),
           functions[2] = {gg__new_name(&b->s, "when_true"), gg__new_name(&b->s, "when_false")};
    bool returns = !ts_node_is_null(b->returned[0]);
    gg_str back[2];
    for (size_t arm = 0; arm < 2; arm++)
        back[arm] = returns ? GG_STR("")
                            : gg_arena_printf(arena, "%.*s%.*sreturn %.*s", GG_STR_ARG(nl), GG_STR_ARG(inner),
                                              GG_STR_ARG(left_text(b, arm)));
    write_head(b, ts_node_start_byte(b->node), ts_node_end_byte(b->condition), b->arms[0],
               gg_arena_printf(arena, "%.*s = %.*s%.*s%.*s%.*sdef %.*s(%.*s)", GG_STR_ARG(chosen),
                               GG_STR_ARG(gg__test_text(&b->s, b->test)), GG_STR_ARG(nl), GG_STR_ARG(nl),
                               GG_STR_ARG(indent), GG_STR_ARG(functions[0]), GG_STR_ARG(given)),
               inner, out);
    if (returns)
        for (size_t arm = 0; arm < 2; arm++) copy_returned(b, arm, gg__child(b->returned[arm], 0), out);
    gg_str head = gg_arena_printf(arena, "def %.*s(%.*s)", GG_STR_ARG(functions[1]), GG_STR_ARG(given));
    uint32_t end = ts_node_end_byte(b->arms[0]);
    gg_str foot = GG_STR("");
    if (gg_node_is(b->arms[1], "block")) {
        TSNode clause = gg__parent(b->arms[1]);
        uint32_t start = ts_node_start_byte(clause);
        gg_edits_add(out, (gg_span){end, end}, gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(back[0]), GG_STR_ARG(nl)));
        write_head(b, start, ts_node_end_byte(ts_node_child(clause, 0)), b->arms[1], head, inner, out);
        end = ts_node_end_byte(b->arms[1]);
        foot = back[1];
    } else if (ts_node_is_null(b->behind)) {
        foot = gg_arena_printf(arena, "%.*s%.*s%.*s%.*s%.*s:%.*s%.*sreturn %.*s", GG_STR_ARG(back[0]), GG_STR_ARG(nl),
                               GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(head), GG_STR_ARG(nl), GG_STR_ARG(inner),
                               GG_STR_ARG(left_text(b, 1)));
    } else { /* the return behind it is the function's */
        uint32_t start = ts_node_start_byte(b->behind);
        gg_edits_add(out, (gg_span){start, start},
                     gg_arena_printf(arena, "%.*s%.*s%.*s:%.*s%.*s", GG_STR_ARG(nl), GG_STR_ARG(indent),
                                     GG_STR_ARG(head), GG_STR_ARG(nl), GG_STR_ARG(inner)));
        end = ts_node_end_byte(b->behind);
    }
    gg_str result = returns ? GG_STR("return ") : gg_arena_printf(arena, "%.*s = ", GG_STR_ARG(kept));
    gg_str operands = b->given.count
                          ? gg_arena_printf(arena, ", (%.*s%s)", GG_STR_ARG(given), b->given.count == 1 ? "," : "")
                          : GG_STR("");
    gg_str call = gg_arena_printf(
        arena,
        "%.*s%.*s%.*sif %.*s.compiler.is_compiling():%.*s%.*s%.*s%.*s%.*s.cond(%.*s, %.*s, %.*s%.*s)"
        "%.*s%.*selse:%.*s%.*s%.*s%.*s%.*s(%.*s) if %.*s else %.*s(%.*s)",
        GG_STR_ARG(nl), GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(torch), GG_STR_ARG(nl), GG_STR_ARG(indent),
        GG_STR_ARG(unit), GG_STR_ARG(result), GG_STR_ARG(torch), GG_STR_ARG(chosen), GG_STR_ARG(functions[0]),
        GG_STR_ARG(functions[1]), GG_STR_ARG(operands), GG_STR_ARG(nl), GG_STR_ARG(indent), GG_STR_ARG(nl),
        GG_STR_ARG(indent), GG_STR_ARG(unit), GG_STR_ARG(result), GG_STR_ARG(functions[0]), GG_STR_ARG(given),
        GG_STR_ARG(chosen), GG_STR_ARG(functions[1]), GG_STR_ARG(given));
    gg_edits_add(out, (gg_span){end, end}, gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(foot), GG_STR_ARG(call)));
    out->copies = b->s.copies;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    branch *b = gg_arena_alloc(arena, sizeof(*b));
    (void)match;
    bool found = look(in, b, arena);
    if (found) write(b, arena, out);
    gg__select_clear(&b->s);
    return found ? 0 : gg_fail(err, GG_ENOMATCH, "the arms are not proven to be branches of a graph");
}

const gg_rule gg_rule_cond = {
    .code = "GG122",
    .name = "cond",
    .title = "Hand both arms to the compiler, as torch.cond",
    .safety = GG_SAFETY_EXACT,
    .last_resort = true,
    .check = check,
    .edit = edit,
};
