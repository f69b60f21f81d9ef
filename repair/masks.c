/* Elements chosen by a boolean mask.  See masks.h. */
#include "repair/masks.h"

#include "repair/infer.h"

static bool is_mask_of(gg__meta mask, gg__meta base) {
    if (base.sort != GG__TENSOR || mask.sort != GG__TENSOR || !gg_str_is(mask.dtype, "torch.bool")) return false;
    if (mask.rank == 0 || mask.rank > base.rank || base.vague) return false;
    for (int32_t i = 0; i < mask.rank; i++)
        if (mask.shape[i] != base.shape[i] || mask.shape[i] < 0) return false;
    return true;
}

bool gg__masked_item(const gg_rule_input *in, TSNode node, gg__item *out) {
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
    out->of = gg__infer(in, out->base);
    out->by = gg__infer(in, out->mask);
    return is_mask_of(out->by, out->of) && (!select || out->by.rank == out->of.rank);
}

/* ---- what an expression makes of them -------------------------------------------------------------------------------------- */

typedef struct value {
    enum { NOTHING, NUMBER, ALONE, ITEMS } kind; /* ALONE: a 0-d tensor */
    gg__sort sort;                               /* of a number */
    gg_str dtype;
    bool affine;
} value;

static const value nothing = {.kind = NOTHING};

/* Of floating numbers each. */
enum {
    EXACT = 1,    /* rounds as IEEE 754 says, wherever an element lies */
    INTEGERS = 2, /* of integers too */
    BARE = 4,     /* its gradient is infinite somewhere: of an item alone */
    AFFINE = 8    /* its gradient does not depend on the values */
};
static const struct {
    const char *name;
    unsigned flags;
    uint32_t max_numbers;
} functions[] = {
    {"abs", EXACT | INTEGERS, 0},
    {"neg", EXACT | INTEGERS | AFFINE, 0},
    {"relu", EXACT, 0},
    {"square", EXACT, 0},
    {"clamp", EXACT, 2},
    {"clamp_min", EXACT, 1},
    {"clamp_max", EXACT, 1},
    {"sqrt", EXACT | BARE, 0},
    {"floor", EXACT | AFFINE, 0},
    {"ceil", EXACT | AFFINE, 0},
    {"round", EXACT | AFFINE, 0},
    {"sign", EXACT | AFFINE, 0},
    {"exp", 0, 0},
    {"log", BARE, 0},
    {"sigmoid", 0, 0},
    {"tanh", 0, 0},
    {"sin", 0, 0},
    {"cos", 0, 0},
    {"gelu", 0, 0},
    {"silu", 0, 0},
    {"softplus", 0, 0},
};

static value look(gg__masked *e, TSNode node);

static value of_item(gg__masked *e, const gg__item *item) {
    const gg_tree *tree = e->in->tree;
    if (ts_node_is_null(e->item.mask)) e->item = *item;
    bool alike = gg_str_equal(gg__text(tree, item->mask), gg__text(tree, e->item.mask)) &&
                 gg__same_shape(item->of, e->item.of) && item->by.rank == e->item.by.rank;
    return alike ? (value){.kind = ITEMS, .dtype = item->of.dtype, .affine = true} : nothing;
}

static bool is_bare(gg__masked *e, TSNode node) {
    gg__item item;
    return gg__masked_item(e->in, gg__strip_parentheses(node), &item);
}

/* The dtype of a and b together, where it is that of the items among them. */
static value together(value a, value b) {
    value items = a.kind == ITEMS ? a : b, other = a.kind == ITEMS ? b : a;
    if (items.kind != ITEMS || other.kind == NOTHING) return nothing;
    if (other.kind == NUMBER) {
        bool fits = gg__is_floating(items.dtype) || (other.sort == GG__SCALAR_INT && !gg__is_bool(items.dtype));
        return fits ? items : nothing;
    }
    if (!gg_str_equal(items.dtype, other.dtype)) return nothing;
    items.affine = items.affine && other.affine;
    return items;
}

static value arithmetic(gg__masked *e, gg_str op, value a, value b, TSNode right) {
    value out = together(a, b);
    bool divides = gg_str_is(op, "/"), power = gg_str_is(op, "**");
    if (out.kind != ITEMS || gg__is_bool(out.dtype)) return nothing;
    if (gg_str_is(op, "+") || gg_str_is(op, "-")) return out;
    if (power) {
        gg_str exponent = gg__text(e->in->tree, right);
        out.affine = false;
        return a.kind == ITEMS && (gg_str_is(exponent, "2") || gg_str_is(exponent, "3")) ? out : nothing;
    }
    if (a.kind != NUMBER && b.kind != NUMBER) out.affine = false;
    if (gg_str_is(op, "*")) return out;
    if (!divides || !gg__is_floating(out.dtype) || b.kind == ALONE) return nothing;
    if (b.kind == NUMBER) return out;
    out.affine = false;
    /* of a half, autocast makes `1 / x` another dtype */
    return is_bare(e, right) && (a.kind != NUMBER || !gg__is_half(out.dtype)) ? out : nothing;
}

static value logical(gg_str op, value a, value b) {
    value out = together(a, b);
    bool known = gg_str_is(op, "&") || gg_str_is(op, "|") || gg_str_is(op, "^");
    return known && out.kind == ITEMS && gg__is_bool(out.dtype) ? out : nothing;
}

static value comparison(gg__masked *e, TSNode node) {
    if (gg__child_count(node) != 2) return nothing; /* chained */
    gg_str op = gg__text(e->in->tree, ts_node_child(node, 1));
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(ops); i++) known = known || gg_str_is(op, ops[i]);
    value out = together(look(e, gg__child(node, 0)), look(e, gg__child(node, 1)));
    if (!known || out.kind != ITEMS) return nothing;
    return (value){.kind = ITEMS, .dtype = GG_STR("torch.bool"), .affine = true};
}

static bool only_numbers(gg__masked *e, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        gg__sort sort = gg__infer(e->in, argument).sort;
        if (sort == GG__UNKNOWN || sort == GG__TENSOR) return false;
    }
    return true;
}

static value call(gg__masked *e, TSNode node) {
    const gg_tree *tree = e->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return nothing;
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute")), holder = gg__text(tree, object);
    uint32_t count = gg__child_count(arguments);
    bool functional = gg_str_equal(holder, gg__module_alias(tree, node, "torch.nn.functional"));
    bool method = !functional && !gg_str_equal(holder, gg__module_alias(tree, node, "torch"));
    TSNode x = method ? object : gg__child(arguments, 0);
    if (method && count == 0 && (gg_str_is(name, "float") || gg_str_is(name, "double"))) {
        value out = look(e, x);
        out.dtype = gg_str_is(name, "float") ? GG_STR("torch.float32") : GG_STR("torch.float64");
        return out.kind == ITEMS ? out : nothing;
    }
    for (size_t i = 0; i < GG_COUNT(functions); i++) {
        if (!gg_str_is(name, functions[i].name)) continue;
        unsigned flags = functions[i].flags;
        uint32_t numbers = count - (method ? 0 : 1);
        bool known = (method || count > 0) && numbers <= functions[i].max_numbers &&
                     (numbers > 0) == (functions[i].max_numbers > 0) && only_numbers(e, arguments, method ? 0 : 1);
        if (!known || (!(flags & EXACT) && !e->rounded) || ((flags & BARE) && !is_bare(e, x))) return nothing;
        value out = look(e, x);
        bool fits =
            gg__is_floating(out.dtype) || ((flags & INTEGERS) && gg_str_starts_with(out.dtype, GG_STR("torch.int")));
        out.affine = out.affine && (flags & AFFINE);
        return out.kind == ITEMS && fits ? out : nothing;
    }
    return nothing;
}

static value look(gg__masked *e, TSNode node) {
    gg__item item;
    node = gg__strip_parentheses(node);
    if (gg__masked_item(e->in, node, &item)) return of_item(e, &item);
    gg__meta m = gg__infer(e->in, node);
    if (m.sort == GG__TENSOR)
        return m.rank == 0 && !m.vague ? (value){.kind = ALONE, .dtype = m.dtype, .affine = true} : nothing;
    if (m.sort != GG__UNKNOWN) return (value){.kind = NUMBER, .sort = m.sort, .affine = true};
    if (gg_node_is(node, "binary_operator")) {
        TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
        gg_str op = gg__text(e->in->tree, gg__field(node, "operator"));
        value a = look(e, left), b = look(e, right), out = arithmetic(e, op, a, b, right);
        return out.kind == NOTHING ? logical(op, a, b) : out;
    }
    if (gg_node_is(node, "unary_operator")) {
        value out = look(e, gg__field(node, "argument"));
        bool invert = gg_str_is(gg__text(e->in->tree, gg__field(node, "operator")), "~");
        return gg__is_bool(out.dtype) == invert ? out : nothing;
    }
    if (gg_node_is(node, "comparison_operator")) return comparison(e, node);
    return gg_node_is(node, "call") ? call(e, node) : nothing;
}

static bool keep(gg__masked *e, value v) {
    e->dtype = v.dtype;
    e->affine = v.affine;
    return v.kind == ITEMS;
}

bool gg__is_elementwise(gg__masked *e, TSNode node) {
    return keep(e, look(e, node));
}

bool gg__is_elementwise_with(gg__masked *e, gg_str op, TSNode node) {
    value item = of_item(e, &e->item);
    return keep(e, arithmetic(e, op, item, look(e, node), node));
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

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

gg_str gg__spread_item(const gg__masked *e, TSNode base, gg_str torch, gg_arena *arena) {
    gg_str text = gg__text(e->in->tree, base);
    if (e->affine) return text;
    return gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, 1)", GG_STR_ARG(torch),
                           GG_STR_ARG(gg__mask_text(e->in, &e->item, arena)),
                           GG_STR_ARG(gg__text(e->in->tree, gg__strip_parentheses(base))));
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
    gg_span span = gg_node_span(node);
    if (span.start < s->at || !gg__masked_item(s->e->in, node, &item)) return true;
    gg_str all = gg_text_bytes(gg_tree_text(s->e->in->tree));
    gg_buf_append(&s->out, gg_str_slice(all, s->at, span.start));
    gg_buf_append(&s->out, gg__spread_item(s->e, item.base, s->torch, s->arena));
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
