/* Expressions of chosen rows, for all rows.  See routed.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/routed.h"
#include "repair/row_wise.h"

/* ---- texts ------------------------------------------------------------------------------------------------------------------------ */

gg_str gg__routed_mask_text(const gg__routing *r, int32_t rank) {
    if (rank > 1) return r->chosen;
    return ts_node_is_null(r->binding) ? r->rows_text
                                       : gg_arena_printf(r->arena, "%.*s.flatten()", GG_STR_ARG(r->chosen));
}

gg_str gg__routed_where(const gg__routing *r, gg_str mask, gg_str value, gg_str other) {
    return gg_arena_printf(r->arena, "%.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(r->torch), GG_STR_ARG(mask),
                           GG_STR_ARG(value), GG_STR_ARG(other));
}

static gg_str enclosed(const gg__routing *r, gg__rows value) {
    return value.loose ? gg_arena_printf(r->arena, "(%.*s)", GG_STR_ARG(value.text)) : value.text;
}

const gg__temporary *gg__routed_temporary(const gg__routing *r, TSNode node) {
    for (size_t i = 0; i < r->temporary_count; i++)
        if (gg__is_routed_name(r, node, r->temporaries[i].name)) return &r->temporaries[i];
    return NULL;
}

static bool is_another(TSNode node, void *data) {
    const gg__routing *r = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (gg__is_routed_name(r, node, r->row) || gg__is_routed_name(r, node, r->place)) return false;
    return gg__routed_temporary(r, node) == NULL;
}

bool gg__reads_no_chosen(const gg__routing *r, TSNode node) {
    return gg__visit(node, is_another, (void *)r);
}

/* Is it one of the two names that torch.topk(…) gave together, of one size? */
static bool is_beside_places(const gg__routing *r, TSNode base) {
    return !ts_node_is_null(r->pair) && gg__is_routed_name(r, base, gg__text(r->in->tree, gg__child(r->pair, 0)));
}

/* ---- expressions of chosen rows ------------------------------------------------------------------------------------------------------- */

/* `x[i]`, `w[i, None]`, `w[i, n]`, `w[i, n, None]` */
static bool read_item(gg__routing *r, TSNode node, gg__rows *out) {
    const gg_rule_input *in = r->in;
    TSNode base = gg__field(node, "value"), indices[4];
    uint32_t count = gg__child_count(node) - 1;
    if (count == 0 || count > GG_COUNT(indices)) return false;
    for (uint32_t i = 0; i < count; i++) indices[i] = gg__child(node, i + 1);
    gg__meta m = gg__infer_loosely(in, base);
    if (!gg__is_routed_name(r, indices[0], r->row) || m.sort != GG__TENSOR || m.rank < 1 || m.shape[0] != r->rows ||
        !gg__is_floating(m.dtype) || !gg__reads_no_chosen(r, base))
        return false;
    gg_str text = gg__operand_text(in, base, r->arena), mask = gg__routed_mask_text(r, m.rank);
    uint32_t at = 1;
    if (at < count && gg__is_routed_name(r, indices[at], r->place)) {
        if (m.rank != 2 || m.shape[1] != r->columns || !is_beside_places(r, base)) return false;
        text = gg_arena_printf(r->arena, "%.*s.sum(-1)", GG_STR_ARG(gg__routed_where(r, r->places, text, GG_STR("0"))));
        m.rank = 1;
        at++;
    } else {
        text = gg__routed_where(r, mask, text, GG_STR("0"));
    }
    uint32_t ones = 0;
    for (; at < count; at++, ones++)
        if (!gg_node_is(indices[at], "none")) return false;
    if (ones) text = gg_arena_printf(r->arena, "%.*s[...%s]", GG_STR_ARG(text), ones == 1 ? ", None" : ", None, None");
    if (ones > 2 || (ones && m.rank != 1)) return false;
    *out = (gg__rows){text, m.rank + (int32_t)ones, false};
    return true;
}

/* `x[None, i].reshape(-1, d)`: x[i] */
static bool read_reshaped(gg__routing *r, TSNode call, gg__rows *out) {
    const gg_tree *tree = r->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           node = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    gg__meta m = gg__infer_loosely(r->in, gg__field(node, "value")),
             size = gg__infer_loosely(r->in, gg__child(arguments, 1));
    if (!gg_str_is(name, "reshape") && !gg_str_is(name, "view")) return false;
    if (!gg_node_is(node, "subscript") || gg__child_count(node) != 3 || !gg_node_is(gg__child(node, 1), "none") ||
        !gg__is_routed_name(r, gg__child(node, 2), r->row) || gg__child_count(arguments) != 2 ||
        !gg_str_is(gg__text(tree, gg__child(arguments, 0)), "-1"))
        return false;
    if (m.sort != GG__TENSOR || m.rank != 2 || m.shape[0] != r->rows || size.sort != GG__SCALAR_INT ||
        size.value != (double)m.shape[1])
        return false;
    *out = (gg__rows){gg__routed_where(r, gg__routed_mask_text(r, 2),
                                       gg__operand_text(r->in, gg__field(node, "value"), r->arena), GG_STR("0")),
                      2, false};
    return true;
}

/* `h.unsqueeze(-1)`, `h.to(x.dtype)`, `h.relu()`; what is behind the operand stays as it is. */
static bool read_method(gg__routing *r, TSNode call, gg__rows *out) {
    const gg_tree *tree = r->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           argument = gg__child(arguments, 0);
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    uint32_t count = gg__child_count(arguments);
    gg__rows of = {0};
    if (read_reshaped(r, call, out)) return true;
    if (!gg_node_is(function, "attribute") || !gg__routed_rows(r, gg__field(function, "object"), &of)) return false;
    bool adds = gg_str_is(name, "unsqueeze") && count == 1;
    bool casts =
        (gg_str_is(name, "to") || gg_str_is(name, "type_as")) && count == 1 && gg_node_is(argument, "attribute");
    bool plain = (gg_str_is(name, "float") || gg__is_activation_method(name)) && count == 0;
    if (gg_str_is(name, "type_as")) casts = count == 1 && gg__infer_loosely(r->in, argument).sort == GG__TENSOR;
    if (adds && !gg_str_is(gg__text(tree, argument), "-1") &&
        !(of.rank == 1 && gg_str_is(gg__text(tree, argument), "1")))
        return false;
    if (!adds && !casts && !plain) return false;
    r->takes = r->takes || (plain && !gg_str_is(name, "float"));
    gg_str behind = adds ? GG_STR("(-1)") : gg__text(tree, arguments);
    *out = (gg__rows){
        gg_arena_printf(r->arena, "%.*s.%.*s%.*s", GG_STR_ARG(enclosed(r, of)), GG_STR_ARG(name), GG_STR_ARG(behind)),
        of.rank + adds, false};
    return true;
}

static bool read_call(gg__routing *r, TSNode call, gg__rows *out) {
    const gg_tree *tree = r->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg__rows of = {0};
    if (gg__child_count(arguments) != 1 || !gg__routed_rows(r, gg__child(arguments, 0), &of))
        return read_method(r, call, out);
    bool activates = gg__is_activation(tree, function);
    bool calls = gg__reads_no_chosen(r, function) && gg__calls_module(tree, function);
    if (!activates && !calls) return false;
    r->takes = true;
    if (calls && (of.rank < 2 || !gg__is_row_wise(tree, function)))
        return gg__hinder(r->in, function, "is not known to treat each row alike, whatever the others are");
    if (calls && !ts_node_is_null(r->guard) && !gg__is_called_anyway(tree, function))
        return gg__hinder(r->in, function, "may be missing, or of another size, where no row is chosen");
    *out =
        (gg__rows){gg_arena_printf(r->arena, "%.*s(%.*s)", GG_STR_ARG(gg__text(tree, function)), GG_STR_ARG(of.text)),
                   of.rank, false};
    return true;
}

static bool is_plain_number(TSNode node) {
    return gg_node_is(node, "integer") || gg_node_is(node, "float");
}

static bool read_operation(gg__routing *r, TSNode node, gg__rows *out) {
    static const char *const operators[] = {"+", "-", "*"};
    const gg_tree *tree = r->in->tree;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(tree, gg__field(node, "operator"));
    gg__rows a = {.text = gg__text(tree, left)}, b = {.text = gg__text(tree, right)};
    bool number = is_plain_number(left) || is_plain_number(right);
    if (!gg__is_one_of(op, operators, GG_COUNT(operators)) ||
        (!is_plain_number(left) && !gg__routed_rows(r, left, &a)) ||
        (!is_plain_number(right) && !gg__routed_rows(r, right, &b)) || (!number && a.rank != b.rank))
        return false;
    /* parentheses stand where they stood */
    a.loose = a.loose && gg_node_is(left, "parenthesized_expression");
    b.loose = b.loose && gg_node_is(right, "parenthesized_expression");
    *out = (gg__rows){gg_arena_printf(r->arena, "%.*s %.*s %.*s", GG_STR_ARG(enclosed(r, a)), GG_STR_ARG(op),
                                      GG_STR_ARG(enclosed(r, b))),
                      a.rank > b.rank ? a.rank : b.rank, true};
    return true;
}

bool gg__routed_rows(gg__routing *r, TSNode node, gg__rows *out) {
    node = gg__strip_parentheses(node);
    const gg__temporary *temporary = gg__routed_temporary(r, node);
    if (temporary) {
        *out = (gg__rows){temporary->name, temporary->rank, false};
        return true;
    }
    if (gg_node_is(node, "subscript")) return read_item(r, node, out);
    if (gg_node_is(node, "call")) return read_call(r, node, out);
    return gg_node_is(node, "binary_operator") && read_operation(r, node, out);
}
