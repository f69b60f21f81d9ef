/* The safety classes' names.  Any thread. */
#include "repair/gg_repair.h"

static const char *const names[] = {"exact", "effects", "numeric", "config", "opaque"};

const char *gg_safety_name(gg_safety safety) {
    return names[safety];
}

bool gg_safety_parse(const char *name, gg_safety *out) {
    for (size_t i = 0; i < GG_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (gg_safety)i;
            return true;
        }
    }
    return false;
}
