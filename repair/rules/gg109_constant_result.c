/* GG109 constant-result: what is computed of constants alone, by code that Dynamo does not trace: draws of a seeded generator, digests, NumPy's lines and windows.
 * Offers: a function at module level of which torch.compiler.assume_constant_result says that it gives a constant; it is run while the graph is made.
 * Refuses: what takes more than constants, what is changed or handed on later, and code that may do more than compute.
 * Safety: exact.  Page: docs/rules/GG109.md */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/outline.h"
#include "repair/pure_parts.h"

typedef struct constant_part {
    const gg_rule_input *in;
    gg__pure_parts pure;
    TSNode expression; /* null: statements */
    bool packed; /* the value is a tensor: in a tuple, since Dynamo takes two tensors of one function for the same */
    TSNode first, last; /* … of one block */
    gg_str results[GG__MAX_PARTS];
    size_t result_count;
} constant_part;

/* ---- what becomes of the value ------------------------------------------------------------------------------------------------ */

/* Is the value only read, also through what may share its memory? */
static bool is_read(const gg_rule_input *in, TSNode node) {
    static const char *const sharing[] = {"to",      "view",    "reshape",    "unsqueeze", "squeeze", "transpose",
                                          "permute", "t",       "float",      "double",    "long",    "int",
                                          "expand",  "type_as", "contiguous", "expand_as"};
    static const char *const wrapping[] = {"torch.from_numpy", "torch.as_tensor", "torch.tensor"};
    const gg_tree *tree = in->tree;
    for (;;) {
        TSNode parent = gg__parent(node), call = gg__parent(parent);
        bool named = gg_node_is(parent, "attribute") && gg_node_is(call, "call");
        bool wrapped = false;
        if (gg_node_is(parent, "argument_list") && ts_node_eq(gg__child(parent, 0), node))
            for (size_t i = 0; i < GG_COUNT(wrapping); i++)
                wrapped = wrapped || gg__refers_to(tree, gg__field(call, "function"), wrapping[i]);
        if (gg_node_is(parent, "parenthesized_expression"))
            node = parent;
        else if (wrapped ||
                 (named && gg__is_one_of(gg__text(tree, gg__field(parent, "attribute")), sharing, GG_COUNT(sharing))))
            node = call;
        else
            break;
    }
    return gg__is_consumed(in, node);
}

typedef struct reading {
    const constant_part *c;
    gg_str name;
    bool read; /* at all */
} reading;

static bool is_inside(const constant_part *c, TSNode node) {
    return ts_node_start_byte(node) >= ts_node_start_byte(c->first) &&
           ts_node_end_byte(node) <= ts_node_end_byte(c->last);
}

static bool is_only_read(TSNode node, void *data) {
    reading *r = data;
    const gg_rule_input *in = r->c->in;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(in->tree, node), r->name))
        return true;
    if (is_inside(r->c, node)) return true;
    r->read = true;
    const gg__pure_name *bound = gg__pure_bound(&r->c->pure, r->name);
    if (bound->purity == GG__MACHINE) return gg__hinder(in, node, "draws more, elsewhere");
    if (gg__is_binding(node))
        return gg_node_is(gg__parent(node), "assignment") || gg__hinder(in, node, "is bound anew");
    if (bound->purity == GG__LISTED) return gg__hinder(in, node, "is a list or tuple, whose elements may be changed");
    return bound->purity == GG__NUMBER || is_read(in, node) ||
           gg__hinder(in, node, "may be changed or handed on: it would be the constant of all calls");
}

/* The names that are read behind the statements. */
static bool find_results(constant_part *c) {
    TSNode body = gg__field(c->pure.function, "body");
    for (size_t i = 0; i < c->pure.bound_count; i++) {
        reading r = {.c = c, .name = c->pure.bound[i].name};
        bool again = false;
        for (size_t k = 0; k < i; k++) again = again || gg_str_equal(c->pure.bound[k].name, r.name);
        if (again) continue;
        if (!gg__visit(body, is_only_read, &r)) return false;
        if (r.read) c->results[c->result_count++] = r.name;
    }
    c->packed = c->result_count == 1 && gg__pure_bound(&c->pure, c->results[0])->purity != GG__NUMBER;
    return c->result_count > 0;
}

/* ---- where it is ---------------------------------------------------------------------------------------------------------------- */

typedef struct mention {
    const gg_tree *tree;
    gg_str name;
} mention;

static bool is_no_mention(TSNode node, void *data) {
    const mention *m = data;
    return !gg_node_is(node, "identifier") || gg__is_member_name(node) ||
           !gg_str_equal(gg__text(m->tree, node), m->name);
}

/* From the statement that makes a generator to the last of the block that names it. */
static bool find_statements(constant_part *c, TSNode statement) {
    const gg_tree *tree = c->in->tree;
    c->first = c->last = statement;
    if (gg_node_is(statement, "with_statement")) return gg__pure_fork(&c->pure, statement);
    mention m = {.tree = tree};
    for (TSNode at = statement; !ts_node_is_null(at) && m.name.len == 0; at = ts_node_prev_named_sibling(at)) {
        gg__pure_parts alone = {.in = c->in, .function = c->pure.function};
        if (gg_node_is(at, "comment") || !gg__pure_statement(&alone, at) || alone.bound_count == 0) continue;
        gg__pure_name made = alone.bound[0];
        m.name = made.purity == GG__MACHINE ? made.name : GG_STR_NULL;
        bool names = ts_node_eq(at, statement) || !gg__visit(statement, is_no_mention, &m);
        if (!names) m.name = GG_STR_NULL;
        c->first = at;
    }
    if (m.name.len == 0) return false;
    for (TSNode at = c->first; !ts_node_is_null(at); at = ts_node_next_named_sibling(at))
        if (!gg__visit(at, is_no_mention, &m)) c->last = at;
    for (TSNode at = c->first;; at = ts_node_next_named_sibling(at)) {
        if (!gg__pure_statement(&c->pure, at))
            return gg__hinder(c->in, at, "is more than a constant: the generator `%.*s` draws for it or behind it",
                              GG_STR_ARG(m.name));
        if (ts_node_eq(at, c->last)) return true;
    }
}

/* The largest expression around the break that is a constant. */
static bool find_expression(constant_part *c, TSNode statement) {
    static const char *const through[] = {"attribute", "argument_list", "keyword_argument"};
    gg__pure_parts none = c->pure, best = none;
    gg__purity purity = GG__IMPURE;
    for (TSNode at = gg_node_at(c->in->tree, c->in->span); !ts_node_eq(at, statement) && !ts_node_is_null(at);
         at = gg__parent(at)) {
        bool passed = false;
        for (size_t i = 0; i < GG_COUNT(through); i++) passed = passed || gg_node_is(at, through[i]);
        if (passed) continue;
        c->pure = none;
        gg__purity made = gg__pure_value(&c->pure, at);
        if (made != GG__NUMBER && made != GG__MADE) continue;
        c->expression = at;
        best = c->pure;
        purity = made;
    }
    c->pure = best;
    if (ts_node_is_null(c->expression)) return false;
    c->expression = gg__strip_parentheses(c->expression);
    if (purity == GG__NUMBER) return true;
    c->packed = true;
    TSNode assignment = gg__parent(c->expression), name = gg__field(assignment, "left");
    if (gg_node_is(gg__parent(assignment), "assignment")) return false; /* `a = b = …` */
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(name, "identifier"))
        return is_read(c->in, c->expression) ||
               gg__hinder(c->in, c->expression, "may be changed or handed on: it would be the constant of all calls");
    c->first = c->last = statement;
    c->pure.bound[0] = (gg__pure_name){gg__text(c->in->tree, name), GG__MADE};
    c->pure.bound_count = 1;
    return find_results(c);
}

typedef struct import_search {
    uint32_t before;
    bool certain;
} import_search;

static bool on_import(TSNode node, void *data) {
    import_search *s = data;
    TSNode statement = gg__statement(node);
    if (gg_node_is(gg__parent(statement), "module") && ts_node_end_byte(statement) <= s->before) s->certain = true;
    return !s->certain;
}

/* torch's name where the function goes; empty: it is not certain to be imported there. */
static gg_str torch_in_front(const gg_tree *tree, TSNode node) {
    gg_str name = gg__module_alias(tree, node, "torch");
    import_search s = {gg__front_of_definition(node), false};
    if (name.len) gg__each_module_binding(tree, name, on_import, &s);
    return s.certain ? name : GG_STR_NULL;
}

static bool find(const gg_rule_input *in, constant_part *c) {
    TSNode node = gg_node_at(in->tree, in->span), statement = gg__statement(node);
    *c = (constant_part){.in = in, .pure = {.in = in, .function = gg__function(node)}};
    if (ts_node_is_null(statement) || !gg_node_is(c->pure.function, "function_definition")) return false;
    if (find_statements(c, statement)) return find_results(c);
    c->pure = (gg__pure_parts){.in = in, .function = gg__function(node)};
    return find_expression(c, statement);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    constant_part c;
    if (!find(in, &c)) return false;
    if (gg__may_be_caught(in->tree, gg__statement(gg_node_at(in->tree, in->span))))
        return gg__hinder(in, gg_node_at(in->tree, in->span), "is where an error of it would be caught");
    out->node = ts_node_is_null(c.expression) ? c.first : c.expression;
    if (!gg__may_define(in->tree, out->node)) return false;
    if (torch_in_front(in->tree, out->node).len == 0)
        return gg__hinder(in, out->node, "stands in a definition before which torch is not imported");
    TSNode last = ts_node_is_null(c.expression) ? c.last : c.expression;
    for (TSNode at = out->node;; at = ts_node_next_named_sibling(at)) {
        if (!gg__visit(at, gg__is_no_long_text, NULL)) return gg__hinder(in, at, "holds a text of several lines");
        if (ts_node_eq(at, last)) return true;
    }
}

/* ---- writing -------------------------------------------------------------------------------------------------------------------- */

typedef struct given_name {
    gg_str text;    /* `self.seed` */
    gg_str name;    /* `seed` */
    const char *as; /* "int" */
} given_name;

typedef struct writing {
    const constant_part *c;
    gg_arena *arena;
    given_name given[GG__MAX_PARTS]; /* each once, in the order of the text */
    size_t count;
} writing;

static int by_place(const void *a, const void *b) {
    uint32_t x = ts_node_start_byte(((const gg__given *)a)->node), y = ts_node_start_byte(((const gg__given *)b)->node);
    return (x > y) - (x < y);
}

static gg_str name_of(const writing *w, gg_str text) {
    for (size_t i = 0; i < w->count; i++)
        if (gg_str_equal(w->given[i].text, text)) return w->given[i].name;
    return GG_STR_NULL;
}

static bool is_taken(const writing *w, gg_str name, TSNode from, TSNode to) {
    mention m = {w->c->in->tree, name};
    for (size_t i = 0; i < w->count; i++)
        if (gg_str_equal(w->given[i].name, name)) return true;
    for (TSNode at = from;; at = ts_node_next_named_sibling(at)) {
        if (!gg__visit(at, is_no_mention, &m)) return true;
        if (ts_node_eq(at, to)) return false;
    }
}

static void name_given(writing *w, const gg__given *given, size_t count, TSNode from, TSNode to) {
    const gg_tree *tree = w->c->in->tree;
    for (size_t i = 0; i < count; i++) {
        gg_str text = gg__text(tree, given[i].node);
        gg_str name =
            gg_node_is(given[i].node, "attribute") ? gg__text(tree, gg__field(given[i].node, "attribute")) : text;
        if (name_of(w, text).len) continue;
        while (!gg_str_equal(name, text) && is_taken(w, name, from, to))
            name = gg_arena_printf(w->arena, "%.*s_", GG_STR_ARG(name));
        w->given[w->count++] = (given_name){text, name, given[i].as};
    }
}

/* A line of the statements, less the indentation of the block; what is given has its new name. */
static gg_str body_text(const writing *w, TSNode from, TSNode to, const gg__given *given, size_t count, gg_str indent) {
    const gg_tree *tree = w->c->in->tree;
    gg_str all = gg_text_bytes(gg_tree_text(tree)), out = GG_STR("");
    uint32_t at = ts_node_start_byte(from), end = ts_node_end_byte(to);
    for (size_t i = 0; i <= count; i++) {
        uint32_t stop = i < count ? ts_node_start_byte(given[i].node) : end;
        out = gg_arena_printf(w->arena, "%.*s%.*s%.*s", GG_STR_ARG(out), (int)(stop - at), all.ptr + at,
                              GG_STR_ARG(i < count ? name_of(w, gg__text(tree, given[i].node)) : GG_STR("")));
        if (i < count) at = ts_node_end_byte(given[i].node);
    }
    gg_str deep = gg__indent(tree, ts_node_start_byte(from)), moved = GG_STR("");
    for (size_t start = 0; start < out.len;) {
        size_t line = gg_str_find(out, GG_STR("\n"), start), stop = line == SIZE_MAX ? out.len : line + 1;
        size_t skip =
            start && deep.len <= stop - start && memcmp(out.ptr + start, deep.ptr, deep.len) == 0 ? deep.len : 0;
        bool empty = start && gg_str_trim((gg_str){out.ptr + start, stop - start}).len == 0;
        moved = gg_arena_printf(w->arena, "%.*s%.*s%.*s", GG_STR_ARG(moved), GG_STR_ARG(empty ? GG_STR("") : indent),
                                (int)(stop - start - skip), out.ptr + start + skip);
        start = stop;
    }
    return moved;
}

static gg_str joined(const writing *w, bool names) {
    const constant_part *c = w->c;
    gg_str out = GG_STR("");
    size_t count = names ? w->count : c->result_count;
    for (size_t i = 0; i < count; i++)
        out = gg_arena_printf(w->arena, "%.*s%s%.*s", GG_STR_ARG(out), i ? ", " : "",
                              GG_STR_ARG(names ? w->given[i].name : c->results[i]));
    return out;
}

static const char *noun_of(const writing *w) {
    const constant_part *c = w->c;
    const gg_tree *tree = c->in->tree;
    TSNode method = gg__field(gg__field(c->expression, "function"), "attribute"),
           target = gg__field(gg__parent(c->expression), "left");
    gg_str name = c->result_count                    ? c->results[0]
                  : gg_node_is(target, "identifier") ? gg__text(tree, target)
                  : !ts_node_is_null(method)         ? gg__text(tree, method)
                                                     : GG_STR("constant");
    while (name.len && name.ptr[0] == '_') name = (gg_str){name.ptr + 1, name.len - 1};
    if (name.len == 0) name = GG_STR("constant");
    return gg_arena_printf(w->arena, "_%.*s", GG_STR_ARG(name)).ptr;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    constant_part c;
    if (!find(in, &c)) return gg_fail(err, GG_ENOMATCH, "it is no constant after all");
    bool statements = ts_node_is_null(c.expression);
    TSNode from = statements ? c.first : c.expression, to = statements ? c.last : c.expression;
    writing w = {.c = &c, .arena = arena};
    qsort(c.pure.given, c.pure.given_count, sizeof(gg__given), by_place);
    name_given(&w, c.pure.given, c.pure.given_count, from, to);
    gg_str name = gg__free_name(in->tree, noun_of(&w), arena), newline = gg__newline(in->tree),
           unit = gg__indent_unit(in->tree);
    if (name.len == 0) return gg_fail(err, GG_ENOMATCH, "no name is free");
    gg_str arguments = GG_STR("");
    for (size_t i = 0; i < w.count; i++)
        arguments = gg_arena_printf(arena, "%.*s%s%s%s%.*s%s", GG_STR_ARG(arguments), i ? ", " : "",
                                    w.given[i].as ? w.given[i].as : "", w.given[i].as ? "(" : "",
                                    GG_STR_ARG(w.given[i].text), w.given[i].as ? ")" : "");
    gg_str body = body_text(&w, from, to, c.pure.given, c.pure.given_count, statements ? unit : GG_STR("")),
           results = joined(&w, false);
    const char *open = c.packed ? "(" : "", *close = c.packed ? ",)" : "";
    gg_str inside =
        statements ? gg_arena_printf(arena, "%.*s%.*s%.*sreturn %s%.*s%s", GG_STR_ARG(body), GG_STR_ARG(newline),
                                     GG_STR_ARG(unit), open, GG_STR_ARG(results), close)
                   : gg_arena_printf(arena, "%.*sreturn %s%.*s%s", GG_STR_ARG(unit), open, GG_STR_ARG(body), close);
    uint32_t front = gg__front_of_definition(match->node);
    gg_edits_add(out, (gg_span){front, front},
                 gg_arena_printf(arena, "@%.*s.compiler.assume_constant_result%.*sdef %.*s(%.*s):%.*s%.*s%.*s%.*s%.*s",
                                 GG_STR_ARG(torch_in_front(in->tree, from)), GG_STR_ARG(newline), GG_STR_ARG(name),
                                 GG_STR_ARG(joined(&w, true)), GG_STR_ARG(newline), GG_STR_ARG(inside),
                                 GG_STR_ARG(newline), GG_STR_ARG(newline), GG_STR_ARG(newline)));
    gg_str call =
        gg_arena_printf(arena, "%.*s(%.*s)%s", GG_STR_ARG(name), GG_STR_ARG(arguments), c.packed ? "[0]" : "");
    if (statements) call = gg_arena_printf(arena, "%.*s = %.*s", GG_STR_ARG(results), GG_STR_ARG(call));
    gg_edits_add(out, (gg_span){ts_node_start_byte(from), ts_node_end_byte(to)}, call);
    return 0;
}

const gg_rule gg_rule_constant_result = {
    .code = "GG109",
    .name = "constant-result",
    .title = "Compute this constant in a function of its own, while the graph is made",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
