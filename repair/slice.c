/* Statements that only work for one another.  See slice.h.
 *
 * DESIGN  The largest set is found from above: first all statements that may join, then those go whose names are read by others, until
 * none does.  What hangs together with the seed in the rest is collected from its names. */
#include "repair/slice.h"

static bool is_name_or_names(TSNode target) {
    if (gg_node_is(target, "identifier")) return true;
    bool names = gg_node_is(target, "pattern_list") || gg_node_is(target, "tuple_pattern");
    for (uint32_t i = 0; names && i < gg__child_count(target); i++)
        names = gg_node_is(gg__child(target, i), "identifier");
    return names;
}

TSNode gg__bound_value(TSNode statement) {
    TSNode inner = gg__child(statement, 0);
    bool binds = gg_node_is(statement, "expression_statement") && gg__child_count(statement) == 1 &&
                 (gg_node_is(inner, "assignment") || gg_node_is(inner, "augmented_assignment"));
    if (!binds || !is_name_or_names(gg__field(inner, "left"))) return (TSNode){0};
    return gg__field(inner, "right");
}

bool gg__slice_has(const gg__slice *slice, TSNode statement) {
    for (size_t i = 0; i < slice->len; i++)
        if (ts_node_eq(slice->items[i], statement)) return true;
    return false;
}

/* ---- compound statements --------------------------------------------------------------------------------------------- */

typedef struct leak {
    const gg_tree *tree;
    gg_str name;
    TSNode inside;
} leak;

static bool is_inside(TSNode node, TSNode outer) {
    return ts_node_start_byte(node) >= ts_node_start_byte(outer) && ts_node_end_byte(node) <= ts_node_end_byte(outer);
}

static bool does_not_leak(TSNode node, void *data) {
    const leak *l = data;
    return !gg_node_is(node, "identifier") || is_inside(node, l->inside) ||
           !gg_str_equal(gg__text(l->tree, node), l->name);
}

/* Are the names of a `for` used in it alone? */
static bool keeps_its_names(const gg_tree *tree, TSNode loop) {
    TSNode target = gg__field(loop, "left");
    if (!is_name_or_names(target)) return false;
    bool one = gg_node_is(target, "identifier");
    for (uint32_t i = 0; i < (one ? 1 : gg__child_count(target)); i++) {
        leak l = {tree, gg__text(tree, one ? target : gg__child(target, i)), loop};
        if (!gg__visit(gg__function(loop), does_not_leak, &l)) return false;
    }
    return true;
}

static bool is_import_of(const gg_tree *tree, TSNode statement, gg_str name) {
    return gg_node_is(statement, "import_statement") && gg__child_count(statement) == 1 &&
           gg_node_is(gg__child(statement, 0), "dotted_name") &&
           gg_str_equal(gg__text(tree, gg__child(statement, 0)), name);
}

/* Is the name used by this block, and by blocks that import it themselves? */
static bool is_imported_here(TSNode node, void *data) {
    const leak *l = data;
    if (does_not_leak(node, data)) return true;
    TSNode at = gg__statement(node);
    while (!ts_node_is_null(at) && !is_import_of(l->tree, at, l->name)) at = ts_node_prev_named_sibling(at);
    return !ts_node_is_null(at);
}

/* `import pdb` for a block alone: a module that has no part in what is computed. */
static bool imports_for_itself(const gg_tree *tree, TSNode statement, TSNode block) {
    static const char *const modules[] = {"pdb", "ipdb", "pudb", "pprint", "sys", "time", "traceback", "warnings"};
    leak l = {tree, gg__text(tree, gg__child(statement, 0)), block};
    return is_import_of(tree, statement, l.name) && gg__is_one_of(l.name, modules, GG_COUNT(modules)) &&
           gg__visit(gg__function(statement), is_imported_here, &l);
}

static bool block_is_filled(const gg_rule_input *in, const gg__slice *slice, TSNode block) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode child = gg__child(block, i);
        if (gg_node_is(child, "comment") || gg_node_is(child, "pass_statement") ||
            imports_for_itself(in->tree, child, block))
            continue;
        if (!gg__slice_fills(in, slice, child)) return false;
        count++;
    }
    return count > 0;
}

bool gg__slice_fills(const gg_rule_input *in, const gg__slice *slice, TSNode statement) {
    if (gg__slice_has(slice, statement)) return true;
    bool loop = gg_node_is(statement, "for_statement");
    if (!loop && !gg_node_is(statement, "if_statement")) return false;
    if (loop &&
        (!keeps_its_names(in->tree, statement) || gg_str_starts_with(gg__text(in->tree, statement), GG_STR("async"))))
        return false;
    for (uint32_t i = 0; i < gg__child_count(statement); i++) {
        TSNode child = gg__child(statement, i), block = child;
        if (gg_node_is(child, "comment")) continue;
        if (gg_node_is(child, "elif_clause")) {
            if (!gg__is_harmless(in->tree, gg__field(child, "condition"))) return false;
            block = gg__field(child, "consequence");
        } else if (gg_node_is(child, "else_clause")) {
            block = gg__field(child, "body");
        } else if (!gg_node_is(child, "block")) { /* condition, target or what is iterated */
            if (!gg__is_harmless(in->tree, child)) return false;
            continue;
        }
        if (!block_is_filled(in, slice, block)) return false;
    }
    return true;
}

/* ---- who reads what --------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const gg_rule_input *in;
    const gg__slice *slice;
    TSNode function;
    gg_str name;
} reading;

static bool is_in_slice(const reading *r, TSNode node) {
    for (TSNode at = node; !ts_node_is_null(at) && !ts_node_eq(at, r->function); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) return false;
        if (gg__slice_fills(r->in, r->slice, at)) return true;
    }
    return false;
}

/* Reads of the name outside of the slice, and what makes it another scope's. */
static bool is_unread(TSNode node, void *data) {
    const reading *r = data;
    static const char *const watching[] = {"locals", "vars", "eval", "exec", "dir"};
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(r->in->tree, node);
    TSNode parent = gg__parent(node);
    for (size_t i = 0; i < GG_COUNT(watching); i++)
        if (gg_str_is(text, watching[i]) && gg_node_is(parent, "call")) return false;
    if (!gg_str_equal(text, r->name)) return true;
    if (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), node)) return true;
    if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) return true;
    bool stores = gg__is_binding(node) && !gg_node_is(parent, "augmented_assignment") &&
                  !gg_node_is(parent, "delete_statement") && !gg_node_is(parent, "global_statement") &&
                  !gg_node_is(parent, "nonlocal_statement");
    return stores || is_in_slice(r, node);
}

/* The identifiers that a statement binds. */
static bool each_bound(TSNode statement, gg__visitor found, void *data) {
    TSNode left = gg__field(gg__child(statement, 0), "left");
    if (ts_node_is_null(gg__bound_value(statement))) return true;
    if (gg_node_is(left, "identifier")) return found(left, data);
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (!found(gg__child(left, i), data)) return false;
    return true;
}

static bool is_only_read_inside(TSNode identifier, void *data) {
    reading *r = data;
    r->name = gg__text(r->in->tree, identifier);
    return gg__visit(r->function, is_unread, r);
}

typedef struct collection {
    const gg_rule_input *in;
    gg__may_join may_join;
    TSNode function;
    gg__slice *out;
    bool overflow;
} collection;

static bool collect(TSNode node, void *data) {
    collection *c = data;
    if (!gg_node_is(node, "expression_statement") || !ts_node_eq(gg__function(node), c->function) ||
        !gg_node_is(gg__parent(node), "block") || !c->may_join(c->in, node))
        return true;
    c->overflow = c->out->len == GG__MAX_SLICE;
    if (!c->overflow) c->out->items[c->out->len++] = node;
    return !c->overflow;
}

static void keep_what_nobody_else_reads(const gg_rule_input *in, TSNode function, gg__slice *slice) {
    for (bool again = true; again;) {
        again = false;
        for (size_t i = slice->len;
             i-- > 0;) { /* backwards: what is read last goes first, and what it reads can go in the same pass */
            reading r = {.in = in, .slice = slice, .function = function};
            if (each_bound(slice->items[i], is_only_read_inside, &r)) continue;
            slice->len--;
            memmove(&slice->items[i], &slice->items[i + 1], (slice->len - i) * sizeof(TSNode));
            again = true;
        }
    }
}

/* ---- what hangs together ------------------------------------------------------------------------------------------------ */

typedef struct pair {
    const gg_tree *tree;
    TSNode other;
} pair;

static bool is_not_read(TSNode identifier, void *data) {
    const pair *p = data;
    return !gg__reads(p->tree, p->other, gg__text(p->tree, identifier));
}

/* Does one of them bind a name that the other one has? */
static bool tie(const gg_tree *tree, TSNode a, TSNode b) {
    pair to_b = {tree, b}, to_a = {tree, a};
    return !each_bound(a, is_not_read, &to_b) || !each_bound(b, is_not_read, &to_a);
}

bool gg__slice_around(const gg_rule_input *in, TSNode seed, gg__may_join may_join, gg__slice *out,
                      gg__slice *out_beside) {
    gg__slice all = {0};
    TSNode function = gg__function(seed);
    collection c = {in, may_join, function, &all, false};
    out->len = 0;
    if (out_beside) out_beside->len = 0;
    if (!gg_node_is(function, "function_definition") || !gg__visit(function, collect, &c)) return false;
    keep_what_nobody_else_reads(in, function, &all);
    if (!gg__slice_fills(in, &all, seed)) return false;
    bool chosen[GG__MAX_SLICE] = {0};
    for (size_t i = 0; i < all.len; i++) chosen[i] = is_inside(all.items[i], seed);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < all.len; i++)
            for (size_t k = 0; k < all.len && !chosen[i]; k++)
                if (chosen[k] && tie(in->tree, all.items[i], all.items[k])) chosen[i] = again = true;
    }
    for (size_t i = 0; i < all.len; i++) {
        if (chosen[i]) out->items[out->len++] = all.items[i];
        if (out_beside && (chosen[i] || ts_node_is_null(gg__bound_value(all.items[i]))))
            out_beside->items[out_beside->len++] = all.items[i];
    }
    return true;
}
