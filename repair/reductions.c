/* Reductions of the elements that a boolean mask chooses.  See masks.h.
 *
 * All elements are reduced, those not chosen as what changes nothing: 0 for a sum, -inf for a maximum.  Never `x * m`: NaN times 0 is NaN. */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

enum {
    METHOD = 1,   /* f(x[m]).name(), torch.name(f(x[m])) */
    LOSS = 2,     /* F.name(f(a[m]), g(b[m])) */
    EXACT = 4,    /* whatever is reduced; else, unless marked, of integers and bools */
    ORDER = 8,    /* the result may depend on the order */
    FLOATS = 16,  /* of floating tensors alone */
    MEAN = 32,    /* divided by how many are chosen */
    RAISES = 64,  /* when none is */
    ROWS = 128,   /* takes dim=0 */
    CLASSES = 256 /* F.name(f(z[m]), y[m]): a class of each row, none where that is one which is ignored */
};
static const struct {
    const char *name, *fill, *fill_bool, *fill_int, *reduce;
    unsigned flags;
} kinds[] = {
    {"sum", "0", "False", "0", "sum", METHOD | ROWS},
    {"mean", "0", "", "", "sum", METHOD | ROWS | FLOATS | ORDER | MEAN},
    {"any", "0", "False", "0", "any", METHOD | EXACT},
    {"all", "1", "True", "1", "all", METHOD | EXACT},
    {"count_nonzero", "0", "False", "0", "count_nonzero", METHOD | EXACT},
    {"prod", "1", "True", "1", "prod", METHOD | FLOATS | ORDER},
    {"norm", "0", "", "", "norm", METHOD | FLOATS | ORDER},
    {"max", "float(\"-inf\")", "", "", "max", METHOD | FLOATS | ORDER | RAISES},
    {"min", "float(\"inf\")", "", "", "min", METHOD | FLOATS | ORDER | RAISES},
    {"amax", "float(\"-inf\")", "", "", "amax", METHOD | FLOATS | ORDER | RAISES},
    {"amin", "float(\"inf\")", "", "", "amin", METHOD | FLOATS | ORDER | RAISES},
    {"mse_loss", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"l1_loss", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"smooth_l1_loss", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"huber_loss", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"binary_cross_entropy", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"binary_cross_entropy_with_logits", "0", "", "", "sum", LOSS | FLOATS | ORDER | MEAN},
    {"cross_entropy", "", "", "", "", CLASSES | FLOATS | ORDER},
    {"nll_loss", "", "", "", "", CLASSES | FLOATS | ORDER},
};

static bool is_loss(const gg__reduction *r) {
    return kinds[r->kind].flags & LOSS;
}

/* A third argument, `reduction="sum"` or `"mean"`. */
static bool is_reduction(const gg_tree *tree, TSNode argument, bool *sum) {
    gg_str value = gg__text(tree, gg__field(argument, "value"));
    if (!gg_node_is(argument, "keyword_argument") ||
        !gg_str_is(gg__text(tree, gg__field(argument, "name")), "reduction") || value.len < 2)
        return false;
    value = gg_str_slice(value, 1, value.len - 1);
    *sum = gg_str_is(value, "sum");
    return *sum || gg_str_is(value, "mean");
}

/* `weight=…`, `reduction="mean"`, `ignore_index=…`, of which the call keeps its own. */
static bool read_options(const gg_rule_input *in, TSNode arguments, gg__reduction *r) {
    for (uint32_t i = 2; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        gg_str name = gg__text(in->tree, gg__field(argument, "name"));
        bool sum, simple = gg_node_is(value, "identifier") || gg_node_is(value, "attribute");
        double literal;
        if (!gg_node_is(argument, "keyword_argument")) return false;
        if (gg_str_is(name, "weight") || is_reduction(in->tree, argument, &sum)) continue;
        if (!gg_str_is(name, "ignore_index") || gg__infer(in, value).sort != GG__SCALAR_INT ||
            !(simple || gg__literal_value(in->tree, value, &literal)))
            return false;
        r->ignored = value;
    }
    return true;
}

/* `0`, `dim=0` or `axis=0` */
static bool is_first_dimension(const gg_tree *tree, TSNode argument) {
    if (gg_node_is(argument, "keyword_argument")) {
        gg_str name = gg__text(tree, gg__field(argument, "name"));
        if (!gg_str_is(name, "dim") && !gg_str_is(name, "axis")) return false;
        argument = gg__field(argument, "value");
    }
    return gg_str_is(gg__text(tree, argument), "0");
}

bool gg__is_always_evaluated(const gg_rule_input *in, TSNode node) {
    static const char *const lazy[] = {"conditional_expression",   "boolean_operator",   "lambda",
                                       "list_comprehension",       "set_comprehension",  "generator_expression",
                                       "dictionary_comprehension", "comparison_operator"};
    TSNode statement = gg__statement(node);
    for (TSNode at = node; !ts_node_eq(at, statement); at = gg__parent(at))
        for (size_t i = 0; i < GG_COUNT(lazy); i++)
            if (gg_node_is(at, lazy[i])) return false;
    bool simple = gg_node_is(statement, "expression_statement") || gg_node_is(statement, "return_statement");
    return simple && gg__starts_line(in->tree, ts_node_start_byte(statement));
}

bool gg__is_reduced_each_time(const gg_rule_input *in, TSNode node) {
    if (!gg__is_always_evaluated(in, node)) return false;
    TSNode statement = gg__statement(node);
    for (TSNode at = gg__parent(node); !ts_node_eq(at, statement); at = gg__parent(at)) {
        gg_str name = gg__text(in->tree, gg__field(gg__field(at, "function"), "attribute"));
        for (size_t i = 0; gg_node_is(at, "call") && i < GG_COUNT(kinds); i++)
            if (gg_str_is(name, kinds[i].name)) return true;
    }
    return false;
}

static bool fits(const gg_rule_input *in, bool exact, const gg__reduction *r) {
    unsigned flags = kinds[r->kind].flags;
    bool floating = gg__is_floating(r->e.dtype), integer = gg_str_starts_with(r->e.dtype, GG_STR("torch.int"));
    if (!floating && !integer && !gg_str_is(r->e.dtype, "torch.bool")) return false;
    if ((flags & FLOATS) && !floating) return false;
    if (exact != ((flags & EXACT) || (!(flags & ORDER) && !floating))) return false;
    if ((flags & (MEAN | CLASSES)) && gg__is_half(r->e.dtype)) return false; /* the sum may not fit */
    int32_t behind = r->e.item.of.rank - r->e.item.by.rank;
    if ((flags & MEAN) && !r->rows && behind > (ts_node_is_null(r->e.item.inner) ? 1 : 0)) return false;
    return !(flags & RAISES) || (gg__is_always_evaluated(in, r->call) && gg__can_name(in->tree, r->call, "torch") &&
                                 !gg__may_be_caught_as(in->tree, gg__statement(r->call), GG_STR("RuntimeError")));
}

/* What the call reduces, when its name is known and its arguments are. */
static bool read_call(const gg_rule_input *in, TSNode call, gg__reduction *r) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return false;
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute")), holder = gg__text(in->tree, object);
    for (r->kind = 0; r->kind < GG_COUNT(kinds) && !gg_str_is(name, kinds[r->kind].name);) r->kind++;
    if (r->kind == GG_COUNT(kinds)) return false;
    uint32_t count = gg__child_count(arguments);
    bool classes = kinds[r->kind].flags & CLASSES;
    if (is_loss(r) || classes) {
        r->operand = gg__child(arguments, 0);
        r->other = gg__child(arguments, 1);
        if (classes)
            return count >= 2 && read_options(in, arguments, r) &&
                   gg_str_equal(holder, gg__module_alias(in->tree, call, "torch.nn.functional"));
        bool known = count == 2 || (count == 3 && is_reduction(in->tree, gg__child(arguments, 2), &r->total));
        return known && gg_str_equal(holder, gg__module_alias(in->tree, call, "torch.nn.functional"));
    }
    bool torchs = gg_str_equal(holder, gg__module_alias(in->tree, call, "torch"));
    uint32_t from = torchs ? 1 : 0;
    r->operand = torchs ? gg__child(arguments, 0) : object;
    r->rows = count == from + 1 && is_first_dimension(in->tree, gg__child(arguments, from));
    return count == from || (r->rows && (kinds[r->kind].flags & ROWS));
}

/* Rows of one more dimension than the mask has, and a class for each, under one mask. */
static bool read_classes(gg__reduction *r) {
    const gg__item *z = &r->e.item, *y = &r->classes.item;
    const gg_tree *tree = r->e.in->tree;
    r->classes = (gg__masked){.in = r->e.in, .names = r->e.names};
    r->e.affine = false; /* what softmax keeps */
    return gg__is_elementwise(&r->classes, r->other) && gg_str_is(r->classes.dtype, "torch.int64") &&
           z->of.rank == z->by.rank + 1 && y->of.rank == y->by.rank && z->by.rank == y->by.rank &&
           gg_str_equal(gg__text(tree, z->mask), gg__text(tree, y->mask));
}

static bool read_operands(gg__reduction *r) {
    if (!gg__is_elementwise(&r->e, r->operand)) return false;
    if (kinds[r->kind].flags & CLASSES) return read_classes(r);
    if (!is_loss(r)) return true;
    gg_str dtype = r->e.dtype;
    bool alike = gg__is_elementwise(&r->e, r->other) && gg_str_equal(dtype, r->e.dtype);
    r->e.affine = false;
    return alike;
}

bool gg__masked_reduction(const gg_rule_input *in, bool exact, gg__reduction *out) {
    return gg_str_is(in->site->id, "GB0036") &&
           gg__masked_reduction_around(in, gg_node_at(in->tree, in->span), exact, out);
}

bool gg__masked_reduction_around(const gg_rule_input *in, TSNode from, bool exact, gg__reduction *out) {
    bool names = gg_node_is(from, "identifier");
    for (TSNode at = from; !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "block") || gg_node_is(at, "lambda")) return false;
        *out = (gg__reduction){.call = at, .e = {.in = in, .names = names, .rounded = !exact}};
        if (!gg_node_is(at, "call") || !read_call(in, at, out) || !read_operands(out)) continue;
        bool rows = out->e.item.by.rank < out->e.item.of.rank;
        out->rows = out->rows && rows;
        return fits(in, exact, out) && gg__can_name(in->tree, at, "torch") && !ts_node_is_null(gg__statement(at)) &&
               !gg__has_comment(in->tree, gg_node_span(at));
    }
    return false;
}

/* ---- the edit ------------------------------------------------------------------------------------------------------------- */

/* "", "0", "(0, 1)": the dimensions of the mask, where not all are reduced. */
static gg_str dimensions(const gg__reduction *r, gg_arena *arena) {
    if (!r->rows) return GG_STR_NULL;
    if (r->e.item.by.rank == 1) return GG_STR("0");
    gg_str text = GG_STR("(0");
    for (int32_t i = 1; i < r->e.item.by.rank; i++) text = gg_arena_printf(arena, "%.*s, %d", GG_STR_ARG(text), i);
    return gg_arena_printf(arena, "%.*s)", GG_STR_ARG(text));
}

/* How many rows are chosen. */
static gg_str chosen_rows(const gg__reduction *r, gg_arena *arena) {
    return gg_arena_printf(arena, "%.*s.sum()", GG_STR_ARG(gg__operand_text(r->e.in, r->e.item.mask, arena)));
}

/* How many elements are chosen, of each of those that remain. */
static gg_str chosen(const gg__reduction *r, gg_arena *arena) {
    const gg__item *item = &r->e.item;
    gg_str count = chosen_rows(r, arena);
    if (r->rows || item->of.rank == item->by.rank) return count;
    return gg_arena_printf(arena, "(%.*s * %.*s.shape[-1])", GG_STR_ARG(count),
                           GG_STR_ARG(gg__operand_text(r->e.in, item->base, arena)));
}

static bool stands_alone(TSNode node) {
    static const char *const places[] = {"assignment",       "return_statement",     "argument_list",
                                         "keyword_argument", "expression_statement", "parenthesized_expression"};
    TSNode parent = gg__parent(node);
    for (size_t i = 0; i < GG_COUNT(places); i++)
        if (gg_node_is(parent, places[i])) return true;
    return false;
}

void gg__divide_call(TSNode call, gg_str divisor, bool wrap, gg_arena *arena, gg_edits *edits) {
    gg_span span = gg_node_span(call);
    if (wrap) gg_edits_add(edits, (gg_span){span.start, span.start}, GG_STR("("));
    gg_edits_add(edits, (gg_span){span.end, span.end},
                 gg_arena_printf(arena, " / %.*s%s", GG_STR_ARG(divisor), wrap ? ")" : ""));
}

/* Puts in front what the original raises when nothing is chosen. */
static void raise_when_empty(const gg__reduction *r, gg_str torch, gg_arena *arena, gg_edits *out) {
    const gg_tree *tree = r->e.in->tree;
    uint32_t start = ts_node_start_byte(gg__statement(r->call));
    gg_str mask = gg__operand_text(r->e.in, r->e.item.mask, arena), indent = gg__indent(tree, start),
           newline = gg__newline(tree);
    gg_str unit = gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(newline), GG_STR_ARG(indent),
                                  GG_STR_ARG(gg__indent_unit(tree)));
    gg_edits_add(
        out, (gg_span){start, start},
        gg_arena_printf(
            arena,
            "%.*s._assert_async(%.*s%.*s.any(),%.*s\"%s(): Expected reduction dim to be specified for "
            "input.numel() == 0. \"%.*s\"Specify the reduction dim with the 'dim' argument.\",%.*s%.*s)%.*s%.*s",
            GG_STR_ARG(torch), GG_STR_ARG(unit), GG_STR_ARG(mask), GG_STR_ARG(unit), kinds[r->kind].name,
            GG_STR_ARG(unit), GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(newline), GG_STR_ARG(indent)));
}

static bool is_behind(TSNode node, void *data) {
    const uint32_t *end = data;
    return ts_node_start_byte(node) > *end;
}

/* Is the mask `labels != -100`, of the labels at hand?  Then it chooses as many as are not ignored. */
static bool chooses_the_labelled(const gg__reduction *r) {
    const gg_tree *tree = r->e.in->tree;
    TSNode mask = gg__strip_parentheses(r->e.item.mask), base = gg__strip_parentheses(r->classes.item.base);
    TSNode made = gg__strip_parentheses(gg__value_at(tree, r->call, gg__text(tree, mask)));
    double ignored;
    uint32_t end = ts_node_end_byte(r->call); /* up to there nothing is changed in place */
    return gg_node_is(mask, "identifier") && gg_node_is(base, "identifier") &&
           gg_node_is(made, "comparison_operator") && gg__child_count(made) == 2 &&
           gg_str_is(gg__text(tree, ts_node_child(made, 1)), "!=") &&
           gg_str_equal(gg__text(tree, gg__child(made, 0)), gg__text(tree, base)) &&
           gg__literal_value(tree, gg__child(made, 1), &ignored) && ignored == -100 &&
           gg__each_change(r->e.in, gg__function(r->call), ts_node_end_byte(made), is_behind, &end) &&
           gg__stays_from(tree, gg__function(r->call), gg__text(tree, base), ts_node_start_byte(made));
}

/* The mean of none is not a number: where a branch asks first whether there is one, it is written as a quotient, which a selection can keep from zero. */
static bool divides(const gg__reduction *r) {
    return gg__child_count(gg__field(r->call, "arguments")) == 2 && r->e.item.by.rank == 1 && chooses_the_labelled(r) &&
           !ts_node_is_null(gg__asked_for_mask(r->e.in->tree, r->call, gg__text(r->e.in->tree, r->e.item.mask)));
}

/* The rows that are not chosen get the class that is ignored, and numbers that do no harm. */
static void edit_classes(const gg__reduction *r, gg_str torch, gg_arena *arena, gg_edits *out) {
    const gg_rule_input *in = r->e.in;
    bool flat = r->e.item.by.rank == 1;
    gg_str ignored = ts_node_is_null(r->ignored) ? GG_STR("-100") : gg__text(in->tree, r->ignored);
    gg_str rows = gg__spread(&r->e, gg__strip_parentheses(r->operand), torch, arena);
    bool tight = gg_node_is(r->operand, "subscript") || gg_node_is(r->operand, "call");
    if (!flat)
        rows = gg_arena_printf(arena, "%s%.*s%s.flatten(0, -2)", tight ? "" : "(", GG_STR_ARG(rows), tight ? "" : ")");
    gg_edits_add(out, gg_node_span(r->operand), rows);
    bool quotient = divides(r);
    gg_edits_add(out, gg_node_span(r->other),
                 gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %.*s)%s%s", GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__mask_text(in, &r->classes.item, arena)),
                                 GG_STR_ARG(gg__spread(&r->classes, gg__strip_parentheses(r->other), torch, arena)),
                                 GG_STR_ARG(ignored), flat ? "" : ".flatten()", quotient ? ", reduction=\"sum\"" : ""));
    if (quotient) gg__divide_call(r->call, chosen_rows(r, arena), !stands_alone(r->call), arena, out);
}

void gg__edit_masked_reduction(const gg__reduction *r, gg_arena *arena, gg_edits *out) {
    const gg_rule_input *in = r->e.in;
    unsigned flags = kinds[r->kind].flags;
    gg_str torch = gg__require_module(in->tree, r->call, "torch", arena, out);
    if (flags & CLASSES) {
        edit_classes(r, torch, arena, out);
        return;
    }
    gg_str value = gg__spread(&r->e, gg__strip_parentheses(r->operand), torch, arena);
    const char *reduce = kinds[r->kind].reduce;
    if (is_loss(r)) {
        gg_str other = gg__spread(&r->e, r->other, torch, arena);
        value = gg_arena_printf(arena, "%.*s(%.*s, %.*s, reduction=\"none\")",
                                GG_STR_ARG(gg__text(in->tree, gg__field(r->call, "function"))), GG_STR_ARG(value),
                                GG_STR_ARG(other));
    }
    bool integer = gg_str_starts_with(r->e.dtype, GG_STR("torch.int"));
    const char *fill = gg_str_is(r->e.dtype, "torch.bool") ? kinds[r->kind].fill_bool
                       : integer                           ? kinds[r->kind].fill_int
                                                           : kinds[r->kind].fill;
    gg_str text = gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %s).%s(%.*s)", GG_STR_ARG(torch),
                                  GG_STR_ARG(gg__mask_text(in, &r->e.item, arena)), GG_STR_ARG(value), fill, reduce,
                                  GG_STR_ARG(dimensions(r, arena)));
    if ((flags & MEAN) && !r->total) {
        bool wrap = !stands_alone(r->call);
        text = gg_arena_printf(arena, "%s%.*s / %.*s%s", wrap ? "(" : "", GG_STR_ARG(text),
                               GG_STR_ARG(chosen(r, arena)), wrap ? ")" : "");
    }
    if (flags & RAISES) raise_when_empty(r, torch, arena, out);
    gg_edits_add(out, gg_node_span(r->call), text);
}
