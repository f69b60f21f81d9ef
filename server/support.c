/* See support.h: beside the programs in a build, in ../lib/graphglue when installed. */
#include "server/support.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/gg_base.h"

char *gg_support_folder(const char *name) {
    char program[PATH_MAX], folder[PATH_MAX + 64];
    const char *given = getenv("GRAPHGLUE_WORKER");
    size_t length = sizeof(program);
    if (given && *given)
        snprintf(program, sizeof(program), "%s", given);
    else if (uv_exepath(program, &length) != 0)
        return NULL;
    char *slash = strrchr(program, '/');
    if (slash == NULL) return NULL;
    *slash = '\0';
    static const char *const places[] = {"", "../lib/graphglue/"};
    for (size_t i = 0; i < GG_COUNT(places); i++) {
        snprintf(folder, sizeof(folder), "%s/%s%s", program, places[i], name);
        if (access(folder, F_OK) == 0) return gg_str_dup(gg_str_from(folder));
    }
    return NULL;
}
