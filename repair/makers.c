/* Tensors from sizes (`torch.zeros`), in another dtype (`x.half()`), and from several (`torch.where`, `torch.cat`).  See infer.h. */
#include "repair/infer.h"

/* ---- from sizes ------------------------------------------------------------------------------------------------------ */

/* `dtype=…`, `device=…` and nothing else by name. */
static bool options(gg__inference *s, TSNode arguments, TSNode *dtype, TSNode *device) {
    *dtype = *device = (TSNode){0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "dictionary_splat")) return false;
        if (!gg_node_is(argument, "keyword_argument")) continue;
        gg_str name = gg__text(s->in->tree, gg__field(argument, "name"));
        TSNode value = gg__field(argument, "value");
        if (gg_str_is(name, "dtype"))
            *dtype = value;
        else if (gg_str_is(name, "device"))
            *device = value;
        else
            return false;
    }
    return true;
}

/* The device of `device=x.device`, "cpu" where it is written so. */
static bool device_named(gg__inference *s, TSNode node, gg_str *out) {
    gg_str text = gg__text(s->in->tree, node);
    if (gg_str_is(text, "\"cpu\"") || gg_str_is(text, "'cpu'")) {
        *out = GG_STR("cpu");
        return true;
    }
    if (!gg_node_is(node, "attribute") || !gg_str_is(gg__text(s->in->tree, gg__field(node, "attribute")), "device"))
        return false;
    gg__meta x = gg__infer_node(s, gg__field(node, "object"));
    *out = x.device;
    return x.sort == GG__TENSOR;
}

static gg__meta fresh(gg_str dtype, gg__vagueness vague) {
    return (gg__meta){
        .sort = GG__TENSOR, .dtype = dtype, .vague = vague, .smooth = true, .linear = true, .fresh = true};
}

bool gg__makes_anew(const gg_tree *tree, TSNode call, bool *like) {
    static const char *const sized[] = {"torch.empty", "torch.zeros", "torch.ones"};
    static const char *const alike[] = {"torch.empty_like", "torch.zeros_like", "torch.ones_like"};
    TSNode function = gg__field(call, "function");
    bool found = false;
    *like = false;
    for (size_t i = 0; !found && i < GG_COUNT(sized); i++) {
        *like = gg__refers_to(tree, function, alike[i]);
        found = *like || gg__refers_to(tree, function, sized[i]);
    }
    return found && gg_node_is(call, "call") && gg_node_is(gg__field(call, "arguments"), "argument_list");
}

/* Of a tensor made anew: `like` gives what is not said, or the dtype is torch's default. */
static gg__meta with_options(gg__inference *s, const gg__call *call, gg__meta out) {
    TSNode dtype, device;
    if (!options(s, call->arguments, &dtype, &device)) return gg__unknown;
    if (!ts_node_is_null(dtype)) {
        out.dtype = gg__dtype_named(s, dtype, &out.vague);
        if (out.dtype.len == 0) return gg__unknown;
    }
    if (!ts_node_is_null(device) && !device_named(s, device, &out.device)) return gg__unknown;
    return out;
}

static gg__meta of_number(gg__meta number) {
    if (number.sort == GG__SCALAR_FLOAT) return fresh(GG_STR("torch.float32"), GG__DEFAULT);
    return fresh(number.sort == GG__SCALAR_INT ? GG_STR("torch.int64") : GG_STR("torch.bool"), GG__CERTAIN);
}

static bool fill(gg__meta *x, const gg__sizes *sizes) {
    *x = gg__with_sizes(*x, sizes);
    for (int32_t i = 0; i < x->rank; i++)
        if (x->shape[i] < 0) return false;
    return true;
}

/* torch.zeros(2, 3), torch.ones((2, 3)), torch.full((2, 3), 1.5) */
static gg__meta call_sized(gg__inference *s, const gg__call *call, gg__meta like) {
    bool full = gg_str_is(call->name, "full") || gg_str_is(call->name, "new_full");
    gg__meta out = like;
    gg__sizes sizes;
    TSNode value = {0};
    if (full) {
        value = gg__child(call->arguments, 1);
        gg__meta number = gg__infer_node(s, value);
        if (gg__child_count(call->arguments) < 2 || gg_node_is(gg__child(call->arguments, 0), "keyword_argument") ||
            !gg__is_number(number) || !gg__sizes_of(s, gg__child(call->arguments, 0), &sizes))
            return gg__unknown;
        for (uint32_t i = 2; i < gg__child_count(call->arguments); i++)
            if (!gg_node_is(gg__child(call->arguments, i), "keyword_argument")) return gg__unknown;
        if (call->form == GG__TORCH) out = of_number(number);
        out = with_options(s, call, out);
        if (out.sort != GG__TENSOR || (out.vague != GG__DEFAULT && !gg__holds(out.dtype, number))) return gg__unknown;
    } else {
        if (!gg__sizes_in(s, call->arguments, 0, &sizes)) return gg__unknown;
        out = with_options(s, call, out);
    }
    return out.sort == GG__TENSOR && fill(&out, &sizes) ? out : gg__unknown;
}

static gg__meta call_like(gg__inference *s, const gg__call *call) {
    bool full = gg_str_is(call->name, "full_like");
    gg__meta x = gg__infer_node(s, gg__child(call->arguments, 0));
    if (x.sort != GG__TENSOR) return gg__unknown;
    for (uint32_t i = full ? 2 : 1; i < gg__child_count(call->arguments); i++)
        if (!gg_node_is(gg__child(call->arguments, i), "keyword_argument")) return gg__unknown;
    x.fresh = x.smooth = x.linear = true;
    gg__meta out = with_options(s, call, x);
    if (full && !gg__holds(out.dtype, gg__infer_node(s, gg__child(call->arguments, 1)))) return gg__unknown;
    return out;
}

/* torch.arange(n), torch.arange(0, n) */
static gg__meta call_arange(gg__inference *s, const gg__call *call) {
    gg__meta bounds[2] = {gg__constant(GG__SCALAR_INT, 0), gg__unknown};
    uint32_t count = 0;
    for (uint32_t i = 0; i < gg__child_count(call->arguments); i++) {
        TSNode argument = gg__child(call->arguments, i);
        if (gg_node_is(argument, "keyword_argument")) continue;
        if (count >= 2) return gg__unknown;
        bounds[1] = gg__infer_node(s, argument);
        if (bounds[1].sort != GG__SCALAR_INT || !bounds[1].natural) return gg__unknown;
        if (count++ == 0 && gg__child_count(call->arguments) > 1 &&
            !gg_node_is(gg__child(call->arguments, 1), "keyword_argument"))
            bounds[0] = bounds[1];
    }
    if (count == 0 || (count == 2 && !(bounds[0].constant && bounds[0].value == 0))) return gg__unknown;
    gg__meta out = with_options(s, call, fresh(GG_STR("torch.int64"), GG__CERTAIN));
    if (out.sort != GG__TENSOR || gg__is_bool(out.dtype)) return gg__unknown;
    gg__sizes sizes = {.rank = 1, .items = {bounds[1].seen ? (int64_t)bounds[1].value : -1}};
    out = gg__with_sizes(out, &sizes);
    return out;
}

/* torch.rand(2, 3), torch.randn(x.shape), torch.randint(9, (2, 3)), torch.rand_like(x) */
static gg__meta call_drawn(gg__inference *s, const gg__call *call) {
    bool like = gg_str_ends_with(call->name, GG_STR("_like")),
         integer = gg_str_starts_with(call->name, GG_STR("randint"));
    if (!s->draws) return gg__unknown;
    gg__meta out = integer ? fresh(GG_STR("torch.int64"), GG__CERTAIN) : fresh(GG_STR("torch.float32"), GG__DEFAULT);
    uint32_t count = 0;
    while (count < gg__child_count(call->arguments) &&
           !gg_node_is(gg__child(call->arguments, count), "keyword_argument"))
        count++;
    if (like) {
        gg__meta x = gg__infer_node(s, gg__child(call->arguments, 0));
        x.fresh = x.smooth = x.linear = true;
        return x.sort == GG__TENSOR && count >= 1 ? with_options(s, call, x) : gg__unknown;
    }
    gg__sizes sizes;
    bool known = integer ? count >= 2 && gg__sizes_of(s, gg__child(call->arguments, count - 1), &sizes)
                         : gg__sizes_in(s, call->arguments, 0, &sizes);
    for (uint32_t i = 0; integer && known && i + 1 < count; i++)
        known = gg__infer_node(s, gg__child(call->arguments, i)).sort == GG__SCALAR_INT;
    if (known) out = with_options(s, call, out);
    return known && out.sort == GG__TENSOR && fill(&out, &sizes) ? out : gg__unknown;
}

/* The numbers of `[[1, 2.5], [0, n]]`: how many in each dimension, and one of the widest sort; false when they are none, or the dtype does not hold one
 * (an empty dtype: it is not asked). */
static bool numbers_of(gg__inference *s, TSNode node, gg_str held, int32_t depth, gg__sizes *sizes, gg__meta *widest) {
    bool display = gg_node_is(node, "list") || gg_node_is(node, "tuple");
    if (!display) {
        gg__meta number = gg__infer_node(s, node);
        if (!gg__is_number(number) || depth != sizes->rank || (held.len && !gg__holds(held, number))) return false;
        static const int widths[] = {[GG__SCALAR_BOOL] = 1, [GG__SCALAR_INT] = 2, [GG__SCALAR_FLOAT] = 3};
        if (widest->sort == GG__UNKNOWN || widths[number.sort] > widths[widest->sort]) *widest = number;
        return true;
    }
    uint32_t count = gg__child_count(node);
    if (count == 0 || depth >= GG__MAX_RANK) return false;
    if (depth == sizes->rank && widest->sort == GG__UNKNOWN) sizes->items[sizes->rank++] = count;
    if (depth >= sizes->rank || sizes->items[depth] != count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!numbers_of(s, gg__child(node, i), held, depth + 1, sizes, widest)) return false;
    return true;
}

/* torch.tensor(0.5), torch.tensor([1., 2.]) */
static gg__meta call_tensor(gg__inference *s, const gg__call *call) {
    TSNode data = gg__strip_parentheses(gg__child(call->arguments, 0));
    gg__sizes sizes = {0}, again = {0};
    gg__meta widest = gg__unknown, other = gg__unknown;
    for (uint32_t i = 1; i < gg__child_count(call->arguments); i++)
        if (!gg_node_is(gg__child(call->arguments, i), "keyword_argument")) return gg__unknown;
    if (!numbers_of(s, data, GG_STR_NULL, 0, &sizes, &widest)) return gg__unknown;
    gg__meta out = with_options(s, call, of_number(widest));
    if (out.sort != GG__TENSOR) return gg__unknown;
    bool any = out.vague == GG__DEFAULT || gg__is_floating(out.dtype); /* what is too large is infinite */
    gg_str held = any ? GG_STR_NULL : out.dtype;
    return numbers_of(s, data, held, 0, &again, &other) ? gg__with_sizes(out, &sizes) : gg__unknown;
}

/* torch.Tensor([True]): of torch's default dtype, whatever the numbers are */
static gg__meta call_default(gg__inference *s, const gg__call *call) {
    gg__sizes sizes = {0};
    gg__meta widest = gg__unknown;
    TSNode data = gg__strip_parentheses(gg__child(call->arguments, 0));
    if (gg__child_count(call->arguments) != 1 || !gg_node_is(data, "list") ||
        !numbers_of(s, data, GG_STR_NULL, 0, &sizes, &widest))
        return gg__unknown;
    return gg__with_sizes(fresh(GG_STR("torch.float32"), GG__DEFAULT), &sizes);
}

/* torch.eye(3), torch.eye(n, m) */
static gg__meta call_eye(gg__inference *s, const gg__call *call) {
    gg__sizes sizes = {0};
    for (uint32_t i = 0; i < gg__child_count(call->arguments); i++) {
        TSNode argument = gg__child(call->arguments, i);
        if (gg_node_is(argument, "keyword_argument") || gg_node_is(argument, "comment")) continue;
        gg__meta n = gg__infer_node(s, argument);
        if (n.sort != GG__SCALAR_INT || !n.natural || !n.seen || sizes.rank == 2) return gg__unknown;
        sizes.items[sizes.rank++] = (int64_t)n.value;
    }
    if (sizes.rank == 0) return gg__unknown;
    if (sizes.rank == 1) sizes.items[sizes.rank++] = sizes.items[0];
    gg__meta out = with_options(s, call, fresh(GG_STR("torch.float32"), GG__DEFAULT));
    return out.sort == GG__TENSOR ? gg__with_sizes(out, &sizes) : gg__unknown;
}

/* x.det(): of square matrices; in half precision there is none. */
static gg__meta call_det(gg__inference *s, const gg__call *call) {
    bool method = call->form == GG__METHOD;
    TSNode object = gg__field(gg__field(call->node, "function"), "object");
    gg__meta x = gg__infer_node(s, method ? object : gg__child(call->arguments, 0));
    if (gg__child_count(call->arguments) != (method ? 0U : 1U) || x.sort != GG__TENSOR || x.vague ||
        !gg__is_floating(x.dtype) || gg__is_half(x.dtype) || x.rank < 2 || x.shape[x.rank - 1] < 1 ||
        x.shape[x.rank - 1] != x.shape[x.rank - 2])
        return gg__unknown;
    x.rank -= 2;
    x.smooth = x.linear = false;
    x.fresh = true;
    if (x.layout.len) x.layout = x.rank ? GG_STR("?") : GG_STR("");
    return x;
}

/* ---- from several ---------------------------------------------------------------------------------------------------------- */

/* torch.cat((a, b), 1), torch.stack([a, b]) */
static gg__meta call_joined(gg__inference *s, const gg__call *call) {
    TSNode given[2];
    gg__call all = *call;
    all.from = 0;
    if (!gg__bind_arguments(s, &all, (const char *const[]){"tensors", "dim"}, 2, given)) return gg__unknown;
    bool stack = gg_str_is(call->name, "stack");
    uint32_t count = gg__child_count(given[0]);
    if ((!gg_node_is(given[0], "list") && !gg_node_is(given[0], "tuple")) || count == 0) return gg__unknown;
    gg__meta out = gg__infer_node(s, gg__child(given[0], 0));
    gg__meta dim = ts_node_is_null(given[1]) ? gg__constant(GG__SCALAR_INT, 0) : gg__infer_node(s, given[1]);
    int32_t at;
    if (out.sort != GG__TENSOR || (!stack && out.rank == 0) || out.rank >= GG__MAX_RANK || gg__elements(out) < 0 ||
        !gg__dim(dim, out.rank + (stack ? 1 : 0), &at))
        return gg__unknown;
    for (uint32_t i = 1; i < count; i++) {
        gg__meta x = gg__infer_node(s, gg__child(given[0], i));
        if (x.sort != GG__TENSOR || x.rank != out.rank || gg__elements(x) < 0 || !gg_str_equal(x.dtype, out.dtype) ||
            x.vague != out.vague || !gg_str_equal(x.device, out.device))
            return gg__unknown;
        for (int32_t d = 0; d < x.rank; d++)
            if (x.shape[d] != out.shape[d] && (stack || d != at)) return gg__unknown;
        if (!stack) out.shape[at] += x.shape[at];
        out.smooth = out.smooth && x.smooth;
        out.linear = out.linear && x.linear;
        if (x.layout.len) out.layout = GG_STR("?");
    }
    for (int32_t i = out.rank; stack && i > at; i--) out.shape[i] = out.shape[i - 1];
    if (stack) out.shape[at] = count;
    out.rank += stack;
    if (stack && out.layout.len) out.layout = GG_STR("");
    if (out.layout.len) out.layout = GG_STR("?");
    out.fresh = true;
    return out;
}

gg__meta gg__chosen(gg__meta condition, gg__meta yes, gg__meta no) {
    if (condition.sort != GG__TENSOR || !gg__is_bool(condition.dtype)) return gg__unknown;
    gg__meta out = gg__elementwise(yes, no);
    if (out.sort == GG__UNKNOWN) return out;
    gg__meta with = gg__compare(condition, out); /* sizes */
    if (with.sort == GG__UNKNOWN) return with;
    out.rank = with.rank;
    memcpy(out.shape, with.shape, sizeof(out.shape));
    out.layout = with.layout;
    return out;
}

static gg__meta call_where(gg__inference *s, const gg__call *call) {
    bool method = call->form == GG__METHOD;
    TSNode object = gg__field(gg__field(call->node, "function"), "object"), first = gg__child(call->arguments, 0);
    if (gg__child_count(call->arguments) != (method ? 2 : 3)) return gg__unknown;
    for (uint32_t i = 0; i < gg__child_count(call->arguments); i++)
        if (gg_node_is(gg__child(call->arguments, i), "keyword_argument")) return gg__unknown;
    gg__meta yes = gg__infer_node(s, method ? object : gg__child(call->arguments, 1));
    if (method && yes.sort != GG__TENSOR) return gg__unknown;
    return gg__chosen(gg__infer_node(s, first), yes, gg__infer_node(s, gg__child(call->arguments, method ? 1 : 2)));
}

static gg__meta call_linear(gg__inference *s, const gg__call *call) {
    TSNode given[3];
    gg__call all = *call;
    all.from = 0;
    if (!gg__bind_arguments(s, &all, (const char *const[]){"input", "weight", "bias"}, 3, given)) return gg__unknown;
    gg__meta weight = gg__infer_node(s, given[1]), x = gg__infer_node(s, given[0]);
    if (weight.sort != GG__TENSOR || weight.rank != 2) return gg__unknown;
    gg__meta out = gg__matmul(x, gg__transposed(weight, 0, 1));
    if (x.layout.len || ts_node_is_null(given[2]) || gg_node_is(given[2], "none"))
        return x.layout.len ? gg__unknown : out;
    gg__meta bias = gg__infer_node(s, given[2]);
    bool fits = bias.sort == GG__TENSOR && bias.rank == 1 && bias.shape[0] == weight.shape[0] &&
                gg_str_equal(bias.dtype, weight.dtype) && !bias.vague && gg_str_equal(bias.device, weight.device);
    out.smooth = out.smooth && bias.smooth;
    return fits ? out : gg__unknown;
}

/* A convolution over `dims` dimensions: whether weight and bias fit is the program's, as ever. */
static gg__meta call_conv(gg__inference *s, const gg__call *call) {
    int32_t dims = call->name.ptr[sizeof("conv") - 1] - '0';
    TSNode given[7];
    gg__call all = *call;
    all.from = 0;
    static const char *const names[] = {"input", "weight", "bias", "stride", "padding", "dilation", "groups"};
    if (!s->loose || !gg__bind_arguments(s, &all, names, GG_COUNT(names), given)) return gg__unknown;
    gg__meta x = gg__infer_node(s, given[0]);
    bool batched = x.rank == dims + 2;
    if (x.sort != GG__TENSOR || !gg__is_floating(x.dtype) || x.vague > GG__LOWERED || (!batched && x.rank != dims + 1))
        return gg__unknown;
    for (int32_t i = batched; i < x.rank; i++) x.shape[i] = GG__FITTING;
    x.layout = GG_STR("?");
    x.smooth = x.linear = false;
    x.fresh = true;
    return gg__lowered(x);
}

gg__meta gg__made(gg__inference *s, const gg__call *call, bool *known) {
    static const char *const sized[] = {"zeros", "ones", "full"},
                             *const like[] = {"zeros_like", "ones_like", "full_like"},
                             *const anew[] = {"new_zeros", "new_ones", "new_full"};
    static const struct {
        const char *name;
        unsigned forms;
        gg__meta (*infer)(gg__inference *s, const gg__call *call);
    } rows[] = {
        {"arange", GG__TORCH, call_arange},
        {"tensor", GG__TORCH, call_tensor},
        {"Tensor", GG__TORCH, call_default},
        {"eye", GG__TORCH, call_eye},
        {"det", GG__TORCH | GG__METHOD, call_det},
        {"rand", GG__TORCH, call_drawn},
        {"randn", GG__TORCH, call_drawn},
        {"randint", GG__TORCH, call_drawn},
        {"rand_like", GG__TORCH, call_drawn},
        {"randn_like", GG__TORCH, call_drawn},
        {"cat", GG__TORCH, call_joined},
        {"concat", GG__TORCH, call_joined},
        {"stack", GG__TORCH, call_joined},
        {"where", GG__TORCH | GG__METHOD, call_where},
        {"linear", GG__FUNCTIONAL, call_linear},
        {"conv1d", GG__TORCH | GG__FUNCTIONAL, call_conv},
        {"conv2d", GG__TORCH | GG__FUNCTIONAL, call_conv},
        {"conv3d", GG__TORCH | GG__FUNCTIONAL, call_conv},
    };
    bool torch = call->form == GG__TORCH;
    *known = true;
    for (size_t i = 0; i < GG_COUNT(sized); i++) {
        if (torch && gg_str_is(call->name, sized[i]))
            return call_sized(s, call, fresh(GG_STR("torch.float32"), GG__DEFAULT));
        if (torch && gg_str_is(call->name, like[i])) return call_like(s, call);
        if (call->form != GG__METHOD || !gg_str_is(call->name, anew[i])) continue;
        gg__meta x = gg__infer_node(s, gg__field(gg__field(call->node, "function"), "object"));
        if (x.sort != GG__TENSOR) return gg__unknown;
        gg__meta out = fresh(x.dtype, x.vague);
        out.device = x.device;
        return call_sized(s, call, out);
    }
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        if (gg_str_is(call->name, rows[i].name) && (rows[i].forms & (unsigned)call->form))
            return rows[i].infer(s, call);
    *known = false;
    return gg__unknown;
}
