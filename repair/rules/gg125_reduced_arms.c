/* GG125 reduced-arms: a branch gives a name one of two selections, and the mean or sum of it follows: losses of the hardest examples.
 * Offers: the reduction in each arm, what a mask chooses there as GG042 reduces it; and where the branch asks how many are chosen, the branch
 * as a selection or as torch.cond.
 * Refuses: a name that anything else reads; loops; what GG042 refuses.
 * Safety: numeric.  Page: docs/rules/GG125.md */
#include "repair/hindrance.h"
#include "repair/masks.h"

typedef struct arm {
    TSNode statement, value;
    bool first; /* of the pair that it gives */
} arm;

typedef struct reduced_arms {
    const gg_rule_input *in;
    TSNode item, branch, before; /* x[m]; before: `n = x[m]` in front of the branch, else null */
    bool asks;                   /* the site is the branch's condition */
    TSNode asked;                /* `n.numel()` in its condition, where it is in front */
    gg_str name;
    arm arms[2];
    uint32_t count;
    TSNode consumer, call; /* the statement behind the branch, and the reduction in it */
    TSNode use;            /* of the name, there */
} reduced_arms;

/* ---- what is read where ----------------------------------------------------------------------------------------------------- */

static bool is_name(const reduced_arms *r, TSNode node) {
    return gg_node_is(node, "identifier") && !gg__is_member_name(node) &&
           gg_str_equal(gg__text(r->in->tree, node), r->name);
}

typedef struct reads {
    const reduced_arms *r;
    TSNode last;
    uint32_t count;
} reads;

static bool note_read(TSNode node, void *data) {
    reads *s = data;
    if (!is_name(s->r, node) || gg__is_binding(node)) return true;
    s->last = node;
    s->count++;
    return true;
}

/* The only read of the name in there; null when there is none, or several. */
static TSNode only_read(const reduced_arms *r, TSNode node) {
    reads s = {.r = r};
    gg__visit(node, note_read, &s);
    return s.count == 1 ? s.last : (TSNode){0};
}

/* `torch.mean(n)`, `n.sum()`: all of it is reduced. */
static TSNode reduction_of(const reduced_arms *r, TSNode use) {
    const gg_tree *tree = r->in->tree;
    TSNode parent = gg__parent(use), call = gg__parent(parent), none = {0};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return none;
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (!gg_str_is(name, "mean") && !gg_str_is(name, "sum")) return none;
    if (gg_node_is(parent, "attribute")) return gg__child_count(arguments) == 0 ? call : none;
    gg_str holder = gg__text(tree, gg__field(function, "object"));
    bool torchs = gg_str_equal(holder, gg__module_alias(tree, call, "torch"));
    return torchs && gg__child_count(arguments) == 1 ? call : none;
}

static bool is_settled(TSNode node, void *data) {
    const reduced_arms *r = data;
    if (!is_name(r, node)) return true;
    if (gg__is_in_inner_function(node, gg__function(r->item))) return false;
    if (ts_node_start_byte(node) < ts_node_end_byte(r->consumer)) return true;
    TSNode assignment = gg__child(r->consumer, 0);
    return gg_node_is(assignment, "assignment") && is_name(r, gg__field(assignment, "left")); /* bound anew by then */
}

/* Nothing is called in front of the reduction, which could change what it is given. */
static bool is_called_first(TSNode node, void *data) {
    const reduced_arms *r = data;
    return !gg_node_is(node, "call") || ts_node_end_byte(node) > ts_node_start_byte(r->call);
}

/* ---- the branch ------------------------------------------------------------------------------------------------------------- */

typedef struct word {
    const gg_tree *tree;
    gg_str name;
    uint32_t from;
} word;

static bool is_not_read_behind(TSNode node, void *data) {
    const word *w = data;
    return !gg_node_is(node, "identifier") || gg__is_binding(node) || gg__is_member_name(node) ||
           ts_node_start_byte(node) < w->from || !gg_str_equal(gg__text(w->tree, node), w->name);
}

/* `n = E`; `n, _ = x.topk(k)`, whose second nobody reads. */
static bool read_arm(reduced_arms *r, TSNode block) {
    static const char *const pairs[] = {"topk", "sort"};
    const gg_tree *tree = r->in->tree;
    arm *a = &r->arms[r->count++];
    TSNode assignment = gg__child(a->statement = gg__only_statement(block), 0), left = gg__field(assignment, "left");
    if (!gg_node_is(assignment, "assignment") || !ts_node_is_null(gg__field(assignment, "type"))) return false;
    if (gg__has_comment(tree, gg_node_span(assignment))) return false;
    a->value = gg__field(assignment, "right");
    a->first = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    if (!a->first) return is_name(r, left) && !gg_node_is(a->value, "assignment");
    TSNode function = gg__field(a->value, "function"), second = gg__child(left, 1);
    word w = {tree, gg__text(tree, second), ts_node_start_byte(r->branch)};
    return gg__child_count(left) == 2 && is_name(r, gg__child(left, 0)) && gg_node_is(second, "identifier") &&
           gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), pairs, GG_COUNT(pairs)) &&
           gg__visit(gg__function(r->item), is_not_read_behind, &w);
}

static bool read_branch(reduced_arms *r) {
    const gg_tree *tree = r->in->tree;
    TSNode statement = gg__statement(r->item), block = gg__parent(statement), clause = gg__parent(block);
    bool within = gg_node_is(clause, "if_statement") || gg_node_is(clause, "else_clause");
    r->branch = gg_node_is(clause, "else_clause") ? gg__parent(clause) : clause;
    if (within && !ts_node_eq(gg__only_statement(block), statement)) within = false;
    if (!within) {
        r->before = statement;
        r->branch = gg__next_statement(statement);
    }
    TSNode other = gg__field(r->branch, "alternative"), condition = gg__field(r->branch, "condition");
    if (!gg_node_is(r->branch, "if_statement")) return false;
    uint32_t clauses = 0;
    for (uint32_t i = 0; i < gg__child_count(r->branch); i++)
        clauses +=
            gg_node_is(gg__child(r->branch, i), "else_clause") || gg_node_is(gg__child(r->branch, i), "elif_clause");
    if (clauses != (within ? 1u : 0u) || (within && !gg_node_is(other, "else_clause"))) return false;
    if (!read_arm(r, gg__field(r->branch, "consequence"))) return false;
    if (within) return read_arm(r, gg__field(other, "body"));
    TSNode read = only_read(r, condition), asked = gg__parent(read);
    bool elements;
    for (; !ts_node_is_null(read) && !ts_node_eq(asked, condition) && !ts_node_eq(asked, r->branch);
         asked = gg__parent(asked)) {
        if (!ts_node_eq(gg__size_asked(tree, asked, &elements), read)) continue;
        r->asked = asked;
        TSNode around = gg__parent(asked); /* compared as it is: what is computed with a tensor is rounded otherwise */
        bool whole = ts_node_eq(asked, condition) || gg_node_is(around, "not_operator") ||
                     (gg_node_is(around, "comparison_operator") && gg__child_count(around) == 2);
        return whole && !gg__reads(tree, r->arms[0].value, r->name);
    }
    return false;
}

/* Is it `n = x[m]`, each element chosen by itself? */
static bool take_item(reduced_arms *r, TSNode assignment) {
    TSNode left = gg__field(assignment, "left"), right = gg__field(assignment, "right");
    gg__item item;
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(right, "subscript") || !gg_node_is(left, "identifier") ||
        !gg__masked_item(r->in, right, &item) || item.of.rank != item.by.rank)
        return false;
    r->item = right;
    r->name = gg__text(r->in->tree, left);
    return true;
}

/* At the site, or in an arm of the branch that asks there: the capture may have gone the other way. */
static bool find_item(reduced_arms *r) {
    TSNode at = gg_node_at(r->in->tree, r->in->span);
    if (take_item(r, gg__parent(at)) && ts_node_eq(r->item, at)) return true;
    while (!ts_node_is_null(at) && !gg_node_is(at, "if_statement") && !gg_node_is(at, "block")) at = gg__parent(at);
    TSNode other = gg__field(gg__field(at, "alternative"), "body");
    r->asks = gg_node_is(at, "if_statement") && gg__covers(gg__field(at, "condition"), r->in->span);
    return r->asks && (take_item(r, gg__child(gg__only_statement(gg__field(at, "consequence")), 0)) ||
                       take_item(r, gg__child(gg__only_statement(other), 0)));
}

static bool match(const gg_rule_input *in, reduced_arms *r) {
    const gg_tree *tree = in->tree;
    *r = (reduced_arms){.in = in};
    if (!find_item(r) || !read_branch(r)) return false;
    for (TSNode at = r->branch; !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (ts_node_is_null(at) || gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) return false;
    r->consumer = gg__next_statement(r->branch);
    bool simple = gg_node_is(r->consumer, "expression_statement") || gg_node_is(r->consumer, "return_statement");
    r->use = simple ? only_read(r, r->consumer) : (TSNode){0};
    r->call = reduction_of(r, r->use);
    if (ts_node_is_null(r->call) || !gg__visit(r->consumer, is_called_first, r) ||
        !gg__visit(gg__function(r->item), is_settled, r))
        return gg__hinder(in, r->item, "is more than summed or averaged right behind the branch");
    if (gg__has_comment(tree, gg_node_span(r->call)) || !gg__can_name(tree, r->item, "torch")) return false;
    /* What fails in an arm fails as another error in a graph.  Asked last: it may read the whole file. */
    return !gg__may_be_caught(tree, r->branch) || gg__hinder(in, r->branch, "code around it may catch what it raises");
}

/* ---- the text ------------------------------------------------------------------------------------------------------------------ */

/* The reduction of an expression, in the words of the one behind the branch. */
static gg_str reduced(const reduced_arms *r, TSNode value, bool first, gg_arena *arena) {
    gg_str text =
        gg_arena_printf(arena, "%.*s%s", GG_STR_ARG(gg__operand_text(r->in, value, arena)), first ? "[0]" : "");
    return gg__text_around(r->in->tree, r->call, r->use, text, arena);
}

/* The condition, which asks how many are chosen where it asked how many the name holds. */
static gg_str asked_text(const reduced_arms *r, gg_arena *arena) {
    const gg_tree *tree = r->in->tree;
    TSNode condition = gg__field(r->branch, "condition");
    gg__item item;
    if (ts_node_is_null(r->asked) || !gg__masked_item(r->in, r->item, &item)) return gg__text(tree, condition);
    gg_str torch = gg__module_alias(tree, r->branch, "torch");
    gg__sized size = {.asked = r->asked, .counted = item.mask};
    return gg__text_around(tree, condition, r->asked,
                           gg__size_text_asked(r->in, &size, torch.len ? torch : GG_STR("torch"), arena), arena);
}

static void push(const reduced_arms *r, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = r->in->tree;
    for (uint32_t i = 0; i < r->count; i++) {
        gg_str text = reduced(r, r->arms[i].value, r->arms[i].first, arena);
        gg_edits_add(out, gg_node_span(gg__child(r->arms[i].statement, 0)),
                     gg_arena_printf(arena, "%.*s = %.*s", GG_STR_ARG(r->name), GG_STR_ARG(text)));
    }
    if (!ts_node_is_null(r->before)) {
        (void)gg__require_module(tree, r->branch, "torch", arena, out);
        gg_str newline = gg__newline(tree);
        gg_str indent = gg__indent(tree, ts_node_start_byte(r->branch));
        uint32_t end = gg__line_end(tree, ts_node_end_byte(r->arms[0].statement));
        gg_edits_add(out, gg_node_span(gg__field(r->branch, "condition")), asked_text(r, arena));
        gg_edits_add(out, (gg_span){end, end},
                     gg_arena_printf(arena, "%.*s%.*selse:%.*s%.*s%.*s%.*s = %.*s", GG_STR_ARG(newline),
                                     GG_STR_ARG(indent), GG_STR_ARG(newline), GG_STR_ARG(indent),
                                     GG_STR_ARG(gg__indent_unit(tree)), GG_STR_ARG(r->name),
                                     GG_STR_ARG(reduced(r, r->item, false, arena))));
        gg__delete_statement(tree, r->before, out);
    }
    TSNode assignment = gg__child(r->consumer, 0);
    bool same = gg_node_is(assignment, "assignment") && ts_node_eq(gg__field(assignment, "right"), r->call) &&
                is_name(r, gg__field(assignment, "left"));
    if (same)
        gg__delete_statement(tree, r->consumer, out); /* `n = n` */
    else
        gg_edits_add(out, gg_node_span(r->call), r->name);
}

typedef struct finding {
    const gg_tree *tree;
    gg_str text;
    uint32_t from;
    TSNode found;
} finding;

static bool is_elsewhere(TSNode node, void *data) {
    finding *f = data;
    if (ts_node_start_byte(node) < f->from || !gg_str_equal(gg__text(f->tree, node), f->text)) return true;
    f->found = node;
    return false;
}

/* One of the rules, for the first expression of this text behind a byte. */
static bool then(const reduced_arms *r, const char *id, gg_str wanted, const char *const *codes, size_t count,
                 gg_arena *arena, gg_text **text) {
    gg_tree *tree = NULL;
    gg_error err = {0};
    if (gg_tree_parse(&tree, *text, NULL, NULL, 0, NULL, &err) != 0) return false;
    TSNode start = ts_node_is_null(r->before) ? r->branch : r->before;
    finding f = {.tree = tree, .text = wanted, .from = ts_node_start_byte(start)};
    bool copies = false, found = !gg__visit(gg_tree_root(tree), is_elsewhere, &f);
    bool done = found && gg__apply_at(r->in, tree, gg_str_from(id), gg_node_span(f.found), codes, count,
                                      GG_SAFETY_NUMERIC, arena, text, &copies);
    gg_tree_unref(&tree);
    return done && !copies;
}

static bool take(const gg_rule_input *in, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    static const char *const reductions[] = {"GG042"}, *const selections[] = {"GG010", "GG011", "GG122"};
    gg_arena *own = gg_arena_new();
    gg_edits first = {0};
    gg_text *text = NULL;
    gg_error err = {0};
    reduced_arms r;
    bool done = match(in, &r);
    *out_node = r.item;
    if (done) {
        push(&r, own, &first);
        done = gg_edits_sort(&first, &err) == 0 && gg_edits_apply(&text, gg_tree_text(in->tree), &first, &err) == 0;
    }
    done = done && then(&r, "GB0036", gg__text(in->tree, r.item), reductions, GG_COUNT(reductions), own, &text);
    if (done) { /* the break at the condition, or that would move there */
        gg_str asks = asked_text(&r, own);
        bool selected = then(&r, "GB0170", asks, selections, GG_COUNT(selections), own, &text);
        done = selected || (!r.asks && ts_node_is_null(r.before));
    }
    if (done && edits) gg__add_difference(gg_tree_text(in->tree), gg_text_bytes(text), arena, edits);
    gg_text_unref(&text);
    gg_edits_clear(&first);
    gg_arena_free(own);
    return done;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return take(in, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match_, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match_->node;
    if (!take(in, &node, arena, out)) return gg_fail(err, GG_ENOMATCH, "the arms are not proven to be reduced alike");
    return 0;
}

const gg_rule gg_rule_reduced_arms = {
    .code = "GG125",
    .name = "reduced-arms",
    .title = "Reduce in the arms of the branch",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
