/* GG071 flag-of-a-tensor: `flag = bool(t)`, `n = t.item()`, `flag = True if t else False`, and branches that ask for the flag, or compare the number.
 * Offers: the value stays a tensor, and each branch on it is mended as one on a tensor is (GG002, GG010, GG011, GG012, GG013).
 * Refuses: where what else reads the value cannot take a tensor, where more than names is bound between, and what those rules refuse.
 * Safety: exact.  Page: docs/rules/GG071.md
 *
 * DESIGN  The site is the flag's; the rules are asked about each branch, with one fact more: what the flag is then.  Behind a branch holds what
 * holds on both its ways. */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"
#include "repair/select.h"

extern const gg_rule gg_rule_where, gg_rule_select, gg_rule_select_value, gg_rule_select_number, gg_rule_select_return;
static const gg_rule *const rules[] = {&gg_rule_where, &gg_rule_select, &gg_rule_select_value, &gg_rule_select_number,
                                       &gg_rule_select_return};
enum {
    MAX_BRANCHES = 4,
    LOCAL_RULES = 3 /* the first of them edit nothing but the branch, and need no name behind it */
};

typedef struct flag {
    gg_rule_input in;     /* at the branch, where the flag is a tensor */
    gg__scalar_uses then; /* for its facts */
    gg__extraction e;
    TSNode statement;              /* the flag's assignment */
    gg_str name, text, dtype;      /* of the tensor that it is then */
    TSNode asks[GG__MAX_ASKS];     /* the name, in conditions of branches, in order */
    TSNode branches[GG__MAX_ASKS]; /* the statement of each */
    uint32_t ask_count, branch_count;
    bool taken, elsewhere;
    bool rewrites; /* a reader is written in another way, so the branch is mended behind that */
    bool trains;   /* the flag is false unless `self.training` */
} flag;

typedef struct flag_search {
    const gg_tree *tree;
    flag *f;
} flag_search;

/* `math.isnan(s)`, of a floating number: the call; null where it is none. */
static TSNode asked_by_math(const flag_search *search, TSNode node) {
    static const char *const names[] = {"math.isnan", "math.isinf", "math.isfinite"};
    TSNode call = gg__parent(gg__parent(node));
    if (!gg_node_is(call, "call") || gg__child_count(gg__field(call, "arguments")) != 1 ||
        !gg_str_is(search->f->dtype, "torch.float64"))
        return (TSNode){0};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg__refers_to(search->tree, gg__field(call, "function"), names[i])) return call;
    return (TSNode){0};
}

/* Is it only compared, or asked for its truth, and by what?  Counted with, True + True is 2, and a tensor's is True. */
static bool is_asked(const flag_search *search, TSNode node) {
    TSNode call = asked_by_math(search, node);
    return gg__asks_number(&search->f->in, search->f->dtype, ts_node_is_null(call) ? node : call);
}

/* The flag is asked for in statements of its own block; what else reads it may take a tensor. */
static bool find_use(TSNode node, void *data) {
    const flag_search *search = data;
    flag *f = search->f;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    TSNode at = gg__statement(node);
    bool own = gg_str_equal(gg__text(search->tree, node), f->name);
    if (!own || (ts_node_eq(at, f->statement) && gg__is_binding(node))) {
        f->elsewhere = gg__watches_names(search->tree, node);
        return !f->elsewhere;
    }
    f->elsewhere = gg__is_binding(node) || ts_node_eq(at, f->statement);
    bool asked =
        f->ask_count < GG__MAX_ASKS && ts_node_eq(gg__parent(at), gg__parent(f->statement)) && is_asked(search, node);
    f->taken = f->taken || !asked;
    if (!asked || f->elsewhere) return !f->elsewhere;
    if (f->ask_count == 0 || !ts_node_eq(f->branches[f->ask_count - 1], at)) f->branch_count++;
    f->branches[f->ask_count] = at;
    f->asks[f->ask_count++] = node;
    return true;
}

/* The rule that mends the branch of this ask, with what holds there; its edits go to `edits`, unless that is NULL. */
static bool mend(flag *f, uint32_t ask, gg_arena *arena, gg_edits *edits, gg_error *err) {
    size_t count = f->branch_count > 1 ? LOCAL_RULES : GG_COUNT(rules);
    gg_rule_match match;
    f->in.span = gg_node_span(f->asks[ask]);
    for (size_t i = 0; i < count; i++) {
        if (!rules[i]->check(&f->in, &match)) continue;
        bool copies = edits && edits->copies; /* of a branch before */
        bool done = edits == NULL || rules[i]->edit(&f->in, &match, arena, edits, err) == 0;
        if (edits) edits->copies = edits->copies || copies;
        return done;
    }
    return false;
}

/* What the value is as a tensor: a bool, or a number as wide as Python's.  Its text goes into the arena. */
static void read_tensor(const gg_rule_input *in, flag *f, gg_arena *arena) {
    TSNode value = gg__strip_parentheses(f->e.value);
    gg_str text = gg__text(in->tree, value), operand = gg__operand_text(in, value, arena), dtype = f->e.meta.dtype;
    bool truth = f->e.scalar.sort == GG__SCALAR_BOOL, whole = f->e.scalar.sort == GG__SCALAR_INT;
    f->dtype = truth ? GG_STR("torch.bool") : whole ? GG_STR("torch.int64") : GG_STR("torch.float64");
    f->text = text;
    if (gg_str_equal(f->dtype, dtype) && !f->e.cuts) return;
    if (!truth)
        f->text = gg_arena_printf(arena, "%.*s.%s()", GG_STR_ARG(operand), whole ? "long" : "double");
    else
        f->text =
            gg_arena_printf(arena, "%.*s != 0", GG_STR_ARG(gg_node_is(value, "comparison_operator") ? operand : text));
}

/* Can all other readers take the number as a tensor, which has no gradient then?  With `edits`, they are written. */
static bool can_take(const gg_rule_input *in, flag *f, gg_arena *arena, gg_edits *edits) {
    TSNode name = gg__field(gg__assignment(f->statement), "left");
    gg__widening widening = f->e.scalar.sort == GG__SCALAR_INT ? GG__TO_LONG : GG__TO_DOUBLE;
    bool wide = gg_str_equal(f->dtype, f->e.meta.dtype);
    if (f->e.scalar.sort == GG__SCALAR_BOOL) return false;
    f->text = gg__tensor_text(in, &f->e, wide ? GG__AS_IS : widening, false, arena);
    gg__replacement r = {.node = f->statement, .name = name, .scalar = f->e.scalar};
    r.asked = f->asks;
    r.ask_count = f->ask_count;
    r.dtype = f->e.meta.dtype;
    r.widening = widening;
    bool taken = gg__scalar_replace(in, &r, arena, edits) && r.widening == widening;
    f->rewrites = r.rewrites;
    return taken && (!r.rewrites || f->branch_count == 1);
}

/* The branch, behind the edits of what else reads the number; `edits` may be NULL. */
static bool mend_behind(const gg_rule_input *in, flag *f, gg_arena *arena, gg_edits *edits) {
    gg_edits first = {0}, all = {0};
    bool done = can_take(in, f, arena, &first);
    gg_edits_add(&first, gg_node_span(f->e.call), f->text);
    done = done && gg__then_select(&f->in, &first, f->asks[0], arena, edits ? edits : &all);
    gg_edits_clear(&first);
    gg_edits_clear(&all);
    return done;
}

/* The branches one after the other.  Between are only names that get what is harmless to compute; nothing else stays as the capture saw it. */
static bool mend_all(const gg_rule_input *in, flag *f, gg_arena *arena, gg_edits *edits, gg_error *err) {
    uint32_t ask = 0;
    gg__scalar_learn(&f->then, f->name, (gg__meta){.sort = GG__TENSOR, .dtype = f->dtype, .device = f->e.meta.device});
    f->then.site.id = GG_STR("GB0170");
    f->in.site = &f->then.site;
    for (TSNode at = ts_node_next_named_sibling(f->statement); ask < f->ask_count;
         at = ts_node_next_named_sibling(at)) {
        TSNode assignment = gg__assignment(at), right = gg__field(assignment, "right");
        if (gg_node_is(at, "comment")) continue;
        if (!ts_node_eq(at, f->branches[ask])) {
            bool known = gg__is_harmless(f->in.tree, right) || gg__infer(&f->then.in, right).sort != GG__UNKNOWN;
            if (ts_node_is_null(assignment) || !known) return false;
        } else {
            if (!(f->rewrites ? mend_behind(in, f, arena, edits) : mend(f, ask, arena, edits, err))) return false;
            while (ask < f->ask_count && ts_node_eq(at, f->branches[ask])) ask++;
        }
        if (!gg__scalar_pass(&f->then, at)) return false;
    }
    return true;
}

/* ---- `True if t < 0.1 else False` -------------------------------------------------------------------------------------------- */

/* A name that is read holds a tensor in either mode: what the capture saw of it is of one. */
static bool is_always_bound(TSNode node, void *data) {
    const gg_rule_input *in = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg__meta m = gg__infer(in, node);
    if (m.sort != GG__TENSOR) return gg__is_number(m) || gg_str_is(gg__text(in->tree, node), "self");
    TSNode value = gg__strip_parentheses(gg__value_at(in->tree, node, gg__text(in->tree, node)));
    return gg_node_is(value, "call") && gg__refers_to(in->tree, gg__field(value, "function"), "torch.rand");
}

/* Nobody gives `training` another value than train() does. */
static bool leaves_the_mode(TSNode node, void *data) {
    const gg_tree *tree = data;
    TSNode parent = gg__parent(node);
    if (gg_node_is(node, "string")) return !gg_str_contains(gg__text(tree, node), GG_STR("training")); /* setattr */
    if (!gg_node_is(node, "attribute") || !gg_str_is(gg__text(tree, gg__field(node, "attribute")), "training"))
        return true;
    bool reads = gg_node_is(parent, "boolean_operator") || gg_node_is(parent, "binary_operator");
    return (reads || !ts_node_eq(gg__field(parent, "left"), node)) && !gg_node_is(parent, "pattern_list") &&
           !gg_node_is(parent, "tuple_pattern");
}

/* `self.training and t`: nn.Module keeps a bool there, and so does the file. */
static bool split_training(const gg_rule_input *in, TSNode *test) {
    TSNode node = gg__strip_parentheses(*test), left = gg__strip_parentheses(gg__field(node, "left"));
    if (!gg_node_is(node, "boolean_operator") || !gg_node_is(left, "attribute") ||
        !gg_str_is(gg__text(in->tree, gg__field(node, "operator")), "and") ||
        !gg_str_is(gg__text(in->tree, left), "self.training") || gg__infer(in, left).sort != GG__SCALAR_BOOL ||
        !gg__visit(gg_tree_root(in->tree), leaves_the_mode, (void *)in->tree) ||
        !gg__visit(gg__field(node, "right"), is_always_bound, (void *)in))
        return false;
    *test = gg__field(node, "right");
    return true;
}

/* Its text as a tensor is left in f->text. */
static bool match_choice(const gg_rule_input *in, flag *f, gg_arena *arena) {
    TSNode node = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(node) && !gg_node_is(node, "conditional_expression")) node = gg__parent(node);
    TSNode yes = gg__child(node, 0), test = gg__child(node, 1), no = gg__child(node, 2);
    bool same = gg_node_is(yes, "true") && gg_node_is(no, "false");
    if (gg__child_count(node) != 3 || (!same && !(gg_node_is(yes, "false") && gg_node_is(no, "true")))) return false;
    f->trains = split_training(in, &test);
    test = gg__strip_parentheses(test);
    gg__meta m = gg__infer(in, test);
    if (!gg__is_condition(m) || !m.fresh || !gg__covers(test, in->span) || !gg_node_is(test, "comparison_operator"))
        return false;
    f->e = (gg__extraction){.call = node, .value = node, .meta = m, .scalar = {.sort = GG__SCALAR_BOOL}};
    gg_str text = gg__text(in->tree, test);
    const char *close = same ? "" : ")";
    f->text = gg_arena_printf(arena, "%s%s%.*s%s%s", same ? "" : "~(", f->trains ? "(" : "", GG_STR_ARG(text),
                              f->trains ? ") & self.training" : "", close);
    f->dtype = GG_STR("torch.bool");
    return true;
}

/* The mode that the capture did not see runs the selection, too: both ways give what is made of the same name. */
static bool is_step(const gg_tree *tree, TSNode branch) {
    TSNode block = gg__field(branch, "consequence");
    TSNode assignment = gg__child_count(block) == 1 ? gg__assignment(gg__child(block, 0)) : (TSNode){0};
    return gg_node_is(branch, "if_statement") && !ts_node_is_null(assignment) &&
           ts_node_is_null(gg__field(branch, "alternative")) &&
           gg__reads(tree, gg__field(assignment, "right"), gg__text(tree, gg__field(assignment, "left")));
}

static bool match_call(const gg_rule_input *in, flag *f) {
    TSNode call = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(call) && !gg_node_is(call, "call")) call = gg__parent(call);
    return !ts_node_is_null(call) && gg__match_extraction(in, call, &f->e) && !f->e.truncates;
}

/* The texts go into the arena; `edits` may be NULL. */
static bool find(const gg_rule_input *in, flag *f, gg_arena *arena, gg_edits *edits, gg_error *err) {
    *f = (flag){.in = *in};
    bool chosen = gg_str_is(in->site->id, "GB0170");
    if ((!chosen && !gg_str_is(in->site->id, "GB0124")) || in->site->first == NULL ||
        !(chosen ? match_choice(in, f, arena) : match_call(in, f)) ||
        gg__has_comment(in->tree, gg_node_span(f->e.call)))
        return false;
    TSNode call = f->e.call;
    f->statement = gg__statement(call);
    TSNode assignment = gg__assignment(f->statement), function = gg__function(f->statement);
    if (ts_node_is_null(assignment) || !ts_node_eq(gg__field(assignment, "right"), call) || !f->e.meta.fresh ||
        !gg_node_is(function, "function_definition"))
        return false;
    f->name = gg__text(in->tree, gg__field(assignment, "left"));
    if (!chosen) read_tensor(in, f, arena);
    flag_search search = {in->tree, f};
    if (!gg__visit(function, find_use, &search) || f->elsewhere || f->ask_count == 0 ||
        f->branch_count > MAX_BRANCHES || ts_node_start_byte(f->branches[0]) < ts_node_start_byte(f->statement))
        return false;
    if (f->trains && (f->ask_count != 1 || !is_step(in->tree, f->branches[0]))) return false;
    if (f->taken && !can_take(in, f, arena, NULL)) return false;
    if (!gg__scalar_uses_init(&f->then, in, f->dtype, GG__AS_IS)) return false;
    f->then.arena = arena;
    return mend_all(in, f, arena, edits, err);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_arena *arena = gg_arena_new();
    flag *f = gg_arena_alloc(arena, sizeof(*f));
    bool found = find(in, f, arena, NULL, NULL);
    out->node = f->statement;
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    flag *f = gg_arena_alloc(arena, sizeof(*f));
    (void)match;
    if (!find(in, f, arena, out, err))
        return gg_fail(err, GG_ENOMATCH, "a branch on the flag is not proven to be a selection");
    if (!f->rewrites) gg_edits_add(out, gg_node_span(f->e.call), f->text);
    return 0;
}

const gg_rule gg_rule_flag_of_a_tensor = {
    .code = "GG071",
    .name = "flag-of-a-tensor",
    .title = "Keep the value a tensor, and select",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
