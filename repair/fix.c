/* The repair session: mends the sites of a file, and of the files it covers, one after the other.  A state machine: it runs nothing and
 * writes nothing, and reads only the files that breaks lie in.  One owner at a time.
 *
 * DESIGN  The session holds the texts as mended so far and the entries last measured for them.  From those it derives the first site that has
 * not been given up; its rules are tried strongest first.  A site in a function that calls another one with an open site waits for that
 * one: what an edit moves into a function of its own must be traceable whole.  An accepted verdict replaces text and entries (the verdict
 * measured the edited text), and the sites are derived anew, since later breaks may have been a cascade of the one just mended.  A site whose
 * candidate was right but did not help, or was a setting, is tried once more when another one has been mended since: what it ran into may be gone.
 * So is one that a rule is made for which was none before: what it would have had to prove may be plain to see now.
 *
 * What keeps a branch or a loop inside the graph (gg_rule.last_resort) is tried when nothing else applies anywhere, and settings behind it.
 *
 * When the rules have nothing more to try anywhere, a second source (gg_fix_use) is asked for the sites that are left, those of one definition at a time, each
 * site once.  What it keeps in the end is adopted as a rule's repair is, and the rules go on from there.
 *
 * It ends: each step uses up an offer of a site or a question, and there are GG_FIX_REPAIRS verifications and GG_FIX_QUESTIONS at most, whatever the worker and the
 * source answer.
 *
 * Invariant: `sites` and each file's tree belong to the files' texts; they are rebuilt whenever a text or entries change.
 * Invariant: `edited` is not NULL exactly while the last repair awaits its verdict, or (`widening`) what the source has to say of it. */
#include "repair/fix.h"

#include <string.h>

static void put_file(gg_fix *fix, gg_str path, const gg_text *original, const gg_text *text, const gg_tree *tree) {
    gg__fix_file f = {.seen = {gg_arena_str(fix->arena, path), original, text, text},
                      .original = gg_text_ref(original),
                      .begun = gg_text_ref(text),
                      .text = gg_text_ref(text),
                      .tree = tree ? gg_tree_ref(tree) : NULL};
    gg_list_push(&fix->files, f);
}

gg__fix_file *gg__fix_find_file(const gg_fix *fix, gg_str path) {
    for (size_t i = 0; i < fix->files.len; i++)
        if (gg_str_equal(fix->files.items[i].seen.path, path)) return &fix->files.items[i];
    return NULL;
}

gg_fix *gg_fix_new(gg_str path, const gg_text *text, gg_safety max_safety, const gg_registry *registry) {
    gg_fix *fix = gg_calloc(1, sizeof(gg_fix));
    fix->arena = gg_arena_new();
    put_file(fix, path, text, text, NULL);
    fix->max_safety = max_safety;
    fix->stage = max_safety < GG_SAFETY_NUMERIC ? max_safety : GG_SAFETY_NUMERIC;
    fix->registry = registry;
    return fix;
}

void gg_fix_keep_deliberate(gg_fix *fix) {
    fix->keeps_deliberate = true;
}

void gg_fix_only(gg_fix *fix, bool (*wants)(const void *data, const gg_site *site), const void *data) {
    fix->wants = wants;
    fix->wants_data = data;
}

void gg_fix_cover(gg_fix *fix, bool (*covers)(const void *data, gg_str path), const void *data) {
    fix->covers = covers;
    fix->covers_data = data;
}

void gg_fix_put(gg_fix *fix, gg_str path, const gg_text *original, const gg_text *text) {
    if (gg__fix_find_file(fix, path) == NULL) put_file(fix, path, original, text, NULL);
}

void gg_fix_use(gg_fix *fix, gg_fix_source source) {
    fix->source = source;
}

void gg_fix_free(gg_fix *fix) {
    if (fix == NULL) return;
    for (size_t i = 0; i < fix->bases.len; i++) gg_text_unref(&fix->bases.items[i]);
    gg_list_clear(&fix->bases);
    gg_list_clear(&fix->repairs);
    gg_list_clear(&fix->given_up);
    gg_text_unref(&fix->edited);
    for (size_t i = 0; i < fix->files.len; i++) {
        gg_tree_unref(&fix->files.items[i].tree);
        gg_text_unref(&fix->files.items[i].text);
        gg_text_unref(&fix->files.items[i].begun);
        gg_text_unref(&fix->files.items[i].original);
    }
    gg_list_clear(&fix->files);
    gg_arena_free(fix->arena);
    gg_free(fix);
}

static gg_str code_of(const gg_fix *fix, const gg_site *site) {
    const gg__fix_file *f = gg__fix_find_file(fix, site->file);
    return f ? gg_text_slice(f->text, site->span) : GG_STR_NULL;
}

/* A site keeps its identity while other lines change: id, enclosing definition, its own text, and how many like it come before. */
gg_str gg__fix_key_of(gg_fix *fix, size_t index) {
    const gg_site *site = &fix->sites.items[index];
    size_t before = 0;
    for (size_t i = 0; i < index; i++) {
        const gg_site *other = &fix->sites.items[i];
        before += gg_str_equal(other->file, site->file) && gg_str_equal(other->id, site->id) &&
                  gg_str_equal(other->enclosing, site->enclosing) &&
                  gg_str_equal(code_of(fix, other), code_of(fix, site));
    }
    return gg_arena_printf(fix->arena, "%.*s %.*s %.*s #%zu %.*s", GG_STR_ARG(site->file), GG_STR_ARG(site->id),
                           GG_STR_ARG(site->enclosing), before, GG_STR_ARG(code_of(fix, site)));
}

/* Files that breaks lie in and that the session covers are taken up when they are first met. */
static int derive_sites(gg_fix *fix, gg_error *err) {
    gg_sources *sources = gg_sources_new();
    int error = 0;
    for (size_t i = 0; i < fix->files.len && error == 0; i++) {
        gg__fix_file *f = &fix->files.items[i];
        if (f->tree == NULL) error = gg_tree_parse(&f->tree, f->text, NULL, NULL, 0, NULL, err);
        if (error == 0) gg_sources_put(sources, f->seen.path, f->text, f->tree);
    }
    if (error == 0) fix->sites = gg_sites_group(fix->after, fix->after_count, sources, fix->registry, fix->arena);
    for (size_t i = 0; i < fix->sites.len && error == 0 && fix->covers; i++) {
        gg_str path = fix->sites.items[i].file;
        if (gg__fix_find_file(fix, path) || !fix->covers(fix->covers_data, path)) continue;
        const gg_tree *tree = gg_sources_tree(sources, path, NULL);
        if (tree) put_file(fix, path, gg_tree_text(tree), gg_tree_text(tree), tree);
    }
    gg_sources_free(sources);
    return error;
}

gg__fix_refusal *gg__fix_refusal_of(gg_fix *fix, gg_str key) {
    for (size_t i = 0; i < fix->given_up.len; i++)
        if (gg_str_equal(fix->given_up.items[i].key, key)) return &fix->given_up.items[i];
    return NULL;
}

bool gg__fix_is_own(const gg_fix *fix, const gg_site *site) {
    return gg__fix_find_file(fix, site->file) && (fix->wants == NULL || fix->wants(fix->wants_data, site));
}

const gg_site *gg__fix_current_site(gg_fix *fix) {
    for (size_t i = 0; fix->site_key.len && i < fix->sites.len; i++)
        if (gg__fix_find_file(fix, fix->sites.items[i].file) && gg_str_equal(gg__fix_key_of(fix, i), fix->site_key))
            return &fix->sites.items[i];
    return NULL;
}

static void give_up_site(gg_fix *fix) {
    gg__fix_refusal now = {fix->site_key, fix->accepted, fix->site_was_right, fix->site_is_deliberate,
                           .tried_count = fix->offer_count};
    gg__fix_refusal *known = gg__fix_refusal_of(fix, now.key);
    memcpy(now.tried, fix->offers, fix->offer_count * sizeof(now.tried[0]));
    if (known) {
        now.asked = known->asked;
        for (size_t i = 0; i < known->tried_count && now.tried_count < GG_FIX_OFFERS; i++)
            if (!gg__fix_was_tried(&now, known->tried[i])) now.tried[now.tried_count++] = known->tried[i];
        *known = now;
    } else {
        gg_list_push(&fix->given_up, now);
    }
    fix->site_key = GG_STR_NULL;
}

void gg__fix_note(gg_fix *fix, const gg__fix_file *f, const gg_site *site, const gg_rule *rule, const gg_edits *edits) {
    gg_edit *copy = GG_ARENA_ARRAY(fix->arena, gg_edit, edits->list.len);
    for (size_t i = 0; i < edits->list.len; i++)
        copy[i] = (gg_edit){edits->list.items[i].span, gg_arena_str(fix->arena, edits->list.items[i].text)};
    gg_fix_repair repair = {.site_id = site->id,
                            .file = f->seen.path,
                            .range_utf16 = site->range_utf16,
                            .rule = rule,
                            .edits = copy,
                            .edit_count = edits->list.len,
                            .setting = edits->setting,
                            .base = f->text};
    gg_list_push(&fix->repairs, repair);
    gg_list_push(&fix->bases, gg_text_ref(f->text));
    fix->edited_file = (size_t)(f - fix->files.items);
}

/* May it be right behind another repair?  Its results were; or it is a setting, which takes on what breaks anywhere. */
static bool may_be_right(const gg_fix_repair *repair) {
    return gg_str_is(repair->verdict->outputs, "identical") || repair->rule->safety == GG_SAFETY_CONFIG;
}

/* The same edits of the same text, refused since the last repair was accepted: of another site, where they make a setting. */
static const gg_fix_repair *refused_before(const gg_fix *fix, const gg_text *base, const gg_edits *edits) {
    for (size_t i = fix->repairs.len; i-- > 0;) {
        const gg_fix_repair *r = &fix->repairs.items[i];
        if (r->verdict->accepted) return NULL;
        bool same = r->base == base && r->rule && r->edit_count == edits->list.len;
        for (size_t j = 0; same && j < r->edit_count; j++) {
            const gg_edit *a = &r->edits[j], *b = &edits->list.items[j];
            same = a->span.start == b->span.start && a->span.end == b->span.end && gg_str_equal(a->text, b->text);
        }
        if (same) return r;
    }
    return NULL;
}

/* The next rule's edits for the site, as a repair to be judged; false when the rule did not apply after all. */
static bool prepare(gg_fix *fix, const gg_site *site, const gg_rule *rule, bool *out_copies) {
    const gg__fix_file *f = gg__fix_find_file(fix, site->file);
    gg_rule_input in = {.tree = f->tree, .site = site, .span = site->span};
    gg_edits edits = {0};
    gg_error err = {0};
    bool ready = gg_repair_edits(rule, &in, fix->arena, &edits, &err) == 0;
    const gg_fix_repair *refused = ready ? refused_before(fix, f->text, &edits) : NULL;
    if (refused) fix->site_was_right = fix->site_was_right || may_be_right(refused);
    ready = ready && refused == NULL && gg_edits_apply(&fix->edited, f->text, &edits, &err) == 0;
    if (ready && gg_str_equal(gg_text_bytes(fix->edited), gg_text_bytes(f->text))) { /* nothing to verify */
        gg_text_unref(&fix->edited);
        ready = false;
    }
    if (ready) gg__fix_note(fix, f, site, rule, &edits);
    *out_copies = edits.copies;
    gg_edits_clear(&edits);
    return ready;
}

void gg__fix_verify(const gg_fix *fix, gg_safety safety, bool copies, const gg_rule *rule, gg_fix_action *out) {
    const gg__fix_file *f = &fix->files.items[fix->edited_file];
    *out = (gg_fix_action){.step = GG_FIX_VERIFY,
                           .file = f->seen.path,
                           .original = f->text,
                           .edited = fix->edited,
                           .safety = safety,
                           .copies = copies,
                           .rule = rule,
                           .foreign = rule == NULL || fix->foreign};
    for (gg_safety c = GG_SAFETY_EXACT; c <= GG_SAFETY_OPAQUE; c++)
        if (fix->classes & 1U << c) out->also[out->also_count++] = gg_str_from(gg_safety_name(c));
}

bool gg__fix_next_of_rules(gg_fix *fix, gg_fix_action *out) {
    while (fix->repairs.len < GG_FIX_REPAIRS) {
        const gg_site *site = gg__fix_current_site(fix);
        if (site == NULL) site = gg__fix_choose_site(fix, false);
        if (site == NULL) site = gg__fix_choose_site(fix, true);
        if (site == NULL && !fix->resorts) {
            fix->resorts = true; /* the sites that were given up may have rules that were not tried */
            for (size_t i = 0; i < fix->given_up.len; i++) fix->given_up.items[i].accepted = SIZE_MAX;
            continue;
        }
        if (site == NULL && fix->stage < fix->max_safety) {
            fix->stage = fix->max_safety;
            fix->given_up.len = 0; /* what was refused of the same text stays refused */
            continue;
        }
        if (site == NULL) return false;
        while (fix->next_offer < fix->offer_count) {
            const gg_rule *rule = fix->offers[fix->next_offer++];
            bool copies;
            if (!prepare(fix, site, rule, &copies)) continue;
            gg__fix_verify(fix, rule->safety, copies, rule, out);
            return true;
        }
        give_up_site(fix);
    }
    return false;
}

/* The file has this text from now on, for which the verdict measured the entries; NULL: they are the first capture's. */
static int take(gg_fix *fix, gg__fix_file *f, const gg_text *given, const gg_verdict *measured, gg_error *err) {
    gg_text *text = gg_text_ref(given);
    fix->after = fix->before;
    fix->after_count = fix->before_count;
    if (measured) {
        fix->after = GG_ARENA_ARRAY(fix->arena, gg_entry, measured->entry_count);
        fix->after_count = measured->entry_count;
        for (size_t i = 0; i < measured->entry_count; i++) fix->after[i] = measured->entries[i].after;
    }
    gg_tree_unref(&f->tree);
    gg_text_unref(&f->text);
    f->seen.text = f->text = text;
    fix->site_key = GG_STR_NULL;
    return derive_sites(fix, err);
}

int gg__fix_adopt(gg_fix *fix, size_t file_index, const gg_text *edited, const gg_verdict *verdict, gg_safety safety,
                  gg_error *err) {
    fix->accepted++;
    fix->classes |= 1U << safety;
    return take(fix, &fix->files.items[file_index], edited, verdict, err);
}

int gg__fix_put_back(gg_fix *fix, const gg_fix_repair *repair, const gg_verdict *measured, gg_error *err) {
    return take(fix, gg__fix_find_file(fix, repair->file), repair->base, measured, err);
}

int gg_fix_next(gg_fix *fix, gg_fix_action *out, gg_error *err) {
    *out = (gg_fix_action){.step = GG_FIX_DONE, .original = fix->files.items[0].text};
    if (fix->edited && (fix->wider || !fix->widening))
        return gg_fail(err, GG_EINTERNAL, "a candidate is still under verification");
    if (fix->awaits_answer) return gg_fail(err, GG_EINTERNAL, "a question is still out");
    if (!fix->captured) {
        out->step = GG_FIX_CAPTURE;
        return 0;
    }
    if (fix->over || (!fix->asking && gg__fix_next_of_rules(fix, out))) return 0;
    int error = fix->source.begin ? gg__fix_next_of_source(fix, out, err) : 0;
    if (error || out->step != GG_FIX_DONE) return error;
    fix->over = true;
    error = gg__fix_withdraw(fix, err);
    out->original = fix->files.items[0].text;
    return error;
}

int gg_fix_captured(gg_fix *fix, json_t *const *entries, size_t count, gg_error *err) {
    if (fix->captured) return gg_fail(err, GG_EINTERNAL, "no capture was asked for");
    fix->captured = true;
    fix->before = GG_ARENA_ARRAY(fix->arena, gg_entry, count);
    fix->before_count = 0;
    for (size_t i = 0; i < count; i++) {
        int error = gg_entry_decode(&fix->before[i], entries[i], fix->arena, err);
        if (error) return error;
        fix->before_count++;
    }
    fix->after = fix->before;
    fix->after_count = fix->before_count;
    return derive_sites(fix, err);
}

static void refuse(gg_fix *fix, gg_verdict *verdict, gg_str reason) {
    *verdict = (gg_verdict){.outputs = GG_STR("error"), .reasons = GG_ARENA_NEW(fix->arena, gg_str), .reason_count = 1};
    verdict->reasons[0] = gg_arena_str(fix->arena, reason);
}

int gg_fix_verified(gg_fix *fix, const json_t *verdict, gg_str failure, gg_error *err) {
    if (fix->edited == NULL || (fix->widening && !fix->wider))
        return gg_fail(err, GG_EINTERNAL, "no candidate is under verification");
    gg_verdict *judged = GG_ARENA_NEW(fix->arena, gg_verdict);
    gg_error why = {0};
    if (verdict == NULL)
        refuse(fix, judged, failure.len ? failure : GG_STR("the worker gave no verdict"));
    else if (gg_verdict_decode(judged, verdict, fix->arena, &why) != 0) /* what cannot be read proves nothing */
        refuse(fix, judged, gg_str_from(why.message));
    gg_fix_repair *repair = &fix->repairs.items[fix->repairs.len - 1];
    if (fix->wider)
        gg__fix_note_wider(fix, judged);
    else
        repair->verdict = judged;
    if (fix->widening) return fix->source.verified(fix->source.data, judged, err);
    if (!fix->asking && judged->accepted && gg__fix_widens(fix, judged)) return 0;
    gg_text *edited = fix->edited;
    fix->edited = NULL;
    int error = 0;
    if (fix->asking)
        error = fix->source.verified(fix->source.data, judged, err);
    else if (judged->accepted)
        error = gg__fix_adopt(fix, fix->edited_file, edited, judged, repair->rule->safety, err);
    else
        fix->site_was_right = fix->site_was_right || may_be_right(repair);
    gg_text_unref(&edited);
    return error;
}

const gg_text *gg_fix_text(const gg_fix *fix) {
    return fix->files.items[0].text;
}

const gg_fix_file *gg_fix_file_at(const gg_fix *fix, size_t index) {
    return index < fix->files.len ? &fix->files.items[index].seen : NULL;
}

const gg_fix_repair *gg_fix_repairs(const gg_fix *fix, size_t *out_count) {
    *out_count = fix->repairs.len;
    return fix->repairs.items;
}

bool gg_fix_hides(const gg_fix *fix) {
    return (fix->classes & 1U << GG_SAFETY_OPAQUE) != 0;
}

const gg_entry *gg_fix_before(const gg_fix *fix, size_t *out_count) {
    *out_count = fix->before_count;
    return fix->before;
}

const gg_entry *gg_fix_after(const gg_fix *fix, size_t *out_count) {
    *out_count = fix->after_count;
    return fix->after;
}
