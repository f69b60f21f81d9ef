/* GG123 last-chosen: `h[m, :].view(h.size(0), -1, h.size(-1))[:, -1, :]`, the last (or first) row that a mask chooses in each example.
 * Offers: its place, found in the running count of what is chosen; where the view would raise, so does an assert.
 * Refuses: unless the mask is a bool matrix of the first sizes of h, and the view keeps the size of a row.
 * Safety: effects.  Page: docs/rules/GG123.md */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/parts.h"
#include "repair/strides.h"

typedef struct last_chosen {
    TSNode whole, base, mask, rows; /* `…[:, -1, :]`, h, m, `h.size(0)` */
    bool first;
} last_chosen;

/* `x.size(i)`, `x.shape[i]` of one of the names, of two ways to write i. */
static bool is_size_of(const gg_tree *tree, TSNode node, gg_str x, const char *i, const char *from_end) {
    bool call = gg_node_is(node, "call");
    TSNode index = call ? gg__child(gg__field(node, "arguments"), 0) : gg__field(node, "subscript");
    TSNode member = gg__field(node, call ? "function" : "value");
    if (gg__child_count(call ? gg__field(node, "arguments") : node) != (call ? 1u : 2u)) return false;
    if (!gg_node_is(member, "attribute") || !gg_str_equal(gg__text(tree, gg__field(member, "object")), x)) return false;
    gg_str written = gg__text(tree, index);
    return gg_str_is(gg__text(tree, gg__field(member, "attribute")), call ? "size" : "shape") &&
           (gg_str_is(written, i) || gg_str_is(written, from_end));
}

/* … or a name that `rows, _, width = x.shape` gave, of the tensor as it still is: its name is bound once. */
static bool is_unpacked(const gg_rule_input *in, const last_chosen *c, TSNode node, int32_t place) {
    int32_t at;
    TSNode of = gg__unpacked_of(in->tree, node, &at);
    return at == place && gg_str_equal(gg__text(in->tree, of), gg__text(in->tree, c->base)) &&
           !ts_node_is_null(gg__only_binding(in->tree, c->base));
}

/* The item itself: `h[m, :]`, `h[m]`. */
static bool read_item(TSNode item, last_chosen *out) {
    uint32_t count = gg__child_count(item);
    if (!gg_node_is(item, "subscript") || count < 2 || count > 3) return false;
    out->base = gg__child(item, 0);
    out->mask = gg__child(item, 1);
    if (count == 3 && !gg__is_colon(gg__child(item, 2))) return false;
    return gg_node_is(out->base, "identifier") && gg_node_is(out->mask, "identifier");
}

/* `[:, -1, :]`, `[:, 0]` of the view. */
static bool read_choice(const gg_tree *tree, TSNode whole, last_chosen *out) {
    uint32_t count = gg__child_count(whole);
    if (!gg_node_is(whole, "subscript") || count < 3 || count > 4 || !gg__is_colon(gg__child(whole, 1))) return false;
    if (count == 4 && !gg__is_colon(gg__child(whole, 3))) return false;
    gg_str place = gg__text(tree, gg__child(whole, 2));
    out->whole = whole;
    out->first = gg_str_is(place, "0");
    return out->first || gg_str_is(place, "-1");
}

typedef struct named {
    const gg_tree *tree;
    gg_str name;
} named;

/* Not what the function returns, alone or in a tuple, nor what goes into a container. */
static bool stays(TSNode node, void *data) {
    static const char *const others[] = {"return_statement", "expression_list", "tuple", "list", "pair", "yield",
                                         "assignment"};
    const named *n = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || gg__is_binding(node) ||
        !gg_str_equal(gg__text(n->tree, node), n->name))
        return true;
    return !gg__is_one_of(gg_str_from(ts_node_type(gg__parent(node))), others, GG_COUNT(others));
}

/* May anybody see how the rows lie? */
static bool is_handed_on(const gg_rule_input *in, TSNode whole) {
    TSNode parent = gg__parent(whole), left = gg__field(parent, "left"), function = gg__function(whole);
    if (!gg_node_is(parent, "assignment")) return gg_node_is(parent, "return_statement") || gg__strides_show(in, whole);
    named n = {in->tree, gg__text(in->tree, left)};
    return !gg_node_is(left, "identifier") || gg__strides_of_show(in, function, n.name, false) ||
           !gg__visit(function, stays, &n);
}

static bool match(const gg_rule_input *in, last_chosen *out) {
    const gg_tree *tree = in->tree;
    *out = (last_chosen){0};
    TSNode item = gg_node_at(tree, in->span), view = gg__parent(gg__parent(item));
    TSNode function = gg__field(view, "function"), sizes = gg__field(view, "arguments");
    if (!read_item(item, out) || !gg_node_is(view, "call") || !ts_node_eq(gg__field(function, "object"), item))
        return false;
    gg_str name = gg__text(tree, gg__field(function, "attribute")), base = gg__text(tree, out->base);
    if (!gg_str_is(name, "view") && !gg_str_is(name, "reshape")) return false;
    if (!read_choice(tree, gg__parent(view), out) || !ts_node_eq(gg__field(out->whole, "value"), view)) return false;
    if (gg__child_count(sizes) != 3 || !gg_str_is(gg__text(tree, gg__child(sizes, 1)), "-1")) return false;
    if (gg__has_comment(tree, gg_node_span(out->whole))) return gg__hinder(in, out->whole, "has a comment inside");
    out->rows = gg__child(sizes, 0);
    if (!is_size_of(tree, out->rows, base, "0", "-3") &&
        !is_size_of(tree, out->rows, gg__text(tree, out->mask), "0", "-2") && !is_unpacked(in, out, out->rows, 0))
        return gg__hinder(in, out->rows, "is not known to be how many examples there are");
    if (!is_size_of(tree, gg__child(sizes, 2), base, "2", "-1") && !is_unpacked(in, out, gg__child(sizes, 2), 2))
        return gg__hinder(in, gg__child(sizes, 2), "is not known to be the size of a row");
    gg__meta of = gg__infer(in, out->base), by = gg__infer(in, out->mask);
    if (of.sort != GG__TENSOR || of.rank != 3)
        return gg__hinder(in, out->base, "is not known to have three dimensions");
    bool fits = by.sort == GG__TENSOR && gg_str_is(by.dtype, "torch.bool") && by.rank == 2 &&
                gg_str_equal(by.device, of.device) && of.shape[0] >= 0 && of.shape[1] >= 0 &&
                by.shape[0] == of.shape[0] && by.shape[1] == of.shape[1];
    fits = fits && gg__has_certain_dtype(in, out->mask);
    if (!fits)
        return gg__hinder(in, out->mask, "is not known to be a bool mask of the first two sizes, where they are");
    if (!gg__is_always_evaluated(in, out->whole))
        return gg__hinder(in, out->whole, "is not evaluated each time its statement runs");
    if (is_handed_on(in, out->whole)) /* each row is then as far from the next as an example is long */
        return gg__hinder(in, out->whole, "is handed on: its strides are a view's");
    if (gg__may_be_caught_as(tree, gg__statement(out->whole),
                             GG_STR("RuntimeError"))) /* asked last: it may read the whole file */
        return gg__hinder(in, out->whole, "code around it may catch what it raises");
    return gg__can_name(tree, out->whole, "torch");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    last_chosen found;
    bool matched = match(in, &found);
    out->node = found.whole;
    return matched;
}

static int edit(const gg_rule_input *in, const gg_rule_match *rule_match, gg_arena *arena, gg_edits *out,
                gg_error *err) {
    const gg_tree *tree = in->tree;
    last_chosen c;
    (void)rule_match;
    if (!match(in, &c)) return gg_fail(err, GG_ENOMATCH, "the mask does not choose rows of each example");
    gg_str counted = gg__free_name(tree, "counted", arena), each = gg__free_name(tree, "per_row", arena);
    if (counted.len == 0 || each.len == 0) return gg_fail(err, GG_ENOMATCH, "no name is free");
    gg_str torch = gg__require_module(tree, c.whole, "torch", arena, out);
    gg_str rows = gg__text(tree, c.rows), newline = gg__newline(tree);
    uint32_t at = ts_node_start_byte(gg__statement(c.whole));
    gg_str indent = gg__indent(tree, at);
    gg_edits_add(out, (gg_span){at, at},
                 gg_arena_printf(arena,
                                 "%.*s = %.*s.flatten().cumsum(0)%.*s%.*s"
                                 "%.*s = %.*s[-1] // %.*s%.*s%.*s"
                                 "%.*s._assert_async((%.*s > 0) & (%.*s * %.*s == %.*s[-1]), "
                                 "\"shape is invalid: not as many are chosen in each example\")%.*s%.*s",
                                 GG_STR_ARG(counted), GG_STR_ARG(gg__text(tree, c.mask)), GG_STR_ARG(newline),
                                 GG_STR_ARG(indent), GG_STR_ARG(each), GG_STR_ARG(counted), GG_STR_ARG(rows),
                                 GG_STR_ARG(newline), GG_STR_ARG(indent), GG_STR_ARG(torch), GG_STR_ARG(each),
                                 GG_STR_ARG(each), GG_STR_ARG(rows), GG_STR_ARG(counted), GG_STR_ARG(newline),
                                 GG_STR_ARG(indent)));
    gg_str place = c.first
                       ? gg_arena_printf(arena, "%.*s.arange(%.*s, device=%.*s.device) * %.*s + 1", GG_STR_ARG(torch),
                                         GG_STR_ARG(rows), GG_STR_ARG(counted), GG_STR_ARG(each))
                       : gg_arena_printf(arena, "%.*s.arange(1, %.*s + 1, device=%.*s.device) * %.*s",
                                         GG_STR_ARG(torch), GG_STR_ARG(rows), GG_STR_ARG(counted), GG_STR_ARG(each));
    gg_edits_add(out, gg_node_span(c.whole),
                 gg_arena_printf(arena, "%.*s.flatten(0, 1)[%.*s.searchsorted(%.*s, %.*s)]",
                                 GG_STR_ARG(gg__text(tree, c.base)), GG_STR_ARG(torch), GG_STR_ARG(counted),
                                 GG_STR_ARG(place)));
    return 0;
}

const gg_rule gg_rule_last_chosen = {
    .code = "GG123",
    .name = "last-chosen",
    .title = "Find the place of the last row that is chosen",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
