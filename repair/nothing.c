/* Statements where nothing is chosen.  See nothing.h. */
#include "repair/nothing.h"

#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/select.h"

static bool add(gg_str *list, size_t *count, gg_str text) {
    if (text.len == 0 || *count == GG__MAX_NOTHING) return false;
    list[(*count)++] = text;
    return true;
}

static bool has(const gg_str *list, size_t count, gg_str text) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_equal(list[i], text)) return true;
    return false;
}

bool gg__is_no_mask(gg__nothing *n, gg_str text) {
    return add(n->masks, &n->mask_count, text);
}

static bool is_mask(const gg__nothing *n, TSNode node) {
    return !ts_node_is_null(node) && has(n->masks, n->mask_count, gg__text(n->in->tree, gg__strip_parentheses(node)));
}

bool gg__is_no_index(const gg__nothing *n, TSNode node) {
    return gg_node_is(node, "identifier") && has(n->indices, n->index_count, gg__text(n->in->tree, node));
}

static bool is_pattern(TSNode node) {
    return gg_node_is(node, "pattern_list") || gg_node_is(node, "tuple_pattern");
}

/* What `i` and `i, j` bind. */
static uint32_t name_count(TSNode left) {
    return is_pattern(left) ? gg__child_count(left) : 1;
}

static TSNode name_at(TSNode left, uint32_t i) {
    return is_pattern(left) ? gg__child(left, i) : left;
}

/* The names that are bound are indices of nothing. */
static bool add_indices(gg__nothing *n, TSNode left) {
    for (uint32_t i = 0; i < name_count(left); i++) {
        TSNode name = name_at(left, i);
        if (!gg_node_is(name, "identifier") || !add(n->indices, &n->index_count, gg__text(n->in->tree, name)))
            return false;
    }
    return true;
}

bool gg__learn_indices(gg__nothing *n, TSNode statement) {
    TSNode assignment = gg__child(statement, 0);
    return gg_node_is(assignment, "assignment") && !ts_node_is_null(gg__chosen_by(n->in, assignment, NULL)) &&
           add_indices(n, gg__field(assignment, "left"));
}

bool gg__learn_nothing(gg__nothing *n, TSNode statement) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    TSNode right = gg__strip_parentheses(gg__field(assignment, "right"));
    if (!gg_node_is(assignment, "assignment")) return false;
    if (is_mask(n, gg__chosen_by(n->in, assignment, NULL))) return add_indices(n, left);
    if (!gg_node_is(left, "identifier")) return false;
    if (is_mask(n, right)) return gg__is_no_mask(n, gg__text(n->in->tree, left));
    return gg__is_no_index(n, right) && add_indices(n, left);
}

/* ---- stores ---------------------------------------------------------------------------------------------------------------- */

/* Is it not the mask itself that is stored into? */
static bool is_another(const gg__nothing *n, TSNode target) {
    gg_str root = gg__text(n->in->tree, gg__root_of(target));
    for (size_t i = 0; i < n->mask_count; i++)
        if (gg__mentions(n->masks[i], root)) return false;
    return !has(n->indices, n->index_count, root);
}

static bool stores_nothing(const gg__nothing *n, TSNode left) {
    TSNode indices[GG__MAX_RANK];
    uint32_t count = gg_node_is(left, "subscript") ? gg__indices_of(left, indices, GG__MAX_RANK) : 0;
    bool nothing = false;
    for (uint32_t i = 0; i < count; i++) {
        nothing = nothing || (n->bools && is_mask(n, indices[i])) || gg__is_no_index(n, indices[i]);
        if (!gg__is_quiet(n->in, indices[i])) return false;
    }
    bool tensor = gg__infer_loosely(n->in, gg__field(left, "value")).sort == GG__TENSOR; /* a dict would get a key */
    return nothing && tensor && is_another(n, left);
}

/* `out.index_add_(0, i, rows)` */
static bool adds_nothing(const gg__nothing *n, TSNode call) {
    static const char *const methods[] = {"index_add_", "index_copy_"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    bool known = gg_node_is(function, "attribute") && gg__child_count(arguments) == 3 &&
                 gg__is_one_of(gg__text(n->in->tree, gg__field(function, "attribute")), methods, GG_COUNT(methods));
    for (uint32_t i = 0; known && i < 3; i++) known = gg__is_positional(gg__child(arguments, i));
    return known && gg__is_no_index(n, gg__child(arguments, 1)) && gg__is_quiet(n->in, gg__child(arguments, 2)) &&
           gg_node_is(gg__root_of(function), "identifier") && is_another(n, gg__field(function, "object"));
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

typedef struct own_name {
    const gg_tree *tree;
    gg_str name;
    gg_span block, first; /* the block, and the statement in it that first binds the name */
    TSNode right;         /* of that statement */
    bool around;          /* a loop around it comes back */
} own_name;

/* A name that is only given another value. */
static bool is_replaced(TSNode node) {
    TSNode parent = gg__parent(node);
    return gg__is_binding(node) && !gg_node_is(parent, "augmented_assignment") &&
           !gg_node_is(parent, "global_statement") && !gg_node_is(parent, "nonlocal_statement");
}

static bool is_own(TSNode node, void *data) {
    const own_name *o = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(o->tree, node), o->name))
        return true;
    uint32_t at = ts_node_start_byte(node);
    if (at >= o->block.start && at < o->block.end)
        return at >= o->first.start && !gg__covers(o->right, gg_node_span(node));
    return (at < o->block.start && !o->around) || is_replaced(node);
}

/* Is the name read nowhere but in the block, behind the statement that binds it? */
static bool is_name_of_block(const gg__nothing *n, TSNode name) {
    const gg_tree *tree = n->in->tree;
    TSNode function = gg__function(n->block), owner = gg__parent(n->block); /* its loop or branch */
    own_name o = {.tree = tree, .name = gg__text(tree, name), .block = gg_node_span(n->block)};
    o.around = gg__runs_from(owner) < ts_node_start_byte(owner);
    for (uint32_t i = 0; i < gg__child_count(n->block) && o.first.end == 0; i++) {
        TSNode statement = gg__child(n->block, i);
        if (!gg__binds(tree, statement, o.name)) continue;
        o.first = gg_node_span(statement);
        o.right = gg__field(gg__child(statement, 0), "right");
    }
    return ts_node_is_null(gg__parameter(tree, function, o.name)) && gg__visit(function, is_own, &o);
}

static bool binds_its_own(const gg__nothing *n, TSNode left) {
    for (uint32_t i = 0; i < name_count(left); i++) {
        TSNode name = name_at(left, i);
        if (!gg_node_is(name, "identifier") || !is_name_of_block(n, name)) return false;
    }
    return true;
}

/* ---- statements ------------------------------------------------------------------------------------------------------------ */

/* A name that is bound anew holds something else. */
static void forget(gg_str *list, size_t *count, gg_str name) {
    for (size_t i = 0; i < *count;) {
        if (gg__mentions(list[i], name))
            list[i] = list[--*count];
        else
            i++;
    }
}

static void forget_names(gg__nothing *n, TSNode left) {
    for (uint32_t i = 0; i < name_count(left); i++) {
        gg_str name = gg__text(n->in->tree, name_at(left, i));
        forget(n->masks, &n->mask_count, name);
        forget(n->indices, &n->index_count, name);
    }
}

static bool assigns(gg__nothing *n, TSNode statement, TSNode assignment) {
    TSNode left = gg__field(assignment, "left"), right = gg__field(assignment, "right");
    if (!ts_node_is_null(gg__field(assignment, "type")) || !gg__is_quiet(n->in, right)) return false;
    if (gg_node_is(left, "subscript")) return stores_nothing(n, left);
    if (gg_node_is(assignment, "augmented_assignment") || !binds_its_own(n, left)) return false;
    gg__nothing learned = *n; /* what it is made of is read before its names hold something else */
    size_t masks = n->mask_count, indices = n->index_count;
    bool nothing = gg__learn_nothing(&learned, statement);
    forget_names(n, left);
    for (size_t i = masks; nothing && i < learned.mask_count; i++) gg__is_no_mask(n, learned.masks[i]);
    for (size_t i = indices; nothing && i < learned.index_count; i++)
        add(n->indices, &n->index_count, learned.indices[i]);
    return true;
}

/* `if i == self.padding: continue` */
static bool skips(const gg__nothing *n, TSNode statement) {
    bool only = gg_node_is(gg__only_statement(gg__field(statement, "consequence")), "continue_statement") &&
                ts_node_is_null(gg__field(statement, "alternative"));
    return only && gg__is_quiet(n->in, gg__field(statement, "condition"));
}

typedef struct quotients {
    const gg_tree *tree;
    bool counts, divides;
} quotients;

static bool note_quotient(TSNode node, void *data) {
    static const char *const counting[] = {"numel", "nelement", "len",  "size", "sum", "count_nonzero",
                                           "mean",  "prod",     "norm", "std",  "var", "nansum"};
    static const char *const dividing[] = {
        "sqrt",        "rsqrt",  "log",       "log2",        "log10", "log1p", "div",   "reciprocal", "pow",
        "true_divide", "divide", "remainder", "float_power", "acos",  "asin",  "atanh", "normalize",  "floor_divide"};
    static const char *const operators[] = {"/", "//", "%", "**", "/=", "//=", "%=", "**="};
    quotients *q = data;
    gg_str op = gg__text(q->tree, gg__field(node, "operator"));
    gg_str name = gg_node_is(node, "call") ? gg__called_name(q->tree, node) : GG_STR_NULL;
    bool shape = gg_node_is(node, "attribute") && gg_str_is(gg__text(q->tree, gg__field(node, "attribute")), "shape");
    q->counts = q->counts || shape || gg__is_one_of(name, counting, GG_COUNT(counting));
    q->divides = q->divides || gg__is_one_of(name, dividing, GG_COUNT(dividing)) ||
                 gg__is_one_of(op, operators, GG_COUNT(operators));
    return true;
}

/* `scale / i.numel()`: of none it is an error, or has a gradient that is not a number, though no row takes part. */
static bool may_divide_by_their_number(const gg_tree *tree, TSNode first) {
    quotients q = {.tree = tree};
    for (TSNode at = first; !ts_node_is_null(at); at = gg__next_statement(at)) gg__visit(at, note_quotient, &q);
    return q.counts && q.divides;
}

bool gg__does_nothing(gg__nothing *n, TSNode first) {
    if (may_divide_by_their_number(n->in->tree, first)) return false;
    for (TSNode at = first; !ts_node_is_null(at); at = gg__next_statement(at)) {
        TSNode child = gg__child(at, 0);
        bool fine = gg_node_is(at, "pass_statement") || (gg_node_is(at, "if_statement") && skips(n, at));
        if (gg_node_is(at, "expression_statement") && gg__child_count(at) == 1) {
            if (gg_node_is(child, "assignment") || gg_node_is(child, "augmented_assignment"))
                fine = assigns(n, at, child);
            else if (gg_node_is(child, "call"))
                fine = adds_nothing(n, child);
        }
        if (!fine) return false;
    }
    return true;
}
