/* See model.h. */
#include "server/llm/model.h"

#include "server/llm/editor_model.h"

struct gg_asking {
    gg_session *session;
    gg_endpoint endpoint; /* empty: the editor's model */
    gg_llm_request request;
    gg_exchange_options options;
    gg_exchange *exchange; /* one of the two */
    gg_editor_exchange *editor;
};

static void on_progress(void *data, uint64_t tokens) {
    gg_asking *a = data;
    a->options.on_progress(a->options.data, tokens);
}

static void on_done(void *data, const gg_exchange_end *end) {
    gg_asking *a = data;
    gg_session *session = a->session;
    for (size_t i = 0; i < session->askings.len; i++) {
        if (session->askings.items[i] != a) continue;
        gg_list_remove(&session->askings, i);
        break;
    }
    a->options.on_done(a->options.data, end);
    gg_endpoint_clear(&a->endpoint);
    gg_free(a);
}

/* 0: the endpoint, or with an empty one the editor's model. */
static int choose(gg_endpoint *out, const gg_session *session, const gg_options *settings, gg_error *err) {
    int error = gg_endpoint_read(out, settings, session->settings.trusted, err);
    return error == GG_ENOTFOUND && GG_HAS(session, MODEL) ? 0 : error;
}

gg_asking *gg_model_ask(gg_session *session, const gg_options *settings, const gg_llm_request *request,
                        const gg_exchange_options *options, gg_error *err) {
    gg_endpoint endpoint;
    if (choose(&endpoint, session, settings, err) != 0) return NULL;
    gg_asking *a = gg_calloc(1, sizeof(gg_asking));
    *a = (gg_asking){.session = session, .endpoint = endpoint, .request = *request, .options = *options};
    gg_exchange_options ours = *options;
    ours.data = a;
    ours.on_done = on_done;
    ours.on_progress = options->on_progress ? on_progress : NULL;
    gg_list_push(&session->askings, a);
    if (endpoint.api == NULL) {
        a->editor = gg_editor_model_ask(session, &a->request, &ours);
        return a;
    }
    if (session->http == NULL) session->http = gg_http_new(&session->loop);
    a->exchange = gg_exchange_start(session->http, &session->loop, &a->endpoint, &a->request, &ours);
    return a;
}

void gg_model_cancel(gg_asking *asking) {
    if (asking->exchange)
        gg_exchange_cancel(asking->exchange);
    else
        gg_editor_model_cancel(asking->editor);
}

void gg_model_cancel_all(gg_session *session) {
    for (size_t i = 0; i < session->askings.len; i++) gg_model_cancel(session->askings.items[i]);
}

char *gg_model_name(const gg_session *session, const gg_options *settings, gg_error *err) {
    gg_endpoint endpoint;
    gg_buf out;
    if (choose(&endpoint, session, settings, err) != 0) return NULL;
    gg_buf_init(&out, 4096);
    if (endpoint.api)
        (void)gg_buf_printf(&out, "%s at %s", endpoint.model, endpoint.shown);
    else
        (void)gg_buf_append_z(&out, "the editor's model");
    gg_endpoint_clear(&endpoint);
    return gg_buf_take(&out);
}
