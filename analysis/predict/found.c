/* What is found: noted once for each place and rule, with what must hold for it to be met. */
#include "analysis/predict/predict.h"

enum { MAX_WORDS_BYTES = 60, MAX_FOUND = 500 };

static const struct rule_row {
    const char *name, *id, *text;
} rules[] = {
#define RULE(ordinal, name, id, text) {name, id, text},
#include "analysis/predict/rules.def"
#undef RULE
};

gg_str gg__text_of(gg__walk *w, TSNode node) {
    gg__touch(w, node);
    return gg_node_text(w->tree, node);
}

gg_str gg__node_words(gg__walk *w, TSNode node) {
    gg_str text = gg__text_of(w, node);
    gg_buf out;
    gg_buf_init(&out, MAX_WORDS_BYTES * 4);
    for (size_t i = 0; i < text.len && out.len < MAX_WORDS_BYTES; i++) {
        bool blank = text.ptr[i] == '\n' || text.ptr[i] == '\r' || text.ptr[i] == ' ' || text.ptr[i] == '\t';
        if (blank && out.len && out.ptr[out.len - 1] == ' ') continue;
        (void)gg_buf_append(&out, blank ? GG_STR(" ") : gg_str_slice(text, i, i + 1));
    }
    gg_str words = gg_buf_str(&out);
    bool cut = text.len > MAX_WORDS_BYTES && words.len >= MAX_WORDS_BYTES;
    words = gg_str_slice(words, 0, gg_utf8_valid_prefix(words));
    gg_str kept = cut ? gg_arena_printf(w->arena, "%.*s…", GG_STR_ARG(words)) : gg_arena_str(w->arena, words);
    gg_buf_clear(&out);
    return kept;
}

void gg__place_event(gg__walk *w, gg__event *event) {
    event->guard = GG_STR_NULL;
    event->guarded = w->guard != NULL;
    event->guard_depth = event->loop_depth = -1;
    const gg__frame *f = w->frame;
    if (w->guard) {
        event->guard = w->guard->text;
        if (w->guard->negated) event->guard = gg_arena_printf(w->arena, "not (%.*s)", GG_STR_ARG(w->guard->text));
        while (f->caller && f->guard == w->guard) f = f->caller;
    } else {
        while (f && f->skips_if.len == 0 && f->returns_if.len == 0) f = f->caller;
        if (f) event->guard = f->skips_if.len ? f->skips_if : f->returns_if;
    }
    if (f) event->guard_depth = (int)f->depth;
    for (f = w->frame; f && event->loop_depth < 0; f = f->caller)
        if (f->loops) event->loop_depth = (int)f->depth;
}

void gg__note_eager(gg__walk *w) {
    if (w->guard && w->guard->unlikely) return;
    gg__note_telling(w);
    if (w->quiet == 0) w->frame->eager = true;
}

/* A break in a loop, or where an exception may be handled, leaves the whole function to Python, in each caller too.  One that may be met is
 * enough: what stands behind it is not certain then. */
static void leave_to_python(gg__walk *w) {
    for (gg__frame *f = w->frame; f; f = f->caller) f->eager = f->eager || f->loops || f->shelters;
}

static gg_str message_of(gg__walk *w, const struct rule_row *row, TSNode node) {
    gg_str text = gg_str_from(row->text);
    size_t at = gg_str_find(text, GG_STR("%s"), 0);
    if (at == SIZE_MAX) return text;
    return gg_arena_printf(w->arena, "%.*s%.*s%.*s", (int)at, text.ptr, GG_STR_ARG(gg__node_words(w, node)),
                           GG_STR_ARG(gg_str_slice(text, at + 2, text.len)));
}

static gg__value handed_on(gg__walk *w, gg__value value, unsigned depth) {
    if (gg__is_tensor(&value)) value.handed_on = true;
    if (value.kind != GG__SEQUENCE || depth > 3) return value;
    if (value.of) value.of = gg__keep(w, handed_on(w, *value.of, depth + 1));
    if (value.items == NULL) return value;
    gg__value *items = GG_ARENA_ARRAY(w->arena, gg__value, value.item_count + 1);
    for (uint32_t i = 0; i < value.item_count; i++) items[i] = handed_on(w, value.items[i], depth + 1);
    value.items = items;
    return value;
}

/* Behind a break a graph begins anew: what names stand for here, and in the callers, comes into it as it is. */
static void hand_on(gg__walk *w) {
    for (gg__frame *f = w->frame; f && f->caller; f = f->caller)
        for (uint32_t i = 0; i < f->scope->len; i++)
            f->scope->items[i].value = handed_on(w, f->scope->items[i].value, 0);
}

void gg__break_graph(gg__walk *w) {
    leave_to_python(w);
    hand_on(w);
}

static bool is_at(const gg__finding *finding, gg_span span) {
    return finding->prediction.span.start == span.start && finding->prediction.span.end == span.end;
}

static void add_beyond(gg__walk *w, const gg__event *event) {
    const struct rule_row *row = &rules[event->rule];
    gg_span span = gg_node_span(event->node);
    for (size_t i = 0; i < w->found.len; i++)
        if (is_at(&w->found.items[i], span)) return;
    gg__finding out = {.prediction = {.id = gg_str_from(row->id),
                                      .rule = gg_str_from(row->name),
                                      .span = span,
                                      .beyond = true,
                                      .message = message_of(w, row, event->node)}};
    if (w->found.len < MAX_FOUND) gg_list_push(&w->found, out);
}

static void add(gg__walk *w, const gg__event *event) {
    const struct rule_row *row = &rules[event->rule];
    gg_str guard = event->guard;
    if (event->eager && !event->guarded && guard.len == 0) guard = GG_STR("what breaks in front of it is mended");
    gg__finding out = {.prediction = {.id = gg_str_from(event->id ? event->id : row->id),
                                      .rule = gg_str_from(row->name),
                                      .span = gg_node_span(event->node),
                                      .certain = !event->guarded && guard.len == 0,
                                      .guard = guard,
                                      .in_loop = event->loop_depth >= 0},
                       .confirmed = event->confirmed,
                       .only_confirmed = w->only_tensors};
    if (event->maybe_none) { /* it is asked for as if it were one; code that is never run with None says so */
        out.prediction.certain = false;
        if (guard.len == 0) out.prediction.guard = GG_STR("it is not None");
    }
    for (size_t i = 0; i < w->found.len; i++) {
        gg__finding *same = &w->found.items[i];
        if (!is_at(same, out.prediction.span) || !gg_str_equal(same->prediction.rule, out.prediction.rule)) continue;
        bool in_loop = same->prediction.in_loop || out.prediction.in_loop;
        if (out.prediction.certain && (!same->prediction.certain || out.confirmed == NULL)) {
            out.prediction.message = same->prediction.message;
            *same = out;
        }
        same->prediction.in_loop = in_loop;
        return;
    }
    out.prediction.message = message_of(w, row, event->node);
    if (w->found.len < MAX_FOUND) gg_list_push(&w->found, out);
}

void gg__found_event(gg__walk *w, const gg__event *event) {
    gg__note_event(w, event);
    if (event->beyond)
        add_beyond(w, event);
    else
        add(w, event);
}

void gg__found_beyond(gg__walk *w, gg__rule rule, TSNode node) {
    gg__event event = {.rule = rule, .node = node, .beyond = true};
    gg__place_event(w, &event);
    gg__found_event(w, &event);
}

void gg__found(gg__walk *w, gg__rule rule, const char *id, TSNode node, const gg__value *because) {
    if (w->only_tensors && because == NULL) return;
    gg__note_telling(w);
    if (w->quiet) return;
    gg__event event = {.rule = rule,
                       .id = id,
                       .node = node,
                       .confirmed = because ? because->confirmed : NULL,
                       .maybe_none = because && because->maybe_none,
                       .eager = w->frame->eager,
                       .breaks = w->guard == NULL || !w->guard->unlikely};
    gg__place_event(w, &event);
    if (event.breaks) gg__break_graph(w);
    gg__found_event(w, &event);
}
