/* GG126 chosen-modules: `hit = (marks.sum(dim=(-1, -2)) > 0).nonzero()`, `for e in hit:` goes through the modules to which rows are sent, as the mixtures of
 * experts in transformers do.
 * Offers: a loop over all of them, whose rows go as GG115 sends them.  Refuses: what else is done with the number of a module, and what GG115 refuses.
 * Safety: numeric.  Page: docs/rules/GG126.md */
#include "repair/hindrance.h"
#include "repair/masks.h"

typedef struct chosen_modules {
    const gg_rule_input *in;
    TSNode binding, loop; /* `hit = …`; `for e in hit:` */
    TSNode marks;         /* of what says which are hit: a name */
    bool nested;          /* hit has rows of one number each: `marks[e].squeeze(0)` */
    TSNode where, mark;   /* `nth, token = torch.where(marks[e])`, and what is asked there */
    TSNode count;         /* n of F.one_hot(selected, num_classes=n) */
} chosen_modules;

/* ---- which modules are hit --------------------------------------------------------------------------------------------------------------- */

static bool is_method(const gg_tree *tree, TSNode call, const char *name) {
    return gg_node_is(call, "call") &&
           gg_str_is(gg__text(tree, gg__field(gg__field(call, "function"), "attribute")), name);
}

/* `marks.sum(dim=(-1, -2)) > 0`, `torch.greater(marks.sum(dim=(-1, -2)), 0)`: the name; else null. */
static TSNode marks_asked(const gg_tree *tree, TSNode condition) {
    static const char *const dims[] = {"(dim=(-1, -2))", "(dim=(-2, -1))", "(dim=(1, 2))",
                                       "((-1, -2))",     "((-2, -1))",     "((1, 2))"};
    TSNode none = {0}, arguments = gg__field(condition, "arguments"), sum;
    condition = gg__strip_parentheses(condition);
    if (gg_node_is(condition, "comparison_operator")) {
        if (gg__compared_with_none(tree, condition) != GG__NONE_UNLESS_IT_HOLDS) return none;
        sum = gg__child(condition, 0);
    } else {
        TSNode function = gg__field(condition, "function");
        if (!gg__refers_to(tree, function, "torch.greater") && !gg__refers_to(tree, function, "torch.gt")) return none;
        if (gg__child_count(arguments) != 2 || !gg_str_is(gg__text(tree, gg__child(arguments, 1)), "0")) return none;
        sum = gg__child(arguments, 0);
    }
    TSNode name = gg__field(gg__field(sum, "function"), "object");
    bool sums =
        is_method(tree, sum, "sum") && gg__is_one_of(gg__text(tree, gg__field(sum, "arguments")), dims, GG_COUNT(dims));
    return sums && gg_node_is(name, "identifier") ? name : none;
}

/* `C.nonzero()`, `C.nonzero(as_tuple=True)[0]`, and their lists */
static bool read_hits(chosen_modules *c, TSNode value) {
    const gg_tree *tree = c->in->tree;
    if (is_method(tree, value, "tolist") && gg__child_count(gg__field(value, "arguments")) == 0) {
        value = gg__field(gg__field(value, "function"), "object");
        if (!gg_node_is(value, "subscript")) return false; /* a list of lists */
    }
    c->nested = !gg_node_is(value, "subscript");
    if (!c->nested && !gg_str_is(gg__text(tree, gg__field(value, "subscript")), "0")) return false;
    TSNode call = c->nested ? value : gg__field(value, "value"), arguments = gg__field(call, "arguments");
    if (!is_method(tree, call, "nonzero") ||
        !gg_str_is(gg__text(tree, arguments), c->nested ? "()" : "(as_tuple=True)"))
        return false;
    c->marks = marks_asked(tree, gg__field(gg__field(call, "function"), "object"));
    return !ts_node_is_null(c->marks);
}

/* n of `F.one_hot(selected, num_classes=n).permute(2, 1, 0)` */
static TSNode count_of(const gg_tree *tree, TSNode marks) {
    TSNode turned = gg__only_value(tree, marks), call = gg__field(gg__field(turned, "function"), "object"), none = {0},
           arguments = gg__field(call, "arguments"), count = gg__child(arguments, 1);
    if (!is_method(tree, turned, "permute") || gg__child_count(arguments) != 2) return none;
    if (gg_node_is(count, "keyword_argument"))
        count = gg_str_is(gg__text(tree, gg__field(count, "name")), "num_classes") ? gg__field(count, "value") : none;
    return count;
}

/* ---- the loop -------------------------------------------------------------------------------------------------------------------------------- */

typedef struct naming {
    const gg_tree *tree;
    gg_str name;
    gg_span within; /* where it may be named */
} naming;

/* Is the number of a module named only as an index: of the marks, and of modules? */
static bool is_no_other_use(TSNode node, void *data) {
    const naming *n = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(n->tree, node), n->name))
        return true;
    TSNode parent = gg__parent(node);
    if (ts_node_start_byte(node) < n->within.start || ts_node_end_byte(node) > n->within.end) return false;
    return gg__is_binding(node) || (gg_node_is(parent, "subscript") && gg__child_count(parent) == 2 &&
                                    ts_node_eq(gg__field(parent, "subscript"), node));
}

static bool is_within(TSNode node, void *data) {
    const naming *n = data;
    bool named =
        gg_node_is(node, "identifier") && !gg__is_member_name(node) && gg_str_equal(gg__text(n->tree, node), n->name);
    return !named || (ts_node_start_byte(node) >= n->within.start && ts_node_end_byte(node) <= n->within.end);
}

/* `marks[e]`, and `.squeeze(0)` where e is of a row of nonzero() */
static bool is_mark(const chosen_modules *c, TSNode node) {
    const gg_tree *tree = c->in->tree;
    TSNode item = node;
    if (c->nested) {
        item = gg__field(gg__field(node, "function"), "object");
        if (!is_method(tree, node, "squeeze") || !gg_str_is(gg__text(tree, gg__field(node, "arguments")), "(0)"))
            return false;
    }
    return gg_node_is(item, "subscript") &&
           gg_str_equal(gg__text(tree, gg__field(item, "value")), gg__text(tree, c->marks)) &&
           gg_str_equal(gg__text(tree, gg__field(item, "subscript")), gg__text(tree, gg__field(c->loop, "left")));
}

/* What stands in front of torch.where runs for each module then: `expert = self.experts[e]` may. */
static bool find_where(chosen_modules *c) {
    const gg_tree *tree = c->in->tree;
    TSNode body = gg__field(c->loop, "body"), function = gg__field(gg__function(c->loop), "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i), inner = gg__child(statement, 0), left = gg__field(inner, "left"),
               right = gg__field(inner, "right"), asked = gg__child(gg__field(right, "arguments"), 0);
        if (gg_node_is(statement, "comment")) continue;
        if (!gg_node_is(inner, "assignment")) return false;
        if (gg__refers_to(tree, gg__field(right, "function"), "torch.where")) {
            c->where = statement;
            c->mark = asked;
            return gg_node_is(left, "pattern_list") && gg__child_count(left) == 2 &&
                   gg__child_count(gg__field(right, "arguments")) == 1 && is_mark(c, asked);
        }
        naming n = {tree, gg__text(tree, left), gg_node_span(body)};
        bool takes = gg_node_is(right, "subscript") && gg_node_is(gg__field(right, "value"), "attribute");
        if (!takes || !gg_node_is(left, "identifier") || !gg__visit(function, is_within, &n)) return false;
    }
    return false;
}

static bool is_this_binding(const chosen_modules *c, TSNode statement, TSNode loop) {
    TSNode assignment = gg__child(statement, 0), hit = gg__field(loop, "right");
    return gg_node_is(assignment, "assignment") && gg_node_is(hit, "identifier") &&
           ts_node_eq(gg__field(assignment, "left"), gg__only_binding(c->in->tree, hit)) &&
           ts_node_eq(gg__next_statement(statement), loop);
}

/* From `hit = …`, or from within the loop. */
static bool find_loop(chosen_modules *c) {
    TSNode at = gg__statement(gg_node_at(c->in->tree, c->in->span)), loop = gg__next_statement(at);
    if (gg_node_is(loop, "for_statement") && is_this_binding(c, at, loop)) {
        c->binding = at;
    } else {
        loop = gg__parent(gg__parent(at));
        c->binding = gg_node_is(loop, "for_statement")
                         ? gg__statement(gg__only_binding(c->in->tree, gg__field(loop, "right")))
                         : (TSNode){0};
        if (ts_node_is_null(c->binding) || !is_this_binding(c, c->binding, loop)) return false;
    }
    c->loop = loop;
    return gg_node_is(gg__field(loop, "left"), "identifier") && ts_node_is_null(gg__field(loop, "alternative"));
}

static bool match(const gg_rule_input *in, chosen_modules *c) {
    const gg_tree *tree = in->tree;
    *c = (chosen_modules){.in = in};
    if (in->site->first == NULL || !find_loop(c)) return false;
    TSNode function = gg__function(c->loop), body = gg__field(function, "body"),
           value = gg__field(gg__child(c->binding, 0), "right"), hit = gg__field(c->loop, "right");
    if (ts_node_is_null(function) || !read_hits(c, value) || !find_where(c)) return false;
    c->count = count_of(tree, c->marks);
    gg_span both = {ts_node_start_byte(c->binding), ts_node_end_byte(hit)};
    naming number = {tree, gg__text(tree, gg__field(c->loop, "left")), gg_node_span(c->loop)},
           hits = {tree, gg__text(tree, hit), both};
    if (ts_node_is_null(c->count) || !gg__visit(body, is_no_other_use, &number))
        return gg__hinder(in, gg__field(c->loop, "left"), "is more than an index of modules and of their marks");
    if (!gg__visit(body, is_within, &hits)) return gg__hinder(in, hit, "is read elsewhere, too");
    return !gg__has_comment(tree, gg_node_span(c->binding));
}

/* ---- the edit -------------------------------------------------------------------------------------------------------------------------------- */

/* A loop over all, which leaves those out that no row is sent to. */
static void go_through_all(const chosen_modules *c, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = c->in->tree;
    gg_str newline = gg__newline(tree), indent = gg__indent(tree, ts_node_start_byte(c->where));
    uint32_t end = gg__line_end(tree, ts_node_end_byte(c->where));
    TSNode rows = gg__child(gg__field(gg__child(c->where, 0), "left"), 1);
    gg__delete_statement(tree, c->binding, out);
    gg_edits_add(out, gg_node_span(gg__field(c->loop, "right")),
                 gg_arena_printf(arena, "range(%.*s)", GG_STR_ARG(gg__text(tree, c->count))));
    if (c->nested)
        gg_edits_add(out, gg_node_span(c->mark), gg__text(tree, gg__field(gg__field(c->mark, "function"), "object")));
    gg_edits_add(out, (gg_span){end, end},
                 gg_arena_printf(arena, "%.*s%.*sif len(%.*s) == 0:%.*s%.*s%.*scontinue", GG_STR_ARG(newline),
                                 GG_STR_ARG(indent), GG_STR_ARG(gg__text(tree, rows)), GG_STR_ARG(newline),
                                 GG_STR_ARG(indent), GG_STR_ARG(gg__indent_unit(tree))));
}

typedef struct finding {
    const gg_tree *tree;
    uint32_t from;
    TSNode found;
} finding;

static bool is_elsewhere(TSNode node, void *data) {
    finding *f = data;
    if (ts_node_start_byte(node) < f->from || !gg_node_is(node, "call") ||
        !gg__refers_to(f->tree, gg__field(node, "function"), "torch.where"))
        return true;
    f->found = node;
    return false;
}

static bool take(const gg_rule_input *in, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    static const char *const routing[] = {"GG115"};
    chosen_modules c;
    if (!match(in, &c)) return false;
    *out_node = c.loop;
    gg_arena *own = gg_arena_new();
    gg_edits first = {0};
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    bool copies = false;
    go_through_all(&c, own, &first);
    bool done = gg__edited(in->tree, &first, &text, &tree);
    finding f = {.tree = tree, .from = ts_node_start_byte(c.binding)};
    done = done && !gg__visit(gg_tree_root(tree), is_elsewhere, &f) &&
           gg__apply_at(in, tree, GG_STR("GB0036"), gg_node_span(f.found), routing, GG_COUNT(routing),
                        GG_SAFETY_NUMERIC, own, &text, &copies);
    if (done && edits) gg__add_difference(gg_tree_text(in->tree), gg_text_bytes(text), arena, edits);
    if (!done)
        (void)gg__hinder(in, c.where, "chooses rows that are not proven to be treated alike, whatever the others are");
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    gg_edits_clear(&first);
    gg_arena_free(own);
    return done && !copies;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0036", "GB0033"};
    return gg__has_id(in, ids, GG_COUNT(ids)) && take(in, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match_, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match_->node;
    if (!take(in, &node, arena, out)) return gg_fail(err, GG_ENOMATCH, "the rows are not proven to be treated alike");
    return 0;
}

const gg_rule gg_rule_chosen_modules = {
    .code = "GG126",
    .name = "chosen-modules",
    .title = "Go through all modules, with all rows, and select with torch.where",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
