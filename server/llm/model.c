/* See model.h. */
#include "server/llm/model.h"

#include "server/llm/editor_model.h"

enum { MAX_NAME_BYTES = 4096 };

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

int gg_model_who_read(gg_model_who *out, const gg_session *session, const gg_options *settings, gg_error *err) {
    static const char editors[] = "the editor's model";
    gg_endpoint endpoint;
    *out = (gg_model_who){.input_price = -1, .output_price = -1};
    int error = choose(&endpoint, session, settings, err);
    if (error) return error;
    bool known = endpoint.api != NULL;
    out->model = gg_str_dup(gg_str_from(known ? endpoint.model : editors));
    if (known) {
        gg_buf name;
        gg_buf_init(&name, MAX_NAME_BYTES);
        (void)gg_buf_printf(&name, "%s at %s", endpoint.model, endpoint.shown);
        out->name = gg_buf_take(&name);
        out->input_price = endpoint.input_price;
        out->output_price = endpoint.output_price;
    } else {
        out->name = gg_str_dup(gg_str_from(editors));
    }
    gg_endpoint_clear(&endpoint);
    return 0;
}

void gg_model_who_clear(gg_model_who *who) {
    gg_free(who->name);
    gg_free(who->model);
    *who = (gg_model_who){0};
}

void gg_heard_take(gg_heard *out, const gg_exchange_end *end) {
    gg_heard_clear(out);
    out->answered = end->error.code == 0;
    if (out->answered) {
        out->reply = end->reply;
        out->text = gg_str_dup(end->reply.text);
        out->reply.text = (gg_str){out->text, end->reply.text.len};
    } else {
        out->failure = gg_str_dup(gg_str_from(end->error.message));
    }
}

void gg_heard_clear(gg_heard *heard) {
    gg_free(heard->text);
    gg_free(heard->failure);
    *heard = (gg_heard){0};
}
