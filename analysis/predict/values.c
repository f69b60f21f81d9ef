/* What is known of a value, and what remains known where two ways meet. */
#include "analysis/predict/predict.h"

gg__value gg__of_kind(gg__kind kind) {
    return (gg__value){.kind = kind};
}

gg__value gg__tensor(gg__dtype dtype) {
    return (gg__value){.kind = GG__TENSOR, .dtype = dtype};
}

gg__value gg__number(gg__dtype dtype) {
    return (gg__value){.kind = GG__NUMBER, .dtype = dtype};
}

gg__value gg__truth_value(gg__truth truth) {
    return (gg__value){.kind = GG__NUMBER, .dtype = GG__BOOL, .truth = truth};
}

gg__value gg__dotted(gg_str path) {
    return (gg__value){.kind = GG__DOTTED, .path = path, .truth = GG__TRUE};
}

gg__value *gg__keep(gg__walk *w, gg__value value) {
    gg__value *kept = GG_ARENA_NEW(w->arena, gg__value);
    *kept = value;
    return kept;
}

gg__value gg__sequence_of(gg__walk *w, gg__value element) {
    return (gg__value){.kind = GG__SEQUENCE, .of = gg__keep(w, element)};
}

bool gg__is_tensor(const gg__value *value) {
    return value->kind == GG__TENSOR;
}

bool gg__is_surely_tensor(const gg__value *value) {
    return value->kind == GG__TENSOR && !value->maybe_none && (value->confirmed == NULL || *value->confirmed);
}

void gg__confirm(const gg__value *value) {
    if (value->kind == GG__TENSOR && value->confirmed) *value->confirmed = true;
}

bool *gg__doubt_of_two(const gg__value *a, const gg__value *b) {
    if (!gg__is_tensor(a)) return b->confirmed;
    if (!gg__is_tensor(b)) return a->confirmed;
    return a->confirmed && b->confirmed ? a->confirmed : NULL;
}

gg__truth gg__truth_of(const gg__value *value) {
    if (value->maybe_none) return GG__MAYBE;
    switch (value->kind) {
    case GG__NONE:
        return GG__FALSE;
    case GG__NUMBER:
        if (value->constant) return value->integer ? GG__TRUE : GG__FALSE;
        return value->truth;
    case GG__SEQUENCE:
        if (value->items) return value->item_count ? GG__TRUE : GG__FALSE;
        return value->truth;
    case GG__MODULE:
    case GG__FUNCTION:
    case GG__CLASS:
    case GG__LOGGER:
    case GG__METHOD:
        return GG__TRUE;
    case GG__STRING:
    case GG__MAPPING:
        return value->truth;
    default:
        return GG__MAYBE;
    }
}

gg__truth gg__usual_of(const gg__value *value) {
    gg__truth truth = gg__truth_of(value);
    if (truth != GG__MAYBE) return truth;
    return value->absent ? GG__FALSE : value->usual;
}

gg__truth gg__not(gg__truth truth) {
    return truth == GG__TRUE ? GG__FALSE : truth == GG__FALSE ? GG__TRUE : GG__MAYBE;
}

static gg__value join_items(gg__value a, gg__value b) {
    gg__value out = a;
    out.items = NULL;
    out.item_count = 0;
    out.truth = a.truth == b.truth ? a.truth : GG__MAYBE;
    if (a.items && b.items) out.truth = (a.item_count > 0) == (b.item_count > 0) && a.item_count ? GG__TRUE : GG__MAYBE;
    out.of = NULL;
    return out;
}

/* One of the two is None on some way here: the other, if it may be. */
static gg__value or_none(gg__value value) {
    value.maybe_none = true;
    return value;
}

/* torch.cuda.FloatTensor, torch.FloatTensor: one class on two devices, of which programs choose (`… if x.is_cuda else …`). */
static bool is_on_device(gg_str path, gg_str cpu_path) {
    gg_str cuda = GG_STR("torch.cuda."), torch = GG_STR("torch."), end = GG_STR("Tensor");
    return gg_str_starts_with(path, cuda) && gg_str_starts_with(cpu_path, torch) && gg_str_ends_with(path, end) &&
           gg_str_equal(gg_str_slice(path, cuda.len, path.len), gg_str_slice(cpu_path, torch.len, cpu_path.len));
}

gg__value gg__join(gg__value a, gg__value b) {
    if (a.kind == GG__NONE && b.kind != GG__NONE && b.kind != GG__UNKNOWN) return or_none(b);
    if (b.kind == GG__NONE && a.kind != GG__NONE && a.kind != GG__UNKNOWN) return or_none(a);
    if (a.kind != b.kind) return gg__of_kind(GG__UNKNOWN);
    gg__value out = a;
    out.confirmed = a.confirmed ? a.confirmed : b.confirmed;
    out.maybe_none = a.maybe_none || b.maybe_none;
    out.absent = a.absent && b.absent;
    out.usual = a.usual == b.usual ? a.usual : GG__MAYBE;
    out.input = a.input && b.input;
    out.handed_on = a.handed_on || b.handed_on;
    out.zero_dim = a.zero_dim && b.zero_dim;
    out.dtype = a.dtype == b.dtype ? a.dtype : GG__DTYPE_UNKNOWN;
    out.from_data = a.from_data && b.from_data;
    out.folded = a.kind == GG__ARRAY ? a.folded || b.folded : a.folded && b.folded;
    out.constant = a.constant && b.constant && a.integer == b.integer;
    out.truth = a.truth == b.truth ? a.truth : GG__MAYBE;
    switch (a.kind) {
    case GG__SEQUENCE:
        if (a.items == b.items && a.item_count == b.item_count && a.of == b.of) return out;
        out = join_items(a, b);
        out.maybe_none = a.maybe_none || b.maybe_none;
        if (a.of && b.of && a.of->kind == b.of->kind) out.of = a.of;
        return out;
    case GG__NUMBER:
        if (!gg_str_equal(a.path, b.path)) out.path = GG_STR_NULL;
        return out;
    case GG__DOTTED:
        if (is_on_device(a.path, b.path)) return b;
        if (is_on_device(b.path, a.path)) return out;
        return gg_str_equal(a.path, b.path) ? out : gg__of_kind(GG__UNKNOWN);
    case GG__MODULE:
    case GG__OBJECT:
    case GG__METHOD:
        return gg_str_equal(a.path, b.path) ? out : gg__of_kind(GG__UNKNOWN);
    case GG__FUNCTION:
    case GG__CLASS:
        return ts_node_eq(a.node, b.node) ? out : gg__of_kind(GG__UNKNOWN);
    case GG__INSTANCE:
        return a.object == b.object ? out : gg__of_kind(GG__UNKNOWN);
    default:
        return out;
    }
}
