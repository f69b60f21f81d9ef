/* NumPy: what torch's own NumPy cannot stand for.  A function of Python numbers alone is computed while compiling. */
#include "analysis/predict/families/table.h"

#include <stdlib.h>

static const gg__call_row rows[] = {
    {"numpy.random.random", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.random_sample", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.sample", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.rand", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.randn", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.choice", NULL, GG__RULE_NUMPY, 0},
    {"numpy.random.RandomState", "GB0156", GG__RULE_NUMPY, 0},
    {"numpy.vectorize", "GB0008", GG__RULE_NUMPY, 0},
    {"numpy.pad", NULL, GG__RULE_NUMPY, 0},
    {"numpy.allclose", NULL, GG__RULE_NUMPY, GG__WITH_ARRAY},
    {"numpy.array_equal", NULL, GG__RULE_NUMPY, GG__WITH_ARRAY},
    {"numpy.array_equiv", NULL, GG__RULE_NUMPY, GG__WITH_ARRAY},
    {"numpy.nonzero", "GB0036", GG__RULE_DYNAMIC_SHAPE, GG__WITH_ARRAY},
    {"numpy.flatnonzero", "GB0036", GG__RULE_DYNAMIC_SHAPE, GG__WITH_ARRAY},
    {"numpy.argwhere", "GB0036", GG__RULE_DYNAMIC_SHAPE, GG__WITH_ARRAY},
    {"numpy.unique", "GB0036", GG__RULE_DYNAMIC_SHAPE, GG__WITH_ARRAY},
    {"numpy.testing.*", "GB0007", GG__RULE_NUMPY, 0},
    {"nonzero", "GB0036", GG__RULE_DYNAMIC_SHAPE, GG__OF_ARRAY},
    {"tolist", "GB0109", GG__RULE_NUMPY, GG__OF_ARRAY},
    {"tobytes", "GB0158", GG__RULE_NUMPY, GG__OF_ARRAY},
};

/* What torch does not stand for.  Sorted. */
static const char *const missing[] = {"apply_along_axis",
                                      "apply_over_axes",
                                      "argpartition",
                                      "array2string",
                                      "array_repr",
                                      "array_str",
                                      "asanyarray",
                                      "asarray_chkfinite",
                                      "asfortranarray",
                                      "asmatrix",
                                      "base_repr",
                                      "bitwise_count",
                                      "block",
                                      "bmat",
                                      "compress",
                                      "concat",
                                      "cumulative_prod",
                                      "cumulative_sum",
                                      "delete",
                                      "digitize",
                                      "ediff1d",
                                      "einsum_path",
                                      "extract",
                                      "frexp",
                                      "frombuffer",
                                      "fromfile",
                                      "fromfunction",
                                      "fromiter",
                                      "frompyfunc",
                                      "fromstring",
                                      "genfromtxt",
                                      "histogram_bin_edges",
                                      "insert",
                                      "interp",
                                      "intersect1d",
                                      "isin",
                                      "ix_",
                                      "lexsort",
                                      "load",
                                      "loadtxt",
                                      "mask_indices",
                                      "matrix_transpose",
                                      "may_share_memory",
                                      "nanargmax",
                                      "nanargmin",
                                      "nancumprod",
                                      "nancumsum",
                                      "nanmax",
                                      "nanmean",
                                      "nanmedian",
                                      "nanmin",
                                      "nanpercentile",
                                      "nanprod",
                                      "nanquantile",
                                      "nanstd",
                                      "nansum",
                                      "nanvar",
                                      "nditer",
                                      "packbits",
                                      "partition",
                                      "permute_dims",
                                      "piecewise",
                                      "place",
                                      "poly",
                                      "polyadd",
                                      "polyder",
                                      "polydiv",
                                      "polyfit",
                                      "polyint",
                                      "polymul",
                                      "polysub",
                                      "polyval",
                                      "putmask",
                                      "random.beta",
                                      "random.binomial",
                                      "random.bytes",
                                      "random.chisquare",
                                      "random.default_rng",
                                      "random.dirichlet",
                                      "random.exponential",
                                      "random.f",
                                      "random.gamma",
                                      "random.geometric",
                                      "random.gumbel",
                                      "random.hypergeometric",
                                      "random.laplace",
                                      "random.logistic",
                                      "random.lognormal",
                                      "random.logseries",
                                      "random.multinomial",
                                      "random.multivariate_normal",
                                      "random.negative_binomial",
                                      "random.pareto",
                                      "random.permutation",
                                      "random.poisson",
                                      "random.power",
                                      "random.random_integers",
                                      "random.rayleigh",
                                      "random.standard_cauchy",
                                      "random.standard_exponential",
                                      "random.standard_gamma",
                                      "random.standard_normal",
                                      "random.standard_t",
                                      "random.triangular",
                                      "random.vonmises",
                                      "random.wald",
                                      "random.weibull",
                                      "random.zipf",
                                      "ravel_multi_index",
                                      "require",
                                      "roots",
                                      "save",
                                      "savetxt",
                                      "savez",
                                      "savez_compressed",
                                      "select",
                                      "setdiff1d",
                                      "setxor1d",
                                      "shares_memory",
                                      "sort_complex",
                                      "spacing",
                                      "trapezoid",
                                      "trim_zeros",
                                      "union1d",
                                      "unpackbits",
                                      "unravel_index",
                                      "vecdot"};

static int by_name(const void *name, const void *row) {
    return gg_str_compare(*(const gg_str *)name, gg_str_from(*(const char *const *)row));
}

/* Functions that give one number where no size is asked for: a graph cannot hand it to Python. */
static const struct {
    const char *name;
    uint32_t size; /* the argument that asks */
} drawn[] = {{"randint", 2}, {"uniform", 2}, {"normal", 2}};

static bool is_drawn_number(const gg__call *call, gg_str name) {
    for (size_t i = 0; i < GG_COUNT(drawn); i++)
        if (gg_str_is(name, drawn[i].name)) return !call->splat && !gg__argument_at(call, drawn[i].size, "size");
    return false;
}

/* Arrays of random numbers are drawn in the graph, by another generator than NumPy's. */
static bool draws_array(const gg__call *call, gg_str name) {
    static const char *const names[] = {"rand", "randn", "random", "random_sample", "sample"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return call->count > 0;
    for (size_t i = 0; i < GG_COUNT(drawn); i++)
        if (gg_str_is(name, drawn[i].name)) return !is_drawn_number(call, name);
    return false;
}

static void on_function(gg__walk *w, const gg__call *call) {
    gg_str name = gg_str_slice(call->callee.path, GG_STR("numpy.").len, call->callee.path.len);
    gg_str random = GG_STR("random.");
    if (bsearch(&name, missing, GG_COUNT(missing), sizeof(missing[0]), by_name)) {
        gg__found(w, GG__RULE_NUMPY, "GB0294", call->node, NULL);
        return;
    }
    if (!gg_str_starts_with(name, random)) {
        bool one = gg_str_is(name, "where") && call->count == 1 && call->arguments[0].value.kind == GG__ARRAY;
        if (one) gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, call->node, NULL);
        return;
    }
    name = gg_str_slice(name, random.len, name.len);
    if (is_drawn_number(call, name)) gg__found(w, GG__RULE_NUMPY, NULL, call->node, NULL);
    if (draws_array(call, name)) gg__found_beyond(w, GG__RULE_NUMPY_RANDOM, call->node);
}

/* int(array), float(array) */
static bool is_conversion(gg_str path) {
    return gg_str_is(path, "builtins.int") || gg_str_is(path, "builtins.float") || gg_str_is(path, "builtins.bool");
}

/* A Python number is taken out of an array. */
static void find_number(gg__walk *w, const gg__call *call, const gg__value *array, const char *id) {
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("it is made of more than one number")};
    if (array->zero_dim && outer == NULL) w->guard = &guard;
    gg__found(w, GG__RULE_NUMPY, id, call->node, NULL);
    w->guard = outer;
}

static void on_call(gg__walk *w, const gg__call *call) {
    bool method = call->callee.kind == GG__METHOD && call->callee.of->kind == GG__ARRAY;
    if (method && call->callee.of->folded) return;
    if (method && gg_str_is(call->callee.path, "item") && call->count == 0 && !call->splat)
        find_number(w, call, call->callee.of, call->callee.of->constant ? "GB0208" : NULL);
    gg__find_row(w, call, rows, GG_COUNT(rows));
    if (call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("numpy.")))
        on_function(w, call);
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (call->callee.kind == GG__DOTTED && is_conversion(call->callee.path) && first &&
        first->value.kind == GG__ARRAY && !first->value.folded)
        find_number(w, call, &first->value, NULL);
    const gg__argument *dtype = gg__argument_at(call, 0, "dtype");
    if (method && gg_str_is(call->callee.path, "astype") && dtype && dtype->value.kind == GG__DOTTED &&
        gg_str_is(dtype->value.path, "builtins.object"))
        gg__found(w, GG__RULE_NUMPY, "GB0250", call->node, NULL);
}

static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    if (!store && object->kind == GG__ARRAY && index->kind == GG__ARRAY && index->dtype == GG__BOOL)
        gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, node, NULL);
}

static void on_attribute(gg__walk *w, TSNode node, const gg__value *object, gg_str name) {
    bool unknown = gg_str_is(name, "dtype") || gg_str_is(name, "flags") || gg_str_is(name, "base");
    if (object->kind == GG__ARRAY && !object->folded && unknown) gg__found(w, GG__RULE_NUMPY, "GB0157", node, NULL);
}

static void on_truth(gg__walk *w, TSNode node, const gg__value *value) {
    if (value->kind == GG__ARRAY && !value->folded) gg__found(w, GG__RULE_CONDITION, NULL, node, NULL);
}

const gg__family gg__family_arrays = {
    .on_call = on_call, .on_subscript = on_subscript, .on_truth = on_truth, .on_attribute = on_attribute};
