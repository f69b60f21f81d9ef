/* All families. */
#include "analysis/predict/predict.h"

#define FAMILY(name) extern const gg__family gg__family_##name;
#include "analysis/predict/families/families.def"
#undef FAMILY

const gg__family *const gg__families[] = {
#define FAMILY(name) &gg__family_##name,
#include "analysis/predict/families/families.def"
#undef FAMILY
    NULL,
};
