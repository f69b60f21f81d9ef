/* See results.h.  Each table is sorted by name. */
#include "analysis/predict/results.h"

#include <stdlib.h>

typedef struct row {
    const char *name;
    gg__result result;
} row;

/* Sorted by name.  What is not here gives a tensor (GG__GIVES_ANY). */
static const row methods[] = {
    {"__contains__", GG__GIVES_TRUTH},
    {"all", GG__GIVES_REDUCED_BOOLEAN},
    {"allclose", GG__GIVES_TRUTH},
    {"amax", GG__GIVES_REDUCED},
    {"amin", GG__GIVES_REDUCED},
    {"any", GG__GIVES_REDUCED_BOOLEAN},
    {"argmax", GG__GIVES_REDUCED_INTEGER},
    {"argmin", GG__GIVES_REDUCED_INTEGER},
    {"argsort", GG__GIVES_INTEGER},
    {"backward", GG__GIVES_ELSE},
    {"bool", GG__GIVES_BOOLEAN},
    {"chunk", GG__GIVES_TENSORS},
    {"cumsum", GG__GIVES_PLAIN},
    {"data_ptr", GG__GIVES_PYTHON},
    {"dense_dim", GG__GIVES_PYTHON},
    {"dim", GG__GIVES_PYTHON},
    {"double", GG__GIVES_FLOATING},
    {"element_size", GG__GIVES_PYTHON},
    {"eq", GG__GIVES_BOOLEAN},
    {"equal", GG__GIVES_TRUTH},
    {"float", GG__GIVES_FLOATING},
    {"ge", GG__GIVES_BOOLEAN},
    {"get_device", GG__GIVES_PYTHON},
    {"greater", GG__GIVES_BOOLEAN},
    {"gt", GG__GIVES_BOOLEAN},
    {"half", GG__GIVES_FLOATING},
    {"int", GG__GIVES_INTEGER},
    {"is_complex", GG__GIVES_TRUTH},
    {"is_contiguous", GG__GIVES_TRUTH},
    {"is_floating_point", GG__GIVES_TRUTH},
    {"is_inference", GG__GIVES_TRUTH},
    {"is_nonzero", GG__GIVES_TRUTH},
    {"is_pinned", GG__GIVES_TRUTH},
    {"is_same_size", GG__GIVES_TRUTH},
    {"is_set_to", GG__GIVES_TRUTH},
    {"is_shared", GG__GIVES_TRUTH},
    {"is_signed", GG__GIVES_TRUTH},
    {"isfinite", GG__GIVES_BOOLEAN},
    {"isinf", GG__GIVES_BOOLEAN},
    {"isnan", GG__GIVES_BOOLEAN},
    {"item", GG__GIVES_PYTHON},
    {"kthvalue", GG__GIVES_TENSORS},
    {"le", GG__GIVES_BOOLEAN},
    {"less", GG__GIVES_BOOLEAN},
    {"logical_and", GG__GIVES_BOOLEAN},
    {"logical_not", GG__GIVES_BOOLEAN},
    {"logical_or", GG__GIVES_BOOLEAN},
    {"logical_xor", GG__GIVES_BOOLEAN},
    {"long", GG__GIVES_INTEGER},
    {"logsumexp", GG__GIVES_FLOATING},
    {"lt", GG__GIVES_BOOLEAN},
    {"max", GG__GIVES_EXTREME},
    {"mean", GG__GIVES_REDUCED},
    {"median", GG__GIVES_EXTREME},
    {"min", GG__GIVES_EXTREME},
    {"mode", GG__GIVES_TENSORS},
    {"ndimension", GG__GIVES_PYTHON},
    {"ne", GG__GIVES_BOOLEAN},
    {"nelement", GG__GIVES_PYTHON},
    {"norm", GG__GIVES_REDUCED},
    {"numel", GG__GIVES_PYTHON},
    {"numpy", GG__GIVES_NDARRAY},
    {"prod", GG__GIVES_REDUCED},
    {"qscheme", GG__GIVES_ELSE},
    {"register_hook", GG__GIVES_ELSE},
    {"size", GG__GIVES_SIZE},
    {"sort", GG__GIVES_TENSORS},
    {"split", GG__GIVES_TENSORS},
    {"split_with_sizes", GG__GIVES_TENSORS},
    {"std", GG__GIVES_REDUCED},
    {"storage", GG__GIVES_ELSE},
    {"storage_offset", GG__GIVES_PYTHON},
    {"stride", GG__GIVES_ELSE},
    {"sum", GG__GIVES_REDUCED},
    {"tensor_split", GG__GIVES_TENSORS},
    {"tolist", GG__GIVES_LIST},
    {"topk", GG__GIVES_TENSORS},
    {"unbind", GG__GIVES_TENSORS},
    {"unsafe_chunk", GG__GIVES_TENSORS},
    {"untyped_storage", GG__GIVES_ELSE},
    {"var", GG__GIVES_REDUCED},
};

static const row functions[] = {
    {"Generator", GG__GIVES_ELSE},
    {"Size", GG__GIVES_SIZE},
    {"all", GG__GIVES_REDUCED_BOOLEAN},
    {"allclose", GG__GIVES_TRUTH},
    {"amax", GG__GIVES_REDUCED},
    {"amin", GG__GIVES_REDUCED},
    {"any", GG__GIVES_REDUCED_BOOLEAN},
    {"are_deterministic_algorithms_enabled", GG__GIVES_TRUTH},
    {"argmax", GG__GIVES_REDUCED_INTEGER},
    {"argmin", GG__GIVES_REDUCED_INTEGER},
    {"autocast", GG__GIVES_ELSE},
    {"broadcast_tensors", GG__GIVES_TENSORS},
    {"chunk", GG__GIVES_TENSORS},
    {"compile", GG__GIVES_ELSE},
    {"cuda.is_available", GG__GIVES_TRUTH},
    {"cumsum", GG__GIVES_PLAIN},
    {"device", GG__GIVES_ELSE},
    {"enable_grad", GG__GIVES_ELSE},
    {"eq", GG__GIVES_BOOLEAN},
    {"equal", GG__GIVES_TRUTH},
    {"finfo", GG__GIVES_ELSE},
    {"ge", GG__GIVES_BOOLEAN},
    {"get_default_dtype", GG__GIVES_ELSE},
    {"gt", GG__GIVES_BOOLEAN},
    {"iinfo", GG__GIVES_ELSE},
    {"inference_mode", GG__GIVES_ELSE},
    {"is_autocast_enabled", GG__GIVES_TRUTH},
    {"is_complex", GG__GIVES_TRUTH},
    {"is_floating_point", GG__GIVES_TRUTH},
    {"is_grad_enabled", GG__GIVES_TRUTH},
    {"is_nonzero", GG__GIVES_TRUTH},
    {"is_tensor", GG__GIVES_TRUTH},
    {"isclose", GG__GIVES_BOOLEAN},
    {"isfinite", GG__GIVES_BOOLEAN},
    {"isin", GG__GIVES_BOOLEAN},
    {"isinf", GG__GIVES_BOOLEAN},
    {"isnan", GG__GIVES_BOOLEAN},
    {"jit.is_scripting", GG__GIVES_FALSE_NOW},
    {"jit.is_tracing", GG__GIVES_FALSE_NOW},
    {"kthvalue", GG__GIVES_TENSORS},
    {"le", GG__GIVES_BOOLEAN},
    {"load", GG__GIVES_ELSE},
    {"logical_and", GG__GIVES_BOOLEAN},
    {"logical_not", GG__GIVES_BOOLEAN},
    {"logical_or", GG__GIVES_BOOLEAN},
    {"logical_xor", GG__GIVES_BOOLEAN},
    {"lt", GG__GIVES_BOOLEAN},
    {"max", GG__GIVES_EXTREME},
    {"mean", GG__GIVES_REDUCED},
    {"median", GG__GIVES_EXTREME},
    {"meshgrid", GG__GIVES_TENSORS},
    {"min", GG__GIVES_EXTREME},
    {"mode", GG__GIVES_TENSORS},
    {"ne", GG__GIVES_BOOLEAN},
    {"no_grad", GG__GIVES_ELSE},
    {"norm", GG__GIVES_REDUCED},
    {"numel", GG__GIVES_PYTHON},
    {"ones", GG__GIVES_FLOATING},
    {"prod", GG__GIVES_REDUCED},
    {"promote_types", GG__GIVES_ELSE},
    {"rand", GG__GIVES_FLOATING},
    {"randint", GG__GIVES_INTEGER},
    {"randn", GG__GIVES_FLOATING},
    {"randperm", GG__GIVES_INTEGER},
    {"result_type", GG__GIVES_ELSE},
    {"save", GG__GIVES_ELSE},
    {"set_grad_enabled", GG__GIVES_ELSE},
    {"sort", GG__GIVES_TENSORS},
    {"split", GG__GIVES_TENSORS},
    {"std", GG__GIVES_REDUCED},
    {"sum", GG__GIVES_REDUCED},
    {"tensor_split", GG__GIVES_TENSORS},
    {"topk", GG__GIVES_TENSORS},
    {"unbind", GG__GIVES_TENSORS},
    {"var", GG__GIVES_REDUCED},
    {"var_mean", GG__GIVES_TENSORS},
    {"zeros", GG__GIVES_FLOATING},
};

static const row attributes[] = {
    {"H", GG__GIVES_PLAIN},           {"T", GG__GIVES_PLAIN},
    {"data", GG__GIVES_PLAIN},        {"device", GG__GIVES_ELSE},
    {"dtype", GG__GIVES_ELSE},        {"grad", GG__GIVES_PLAIN},
    {"grad_fn", GG__GIVES_ELSE},      {"imag", GG__GIVES_PLAIN},
    {"is_contiguous", GG__GIVES_ANY}, {"is_cpu", GG__GIVES_TRUTH},
    {"is_cuda", GG__GIVES_TRUTH},     {"is_leaf", GG__GIVES_TRUTH},
    {"is_meta", GG__GIVES_TRUTH},     {"is_mps", GG__GIVES_TRUTH},
    {"is_nested", GG__GIVES_TRUTH},   {"is_quantized", GG__GIVES_TRUTH},
    {"is_sparse", GG__GIVES_TRUTH},   {"itemsize", GG__GIVES_PYTHON},
    {"layout", GG__GIVES_ELSE},       {"mH", GG__GIVES_PLAIN},
    {"mT", GG__GIVES_PLAIN},          {"names", GG__GIVES_ELSE},
    {"nbytes", GG__GIVES_PYTHON},     {"ndim", GG__GIVES_PYTHON},
    {"real", GG__GIVES_PLAIN},        {"requires_grad", GG__GIVES_TRUTH},
    {"shape", GG__GIVES_SIZE},
};

static int by_name(const void *name, const void *r) {
    const gg_str *key = name;
    return gg_str_compare(*key, gg_str_from(((const row *)r)->name));
}

/* gg_str_compare puts shorter names first where one begins the other, as strcmp does. */
static gg__result find(const row *rows, size_t count, gg_str name) {
    const row *found = bsearch(&name, rows, count, sizeof(row), by_name);
    return found ? found->result : GG__GIVES_ANY;
}

gg__result gg__result_of_method(gg_str name) {
    return find(methods, GG_COUNT(methods), name);
}

gg__result gg__result_of_function(gg_str name) {
    return find(functions, GG_COUNT(functions), name);
}

gg__result gg__result_of_attribute(gg_str name) {
    return find(attributes, GG_COUNT(attributes), name);
}
