/* Which site a repair session mends next, and by which rules.  See fix.c. */
#include "repair/fix.h"

bool gg__fix_was_tried(const gg__fix_refusal *refused, const gg_rule *rule) {
    for (size_t i = 0; refused && i < refused->tried_count; i++)
        if (refused->tried[i] == rule) return true;
    return false;
}

/* The rules for the site: all, or where a refusal is no right one's, those that were not tried before.  Sets whether a deliberate one is kept out. */
static size_t offers_for(gg_fix *fix, const gg_site *site, const gg__fix_refusal *refused,
                         const gg_rule *out[GG_FIX_OFFERS], bool *deliberate) {
    const gg_rule *offers[GG_FIX_OFFERS];
    gg_rule_input in = {.tree = gg__fix_find_file(fix, site->file)->tree, .site = site, .span = site->span};
    size_t offered = gg_repair_offers(&in, fix->stage, offers, GG_FIX_OFFERS), count = 0;
    *deliberate = false;
    for (size_t i = 0; i < offered; i++) {
        bool keep = fix->keeps_deliberate && offers[i]->deliberate;
        *deliberate = *deliberate || keep;
        bool known = refused && !refused->right && gg__fix_was_tried(refused, offers[i]);
        bool later = offers[i]->last_resort && !fix->resorts;
        if (!keep && !known && !later) out[count++] = offers[i];
    }
    return count;
}

static bool is_open(gg_fix *fix, size_t index, bool again) {
    if (GG_NEVER(fix->sites.items == NULL)) return false;
    const gg_site *site = &fix->sites.items[index];
    if (!gg__fix_is_own(fix, site)) return false;
    gg__fix_refusal *refused = gg__fix_refusal_of(fix, gg__fix_key_of(fix, index));
    if (!again || refused == NULL) return !again && refused == NULL;
    if (refused->right || refused->accepted == fix->accepted) return refused->accepted != fix->accepted;
    const gg_rule *offers[GG_FIX_OFFERS];
    bool deliberate;
    if (offers_for(fix, site, refused, offers, &deliberate)) return true;
    refused->accepted = fix->accepted; /* not to be asked again */
    return false;
}

/* Does the function that `site` lies in call the one of `other`, as far as the stack of that one tells? */
static bool calls(const gg_site *site, const gg_site *other) {
    const gg_frame *own = NULL;
    for (size_t i = 0; i < site->stack_len && own == NULL; i++)
        if (gg_str_equal(site->stack[i].file, site->file)) own = &site->stack[i];
    bool outside = false; /* … of the frame the other one lies in */
    for (size_t i = 0; i < other->stack_len && own; i++) {
        const gg_frame *at = &other->stack[i];
        bool same = gg_str_equal(at->file, own->file) && gg_str_equal(at->function, own->function);
        if (outside && same) return true;
        if (!outside && gg_str_equal(at->file, other->file)) {
            if (same) return false;
            outside = true;
        }
    }
    return false;
}

const gg_site *gg__fix_choose_site(gg_fix *fix, bool again) {
    size_t chosen = SIZE_MAX;
    for (size_t i = 0; i < fix->sites.len; i++) {
        if (!is_open(fix, i, again)) continue;
        if (chosen == SIZE_MAX || calls(&fix->sites.items[chosen], &fix->sites.items[i])) chosen = i;
    }
    if (chosen == SIZE_MAX) return NULL;
    const gg_site *site = &fix->sites.items[chosen];
    fix->site_key = gg__fix_key_of(fix, chosen);
    fix->offer_count =
        offers_for(fix, site, gg__fix_refusal_of(fix, fix->site_key), fix->offers, &fix->site_is_deliberate);
    fix->next_offer = 0;
    fix->site_was_right = false;
    return site;
}
