/* The branch at a site as selections: its condition, what is behind it, and the text that replaces it.  See select.h. */
#include "repair/grown.h"
#include "repair/hindrance.h"
#include "repair/select.h"

typedef struct plan {
    TSNode node, fallback; /* the if statement; the return behind it that is taken in */
    gg_str flags;          /* conditions that stay Python's */
    bool either;           /* where one of them is true, the branch is taken; else all of them have to be */
    gg__test test;
} plan;

/* `if c: continue`, and nothing else, in the body of a loop; `if c: return` in that of a function, which gives nothing behind it either. */
static bool only_skips(TSNode node) {
    TSNode block = gg__parent(node), around = gg__parent(block);
    TSNode only = gg__only_statement(gg__field(node, "consequence"));
    bool loop = gg_node_is(around, "for_statement") || gg_node_is(around, "while_statement");
    bool leaves = gg_node_is(around, "function_definition") && gg_node_is(only, "return_statement") &&
                  gg__child_count(only) == 0 && !ts_node_is_null(gg__next_statement(node));
    return ((loop && gg_node_is(only, "continue_statement")) || leaves) &&
           ts_node_is_null(gg__field(node, "alternative")) && gg_node_is(block, "block") &&
           ts_node_eq(gg__field(around, "body"), block);
}

/* What is asked first is asked as before: only what is asked behind it must not fail. */
static bool ask(gg__select *s, TSNode condition, gg__test *out) {
    if (gg__test_of(s, NULL, condition, out)) return true;
    if (gg__test_naming(s, condition, out)) return true;
    if (!gg__is_evaluated_whole(condition)) return false;
    s->as_before = true;
    bool known = gg__test_of(s, NULL, condition, out);
    s->as_before = false;
    return known;
}

/* `any([v > 2 for v in t.tolist()])` */
static bool is_asked_whole(const gg_tree *tree, TSNode node) {
    TSNode call = gg__parent(gg__parent(node)), function = gg__field(call, "function");
    return gg_node_is(node, "list_comprehension") && gg_node_is(call, "call") &&
           (gg__names_builtin(tree, function, "any") || gg__names_builtin(tree, function, "all") ||
            gg__names_builtin(tree, function, "sum") || gg__names_builtin(tree, function, "len"));
}

static bool find_if(const gg_rule_input *in, TSNode *out) {
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at); at = gg__parent(at)) {
        static const char *const inside[] = {"block", "lambda", "conditional_expression", "list_comprehension"};
        for (size_t i = 0; i < GG_COUNT(inside); i++)
            if (gg_node_is(at, inside[i]) && !is_asked_whole(in->tree, at)) return false;
        if (!gg_node_is(at, "if_statement")) continue;
        *out = at;
        if (!gg__covers(gg__field(at, "condition"), in->span) && !gg__covers(gg__field(at, "consequence"), in->span))
            return gg__hinder(in, gg__field(at, "condition"),
                              "is asked before this `elif`: only both together could become a selection");
        return gg__covers(gg__field(at, "condition"), in->span) && gg__alone_on_line(in->tree, at);
    }
    return false;
}

static bool has_alternative(TSNode node, const char *type) {
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (gg_node_is(gg__child(node, i), type)) return true;
    return false;
}

static bool is_not_declared(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "global_statement") && !gg_node_is(node, "nonlocal_statement");
}

static bool comments_are_between(TSNode node, void *data) {
    (void)data;
    TSNode parent = gg__parent(node);
    return !gg_node_is(node, "comment") || gg_node_is(parent, "block") || gg_node_is(parent, "if_statement") ||
           gg_node_is(parent, "else_clause") || gg_node_is(parent, "elif_clause") || gg_node_is(parent, "module");
}

static bool returns(const gg__arm *arm) {
    for (size_t i = 0; i < arm->count; i++)
        if (gg_str_is(arm->items[i].name, GG__RETURNED)) return true;
    return false;
}

/* What follows a `continue` or `return` is done where the condition is false. */
static bool look_behind(gg__select *s, plan *p, gg__arm *arm, TSNode condition) {
    TSNode none = {0};
    if (!ask(s, condition, &p->test) && !gg__test_drawn(s, condition, &p->test) &&
        !gg__split_condition(s, condition, &p->flags, &p->test))
        return gg__untestable(s, condition);
    if (!gg__alone_on_line(s->in->tree, gg__last_of_arms(s, p->node))) return false;
    p->test.negated = !p->test.negated;
    if (p->flags.len == 0) gg__learn_asked(s, arm, condition, gg__last_of_arms(s, p->node));
    return gg__select_if(s, arm, p->node, &p->test, none) && !returns(arm);
}

/* Everything but the text of the merges: false when it cannot be done. */
static bool look(gg__select *s, plan *p, gg__arm *arm) {
    *p = (plan){0};
    if (!find_if(s->in, &p->node)) return false;
    TSNode condition = gg__field(p->node, "condition"), after = gg__next_statement(p->node);
    s->statement = p->node;
    s->skips = only_skips(p->node);
    if (!s->skips && gg_node_is(after, "return_statement") && gg__child_count(after) == 1) p->fallback = after;
    s->finite = gg__asks_finiteness(s->in->tree, condition);
    s->keeps_tests = s->divides_safely || gg__has_messages(s, s->skips ? gg__parent(p->node) : p->node);
    if (!gg__visit(gg__function(p->node), is_not_declared, NULL))
        return gg__hinder(s->in, gg__function(p->node), "has names that are global, or another function's");
    TSNode last = gg__last_of_arms(s, p->node);
    for (TSNode at = p->node; !ts_node_is_null(at); at = ts_node_eq(at, last) ? (TSNode){0} : gg__next_statement(at))
        if (!gg__visit(at, comments_are_between, NULL))
            return gg__hinder(s->in, at, "a comment inside of it would be lost");
    if (s->skips) return look_behind(s, p, arm, condition);
    if (!ask(s, condition, &p->test) && !gg__test_drawn(s, condition, &p->test) &&
        !gg__split_condition(s, condition, &p->flags, &p->test)) {
        p->either = gg__split_either(s, condition, &p->flags, &p->test);
        if (!p->either) return gg__untestable(s, condition);
    }
    if (p->flags.len && has_alternative(p->node, "elif_clause"))
        return gg__hinder(s->in, condition, "a part of it is not a tensor's, and an elif follows");
    if (p->flags.len == 0)
        gg__learn_asked(s, arm, condition, ts_node_is_null(p->fallback) ? gg__last_of_arms(s, p->node) : p->fallback);
    return gg__select_if(s, arm, p->node, &p->test, p->fallback);
}

/* Writes the selections behind the lines; false when a name that is read later has no one value. */
static bool write(gg__select *s, const plan *p, const gg__arm *arm, gg__branch *out) {
    gg_buf text;
    size_t written = 0;
    bool known = true, over = returns(arm);
    gg_buf_init(&text, GG_MAX_DOCUMENT_BYTES);
    for (size_t i = 0; known && i < arm->count; i++) {
        const gg__binding *b = &arm->items[i];
        if (gg__is_asked(b->name)) continue;
        bool is_return = gg_str_is(b->name, GG__RETURNED);
        bool is_appended = gg__is_appended(b->name);
        if (over && is_appended) known = false; /* what is appended would have to be so in front of the return */
        if (over ? !is_return : !is_appended && !gg__is_live(s, b->name)) continue;
        gg_str value = is_return ? gg__returned_text(s, arm) : b->text;
        bool number = !is_return && b->number && gg__fits_number(s, arm, b, p->flags.len == 0);
        if (number) {
            value = gg__number_text(s, b);
            out->numbers[out->number_count++] = b->number;
        }
        known = known && (is_return ? value.len > 0 : number || b->meta.sort == GG__TENSOR);
        for (size_t j = 0; j < i; j++) { /* what reads a name that has changed by then is computed before */
            if (over || !gg__is_live(s, arm->items[j].name) || !gg__mentions(value, arm->items[j].name)) continue;
            gg_str held = gg__new_name(s, "selected");
            gg__select_line(s, held, value);
            value = held;
        }
        if (written++) {
            gg_buf_append(&text, s->newline);
            gg_buf_append(&text, s->indent);
        }
        gg_buf_append(&text, is_return ? GG_STR("return ") : b->name);
        if (!is_return) gg_buf_append(&text, is_appended ? GG_STR("(") : GG_STR(" = "));
        gg_buf_append(&text, value);
        if (is_appended) gg_buf_append(&text, GG_STR(")"));
    }
    gg_str lines = gg_buf_str(&s->lines), merges = gg_buf_str(&text);
    gg_str all = gg_arena_printf(s->arena, "%.*s%.*s", GG_STR_ARG(lines), GG_STR_ARG(merges));
    gg_buf_clear(&text);
    if (written == 0 && s->stored) all = gg_str_slice(all, 0, all.len - s->newline.len - s->indent.len);
    out->text = all;
    return known && (written || s->stored);
}

/* `if flag or t:` → the branch under the flag, and the selections where it is false. */
static gg_str under_either(const gg__select *s, const plan *p, gg_str outer, gg_str body) {
    const gg_tree *tree = s->in->tree;
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    TSNode block = gg__field(p->node, "consequence");
    gg_str taken = gg_str_slice(all, ts_node_end_byte(gg__field(p->node, "condition")), ts_node_end_byte(block));
    return gg_arena_printf(s->arena, "if %.*s%.*s%.*s%.*selse:%.*s%.*s%.*s", GG_STR_ARG(p->flags), GG_STR_ARG(taken),
                           GG_STR_ARG(s->newline), GG_STR_ARG(outer), GG_STR_ARG(s->newline), GG_STR_ARG(s->indent),
                           GG_STR_ARG(body));
}

/* `if flag and t:` → the selections under the flag, with the else of the whole. */
static gg_str under_flags(const gg__select *s, const plan *p, gg_str outer, gg_str body, TSNode otherwise) {
    gg_str out = gg_arena_printf(s->arena, "if %.*s:%.*s%.*s%.*s", GG_STR_ARG(p->flags), GG_STR_ARG(s->newline),
                                 GG_STR_ARG(s->indent), GG_STR_ARG(body));
    if (ts_node_is_null(otherwise)) return out;
    return gg_arena_printf(s->arena, "%.*s%.*s%.*s%.*s", GG_STR_ARG(out), GG_STR_ARG(s->newline), GG_STR_ARG(outer),
                           GG_STR_ARG(gg__text(s->in->tree, otherwise)));
}

/* As the one that is given, from the start. */
static void begin_like(gg__select *s, const gg__select *first, const gg_rule_input *in, TSNode node, gg_arena *arena) {
    gg__select_init(s, in, node, arena);
    s->divides_safely = first->divides_safely;
    s->stores = first->stores;
    s->says = first->says;
}

/* Would a size that was one in the capture, and is another one, make what is selected one of other shapes? */
static bool grows_apart(const gg_rule_input *in, const gg__select *first, TSNode node, gg_arena *arena) {
    gg__grown grown;
    bool apart = gg__grow_too_often(in, node);
    for (size_t i = 0; !apart && gg__grow(in, node, i, arena, &grown); i++) {
        gg__select s;
        plan p;
        begin_like(&s, first, &grown.in, node, arena);
        s.grown = true;
        (void)look(&s, &p, gg_arena_calloc(arena, 1, sizeof(gg__arm)));
        apart = s.apart;
        gg__select_clear(&s);
    }
    return apart && !gg__hinder(in, node, "what is selected may have other sizes on the other way with other inputs");
}

/* `if flag or t: …; return a`, of which the flags' way does not come to the return behind it. */
static bool ends_in_a_return(const plan *p) {
    TSNode block = gg__field(p->node, "consequence"), last = gg__child(block, gg__child_count(block) - 1);
    return p->either && gg_node_is(last, "return_statement");
}

/* The span that is replaced and its new text. */
static bool build_with(const gg_rule_input *in, bool divides_safely, bool stores, bool says, gg_arena *arena,
                       gg__branch *b) {
    b->number_count = 0;
    gg__select s;
    plan p;
    TSNode start = gg_node_at(in->tree, in->span);
    gg__arm *arm = gg_arena_calloc(arena, 1, sizeof(*arm));
    gg__select_init(&s, in, gg__statement(start), arena);
    s.divides_safely = divides_safely;
    s.stores = stores;
    s.says = says;
    bool done = gg__can_name(in->tree, start, "torch") && look(&s, &p, arm);
    gg_str outer = s.indent;
    if (done && p.flags.len) { /* once more, with the indentation of the if that stays */
        gg_str unit = gg__indent_unit(in->tree);
        gg__select first = s;
        gg__select_clear(&s);
        begin_like(&s, &first, in, p.node, arena);
        s.indent = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(outer), GG_STR_ARG(unit));
        *arm = (gg__arm){0};
        done = look(&s, &p, arm);
    }
    done = done && s.stored == stores && write(&s, &p, arm, b) && s.made_count < GG__MAX_MADE &&
           !grows_apart(in, &s, p.node, arena);
    if (done) {
        gg_str body = b->text;
        bool taken = returns(arm) && !ts_node_is_null(p.fallback) && (p.flags.len == 0 || ends_in_a_return(&p));
        b->node = p.node;
        TSNode last = s.skips && p.flags.len ? p.node : gg__last_of_arms(&s, p.node);
        b->span = (gg_span){ts_node_start_byte(p.node), ts_node_end_byte(taken ? p.fallback : last)};
        TSNode none = {0}, otherwise = p.flags.len && !p.either ? gg__field(p.node, "alternative") : none;
        TSNode kept[] = {otherwise, p.either ? gg__field(p.node, "consequence") : none};
        gg_str comments = gg__comments(in->tree, b->span, kept, GG_COUNT(kept), arena);
        if (p.either)
            body = under_either(&s, &p, outer, body);
        else if (p.flags.len)
            body = under_flags(&s, &p, outer, body, otherwise);
        if (s.skips && p.flags.len) /* what follows stays, for where they are false */
            body = gg_arena_printf(
                arena, "%.*s%.*s%.*s%.*s", GG_STR_ARG(body), GG_STR_ARG(s.newline), GG_STR_ARG(s.indent),
                GG_STR_ARG(gg__text(in->tree, gg__only_statement(gg__field(p.node, "consequence")))));
        b->text = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(comments), GG_STR_ARG(body));
    }
    b->copies = s.copies;
    gg__select_clear(&s);
    return done;
}

/* Divisors are left as they are where nothing speaks against it. */
bool gg__select_branch(const gg_rule_input *in, bool stores, bool says, gg_arena *arena, gg__branch *out) {
    gg_rule_input quiet = *in; /* what hinders the second try hinders */
    quiet.hindrance = NULL;
    *out = (gg__branch){.node = gg_node_at(in->tree, in->span)};
    return build_with(&quiet, false, stores, says, arena, out) || build_with(in, true, stores, says, arena, out);
}

void gg__edit_branch(const gg_rule_input *in, const gg__branch *branch, gg_arena *arena, gg_edits *out) {
    out->copies = branch->copies;
    gg_str torch = gg__require_module(in->tree, branch->node, "torch", arena, out);
    gg__edit_numbers(in, branch, torch, arena, out);
    gg_edits_add(out, branch->span, branch->text);
}
