/* See predictions.h.
 *
 * DESIGN  One job a document at a time.  It keeps no document alive: a closed one lets go of it.  The job also reads what comments ignore, which is
 * asked of captures' findings too: with predictions switched off it does that alone. */
#include "server/predictions.h"

#include "server/session.h"

typedef struct gg_prediction_job {
    gg_session *session;
    gg_document *document; /* NULL: closed, or wholly changed */
    gg_parse_input parse;
    gg_tree *tree;
    gg_arena *arena;
    gg_prediction_list list;
    gg_ignore_list ignores;
    gg_noted_list changes; /* of the text, since it was begun */
    uint64_t revision;
    bool predicts;
    atomic_bool canceled;
} job;

/* ---- the job ------------------------------------------------------------------------------------------------------------ */

static void predict(void *data) {
    job *j = data;
    gg_error err = {0};
    j->arena = gg_arena_new();
    if (gg_parse_input_run(&j->parse, &j->tree, &err) != 0) return;
    if (j->predicts) j->list = gg_predict(j->tree, j->arena);
    j->ignores = gg_ignores_of(j->tree, j->arena);
}

static void free_predicted(gg_predicted *p) {
    if (p == NULL) return;
    gg_free(p->spans);
    gg_free(p->gone);
    gg_free(p->settled);
    gg_free(p->ignored);
    gg_arena_free(p->arena);
    gg_free(p);
}

static void carry(gg_predicted *p, gg_noted noted) {
    for (size_t i = 0; i < p->list.len; i++)
        if (!gg_span_carry(&p->spans[i], noted.change)) p->gone[i] = true;
    for (size_t i = 0; i < p->ignores.len; i++)
        if (p->ignores.items[i].span.end != UINT32_MAX) gg_span_carry(&p->ignores.items[i].span, noted.change);
}

bool gg_prediction_is_shown(const gg_predicted *p, size_t i) {
    return !p->gone[i] && !p->settled[i] && !p->ignored[i];
}

static size_t shown_count(const gg_predicted *p) {
    size_t n = 0;
    for (size_t i = 0; p && i < p->list.len; i++) n += gg_prediction_is_shown(p, i);
    return n;
}

static gg_predicted *take(job *j) {
    gg_predicted *p = gg_calloc(1, sizeof(gg_predicted));
    *p = (gg_predicted){.arena = j->arena,
                        .list = j->list,
                        .ignores = j->ignores,
                        .predicts = j->predicts,
                        .spans = gg_calloc(j->list.len, sizeof(gg_span)),
                        .gone = gg_calloc(j->list.len, sizeof(bool)),
                        .settled = gg_calloc(j->list.len, sizeof(bool)),
                        .ignored = gg_calloc(j->list.len, sizeof(bool))};
    j->arena = NULL;
    for (size_t i = 0; i < p->list.len; i++) {
        const gg_prediction *one = &p->list.items[i];
        p->spans[i] = one->span;
        p->ignored[i] = gg_is_ignored(&p->ignores, one->span, one->id, one->rule);
    }
    for (size_t i = 0; i < j->changes.len; i++) carry(p, j->changes.items[i]);
    return p;
}

/* Is anything shown, or not shown, because of what was read in the text? */
static bool matters(const gg_document *document) {
    const gg_predicted *p = document->predicted;
    return p && (shown_count(p) || (document->findings && p->ignores.len));
}

static void tell(gg_document *document) {
    gg_document_dirty(document);
    gg_ask_to_pull(document->session);
}

static void on_predicted(void *data) {
    job *j = data;
    gg_document *document = j->document;
    if (document) {
        document->prediction = NULL;
        bool before = matters(document);
        gg_document_offer_tree(document, j->tree);
        free_predicted(document->predicted);
        bool wanted = gg_options_of(document)->predict;
        if (!wanted) j->list.len = 0;
        document->predicted = take(j);
        document->predicted_revision = j->predicts || !wanted ? j->revision : 0;
        gg__predictions_settle(document);
        if (before || matters(document)) tell(document);
        gg_predictions_update(j->session);
    }
    gg_parse_input_clear(j->session, &j->parse);
    gg_tree_drop(j->session, &j->tree);
    gg_list_clear(&j->changes);
    gg_arena_free(j->arena);
    gg_free(j);
}

static void start(gg_document *document) {
    job *j = gg_calloc(1, sizeof(job));
    *j = (job){.session = document->session,
               .document = document,
               .revision = document->revision,
               .predicts = gg_options_of(document)->predict};
    j->parse = gg_parse_input_of(document, &j->canceled);
    document->prediction = j;
    gg_job_start(document->session, predict, on_predicted, j);
}

void gg_predictions_update(gg_session *session) {
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (!gg_options_known(d) || (d->findings == NULL && !gg_options_of(d)->predict)) continue;
        if (d->python && !d->lost && d->prediction == NULL && d->predicted_revision != d->revision) start(d);
    }
}

void gg_predictions_wanted(gg_document *document) {
    bool wanted = gg_options_of(document)->predict;
    gg_predicted *p = document->predicted;
    if (p == NULL) return;
    if (wanted && !p->predicts) document->predicted_revision = 0;
    if (wanted) return;
    p->list.len = 0;
    p->predicts = false;
}

/* ---- changes ---------------------------------------------------------------------------------------------------------------- */

void gg__predictions_carry(gg_document *document, gg_noted noted) {
    if (document->predicted) carry(document->predicted, noted);
    if (document->prediction) gg_noted_add(&document->prediction->changes, noted);
}

void gg__predictions_clear(gg_document *document) {
    if (document->prediction) {
        document->prediction->document = NULL;
        atomic_store(&document->prediction->canceled, true);
    }
    document->prediction = NULL;
    free_predicted(document->predicted);
    document->predicted = NULL;
    document->predicted_revision = 0;
}

void gg__predictions_settle(gg_document *document) {
    gg_predicted *p = document->predicted;
    const gg_findings *f = document->findings;
    if (p == NULL) return;
    size_t count = 0;
    gg_span *sites = gg_calloc(f ? f->sites.len : 0, sizeof(gg_span));
    for (size_t i = 0; f && i < f->sites.len; i++)
        if (f->local[i] && !document->marks[i].gone) sites[count++] = document->marks[i].span;
    gg_predictions_settle(p->settled, &p->list, p->spans, sites, count, f && f->whole ? &f->predicted : NULL);
    gg_free(sites);
}

/* ---- shown ------------------------------------------------------------------------------------------------------------------ */

const gg_prediction *gg_prediction_at(const gg_document *document, uint32_t offset) {
    const gg_predicted *p = document->predicted;
    for (size_t i = 0; p && i < p->list.len; i++)
        if (p->spans[i].start <= offset && offset <= p->spans[i].end &&
            gg_level_of_prediction(document, i) != GG_LEVEL_OFF)
            return &p->list.items[i];
    return NULL;
}
