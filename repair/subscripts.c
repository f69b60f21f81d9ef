/* Elements of tensors and of their shapes by subscript: `h[:, None, -1]`, `x.shape[0]`.  What may be out of range is unknown.  See infer.h. */
#include "repair/infer.h"

typedef struct picked {
    gg__sizes sizes;
    int32_t dim; /* of the tensor, the next one */
    bool gaps;   /* the elements picked do not lie row after row */
} picked;

/* Bounds that are constants, and a size that is known, give a size; else nobody knows it, but a slice never fails. */
static bool take_slice(gg__inference *s, gg__meta x, TSNode slice, picked *p) {
    int64_t size = x.shape[p->dim], bounds[2] = {0, size}, step = 1;
    uint32_t slot = 0;
    bool known = size >= 0;
    for (uint32_t i = 0; i < ts_node_child_count(slice); i++) {
        TSNode part = ts_node_child(slice, i);
        if (strcmp(ts_node_type(part), ":") == 0) {
            slot++;
            continue;
        }
        gg__meta bound = gg__infer_node(s, part);
        bool steps = slot == 2 && bound.constant && bound.value >= 1 && bound.value < 0x1p31;
        if (bound.sort != GG__SCALAR_INT || slot > 2 || (slot == 2 && !steps)) return false;
        if (steps) {
            step = (int64_t)bound.value;
            continue;
        }
        known = known && bound.seen;
        if (known) bounds[slot] = (int64_t)bound.value + (bound.value < 0 ? size : 0);
    }
    for (size_t i = 0; i < 2; i++) bounds[i] = bounds[i] < 0 ? 0 : bounds[i] > size ? size : bounds[i];
    int64_t taken = !known ? -1 : bounds[1] > bounds[0] ? (bounds[1] - bounds[0] + step - 1) / step : 0;
    p->gaps = p->gaps || step > 1;
    if (taken != size)
        for (int32_t i = 0; i < p->sizes.rank; i++) p->gaps = p->gaps || p->sizes.items[i] != 1;
    p->sizes.items[p->sizes.rank++] = taken;
    p->dim++;
    return true;
}

static bool take(gg__inference *s, TSNode value, gg__meta x, TSNode index, picked *p) {
    if (p->sizes.rank >= GG__MAX_RANK) return false;
    if (gg_node_is(index, "none")) {
        p->sizes.items[p->sizes.rank++] = 1;
        return true;
    }
    if (p->dim >= x.rank) return false;
    if (gg_node_is(index, "slice")) return take_slice(s, x, index, p);
    gg__meta number = gg__infer_node(s, index);
    int32_t at;
    bool there = number.constant && x.shape[p->dim] >= 1 && x.shape[p->dim] <= INT32_MAX &&
                 gg__dim(number, (int32_t)x.shape[p->dim], &at);
    int64_t needed = number.value < 0 ? -(int64_t)number.value : (int64_t)number.value + 1;
    there = there && (s->loose || gg__has_at_least(s->in, value, x.rank, p->dim, needed));
    if (number.sort != GG__SCALAR_INT ||
        (!there && !s->loose && !gg__counts_through(s->in->tree, gg__strip_parentheses(index), value, p->dim)))
        return false;
    for (int32_t i = 0; i < p->sizes.rank; i++) p->gaps = p->gaps || p->sizes.items[i] != 1;
    p->dim++;
    return true;
}

static bool is_index(TSNode parent, uint32_t i) {
    const char *field = ts_node_field_name_for_child(parent, i);
    return field && strcmp(field, "subscript") == 0;
}

uint32_t gg__indices_of(TSNode node, TSNode *out, uint32_t max) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        if (!is_index(node, i)) continue;
        if (count >= max) return 0;
        out[count++] = ts_node_child(node, i);
    }
    if (count != 1 || !gg_node_is(out[0], "tuple")) return count;
    TSNode tuple = out[0];
    count = gg__child_count(tuple);
    for (uint32_t i = 0; count <= max && i < count; i++) out[i] = gg__child(tuple, i);
    return count <= max ? count : 0;
}

static gg__meta tensor_subscript(gg__inference *s, TSNode node, gg__meta x) {
    TSNode indices[GG__MAX_RANK];
    uint32_t count = gg__indices_of(node, indices, GG__MAX_RANK);
    int32_t used = 0;
    bool rest = false;
    picked p = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (gg_node_is(indices[i], "ellipsis") && rest) return gg__unknown;
        rest = rest || gg_node_is(indices[i], "ellipsis");
        used += !gg_node_is(indices[i], "ellipsis") && !gg_node_is(indices[i], "none");
    }
    if (count == 0 || used > x.rank) return gg__unknown;
    for (uint32_t i = 0; i <= count; i++) {
        bool end = i == count;
        if (!end && !gg_node_is(indices[i], "ellipsis")) {
            if (!take(s, gg__field(node, "value"), x, indices[i], &p)) return gg__unknown;
            continue;
        }
        int32_t left = end ? x.rank - p.dim : x.rank - used;
        if (end && rest) left = 0;
        if (p.sizes.rank + left > GG__MAX_RANK) return gg__unknown;
        for (int32_t d = 0; d < left; d++) p.sizes.items[p.sizes.rank++] = x.shape[p.dim++];
    }
    x = gg__with_sizes(x, &p.sizes);
    if (x.layout.len || p.gaps) x.layout = GG_STR("?");
    return x;
}

gg__meta gg__subscript(gg__inference *s, TSNode node) {
    gg__sizes sizes;
    TSNode value = gg__field(node, "value"), index = gg__field(node, "subscript");
    if (gg__sizes_of(s, value, &sizes)) { /* `x.shape[0]` */
        int32_t dim;
        gg__meta at = gg__infer_node(s, index);
        if (!at.constant || sizes.rank == 0 || !gg__dim(at, sizes.rank, &dim) || sizes.items[dim] < 0)
            return gg__unknown;
        gg__meta out = gg__seen(GG__SCALAR_INT, (double)sizes.items[dim]);
        out.natural = true;
        out.filled = out.value > 0;
        return out;
    }
    gg__meta x = gg__infer_node(s, value);
    return x.sort == GG__TENSOR ? tensor_subscript(s, node, x) : gg__element(s, node);
}
