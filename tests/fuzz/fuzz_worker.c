/* links: gg_server */
/* What a worker sends, which is user code's word where that means harm: entries, breaks, verdicts, graphs, inputs, registries, or what looks like them.
 * All of it is decoded or refused with words; what is made of it (sites, explanations, rules' edits, a repair session) lies in the program.
 *
 * Input: 'F' and a byte, then bytes that arrive in pieces whose size that byte chooses; or a program (none: one of ours), a NUL byte and frames, one a
 * line. */
#include <string.h>

#include "server/capture_job.h"
#include "server/session.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_NAME "/w/net.py"
enum { MAX_INPUT_BYTES = 64 * 1024, MAX_FRAMES = 64, MAX_STEPS = 400, MAX_OFFERS = 8 };

static const char program[] = "import torch\nfrom torch import nn\n\n\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.fc = nn.Linear(4, 4)\n\n"
                              "    def forward(self, x, n=3):\n"
                              "        h = self.fc(x)\n"
                              "        print('h', h.shape)\n"
                              "        if h.sum() > 0:\n"
                              "            h = h + 1\n"
                              "        for i in range(n):\n"
                              "            h = h * h.max().item()\n"
                              "        return h\n";

/* ---- bytes ------------------------------------------------------------------------------------------------------------------ */

static void read_pieces(gg_str bytes, size_t step) {
    gg_buf in;
    gg_error err = {0};
    gg_buf_init(&in, GG_MAX_WORKER_FRAME_BYTES + 4);
    int got = 0;
    for (size_t at = 0; at < bytes.len && got >= 0; at += step) {
        CHECK(gg_buf_append(&in, gg_str_slice(bytes, at, at + step)) == 0);
        json_t *frame = NULL;
        for (size_t left = in.len; (got = gg_worker_frame_next(&in, &frame, &err)) > 0; left = in.len) {
            CHECK(in.len < left && json_is_object(frame));
            json_decref(frame);
        }
        CHECK(got == 0 || (got == GG_EFRAME && err.message[0]));
    }
    gg_buf_clear(&in);
}

/* The value as it arrives: a reference, or NULL for what is refused. */
static json_t *frame_of(gg_str line) {
    json_t *value = json_loadb(line.ptr, line.len, 0, NULL), *frame = NULL;
    gg_buf bytes;
    gg_error err = {0};
    if (!json_is_object(value)) {
        json_decref(value);
        return NULL;
    }
    gg_buf_init(&bytes, GG_MAX_WORKER_FRAME_BYTES + 4);
    CHECK(gg_worker_frame_write(&bytes, value, &err) == 0);
    CHECK(gg_worker_frame_next(&bytes, &frame, &err) == 1 && json_equal(frame, value) && bytes.len == 0);
    gg_buf_clear(&bytes);
    json_decref(value);
    return frame;
}

/* ---- values ----------------------------------------------------------------------------------------------------------------- */

typedef struct told {
    gg_arena *arena;
    gg_text *text;
    gg_tree *tree;
    gg_sources *sources;
    gg_registry *registry; /* NULL: none was told */
    gg_entry entries[MAX_FRAMES];
    json_t *entry_values[MAX_FRAMES], *verdicts[MAX_FRAMES]; /* borrowed */
    size_t entry_count, entry_value_count, verdict_count;
} told;

static void check_words(gg_str words) {
    CHECK(gg_utf8_valid_prefix(words) == words.len);
}

static void take_graphs(told *t, const json_t *frame) {
    gg_graphs graphs;
    gg_error err = {0};
    gg_buf out;
    if (gg_graphs_decode(&graphs, json_object_get(frame, "graphs"), t->sources, t->registry, t->arena, &err) != 0) {
        CHECK(err.message[0]);
        return;
    }
    gg_buf_init(&out, SIZE_MAX / 2);
    gg_graphs_markdown(&graphs, &out);
    gg_graphs_svg(&graphs, &out);
    check_words(gg_buf_str(&out));
    check_words(gg_graphs_summary(&graphs, t->arena));
    gg_buf_clear(&out);
}

static void take_inputs(told *t, const json_t *frame) {
    gg_edits edits = {0};
    gg_error err = {0};
    gg_text *edited = NULL;
    if (gg_inputs_edits(&edits, t->text, frame, &err) != 0)
        CHECK(err.message[0]);
    else if (gg_edits_apply(&edited, t->text, &edits, &err) != 0)
        CHECK(err.code == GG_ETOOBIG);
    check_words(gg_inputs_words(frame, t->arena));
    gg_text_unref(&edited);
    gg_edits_clear(&edits);
}

static void take(told *t, json_t *frame) {
    gg_error err = {0};
    gg_remote remote = {0};
    gg_break record;
    gg_verdict verdict;
    gg_span place;
    gg_remote_frame(&remote, frame);
    json_t *entry = json_object_get(frame, "entry"), *verdict_value = json_object_get(frame, "verdict");
    const char *registry = json_string_value(json_object_get(frame, "registry_text"));
    if (entry) {
        t->entry_values[t->entry_value_count++] = entry;
        if (gg_entry_decode(&t->entries[t->entry_count], entry, t->arena, &err) == 0)
            t->entry_count++;
        else
            CHECK(err.message[0]);
    }
    if (json_object_get(frame, "break") &&
        gg_break_decode(&record, json_object_get(frame, "break"), t->arena, &err) != 0)
        CHECK(err.message[0]);
    if (verdict_value) {
        t->verdicts[t->verdict_count++] = verdict_value;
        if (gg_verdict_decode(&verdict, verdict_value, t->arena, &err) == 0)
            check_words(gg_verdict_summary(&verdict, t->arena));
        else
            CHECK(err.message[0]);
    }
    if (registry && t->registry == NULL && gg_registry_parse(&t->registry, gg_str_from(registry), "told", &err) != 0)
        CHECK(err.message[0]);
    if (json_object_get(frame, "graphs")) take_graphs(t, frame);
    if (json_object_get(frame, "edits")) take_inputs(t, frame);
    if (gg_capture_place(frame, t->text, &place)) CHECK(place.start <= place.end);
}

/* ---- what is made of them --------------------------------------------------------------------------------------------------- */

static void mend(const told *t, const gg_site *site) {
    const gg_rule *offers[MAX_OFFERS];
    gg_rule_input in = {.tree = t->tree, .site = site, .span = site->span};
    size_t count = gg_repair_offers(&in, GG_SAFETY_OPAQUE, offers, MAX_OFFERS);
    for (size_t i = 0; i < count; i++) {
        gg_edits edits = {0};
        gg_text *edited = NULL;
        int error = gg_repair_edits(offers[i], &in, t->arena, &edits, NULL);
        CHECK(error == 0 || error == GG_ENOMATCH);
        if (error == 0) CHECK(gg_edits_apply(&edited, t->text, &edits, NULL) == 0);
        gg_text_unref(&edited);
        gg_edits_clear(&edits);
    }
}

static void show(told *t) {
    gg_site_list sites = gg_sites_group(t->entries, t->entry_count, t->sources, t->registry, t->arena);
    size_t len = gg_text_bytes(t->text).len;
    for (size_t i = 0; i < sites.len; i++) {
        const gg_site *site = &sites.items[i];
        bool ours = gg_str_is(site->file, FILE_NAME);
        const gg_tree *tree = ours ? t->tree : NULL;
        CHECK(site->entry_count > 0 && site->first && site->count > 0);
        CHECK(!ours || (site->span.start <= site->span.end && site->span.end <= len));
        check_words(gg_explain_short(site, t->arena));
        check_words(gg_explain_site(site, tree, t->registry, true, t->arena));
        check_words(gg_explain_site(site, tree, t->registry, false, t->arena));
        check_words(gg_explain_url(site->id, t->arena));
        if (ours) mend(t, site);
    }
    for (size_t i = 0; i < t->entry_count; i++) check_words(gg_entry_summary(&t->entries[i], &sites, t->arena));
    (void)gg_entries_whole(t->entries, t->entry_count);
}

/* A session that is answered with whatever came, in turn; then that nothing came. */
static void glue(const told *t) {
    gg_fix *fix = gg_fix_new(GG_STR(FILE_NAME), t->text, GG_SAFETY_OPAQUE, t->registry);
    gg_fix_action action;
    gg_error err = {0};
    size_t verdicts = 0, steps = 0;
    int error;
    while ((error = gg_fix_next(fix, &action, &err)) == 0 && action.step != GG_FIX_DONE) {
        CHECK(steps++ < MAX_STEPS && action.step != GG_FIX_ASK);
        if (action.step == GG_FIX_CAPTURE) {
            error = gg_fix_captured(fix, t->entry_values, t->entry_value_count, &err);
        } else {
            const json_t *verdict = verdicts < t->verdict_count ? t->verdicts[verdicts++] : NULL;
            error = gg_fix_verified(fix, verdict, GG_STR("it crashed"), &err);
        }
        if (error) break;
    }
    CHECK(error == 0 || err.message[0]);
    CHECK(gg_utf8_valid_prefix(gg_text_bytes(gg_fix_text(fix))) == gg_text_bytes(gg_fix_text(fix)).len);
    gg_fix_free(fix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > MAX_INPUT_BYTES) return 0;
    if (data[0] == 'F') {
        read_pieces((gg_str){(const char *)data + 2, size - 2}, data[1] + 1u);
        return 0;
    }
    const uint8_t *nul = memchr(data, 0, size);
    size_t at = nul ? (size_t)(nul - data) + 1 : 0, frame_count = 0;
    json_t *frames[MAX_FRAMES];
    told t = {.arena = gg_arena_new(), .sources = gg_sources_new()};
    gg_str source = at > 1 ? valid(data, at - 1) : gg_str_from(program), all = {(const char *)data, size};
    CHECK(gg_text_new(&t.text, source, NULL) == 0);
    CHECK(gg_tree_parse(&t.tree, t.text, NULL, NULL, 0, NULL, NULL) == 0);
    gg_sources_put(t.sources, GG_STR(FILE_NAME), t.text, t.tree);
    for (size_t end; at < size && frame_count < MAX_FRAMES; at = end + 1) {
        end = gg_str_find(all, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = size;
        json_t *frame = frame_of(gg_str_slice(all, at, end));
        if (frame == NULL) continue;
        take(&t, frame);
        frames[frame_count++] = frame;
    }
    show(&t);
    glue(&t);
    for (size_t i = 0; i < frame_count; i++) json_decref(frames[i]);
    gg_registry_free(t.registry);
    gg_sources_free(t.sources);
    gg_tree_unref(&t.tree);
    gg_text_unref(&t.text);
    gg_arena_free(t.arena);
    return 0;
}
