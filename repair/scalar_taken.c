/* Numbers taken out of tensors: what is taken, and the tensor's text in its place.  See scalar.h. */
#include "repair/scalar.h"

#include "repair/infer.h"
#include "repair/ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 15 };           /* of a literal: a double holds it */
static const double exact = 0x1p53; /* a double holds every integer up to here */

/* Bits of an integer dtype that are for its value; 0 when it is none. */
int gg__bits_of(gg_str dtype) {
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"torch.int64", 63}, {"torch.int32", 31}, {"torch.int16", 15}, {"torch.int8", 7}, {"torch.uint8", 8}};
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_str_is(dtype, types[i].name)) return types[i].bits;
    return 0;
}

bool gg__literal_value(const gg_tree *tree, TSNode node, double *out) {
    node = gg__strip_parentheses(node);
    double sign = 1;
    if (gg_node_is(node, "unary_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "-")) {
        sign = -1;
        node = gg__strip_parentheses(gg__field(node, "argument"));
    }
    gg_str text = gg__text(tree, node);
    char digits[MAX_DIGITS + 1] = {0};
    if ((!gg_node_is(node, "integer") && !gg_node_is(node, "float")) || text.len > MAX_DIGITS) return false;
    memcpy(digits, text.ptr, text.len);
    char *end = NULL;
    *out = sign * strtod(digits, &end);
    return *end == '\0';
}

/* ---- what is taken out ------------------------------------------------------------------------------------------------------ */

static bool is_counting(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    if (gg_str_is(name, "argmax") || gg_str_is(name, "argmin") || gg_str_is(name, "count_nonzero")) return true;
    return gg_str_is(name, "sum") && gg__is_bool(gg__infer(in, gg__field(function, "object")).dtype);
}

gg__scalar gg__scalar_of(const gg_rule_input *in, gg__meta m, TSNode value) {
    gg__scalar s = {.magnitude = INFINITY,
                    .grid = m.dtype,
                    .natural = gg__is_natural(in, value),
                    .positive = gg__is_floating(m.dtype) && gg__is_positive(in, value)};
    int bits = gg__bits_of(m.dtype);
    if (gg__is_bool(m.dtype)) {
        s.sort = GG__SCALAR_BOOL;
        s.magnitude = 1;
    } else if (bits) {
        s.sort = GG__SCALAR_INT;
        if (bits < 63) s.magnitude = (double)(UINT64_C(1) << bits);
        if (is_counting(in, gg__strip_parentheses(value))) {
            s.magnitude = GG__MOST_ELEMENTS;
            s.natural = true;
        }
        gg__range range;
        if (gg__range_of(in, value, &range)) { /* `(h > 0).sum()`, also by its name */
            s.natural = s.natural || range.low >= 0;
            s.magnitude = fmin(s.magnitude, fmax(fabs(range.low), fabs(range.high)));
            if (s.magnitude > exact) s.magnitude = bits < 63 ? s.magnitude : INFINITY;
        }
    } else if (gg__is_floating(m.dtype)) {
        gg__range range;
        s.sort = GG__SCALAR_FLOAT;
        s.largest = gg__largest(m.dtype);
        s.finite = gg__range_of(in, value, &range);
        if (s.finite) s.largest = fmax(fabs(range.low), fabs(range.high));
    }
    if (s.sort != GG__SCALAR_FLOAT) {
        s.finite = true;
        s.largest = isfinite(s.magnitude) ? s.magnitude : 0x1p63;
    }
    return s;
}

/* int() of a floating value raises where that is not finite. */
static bool truncates(const gg_rule_input *in, gg__extraction *e) {
    gg__range range;
    if (!gg__range_of(in, e->value, &range)) return false;
    e->truncates = true;
    e->scalar.magnitude = ceil(fmax(fabs(range.low), fabs(range.high)));
    e->scalar.natural = range.low >= 0;
    e->scalar.positive = false;
    return e->scalar.magnitude <= exact;
}

/* `torch.rand(1)`, which is drawn as often as before.  Of whichever dtype is the default: a double holds it. */
static gg__meta drawn(const gg_rule_input *in, TSNode value, gg__extraction *out) {
    gg__meta m = gg__infer_drawn(in, value);
    if (m.sort != GG__TENSOR || m.vague != GG__DEFAULT || !gg__is_floating(m.dtype)) return m;
    out->any_float = true;
    out->widening = GG__TO_DOUBLE;
    m.vague = GG__CERTAIN;
    return m;
}

static bool match(const gg_rule_input *in, TSNode call, bool loose, bool single, gg__extraction *out) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    uint32_t count = gg__child_count(arguments);
    gg_str name = gg__text(in->tree, function);
    *out = (gg__extraction){.call = call};
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return false;
    bool item = gg_node_is(function, "attribute") && count == 0 &&
                gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item");
    bool converted = gg_node_is(function, "identifier") && count == 1 && !gg__is_local(in->tree, call, name) &&
                     !gg__is_bound_in_module(in->tree, name);
    if (!item && !converted) return false;
    out->value = item ? gg__field(function, "object") : gg__child(arguments, 0);
    out->meta = loose ? gg__infer_loosely(in, out->value) : gg__infer(in, out->value);
    if (single && out->meta.sort == GG__UNKNOWN) out->meta = drawn(in, out->value, out);
    out->single = single && gg__has_one_element(out->meta);
    if (out->meta.sort != GG__TENSOR || (out->meta.rank != 0 && !out->single) || out->meta.vague) return false;
    gg__meta held = out->meta;
    if (out->any_float) held.dtype = GG_STR("torch.float64");
    out->scalar = gg__scalar_of(in, held, out->value);
    gg__sort sort = out->scalar.sort;
    if (sort == GG__UNKNOWN) return false;
    if (item) return true;
    if (gg_str_is(name, "float")) {
        if (sort != GG__SCALAR_FLOAT) out->widening = GG__TO_DOUBLE;
        out->scalar.sort = GG__SCALAR_FLOAT;
        return true;
    }
    if (gg_str_is(name, "int")) {
        if (sort == GG__SCALAR_BOOL) out->widening = GG__TO_LONG;
        out->scalar.sort = GG__SCALAR_INT;
        if (sort == GG__SCALAR_FLOAT) return truncates(in, out);
        out->cuts = !gg__has_certain_dtype(in, out->value);
        if (out->cuts) out->meta.dtype = out->scalar.grid = GG_STR("torch.int64");
        return true;
    }
    out->truth = sort != GG__SCALAR_BOOL;
    out->scalar = (gg__scalar){.sort = GG__SCALAR_BOOL, .magnitude = 1, .natural = true};
    return gg_str_is(name, "bool");
}

bool gg__match_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, false, false, out);
}

bool gg__match_single_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, false, true, out);
}

bool gg__match_extraction_loosely(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, true, false, out);
}

/* Is it read where nothing binds tighter than a comma? */
static bool stands_alone(TSNode node) {
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "assignment") || gg_node_is(parent, "argument_list") ||
           gg_node_is(parent, "parenthesized_expression");
}

gg_str gg__tensor_text(const gg_rule_input *in, const gg__extraction *e, gg__widening widening, bool at_once,
                       gg_arena *arena) {
    TSNode value = gg__strip_parentheses(e->value);
    static const char *const primary[] = {"identifier", "call", "attribute", "subscript"};
    bool simple = false;
    for (size_t i = 0; i < GG_COUNT(primary); i++) simple = simple || gg_node_is(value, primary[i]);
    gg_str text = gg__text(in->tree, simple ? value : e->value);
    bool wrap = !simple && !gg_node_is(e->value, "parenthesized_expression");
    if (e->single) { /* of another number of elements it raises, too */
        text = gg_arena_printf(arena, "%s%.*s%s.reshape(())", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "");
        wrap = false;
    }
    bool floating = gg__is_floating(e->meta.dtype), fresh = e->meta.fresh;
    if (e->truth) {
        text = gg_arena_printf(arena, "(%.*s%s != 0)", GG_STR_ARG(text), floating ? ".detach()" : "");
        return widening == GG__AS_IS
                   ? text
                   : gg_arena_printf(arena, "%.*s.%s()", GG_STR_ARG(text), widening == GG__TO_LONG ? "long" : "double");
    }
    if (e->truncates) {
        static const char *const kinds[] = {[GG__AS_IS] = "", [GG__TO_LONG] = "", [GG__TO_DOUBLE] = ".double()"};
        return gg_arena_printf(arena, "%s%.*s%s.detach().long()%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                               kinds[widening]);
    }
    if (e->cuts) {
        bool shares = !fresh && !at_once && widening != GG__TO_DOUBLE;
        return gg_arena_printf(arena, "%s%.*s%s.long()%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                               widening == GG__TO_DOUBLE ? ".double()"
                               : shares                  ? ".clone()"
                                                         : "");
    }
    const char *convert = "";
    if (widening == GG__TO_DOUBLE && !gg_str_is(e->meta.dtype, "torch.float64")) convert = ".double()";
    if (widening == GG__TO_LONG && !gg_str_is(e->meta.dtype, "torch.int64")) convert = ".long()";
    /* detach() shares memory with its source, which may be changed in place later, also by what autograd does not see. */
    if (convert[0] == '\0' && !fresh && !at_once) convert = ".clone()";
    if (!floating && convert[0] == '\0' && !e->lists && stands_alone(e->call))
        return e->single ? text : gg__text(in->tree, value);
    return gg_arena_printf(arena, "%s%.*s%s%s%s%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                           floating ? ".detach()" : "", convert, e->lists == 1 ? ".unbind()" : "");
}

bool gg__facts_on_cpu(const gg_rule_input *in) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++)
        if (record->facts[i].kind == GG_VALUE_TENSOR && record->facts[i].device.len &&
            !gg_str_is(record->facts[i].device, "cpu"))
            return false;
    return true;
}
