/* GG124 mask-of-a-sort: `i = order[m]` and `x[i] = v`, where order is the indices of torch.sort of x: what top-p filters do.
 * Offers: the mask put back in x's order, `i = m.index_copy(0, order, m)`, under which a number is stored in the graph.
 * Refuses: unless order is what sorting x along its last dimension gave, nobody changes it, and numbers are stored at i, in x, and that is all.
 * Safety: exact.  Page: docs/rules/GG124.md */
#include "repair/hindrance.h"
#include "repair/infer.h"

typedef struct sorted_mask {
    const gg_rule_input *in;
    TSNode item;         /* `order[m]`, `order[b][m[b]]` */
    TSNode base, mask;   /* its parts */
    TSNode order, row;   /* the name; b, or null */
    TSNode sort, sorted; /* the assignment that gave it; x, or what has its sizes */
    gg_str name;         /* i; empty where the item is the index itself */
    TSNode statement;    /* that binds i */
    int64_t size;        /* of a row */
    uint32_t stores;
} sorted_mask;

/* ---- the sort -------------------------------------------------------------------------------------------------------------- */

static bool is_last(const gg_rule_input *in, TSNode dim, int32_t rank) {
    gg__meta m = gg__infer(in, dim);
    return m.sort == GG__SCALAR_INT && m.constant && (m.value == -1 || m.value == rank - 1);
}

/* `torch.sort(x, descending=True)`, `x.argsort(-1)`: along the last dimension. */
static bool read_sort(sorted_mask *s, TSNode call, int32_t rank, bool *both) {
    const gg_tree *tree = s->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    *both = gg_str_is(name, "sort");
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return false;
    if (!*both && !gg_str_is(name, "argsort")) return false;
    bool torchs = gg_str_equal(gg__text(tree, object), gg__module_alias(tree, call, "torch"));
    uint32_t from = torchs ? 1 : 0, count = gg__child_count(arguments);
    s->sorted = gg__strip_parentheses(torchs ? gg__child(arguments, 0) : object);
    if (gg_node_is(s->sorted, "keyword_argument")) return false;
    for (uint32_t i = from; i < count; i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        bool keyword = gg_node_is(argument, "keyword_argument");
        gg_str key = gg__text(tree, gg__field(argument, "name"));
        if (keyword && (gg_str_is(key, "descending") || gg_str_is(key, "stable"))) continue;
        if (keyword     ? !gg_str_is(key, "dim") || !is_last(s->in, value, rank)
            : i != from ? i != from + 1
                        : !is_last(s->in, argument, rank))
            return false;
    }
    return true;
}

/* What the sizes of an expression are those of: x of `F.softmax(x / t, dim=-1)`, `x.softmax(-1)`, `x / 0.7`. */
static TSNode sized_as(const gg_rule_input *in, TSNode node, int depth) {
    const gg_tree *tree = in->tree;
    static const char *const keeping[] = {"softmax", "log_softmax", "sigmoid", "exp",       "abs",
                                          "float",   "clone",       "detach",  "contiguous"};
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "identifier") || depth > 6) return node;
    if (gg_node_is(node, "unary_operator")) return sized_as(in, gg__field(node, "argument"), depth + 1);
    if (gg_node_is(node, "binary_operator") && gg__is_number(gg__infer(in, gg__field(node, "right"))))
        return sized_as(in, gg__field(node, "left"), depth + 1);
    TSNode function = gg__field(node, "function"), object = gg__field(function, "object"), none = {0};
    if (!gg_node_is(node, "call") ||
        !gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), keeping, GG_COUNT(keeping)))
        return none;
    gg_str holder = gg__text(tree, object);
    bool module = gg_str_equal(holder, gg__module_alias(tree, node, "torch")) ||
                  gg_str_equal(holder, gg__module_alias(tree, node, "torch.nn.functional"));
    return sized_as(in, module ? gg__child(gg__field(node, "arguments"), 0) : object, depth + 1);
}

static bool is_left_as_sorted(TSNode node, void *data) {
    static const char *const readers[] = {"gather", "take_along_dim", "index_select", "scatter", "take", "argsort"};
    static const char *const looks[] = {"shape", "size", "dim", "device", "dtype", "numel", "argsort", "gather"};
    const sorted_mask *s = data;
    TSNode parent = gg__parent(node), around = gg__parent(parent), function = gg__field(around, "function");
    if (gg__is_in_inner_function(node, gg__function(s->item))) return false;
    if (gg_node_is(parent, "subscript") &&
        ts_node_eq(gg__field(parent, "value"), node)) { /* what is no view, or only read */
        return ts_node_eq(parent, s->item) || ts_node_eq(parent, s->base) ||
               (gg_node_is(around, "subscript") && !ts_node_eq(gg__field(around, "value"), parent));
    }
    if (gg_node_is(parent, "attribute"))
        return gg__is_one_of(gg__text(s->in->tree, gg__field(parent, "attribute")), looks, GG_COUNT(looks));
    return gg_node_is(parent, "argument_list") &&
           gg__is_one_of(gg__text(s->in->tree, gg__field(function, "attribute")), readers, GG_COUNT(readers));
}

static bool find_sort(sorted_mask *s, int32_t rank) {
    const gg_tree *tree = s->in->tree;
    TSNode binding = gg__only_binding(tree, s->order), holder = gg__parent(binding);
    bool pair = gg_node_is(holder, "pattern_list") || gg_node_is(holder, "tuple_pattern"), both = false;
    if (pair && (gg__child_count(holder) != 2 || !ts_node_eq(gg__child(holder, 1), binding))) return false;
    s->sort = pair ? gg__parent(holder) : holder;
    if (!gg_node_is(s->sort, "assignment") || ts_node_end_byte(s->sort) > ts_node_start_byte(s->item)) return false;
    TSNode right = gg__strip_parentheses(gg__field(s->sort, "right"));
    return read_sort(s, right, rank, &both) && both == pair && gg__each_use(tree, s->order, is_left_as_sorted, s);
}

/* ---- what is done at the places -------------------------------------------------------------------------------------------- */

typedef struct bindings {
    const sorted_mask *s;
    gg_str name;
    uint32_t end; /* of what may run before the store */
} bindings;

/* The end of the statement, or of the loops around it. */
static uint32_t end_of_run(TSNode node) {
    uint32_t end = ts_node_end_byte(gg__statement(node));
    for (TSNode at = node; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) end = ts_node_end_byte(at);
    return end;
}

/* Behind the sort, the name is bound to what has its sizes only. */
static bool keeps_sizes(TSNode node, void *data) {
    const bindings *b = data;
    const gg_rule_input *in = b->s->in;
    const gg_tree *tree = in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg__is_binding(node) ||
        !gg_str_equal(gg__text(tree, node), b->name) || ts_node_start_byte(node) < ts_node_start_byte(b->s->sort) ||
        ts_node_start_byte(node) >= b->end)
        return true;
    TSNode holder = gg__parent(node);
    return gg_node_is(holder, "assignment") && ts_node_eq(gg__field(holder, "left"), node) &&
           gg_str_equal(gg__text(tree, sized_as(in, gg__field(holder, "right"), 0)), b->name);
}

/* Has the tensor the sizes of what was sorted, wherever this runs? */
static bool is_as_sorted(const sorted_mask *s, TSNode tensor) {
    const gg_rule_input *in = s->in;
    const gg_tree *tree = in->tree;
    TSNode sorted = sized_as(in, s->sorted, 0), given = gg__only_value(tree, sorted);
    gg_str name = gg__text(tree, tensor);
    if (!gg_node_is(tensor, "identifier") || !gg_node_is(sorted, "identifier")) return false;
    if (!gg_str_equal(gg__text(tree, sorted), name)) {
        if (ts_node_is_null(given)) return false;
        sorted = sized_as(in, given, 0);
        if (!gg_str_equal(gg__text(tree, sorted), name) || ts_node_end_byte(given) > ts_node_start_byte(s->sort))
            return false;
        sorted_mask earlier = *s; /* … from where the other name got its sizes on */
        earlier.sort = given;
        bindings b = {&earlier, name, end_of_run(tensor)};
        return gg__visit(gg__function(s->item), keeps_sizes, &b);
    }
    bindings b = {s, name, end_of_run(tensor)};
    return gg__visit(gg__function(s->item), keeps_sizes, &b);
}

/* `x[i] = 0.0`, `x[b, i] = v`, `x[b][i] -= 1`. */
static bool is_store(const sorted_mask *s, TSNode index) {
    const gg_tree *tree = s->in->tree;
    TSNode target = gg__parent(index), store = gg__parent(target), x = gg__field(target, "value"), row = {0};
    uint32_t count = gg__child_count(target);
    if (!gg_node_is(target, "subscript") || !gg_node_is(store, "assignment") || count > 3 ||
        !ts_node_eq(gg__field(store, "left"), target) || !ts_node_eq(gg__child(target, count - 1), index))
        return false;
    if (count == 3) row = gg__child(target, 1);
    if (count == 2 && gg_node_is(x, "subscript") && gg__child_count(x) == 2) {
        row = gg__child(x, 1);
        x = gg__field(x, "value");
    }
    if (ts_node_is_null(s->row) != ts_node_is_null(row) || !gg_str_equal(gg__text(tree, s->row), gg__text(tree, row)))
        return false;
    if (!gg__is_number(gg__infer(s->in, gg__field(store, "right")))) return false;
    gg__meta m = gg__infer(s->in, x);
    return m.sort == GG__TENSOR && m.rank == (ts_node_is_null(row) ? 1 : 2) && m.shape[m.rank - 1] == s->size &&
           is_as_sorted(s, x);
}

/* Each use of i behind its binding is a store in the same block; in a loop, there is none in front, either. */
static bool is_known_use(TSNode node, void *data) {
    sorted_mask *s = data;
    const gg_tree *tree = s->in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(tree, node), s->name))
        return true;
    if (gg__is_in_inner_function(node, gg__function(s->item))) return false;
    if (gg__covers(s->statement, gg_node_span(node))) return gg__is_binding(node);
    if (ts_node_start_byte(node) < ts_node_start_byte(s->statement)) {
        for (TSNode at = s->statement; !gg_node_is(at, "function_definition"); at = gg__parent(at))
            if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement"))
                return ts_node_start_byte(node) < ts_node_start_byte(at);
        return true;
    }
    s->stores++;
    return ts_node_eq(gg__parent(gg__statement(node)), gg__parent(s->statement)) && is_store(s, node);
}

/* `for b in range(…):` around it. */
static bool counts_rows(const gg_tree *tree, TSNode use) {
    for (TSNode at = gg__parent(use); !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "lambda") || gg__is_comprehension(at)) return false;
        if (gg_node_is(at, "for_statement") && gg_str_equal(gg__text(tree, gg__field(at, "left")), gg__text(tree, use)))
            return gg__names_builtin(tree, gg__field(gg__field(at, "right"), "function"), "range");
    }
    return false;
}

/* `order[m]`, or `order[b][m[b]]` in a loop over the rows. */
static bool read_item(sorted_mask *s) {
    const gg_tree *tree = s->in->tree;
    if (!gg_node_is(s->item, "subscript") || gg__child_count(s->item) != 2) return false;
    TSNode order = s->base = gg__child(s->item, 0), m = s->mask = gg__child(s->item, 1);
    if (gg_node_is(order, "subscript")) {
        s->row = gg__child(order, 1);
        if (!gg_node_is(m, "subscript") || gg__child_count(order) != 2 || gg__child_count(m) != 2 ||
            !gg_node_is(s->row, "identifier") || !counts_rows(tree, s->row) ||
            !gg_str_equal(gg__text(tree, gg__child(m, 1)), gg__text(tree, s->row)))
            return false;
        order = gg__child(order, 0);
        m = gg__child(m, 0);
    }
    s->order = order;
    gg__meta of = gg__infer(s->in, order), by = gg__infer(s->in, m);
    int32_t rank = ts_node_is_null(s->row) ? 1 : 2;
    if (!gg_node_is(order, "identifier") || !gg_node_is(m, "identifier") || of.sort != GG__TENSOR ||
        by.sort != GG__TENSOR || of.rank != rank || by.rank != rank || !gg_str_is(by.dtype, "torch.bool") ||
        !gg_str_equal(of.device, by.device) || !gg__has_certain_dtype(s->in, gg__only_value(s->in->tree, m)))
        return false;
    for (int32_t i = 0; i < rank; i++)
        if (of.shape[i] < 0 || of.shape[i] != by.shape[i]) return false;
    s->size = of.shape[rank - 1];
    return true;
}

static bool match(const gg_rule_input *in, sorted_mask *s) {
    const gg_tree *tree = in->tree;
    *s = (sorted_mask){.in = in, .item = gg_node_at(tree, in->span)};
    if (!gg_node_is(gg__function(s->item), "function_definition") || !read_item(s)) return false;
    if (!find_sort(s, ts_node_is_null(s->row) ? 1 : 2))
        return gg__hinder(in, s->order, "is not known to be the indices of a sort, unchanged since");
    TSNode assignment = gg__parent(s->item);
    bool bound = gg_node_is(assignment, "assignment") && ts_node_eq(gg__field(assignment, "right"), s->item);
    if (!bound) {
        s->statement = gg__statement(s->item);
        return is_store(s, s->item) ||
               gg__hinder(in, assignment, "is no store of a number at places of what was sorted");
    }
    s->statement = gg__statement(s->item);
    s->name = gg__text(tree, gg__field(assignment, "left"));
    if (!gg_node_is(gg__field(assignment, "left"), "identifier") || !ts_node_is_null(gg__field(assignment, "type")))
        return false;
    return (gg__visit(gg__function(s->item), is_known_use, s) && s->stores > 0) ||
           gg__hinder(in, gg__field(assignment, "left"), "is used for more than stores of numbers in what was sorted");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    sorted_mask s;
    bool matched = match(in, &s);
    out->node = s.item;
    return matched;
}

static int edit(const gg_rule_input *in, const gg_rule_match *rule_match, gg_arena *arena, gg_edits *out,
                gg_error *err) {
    sorted_mask s;
    (void)rule_match;
    if (!match(in, &s)) return gg_fail(err, GG_ENOMATCH, "the places are not known to be those of a sort");
    gg_str mask = gg__text(in->tree, s.mask);
    gg_edits_add(out, gg_node_span(s.item),
                 gg_arena_printf(arena, "%.*s.index_copy(0, %.*s, %.*s)", GG_STR_ARG(mask),
                                 GG_STR_ARG(gg__text(in->tree, s.base)), GG_STR_ARG(mask)));
    return 0;
}

const gg_rule gg_rule_mask_of_a_sort = {
    .code = "GG124",
    .name = "mask-of-a-sort",
    .title = "Store under the mask, put back in order",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
