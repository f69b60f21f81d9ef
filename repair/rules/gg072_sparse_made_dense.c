/* GG072 sparse-made-dense: `torch.sparse_coo_tensor(indices, values, size).to_dense()`: Dynamo does not trace how sparse tensors are made.
 * Offers: zeros, with the values put where the indices say.  Refuses: unless indices and size are written out, the indices are there and no two
 * are the same, and there are as many values; where something else has the sparse tensor, and options but its three arguments.
 * Safety: exact.  Page: docs/rules/GG072.md */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/scalar.h"

enum { MOST_VALUES = 128 };

typedef struct sparse {
    TSNode whole; /* with `.to_dense()` */
    TSNode later; /* `s.to_dense()`, of the name that the sparse tensor has; else null */
    TSNode name;  /* … */
    TSNode indices, values, size;
    TSNode rows, numbers; /* lists as they are written; numbers: null for a tensor of the module's */
    TSNode made;          /* `torch.tensor(numbers, …)`; null where it is a list */
    uint32_t rank, count; /* sizes; values */
    int64_t sizes[GG__MAX_RANK];
    bool tensor; /* indices are one, not a list */
    bool whole_numbers;
} sparse;

/* ---- what is written out ------------------------------------------------------------------------------------------------ */

typedef struct uses {
    const gg_tree *tree;
    gg_str name;
    uint32_t count;
    bool watched;
} uses;

static bool count_use(TSNode node, void *data) {
    uses *u = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    u->count += gg_str_equal(gg__text(u->tree, node), u->name);
    u->watched = u->watched || gg__watches_names(u->tree, node);
    return true;
}

/* Is the name a local one that is bound once and used once? */
static bool is_used_once(const gg_rule_input *in, TSNode name) {
    uses u = {.tree = in->tree, .name = gg__text(in->tree, name)};
    TSNode function = gg__function(name);
    gg__visit(function, count_use, &u);
    return gg_node_is(function, "function_definition") && u.count == 2 && !u.watched;
}

/* The expression itself, or what a name was bound to that nothing else uses. */
static TSNode written(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    if (!gg_node_is(node, "identifier")) return node;
    if (!is_used_once(in, node)) return (TSNode){0};
    return gg__strip_parentheses(gg__value_at(in->tree, node, gg__text(in->tree, node)));
}

static bool is_display(TSNode node) {
    return gg_node_is(node, "list") || gg_node_is(node, "tuple");
}

/* `torch.tensor([…])`: its list, and the call; a list: itself. */
static TSNode list_of(const gg_rule_input *in, TSNode node, TSNode *made) {
    *made = (TSNode){0};
    node = written(in, node);
    if (gg_node_is(node, "call") && gg__refers_to(in->tree, gg__field(node, "function"), "torch.tensor")) {
        *made = node;
        node = gg__child(gg__field(node, "arguments"), 0);
    }
    return is_display(node) && !gg__has_comment(in->tree, gg_node_span(node)) ? node : (TSNode){0};
}

static bool whole_number(const gg_rule_input *in, TSNode node, int64_t *out) {
    double value = 0;
    if (!gg_node_is(node, "integer") || !gg__literal_value(in->tree, node, &value) || value >= GG__MOST_ELEMENTS)
        return false;
    *out = (int64_t)value;
    return true;
}

static bool read_sizes(const gg_rule_input *in, sparse *s) {
    if (!is_display(s->size) || gg__has_comment(in->tree, gg_node_span(s->size))) return false;
    s->rank = gg__child_count(s->size);
    for (uint32_t d = 0; d < s->rank; d++)
        if (d >= GG__MAX_RANK || !whole_number(in, gg__child(s->size, d), &s->sizes[d])) return false;
    return s->rank > 0;
}

/* One row for each size, of indices that are there: an error otherwise, or worse. */
static bool read_indices(const gg_rule_input *in, sparse *s) {
    TSNode made = {0};
    s->rows = list_of(in, s->indices, &made);
    s->tensor = !ts_node_is_null(made);
    if (s->tensor && gg__child_count(gg__field(made, "arguments")) != 1) return false; /* of another dtype or device */
    if (ts_node_is_null(s->rows) || gg__child_count(s->rows) != s->rank) return false;
    s->count = gg__child_count(gg__child(s->rows, 0));
    for (uint32_t d = 0; d < s->rank; d++) {
        TSNode row = gg__child(s->rows, d);
        if (!is_display(row) || gg__child_count(row) != s->count) return false;
        for (uint32_t i = 0; i < s->count; i++) {
            int64_t at = 0;
            if (!whole_number(in, gg__child(row, i), &at) || at >= s->sizes[d]) return false;
        }
    }
    return s->count > 0 && s->count <= MOST_VALUES;
}

static bool are_distinct(const gg_rule_input *in, const sparse *s) {
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            bool same = true;
            for (uint32_t d = 0; same && d < s->rank; d++) {
                int64_t a = 0, b = 0;
                TSNode row = gg__child(s->rows, d);
                same = whole_number(in, gg__child(row, i), &a) && whole_number(in, gg__child(row, j), &b) && a == b;
            }
            if (same) return false;
        }
    return true;
}

static bool is_no_call(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "call");
}

/* `dtype=` and `device=` that can be written twice */
static bool is_option(const gg_tree *tree, TSNode argument) {
    gg_str name = gg__text(tree, gg__field(argument, "name"));
    TSNode value = gg__field(argument, "value");
    bool known = gg_str_is(name, "dtype") || gg_str_is(name, "device");
    return gg_node_is(argument, "keyword_argument") && known && !gg_node_is(value, "none") &&
           gg__visit(value, is_no_call, NULL);
}

/* As many as there are indices: numbers that are written out, or a vector that the module holds. */
static bool read_values(const gg_rule_input *in, sparse *s) {
    s->numbers = list_of(in, s->values, &s->made);
    if (ts_node_is_null(s->numbers)) {
        gg__meta m = gg__infer(in, s->values);
        return gg_node_is(s->values, "attribute") && m.sort == GG__TENSOR && m.rank == 1 && m.shape[0] == s->count &&
               !m.vague && (gg__is_floating(m.dtype) || gg__is_integer(m.dtype));
    }
    TSNode arguments = gg__field(s->made, "arguments");
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!is_option(in->tree, gg__child(arguments, i))) return false;
    s->whole_numbers = true;
    for (uint32_t i = 0; i < gg__child_count(s->numbers); i++) {
        double value = 0;
        gg__meta number = gg__infer(in, gg__child(s->numbers, i));
        if (!gg__literal_value(in->tree, gg__child(s->numbers, i), &value) || !gg__is_number(number)) return false;
        s->whole_numbers = s->whole_numbers && number.sort == GG__SCALAR_INT;
    }
    return gg__child_count(s->numbers) == s->count;
}

/* ---- the rule ----------------------------------------------------------------------------------------------------------- */

/* The call of the method without arguments on the node; null when there is none. */
static TSNode method_on(const gg_tree *tree, TSNode node, const char *name) {
    TSNode attribute = gg__parent(node), call = gg__parent(attribute);
    bool on = gg_node_is(attribute, "attribute") && ts_node_eq(gg__field(attribute, "object"), node) &&
              gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), name);
    bool called = on && gg_node_is(call, "call") && ts_node_eq(gg__field(call, "function"), attribute);
    return called && gg__child_count(gg__field(call, "arguments")) == 0 ? call : (TSNode){0};
}

/* `coalesce()` may lie between: no two indices are the same. */
static TSNode made_dense(const gg_tree *tree, TSNode node) {
    TSNode coalesced = method_on(tree, node, "coalesce");
    return method_on(tree, ts_node_is_null(coalesced) ? node : coalesced, "to_dense");
}

typedef struct find_use {
    const gg_tree *tree;
    TSNode bound, found;
} find_use;

static bool is_no_use(TSNode node, void *data) {
    find_use *f = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || ts_node_eq(node, f->bound) ||
        !gg_str_equal(gg__text(f->tree, node), gg__text(f->tree, f->bound)))
        return true;
    f->found = node;
    return false;
}

/* May the expression be evaluated more than once where its statement runs once? */
static bool is_repeated(TSNode node, TSNode statement) {
    bool repeated = gg_node_is(statement, "for_statement") || gg_node_is(statement, "while_statement");
    for (TSNode at = node; !repeated && !ts_node_eq(at, statement); at = gg__parent(at))
        repeated = gg_node_is(at, "lambda") || gg__is_comprehension(at);
    return repeated;
}

/* `s = torch.sparse_coo_tensor(…)` whose one use, behind it in the same block, is `s.to_dense()`. */
static void find_later(const gg_rule_input *in, TSNode made, sparse *s) {
    TSNode assignment = gg__parent(made), statement = gg__parent(assignment);
    find_use f = {.tree = in->tree, .bound = gg__field(assignment, "left")};
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(f.bound, "identifier") || !is_used_once(in, f.bound) ||
        gg__visit(gg__function(made), is_no_use, &f))
        return;
    s->whole = made;
    s->name = f.found;
    s->later = made_dense(in->tree, f.found);
    TSNode use = gg__statement(f.found);
    bool behind = ts_node_start_byte(use) > ts_node_start_byte(statement) &&
                  ts_node_eq(gg__parent(use), gg__parent(statement)) && !is_repeated(f.found, use);
    if (!behind || ts_node_is_null(s->later) || gg__has_comment(in->tree, gg_node_span(s->later)))
        s->whole = (TSNode){0};
}

static bool find(const gg_rule_input *in, sparse *s) {
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "call"), given[3];
    TSNode arguments = gg__field(at, "arguments");
    if (in->site->first == NULL || !gg_node_is(arguments, "argument_list") ||
        !gg__refers_to(in->tree, gg__field(at, "function"), "torch.sparse_coo_tensor"))
        return false;
    *s = (sparse){.whole = made_dense(in->tree, at)};
    if (ts_node_is_null(s->whole)) find_later(in, at, s);
    gg__inference inference = {.in = in};
    gg__call call = {.node = at, .arguments = arguments};
    if (ts_node_is_null(s->whole) ||
        !gg__bind_arguments(&inference, &call, (const char *const[]){"indices", "values", "size"}, 3, given))
        return false;
    s->indices = given[0];
    s->values = given[1];
    s->size = given[2];
    if (!read_sizes(in, s) || !read_indices(in, s) || !are_distinct(in, s) || !read_values(in, s)) return false;
    bool held = ts_node_is_null(s->numbers); /* what an object holds may change until it is made dense */
    return !(held && !ts_node_is_null(s->later)) && !gg__has_comment(in->tree, gg_node_span(s->whole)) &&
           gg__can_name(in->tree, at, "torch");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    sparse s;
    if (!gg_str_is(in->site->id, "GB0007") || !find(in, &s)) return false;
    out->node = s.whole;
    return true;
}

/* `dtype=…, device=…` of the values, for the zeros. */
static gg_str options_text(const gg_tree *tree, const sparse *s, gg_str torch, gg_arena *arena) {
    gg_str text = GG_STR_NULL;
    bool typed = false;
    TSNode arguments = gg__field(s->made, "arguments");
    for (uint32_t i = 1; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        typed = typed || gg_str_is(gg__text(tree, gg__field(argument, "name")), "dtype");
        text = gg_arena_printf(arena, "%.*s, %.*s", GG_STR_ARG(text), GG_STR_ARG(gg__text(tree, argument)));
    }
    if (typed || !s->whole_numbers) return text;
    return gg_arena_printf(arena, ", dtype=%.*s.int64%.*s", GG_STR_ARG(torch), GG_STR_ARG(text));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    sparse s;
    if (!find(in, &s)) return gg_fail(err, GG_ENOMATCH, "indices and values are not proven to be there");
    const gg_tree *tree = in->tree;
    gg_str torch = gg__require_module(tree, s.whole, "torch", arena, out);
    gg_str indices = gg__text(tree, s.indices), values = gg__text(tree, s.values), size = gg__text(tree, s.size);
    if (!s.tensor) indices = gg_arena_printf(arena, "%.*s.tensor(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(indices));
    bool list = !ts_node_is_null(s.numbers) && ts_node_is_null(s.made);
    bool held = !list && (ts_node_is_null(s.numbers) || gg_node_is(s.values, "identifier")); /* already a tensor */
    gg_str zeros = held ? gg_arena_printf(arena, "%.*s.new_zeros(%.*s)", GG_STR_ARG(values), GG_STR_ARG(size))
                        : gg_arena_printf(arena, "%.*s.zeros(%.*s%.*s)", GG_STR_ARG(torch), GG_STR_ARG(size),
                                          GG_STR_ARG(options_text(tree, &s, torch, arena)));
    if (list) values = gg_arena_printf(arena, "%.*s.tensor(%.*s)", GG_STR_ARG(torch), GG_STR_ARG(values));
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.index_put(%.*s.unbind(), %.*s, accumulate=True)", GG_STR_ARG(zeros),
                                 GG_STR_ARG(indices), GG_STR_ARG(values)));
    if (!ts_node_is_null(s.later)) gg_edits_add(out, gg_node_span(s.later), gg__text(tree, s.name));
    return 0;
}

const gg_rule gg_rule_sparse_made_dense = {
    .code = "GG072",
    .name = "sparse-made-dense",
    .title = "Put the values into zeros",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
