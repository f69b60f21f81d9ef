/* All families, in no order. */
#include "analysis/predict/predict.h"

#define FAMILY(name) extern const gg__family gg__family_##name;
#define FAMILIES(X) \
    X(conditions)   \
    X(scalars)      \
    X(sizes)        \
    X(shapes) X(messages) X(skipped) X(modules) X(contexts) X(autograd) X(storage) X(random) X(arrays) X(text)
FAMILIES(FAMILY)

#define POINTER(name) &gg__family_##name,
const gg__family *const gg__families[] = {FAMILIES(POINTER) NULL};
