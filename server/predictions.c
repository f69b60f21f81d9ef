/* See predictions.h.
 *
 * DESIGN  One job a document at a time.  It keeps no document alive: a closed one lets go of it.  What a capture has seen is told from what is
 * new by rule and message: a prediction is settled when the captured text had as many alike. */
#include "server/predictions.h"

#include "server/session.h"

typedef struct gg_prediction_job {
    gg_session *session;
    gg_document *document; /* NULL: closed, or wholly changed */
    gg_parse_input parse;
    gg_tree *tree;
    gg_arena *arena;
    gg_prediction_list list;
    gg_noted_list changes; /* of the text, since it was begun */
    uint64_t revision;
    atomic_bool canceled;
} job;

/* ---- the job ------------------------------------------------------------------------------------------------------------ */

static void predict(void *data) {
    job *j = data;
    gg_error err = {0};
    j->arena = gg_arena_new();
    if (gg_parse_input_run(&j->parse, &j->tree, &err) == 0) j->list = gg_predict(j->tree, j->arena);
}

static void free_predicted(gg_predicted *p) {
    if (p == NULL) return;
    gg_free(p->spans);
    gg_free(p->gone);
    gg_free(p->settled);
    gg_arena_free(p->arena);
    gg_free(p);
}

static void carry(gg_predicted *p, size_t i, gg_noted noted) {
    if (!gg_span_carry(&p->spans[i], noted.change)) p->gone[i] = true;
}

bool gg_prediction_is_shown(const gg_predicted *p, size_t i) {
    return !p->gone[i] && !p->settled[i];
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
                        .spans = gg_calloc(j->list.len, sizeof(gg_span)),
                        .gone = gg_calloc(j->list.len, sizeof(bool)),
                        .settled = gg_calloc(j->list.len, sizeof(bool))};
    j->arena = NULL;
    for (size_t i = 0; i < p->list.len; i++) {
        p->spans[i] = p->list.items[i].span;
        for (size_t k = 0; k < j->changes.len; k++) carry(p, i, j->changes.items[k]);
    }
    return p;
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
        size_t before = shown_count(document->predicted);
        gg_document_offer_tree(document, j->tree);
        free_predicted(document->predicted);
        document->predicted = take(j);
        document->predicted_revision = j->revision;
        gg__predictions_settle(document);
        if (before || shown_count(document->predicted)) tell(document);
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
    *j = (job){.session = document->session, .document = document, .revision = document->revision};
    j->parse = gg_parse_input_of(document, &j->canceled);
    document->prediction = j;
    gg_job_start(document->session, predict, on_predicted, j);
}

void gg_predictions_update(gg_session *session) {
    for (size_t i = 0; i < session->documents.len && session->settings.predict; i++) {
        gg_document *d = session->documents.items[i];
        if (d->python && !d->lost && d->prediction == NULL && d->predicted_revision != d->revision) start(d);
    }
}

void gg_predictions_set_wanted(gg_session *session, bool wanted) {
    if (session->settings.predict == wanted) return;
    session->settings.predict = wanted;
    for (size_t i = 0; i < session->documents.len && !wanted; i++) {
        gg_document *d = session->documents.items[i];
        gg__predictions_clear(d);
        tell(d);
    }
    gg_predictions_update(session);
}

/* ---- changes ---------------------------------------------------------------------------------------------------------------- */

void gg__predictions_carry(gg_document *document, gg_noted noted) {
    gg_predicted *p = document->predicted;
    for (size_t i = 0; p && i < p->list.len; i++) carry(p, i, noted);
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

static bool alike(const gg_prediction *a, const gg_prediction *b) {
    return gg_str_equal(a->rule, b->rule) && gg_str_equal(a->message, b->message);
}

static size_t count_alike(const gg_prediction_list *list, size_t end, const gg_prediction *p) {
    size_t n = 0;
    for (size_t i = 0; i < end; i++) n += alike(&list->items[i], p);
    return n;
}

static bool is_confirmed(const gg_document *document, gg_span span) {
    const gg_findings *f = document->findings;
    for (size_t i = 0; f && i < f->sites.len; i++) {
        gg_mark mark = document->marks[i];
        if (f->local[i] && !mark.gone && mark.span.start <= span.end && mark.span.end >= span.start) return true;
    }
    return false;
}

void gg__predictions_settle(gg_document *document) {
    gg_predicted *p = document->predicted;
    const gg_findings *f = document->findings;
    for (size_t i = 0; p && i < p->list.len; i++) {
        const gg_prediction *one = &p->list.items[i];
        p->settled[i] =
            is_confirmed(document, p->spans[i]) ||
            (f && f->whole && count_alike(&p->list, i, one) < count_alike(&f->predicted, f->predicted.len, one));
    }
}

/* ---- shown ------------------------------------------------------------------------------------------------------------------ */

const gg_prediction *gg_prediction_at(const gg_document *document, uint32_t offset) {
    const gg_predicted *p = document->predicted;
    for (size_t i = 0; p && i < p->list.len; i++)
        if (gg_prediction_is_shown(p, i) && p->spans[i].start <= offset && offset <= p->spans[i].end)
            return &p->list.items[i];
    return NULL;
}
