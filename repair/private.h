/* What files of repair/ share with each other only. */
#ifndef GG_REPAIR_PRIVATE_H
#define GG_REPAIR_PRIVATE_H

#include "repair/gg_repair.h"

typedef struct gg__rule_page { /* docs/rules/<id>.md, embedded by cmake/embed.cmake; sorted by id */
    const char *id;
    const unsigned char *bytes;
    size_t len;
} gg__rule_page;
extern const gg__rule_page gg__rule_pages[];
extern const size_t gg__rule_page_count;

bool gg__nests_too_deep(const gg_rule_input *in); /* no rule is asked (registry.c) */

#endif
