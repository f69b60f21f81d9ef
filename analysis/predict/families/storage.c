/* Changes of a tensor's storage, layout or shape in place. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"resize_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"resize_as_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"set_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"detach_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"swapdims_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"resize_", NULL, GG__RULE_STORAGE, GG__OF_TENSOR},
    {"resize_as_", "GB0127", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"share_memory_", "GB0117", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"apply_", "GB0055", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"map_", "GB0055", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"to_mkldnn", "GB0087", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"to_sparse", "GB0015", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"to_sparse_csr", "GB0277", GG__RULE_STORAGE, GG__OF_TENSOR},
    {"torch.sparse_csr_tensor", "GB0015", GG__RULE_STORAGE, 0},
    {"torch.nested.nested_tensor", "GB0090", GG__RULE_STORAGE, GG__STRIDED},
    {"torch.nested.as_nested_tensor", "GB0090", GG__RULE_STORAGE, GG__STRIDED},
    {"torch.sparse_coo_tensor", "GB0015", GG__RULE_STORAGE, 0},
    {"t_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"unsqueeze_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"squeeze_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"transpose_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
    {"swapaxes_", "GB0148", GG__RULE_STORAGE, GG__OF_TENSOR | GG__ON_INPUT},
};

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
}

const gg__family gg__family_storage = {.on_call = on_call};
