/* Elements chosen by a boolean mask.  See masks.h. */
#include "repair/masks.h"

#include "repair/infer.h"

static bool is_mask_of(gg__meta mask, gg__meta base) {
    if (base.sort != GG__TENSOR || mask.sort != GG__TENSOR || !gg_str_is(mask.dtype, "torch.bool")) return false;
    if (mask.rank == 0 || mask.rank > base.rank || base.vague) return false;
    bool apart = mask.device.len && base.device.len && !gg_str_equal(mask.device, base.device);
    if (apart) return false; /* an index of the CPU's does for all */
    for (int32_t i = 0; i < mask.rank; i++)
        if (mask.shape[i] != base.shape[i] || mask.shape[i] < 0) return false;
    return true;
}

/* `x[i]`, which may not be there: where that is evaluated each time its statement runs, it fails as before. */
static bool is_row(TSNode base) {
    return gg_node_is(base, "subscript") && gg__child_count(base) == 2 && gg_node_is(gg__child(base, 1), "identifier");
}

static bool read_item(const gg_rule_input *in, TSNode node, bool draws, gg__item *out) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    bool select = false;
    *out = (gg__item){0};
    if (gg_node_is(node, "subscript") && gg__child_count(node) == 2) {
        out->base = gg__field(node, "value");
        out->mask = gg__field(node, "subscript");
    } else if (gg_node_is(node, "call") && gg_node_is(arguments, "argument_list") &&
               gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "masked_select")) {
        TSNode object = gg__field(function, "object");
        bool torchs = gg_str_equal(gg__text(in->tree, object), gg__module_alias(in->tree, node, "torch"));
        if (gg__child_count(arguments) != (torchs ? 2u : 1u)) return false;
        out->base = torchs ? gg__child(arguments, 0) : object;
        out->mask = gg__child(arguments, torchs ? 1 : 0);
        select = true;
    } else {
        return false;
    }
    out->mask = gg__strip_parentheses(out->mask);
    bool loosely = is_row(out->base) && gg__is_reduced_each_time(in, node);
    out->of = loosely ? gg__infer_loosely(in, out->base)
              : draws ? gg__infer_drawn(in, out->base)
                      : gg__infer(in, out->base);
    out->by = loosely ? gg__infer_loosely(in, out->mask) : gg__infer(in, out->mask);
    return is_mask_of(out->by, out->of) && (!select || out->by.rank == out->of.rank);
}

bool gg__masked_item(const gg_rule_input *in, TSNode node, gg__item *out) {
    return read_item(in, node, false, out);
}

bool gg__masked_item_drawn(const gg_rule_input *in, TSNode node, gg__item *out) {
    return read_item(in, node, true, out);
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

gg_str gg__text_around(const gg_tree *tree, TSNode node, TSNode part, gg_str text, gg_arena *arena) {
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    gg_str front = gg_str_slice(all, ts_node_start_byte(node), ts_node_start_byte(part));
    gg_str behind = gg_str_slice(all, ts_node_end_byte(part), ts_node_end_byte(node));
    return gg_arena_printf(arena, "%.*s%.*s%.*s", GG_STR_ARG(front), GG_STR_ARG(text), GG_STR_ARG(behind));
}

gg_str gg__operand_text(const gg_rule_input *in, TSNode node, gg_arena *arena) {
    static const char *const tight[] = {"identifier", "attribute", "subscript", "call", "parenthesized_expression"};
    gg_str text = gg__text(in->tree, node);
    for (size_t i = 0; i < GG_COUNT(tight); i++)
        if (gg_node_is(node, tight[i])) return text;
    return gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(text));
}

gg_str gg__mask_text(const gg_rule_input *in, const gg__item *item, gg_arena *arena) {
    if (item->by.rank == item->of.rank) return gg__text(in->tree, item->mask);
    gg_str text = gg_arena_printf(arena, "%.*s[...", GG_STR_ARG(gg__operand_text(in, item->mask, arena)));
    for (int32_t i = item->by.rank; i < item->of.rank; i++)
        text = gg_arena_printf(arena, "%.*s, None", GG_STR_ARG(text));
    return gg_arena_printf(arena, "%.*s]", GG_STR_ARG(text));
}

static gg_str base_text(const gg_rule_input *in, const gg__item *item, gg_arena *arena) {
    TSNode base = gg__strip_parentheses(item->base);
    if (ts_node_is_null(item->inner)) return gg__text(in->tree, base);
    return gg__text_around(in->tree, base, item->inner, gg__text(in->tree, item->row), arena);
}

gg_str gg__spread_item(const gg__masked *e, const gg__item *item, gg_str torch, gg_arena *arena) {
    gg_str text = base_text(e->in, item, arena);
    if (e->affine) return ts_node_is_null(item->inner) ? gg__text(e->in->tree, item->base) : text;
    return gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %s)", GG_STR_ARG(torch),
                           GG_STR_ARG(gg__mask_text(e->in, item, arena)), GG_STR_ARG(text),
                           gg__is_bool(item->of.dtype) ? "True" : "1");
}

typedef struct spreading {
    const gg__masked *e;
    gg_str torch;
    gg_arena *arena;
    gg_buf out;
    uint32_t at;
} spreading;

static bool spread_node(TSNode node, void *data) {
    spreading *s = data;
    gg__item item;
    TSNode named;
    gg_span span = gg_node_span(node);
    if (span.start < s->at) return true;
    bool is_item = gg__item_of(s->e, node, &item);
    if (!is_item && !gg__is_name_of_items(s->e, node, &named)) return true;
    gg_str all = gg_text_bytes(gg_tree_text(s->e->in->tree));
    gg_buf_append(&s->out, gg_str_slice(all, s->at, span.start));
    gg_str text =
        is_item ? gg__spread_item(s->e, &item, s->torch, s->arena) : gg__spread(s->e, named, s->torch, s->arena);
    bool loose = !is_item && (gg_node_is(named, "binary_operator") || gg_node_is(named, "unary_operator") ||
                              gg_node_is(named, "comparison_operator"));
    gg_buf_append(&s->out, loose ? gg_arena_printf(s->arena, "(%.*s)", GG_STR_ARG(text)) : text);
    s->at = span.end;
    return true;
}

gg_str gg__spread(const gg__masked *e, TSNode node, gg_str torch, gg_arena *arena) {
    spreading s = {.e = e, .torch = torch, .arena = arena, .at = ts_node_start_byte(node)};
    gg_buf_init(&s.out, GG_MAX_DOCUMENT_BYTES);
    gg__visit(node, spread_node, &s);
    gg_str all = gg_text_bytes(gg_tree_text(e->in->tree));
    gg_buf_append(&s.out, gg_str_slice(all, s.at, ts_node_end_byte(node)));
    gg_str out = gg_arena_str(arena, gg_buf_str(&s.out));
    gg_buf_clear(&s.out);
    return out;
}
