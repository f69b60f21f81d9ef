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
    gg_predictor *predictor; /* the document's */
    gg_predicted *predicted;
    gg_noted_list changes; /* of the text, since it was begun */
    uint64_t revision;
    bool predicts;
    atomic_bool canceled;
} job;

/* ---- the job ------------------------------------------------------------------------------------------------------------ */

/* What the loop asks of each prediction is put into lists of their own here: the predictions themselves are far more than a cache holds. */
static gg_predicted *new_predicted(gg_predictions *found_take, gg_arena *arena_take, gg_ignore_list ignores) {
    gg_predicted *p = gg_calloc(1, sizeof(gg_predicted));
    gg_prediction_list list = gg_predictions_list(found_take);
    *p = (gg_predicted){.found = found_take,
                        .list = list,
                        .count = list.len,
                        .arena = arena_take,
                        .ignores = ignores,
                        .wires = gg_calloc(list.len, sizeof(gg_wire)),
                        .serials = gg_calloc(list.len, sizeof(uint64_t)),
                        .spans = gg_calloc(list.len, sizeof(gg_span)),
                        .certain = gg_calloc(list.len, sizeof(bool)),
                        .gone = gg_calloc(list.len, sizeof(bool)),
                        .settled = gg_calloc(list.len, sizeof(bool)),
                        .ignored = gg_calloc(list.len, sizeof(bool))};
    gg_buf_init(&p->wired, GG_MAX_MESSAGE_BYTES);
    for (size_t i = 0; i < list.len; i++) {
        const gg_prediction *one = &list.items[i];
        p->spans[i] = one->span;
        p->serials[i] = one->serial;
        p->certain[i] = one->certain;
        if (one->serial > p->newest) p->newest = one->serial;
        p->ignored[i] = gg_is_ignored(&p->ignores, one->span, one->id, one->rule);
    }
    return p;
}

static void predict(void *data) {
    job *j = data;
    gg_error err = {0};
    gg_arena *arena = gg_arena_new();
    gg_predictions *found = NULL;
    gg_ignore_list ignores = {0};
    if (gg_parse_input_run(&j->parse, &j->tree, &err) == 0) {
        if (j->predicts) found = gg_predictor_run(j->predictor, j->tree);
        ignores = gg_ignores_of(j->tree, arena);
    }
    j->predicted = new_predicted(found, arena, ignores);
    j->predicted->predicts = j->predicts;
}

static void free_predicted(gg_predicted *p) {
    if (p == NULL) return;
    gg_free(p->wires);
    gg_buf_clear(&p->wired);
    gg_free(p->serials);
    gg_free(p->spans);
    gg_free(p->certain);
    gg_free(p->gone);
    gg_free(p->settled);
    gg_free(p->ignored);
    gg_arena_free(p->arena);
    gg_predictions_free(p->found);
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

/* Is anything shown, or not shown, because of what was read in the text? */
static bool matters(const gg_document *document) {
    const gg_predicted *p = document->predicted;
    return p && (shown_count(p) || (document->findings && p->ignores.len));
}

static void tell(gg_document *document) {
    gg_document_dirty(document);
    if (document->pulled_revision == document->revision) gg_ask_to_pull(document->session); /* else it will by itself */
}

/* Which of `p` has the serial, `next` or one soon behind it as a rule; p->count: none. */
static size_t with_serial(const gg_predicted *p, uint64_t serial, size_t next, gg_map *by_serial) {
    enum { AHEAD = 8 };
    if (serial > p->newest) return p->count;
    for (size_t i = next; i < p->count && i < next + AHEAD; i++)
        if (p->serials[i] == serial) return i;
    for (uint32_t i = 0; by_serial->len < p->count && i < p->count; i++) *gg_map_at(by_serial, p->serials[i]) = i;
    const uint32_t *found = gg_map_find(by_serial, serial);
    return found ? *found : p->count;
}

/* What both say and has been written goes out again as it is. */
static void hand_wires(gg_predicted *from, gg_predicted *to) {
    gg_map by_serial = {0};
    for (size_t i = 0, next = 0; i < to->count; i++) {
        size_t was = with_serial(from, to->serials[i], next, &by_serial);
        if (was == from->count) continue;
        to->wires[i] = from->wires[was];
        next = was + 1;
    }
    gg_map_clear(&by_serial);
    to->wired = from->wired;
    gg_buf_init(&from->wired, GG_MAX_MESSAGE_BYTES);
}

static void on_predicted(void *data) {
    job *j = data;
    gg_document *document = j->document;
    if (document) {
        document->prediction = NULL;
        bool before = matters(document);
        gg_document_offer_tree(document, j->tree);
        document->predictor = j->predictor;
        j->predictor = NULL;
        bool wanted = gg_options_of(document)->predict;
        gg_predicted *predicted = j->predicted;
        j->predicted = NULL;
        for (size_t i = 0; i < j->changes.len; i++) carry(predicted, j->changes.items[i]);
        if (!wanted) predicted->list.len = 0;
        if (document->predicted) hand_wires(document->predicted, predicted);
        free_predicted(document->predicted);
        document->predicted = predicted;
        document->predicted_revision = j->predicts || !wanted ? j->revision : 0;
        gg__predictions_settle(document);
        if (before || matters(document)) tell(document);
        gg_predictions_update(j->session);
        gg_publish_soon(j->session);
        if (j->parse.old == NULL) gg_document_give_back_memory(document);
    }
    gg_predictor_free(j->predictor);
    free_predicted(j->predicted);
    gg_parse_input_clear(j->session, &j->parse);
    gg_tree_drop(j->session, &j->tree);
    gg_list_clear(&j->changes);
    gg_free(j);
}

static void start(gg_document *document) {
    job *j = gg_calloc(1, sizeof(job));
    *j = (job){.session = document->session,
               .document = document,
               .revision = document->revision,
               .predicts = gg_options_of(document)->predict};
    j->parse = gg_parse_input_of(document, &j->canceled);
    j->predictor = document->predictor ? document->predictor : gg_predictor_new();
    document->predictor = NULL;
    document->prediction = j;
    gg_job_start(document->session, predict, on_predicted, j);
}

bool gg_prediction_is_due(const gg_document *d) {
    if (!d->python || d->lost || d->predicted_revision == d->revision) return false;
    return d->findings || !gg_options_known(d) || gg_options_of(d)->predict;
}

void gg_predictions_update(gg_session *session) {
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (d->prediction == NULL && gg_options_known(d) && gg_prediction_is_due(d)) start(d);
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
    gg_predictor_free(document->predictor);
    document->predictor = NULL;
    free_predicted(document->predicted);
    document->predicted = NULL;
    document->predicted_revision = 0;
}

/* A faded site stands for what is alike at its place; another break on the edited line is news. */
static bool is_faded_site(const gg_document *document, gg_span span, gg_str id) {
    const gg_findings *f = document->findings;
    for (size_t i = 0; f && i < f->sites.len; i++) {
        gg_mark mark = document->marks[i];
        if (f->local[i] && mark.faded && !mark.gone && mark.span.start <= span.end && mark.span.end >= span.start &&
            gg_str_equal(f->sites.items[i].id, id))
            return true;
    }
    return false;
}

static bool any_faded(const gg_document *document) {
    const gg_findings *f = document->findings;
    for (size_t i = 0; f && i < f->sites.len; i++)
        if (document->marks[i].faded) return true;
    return false;
}

void gg__predictions_settle(gg_document *document) {
    gg_predicted *p = document->predicted;
    const gg_findings *f = document->findings;
    if (p == NULL) return;
    size_t count = 0;
    gg_span *sites = gg_calloc(f ? f->sites.len : 0, sizeof(gg_span));
    for (size_t i = 0; f && i < f->sites.len; i++)
        if (f->local[i] && !document->marks[i].gone && !document->marks[i].faded)
            sites[count++] = document->marks[i].span;
    gg_predictions_settle(p->settled, &p->list, p->spans, sites, count, f && f->whole ? &f->predicted : NULL);
    bool faded = any_faded(document);
    for (size_t i = 0; faded && i < p->list.len; i++)
        p->settled[i] = p->settled[i] || is_faded_site(document, p->spans[i], p->list.items[i].id);
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
