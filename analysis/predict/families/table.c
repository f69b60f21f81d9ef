/* See table.h. */
#include "analysis/predict/families/table.h"

static bool is_match(const char *row, gg_str path) {
    if (path.len == 0 || *row != path.ptr[0]) return false;
    gg_str wanted = gg_str_from(row);
    if (!gg_str_ends_with(wanted, GG_STR("*"))) return gg_str_equal(path, wanted);
    return gg_str_starts_with(path, gg_str_slice(wanted, 0, wanted.len - 1));
}

static bool is_module(const gg__value *value) {
    return value->kind == GG__MODULE || (value->kind == GG__INSTANCE && value->object->is_module);
}

static unsigned receiver_of(const gg__call *call) {
    if (call->callee.kind != GG__METHOD) return 0;
    if (gg__is_tensor(call->callee.of)) return GG__OF_TENSOR;
    if (is_module(call->callee.of)) return GG__OF_MODULE;
    return call->callee.of->kind == GG__ARRAY ? GG__OF_ARRAY : GG__OF_OBJECT;
}

static const gg__value *argument_of(const gg__call *call, unsigned flags) {
    for (uint32_t i = 0; i < call->count; i++) {
        const gg__value *value = &call->arguments[i].value;
        if (gg__is_tensor(value) || ((flags & GG__WITH_MODULE) && is_module(value))) return value;
    }
    return NULL;
}

static bool has_array(const gg__call *call) {
    for (uint32_t i = 0; i < call->count; i++) {
        const gg__value *value = &call->arguments[i].value;
        if (gg__is_tensor(value) || (value->kind == GG__ARRAY && !value->folded)) return true;
    }
    return false;
}

void gg__find_row(gg__walk *w, const gg__call *call, const gg__call_row *rows, size_t count) {
    enum { RECEIVERS = GG__OF_TENSOR | GG__OF_MODULE | GG__OF_ARRAY | GG__OF_OBJECT };
    if (call->callee.kind != GG__METHOD && call->callee.kind != GG__DOTTED) return;
    unsigned receiver = receiver_of(call);
    gg_str path = call->callee.path;
    if (receiver == GG__OF_OBJECT) {
        if (call->callee.of->kind != GG__OBJECT) return;
        path = gg_arena_printf(w->arena, "%.*s.%.*s", GG_STR_ARG(call->callee.of->path), GG_STR_ARG(path));
    }
    for (size_t i = 0; i < count; i++) {
        const gg__call_row *row = &rows[i];
        if ((row->flags & RECEIVERS) != receiver || !is_match(row->path, path)) continue;
        const gg__value *operand = receiver == GG__OF_TENSOR ? call->callee.of : NULL;
        if ((row->flags & GG__ON_INPUT) && !(operand && operand->input)) continue;
        if ((row->flags & GG__BARE) && (call->count || call->splat)) continue;
        if (row->flags & (GG__WITH_TENSOR | GG__WITH_MODULE)) {
            operand = argument_of(call, row->flags);
            if (operand == NULL) continue;
        }
        if ((row->flags & GG__STRIDED) && gg__argument_at(call, UINT32_MAX, "layout")) continue;
        if ((row->flags & GG__WITH_ARRAY) && !has_array(call)) continue;
        if ((row->flags & GG__TRACED) == 0)
            gg__found(w, row->rule, row->id, call->node, operand && gg__is_tensor(operand) ? operand : NULL);
        return;
    }
}
