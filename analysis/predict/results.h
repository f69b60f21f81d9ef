/* What torch's functions and methods give, by name.  Private to analysis/predict. */
#ifndef GG_PREDICT_RESULTS_H
#define GG_PREDICT_RESULTS_H

#include "analysis/predict/predict.h"

typedef enum gg__result {
    GG__GIVES_PLAIN,    /* a tensor of the operand's dtype */
    GG__GIVES_ANY,      /* a tensor */
    GG__GIVES_BOOLEAN,  /* a tensor of bool */
    GG__GIVES_INTEGER,  /* … of integers */
    GG__GIVES_FLOATING, /* … of floats */
    GG__GIVES_REDUCED,  /* as GG__GIVES_PLAIN, with no dimension unless a dimension is named */
    GG__GIVES_REDUCED_BOOLEAN,
    GG__GIVES_REDUCED_INTEGER,
    GG__GIVES_EXTREME,   /* as GG__GIVES_REDUCED; with a dimension: values and indices */
    GG__GIVES_TENSORS,   /* a sequence of tensors */
    GG__GIVES_INDICES,   /* a tensor of integers; with as_tuple=True a sequence of them */
    GG__GIVES_PYTHON,    /* a Python number */
    GG__GIVES_TRUTH,     /* a Python bool */
    GG__GIVES_FALSE_NOW, /* known while compiling */
    GG__GIVES_SIZE,      /* torch.Size; with a dimension a number */
    GG__GIVES_LIST,      /* a Python list */
    GG__GIVES_ELSE,      /* no tensor */
    GG__GIVES_NDARRAY,
} gg__result;

/* GG__GIVES_ANY for a name that is not known: most give a tensor. */
gg__result gg__result_of_method(gg_str name);
gg__result gg__result_of_function(gg_str name);  /* without "torch." */
gg__result gg__result_of_attribute(gg_str name); /* GG__GIVES_ANY: it is a method */

/* Of what operand a call with such a result is made; `first`: where the arguments beside the operand begin. */
gg__value gg__result_value(gg__walk *w, const gg__call *call, gg__result kind, const gg__value *operand,
                           uint32_t first);
bool gg__given_dtype(const gg__call *call, gg__dtype *out); /* dtype=torch.bool, x.to(torch.long) */
bool gg__is_of_numbers(const gg__call *call);               /* no argument is a tensor but of Python numbers */

#endif
