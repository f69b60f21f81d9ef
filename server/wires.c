/* See wires.h. */
#include "server/wires.h"

#include <string.h>

#include "server/session.h"

typedef struct writer {
    const gg_buf *before; /* the block of the wires as they are */
    gg_buf *after;        /* … as they will be */
    uint32_t from, to;    /* of `before`: what follows of `after` in any case, not yet copied */
} writer;

static void copy(writer *w) {
    if (w->to > w->from) gg_buf_append(w->after, (gg_str){w->before->ptr + w->from, w->to - w->from});
    w->from = w->to = 0;
}

static void keep(writer *w, gg_wire *wire) {
    if (wire->at != w->to) {
        copy(w);
        w->from = wire->at;
    }
    w->to = wire->at + wire->len;
    wire->at = (uint32_t)w->after->len + (wire->at - w->from);
}

/* A range is the first of a diagnostic, and written here: behind a line that came in, it is all that is new. */
static void write_wire(writer *w, gg_wire *wire, gg_str rest, gg_range r) {
    copy(w);
    size_t at = w->after->len;
    gg_buf_printf(w->after,
                  ",{\"range\":{\"start\":{\"line\":%u,\"character\":%u},\"end\":{\"line\":%u,\"character\":%u}}",
                  r.start.line, r.start.character, r.end.line, r.end.character);
    size_t behind = w->after->len;
    gg_buf_append(w->after, rest);
    *wire = (gg_wire){(uint32_t)at, (uint32_t)(w->after->len - at), (uint32_t)(behind - at), r, wire->level};
}

static void write_anew(writer *w, gg_wire *wire, json_t *diagnostic_take, gg_range range) {
    json_object_del(diagnostic_take, "range");
    char *json = json_dumps(diagnostic_take, JSON_COMPACT);
    json[0] = ','; /* was "{" */
    write_wire(w, wire, gg_str_from(json), range);
    free(json);
    json_decref(diagnostic_take);
}

static bool is_same_range(gg_range a, gg_range b) {
    return a.start.line == b.start.line && a.start.character == b.start.character && a.end.line == b.end.line &&
           a.end.character == b.end.character;
}

gg_str gg_wires_write(const gg_document *document) {
    gg_predicted *p = document->predicted;
    if (p == NULL) return GG_STR_NULL;
    gg_session *session = document->session;
    writer w = {.before = &p->wired, .after = &session->wires};
    gg_buf_reset(w.after);
    uint32_t line = 0;
    for (size_t i = 0; i < p->count; i++) {
        gg_wire *wire = &p->wires[i];
        int level = i < p->list.len ? (int)gg_level_of_prediction(document, i) : GG_LEVEL_OFF;
        if (level == GG_LEVEL_OFF) {
            *wire = (gg_wire){0};
            continue;
        }
        gg_range range = gg_text_range_near(document->text, p->spans[i], session->encoding, wire->range, &line);
        bool known = wire->len && wire->level == level;
        wire->level = level;
        if (!known)
            write_anew(&w, wire, gg_diagnostic_of_prediction(document, i), range);
        else if (!is_same_range(wire->range, range))
            write_wire(&w, wire, (gg_str){p->wired.ptr + wire->at + wire->rest, wire->len - wire->rest}, range);
        else
            keep(&w, wire);
    }
    if (w.after->len == 0 && w.from == 0 && w.to == p->wired.len)
        return gg_buf_str(&p->wired); /* all of it, as it was */
    copy(&w);
    if (GG_NEVER(w.after->overflow)) { /* no message takes it */
        gg_log(GG_LOG_ERROR, "%s: its predictions are over the limit of %u bytes", document->uri, GG_MAX_MESSAGE_BYTES);
        memset(p->wires, 0, p->count * sizeof(gg_wire));
        return GG_STR_NULL;
    }
    gg_buf before = p->wired;
    p->wired = session->wires;
    session->wires = before;
    return gg_buf_str(&p->wired);
}
