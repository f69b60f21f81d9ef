/* How loud a finding is: not at all when a comment or a setting says so, or when it is no longer in the text.  Loop thread only. */
#include "server/session.h"

static bool is_ignored(const gg_document *document, size_t index) {
    const gg_findings *f = document->findings;
    const gg_site *site = &f->sites.items[index];
    if (!f->local[index] || document->predicted == NULL) return site->ignored;
    return gg_is_ignored(&document->predicted->ignores, document->marks[index].span, site->id, site->rule);
}

gg_level gg_level_of_site(const gg_document *document, size_t index) {
    const gg_findings *f = document->findings;
    const gg_site *site = &f->sites.items[index];
    if (document->marks[index].gone || is_ignored(document, index)) return GG_LEVEL_OFF;
    gg_level level = gg_options_level(gg_options_of(document), site->id, site->rule);
    return level ? level : f->local[index] ? GG_LEVEL_WARNING : GG_LEVEL_INFORMATION;
}

static gg_level usual_level(bool certain) {
    return certain ? GG_LEVEL_WARNING : GG_LEVEL_HINT;
}

gg_level gg_prediction_level(const gg_options *options, const gg_prediction *p) {
    gg_level level = gg_options_level(options, p->id, p->rule);
    return level ? level : usual_level(p->certain);
}

gg_level gg_level_of_prediction(const gg_document *document, size_t index) {
    const gg_predicted *p = document->predicted;
    const gg_options *options = gg_options_of(document);
    if (!gg_prediction_is_shown(p, index)) return GG_LEVEL_OFF;
    if (options->levels) return gg_prediction_level(options, &p->list.items[index]);
    return usual_level(p->certain[index]); /* without a look at the prediction, which no cache may hold */
}
