/* The explanation of a break site: what Python does, why Dynamo stops, what it costs in this program, how to mend it, and
 * Dynamo's own words last.  Threads: any. */
#include <stdio.h>
#include <string.h>

#include "analysis/costs.h"
#include "analysis/explain/explain.h"
#include "analysis/private.h"

static bool has_aggravation(const gg_site *site, const char *id) {
    for (size_t i = 0; i < site->aggravation_count; i++)
        if (gg_str_is(site->aggravations[i], id)) return true;
    return false;
}

typedef enum effect {
    SPLITS,          /* the graph ends here and another begins */
    LOOP_HERE,       /* a function runs eagerly: a loop around the site */
    LOOP_IN_CALLER,  /* the same, for a function that calls this one in a loop */
    CONTEXT_MANAGER, /* … a context manager */
    TRY_HERE,        /* … a try block */
    SKIPS,           /* … for another reason */
    RAISES,          /* nothing runs: the compiled call raises */
    DIFFERS          /* no break: what is compiled is not what is written */
} effect;

bool gg_site_raises(const gg_site *site) {
    return gg_str_is(site->id, "GB4315");
}

bool gg_site_differs(const gg_site *site) {
    return gg_str_is(site->id, "size-as-data");
}

static effect effect_of(const gg_site *site, const gg__subject *subject) {
    if (gg_site_raises(site)) return RAISES;
    if (gg_site_differs(site)) return DIFFERS;
    if (has_aggravation(site, "GB7000")) return subject->in_loop ? LOOP_HERE : LOOP_IN_CALLER;
    if (has_aggravation(site, "GB0066")) return CONTEXT_MANAGER;
    if (!site->skip && site->eager_function.len == 0) return SPLITS;
    return subject->in_try ? TRY_HERE : SKIPS;
}

/* How much of a function is given up.  After a break the rest of a function is a frame of its own, and it may be that one. */
typedef enum extent { ALL, AFTER_PREVIOUS_BREAK, FROM_HERE, UNKNOWN_EXTENT } extent;

static extent extent_of(const gg_site *site) {
    if (site->eager_function.len == 0) return UNKNOWN_EXTENT;
    return !site->skip ? FROM_HERE : site->eager_rest ? AFTER_PREVIOUS_BREAK : ALL;
}

/* ---- one line ---- */
static void put_short_effect(gg__writer *w, const gg_site *site, effect e) {
    static const char *const causes[] = {
        [LOOP_HERE] = "in a loop, so ",
        [LOOP_IN_CALLER] = "in a caller's loop, so ",
        [CONTEXT_MANAGER] = "in a `with` block, so ",
        [TRY_HERE] = "in a `try` block, so ",
        [SKIPS] = "",
    };
    if (e == SPLITS) {
        gg__put(w, site->nothing_compiled ? "nothing around it is compiled" : "the graph splits here");
        return;
    }
    if (e == RAISES) {
        gg__put(w, "the compiled call fails, also where this is caught");
        return;
    }
    if (e == DIFFERS) {
        gg__put(w, "results differ, or the compiled call fails");
        return;
    }
    static const char *const parts[] = {[ALL] = "the whole function",
                                        [AFTER_PREVIOUS_BREAK] = "the rest of the function",
                                        [FROM_HERE] = "the rest of the function",
                                        [UNKNOWN_EXTENT] = "the function"};
    static const char *const callers[] = {[ALL] = "that caller",
                                          [AFTER_PREVIOUS_BREAK] = "the rest of that caller",
                                          [FROM_HERE] = "the rest of that caller",
                                          [UNKNOWN_EXTENT] = "that caller"};
    gg__put(w, causes[e]);
    gg__put(w, (e == LOOP_IN_CALLER ? callers : parts)[extent_of(site)]);
    gg__put(w, " runs uncompiled");
}

static gg_str finish(gg__writer *w, gg_arena *arena) {
    gg_str text = gg_arena_str(arena, gg_str_trim(gg_buf_str(&w->buf)));
    gg_buf_clear(&w->buf);
    return text;
}

static gg__writer writer(bool markdown) {
    gg__writer w = {.markdown = markdown};
    gg_buf_init(&w.buf, GG__EXPLANATION_BYTES);
    return w;
}

gg_str gg__explain_summary(const gg_site *site, const gg_tree *tree, gg_arena *arena) {
    gg__writer w = writer(false);
    gg__subject subject = gg__subject_of(site, tree, arena);
    gg_str file = gg__text_find(site->id);
    if (file.len > 0) {
        gg__put_template(&w, gg__text_section(file, "Short", &subject), &subject, GG__SHORT_CODE_BYTES);
    } else if (subject.code.len > 0) {
        gg__put_code(&w, subject.code, GG__SHORT_CODE_BYTES);
        gg__put(&w, " cannot be traced (");
        gg__put_words(&w, site->type.len > 0 ? site->type : site->id);
        gg__put(&w, ")");
    } else {
        gg__put_words(&w, site->type.len > 0 ? site->type : GG_STR("Dynamo stops here"));
    }
    gg__put(&w, ": ");
    put_short_effect(&w, site, effect_of(site, &subject));
    return finish(&w, arena);
}

gg_str gg_explain_short(const gg_site *site, gg_arena *arena) {
    return site->summary.len > 0 ? site->summary : gg__explain_summary(site, NULL, arena);
}

/* ---- the whole ---- */
static void put_heading(gg__writer *w, const gg_site *site, gg_str title) {
    if (w->markdown) gg__put(w, "**");
    gg__put_words(w, title);
    gg__put(w, w->markdown ? "** (" : " (");
    gg__put_words(w, site->id);
    gg__put(w, ", ");
    const char *category = gg_break_category(site->id, site->type);
    for (; *category; category++) gg__put(w, *category == '_' ? " " : (char[]){*category, '\0'});
    gg__put(w, ")");
    if (site->enclosing.len > 0) {
        gg__put(w, gg_str_is(site->enclosing, "<module>") ? " at module level" : " in ");
        if (!gg_str_is(site->enclosing, "<module>")) gg__put_code(w, site->enclosing, GG__QUOTED_CODE_BYTES);
    }
    gg__put(w, "\n\n");
}

static void put_label(gg__writer *w, const char *label) {
    gg__put(w, w->markdown ? "**" : "");
    gg__put(w, label);
    gg__put(w, w->markdown ? ":** " : ": ");
}

static void put_function(gg__writer *w, gg_str name) {
    if (name.len == 0 || gg_str_is(name, "<module>")) {
        gg__put(w, "the function");
    } else {
        gg__put_code(w, name, GG__QUOTED_CODE_BYTES);
    }
}

/* Who runs in plain Python. */
static void put_extent(gg__writer *w, const gg_site *site, effect e) {
    extent x = extent_of(site);
    if (x == UNKNOWN_EXTENT) { /* an earlier break may have been the start of it */
        if (e == LOOP_IN_CALLER) {
            gg__put(w, "that caller");
        } else {
            put_function(w, site->enclosing);
        }
        gg__put(w, ", or what was left of it after an earlier break,");
        return;
    }
    gg__put(w, x == ALL ? "all of " : x == FROM_HERE ? "what follows in " : "everything in ");
    put_function(w, site->eager_function);
    if (x == AFTER_PREVIOUS_BREAK) gg__put(w, " after the previous break");
}

static void put_effect(gg__writer *w, const gg_site *site, effect e) {
    static const char *const causes[] = {
        [LOOP_HERE] = "it lies in a loop, and Dynamo cannot go on from the middle of one. So ",
        [LOOP_IN_CALLER] = "a caller reaches it from a loop, and Dynamo cannot go on from the middle of one. So ",
        [CONTEXT_MANAGER] = "it lies in a `with` block whose context manager Dynamo cannot leave and enter again. So ",
        [TRY_HERE] = "it lies in a `try` block, and Dynamo cannot go on from the middle of one. So ",
        [SKIPS] = "Dynamo gives up the function it was capturing here: ",
    };
    if (e == SPLITS && site->nothing_compiled) {
        gg__put(w, "Dynamo leaves the function here, and this runs in plain Python. In this run it compiled nothing at "
                   "all: neither what comes before nor what follows.");
        return;
    }
    if (e == SPLITS) {
        gg__put(w, "the graph is split here. What comes before is one graph, this runs in plain Python, and what "
                   "follows, if anything, is captured anew: nothing is fused across the gap, and every call pays for "
                   "the way out and back in.");
        return;
    }
    if (e == RAISES) {
        gg__put(w,
                "the compiled call raises `TorchRuntimeError`, and no handler inside it is asked: what works without "
                "`torch.compile` does not work with it.");
        return;
    }
    if (e == DIFFERS) {
        gg__put(w,
                "the graph goes on with a tensor of another shape. The compiled call gives other results than without "
                "`torch.compile`, or raises an error further down.");
        return;
    }
    gg__put(w, causes[e]);
    put_extent(w, site, e);
    gg__put(w, " runs in plain Python");
    if (e == LOOP_HERE && site->skip) gg__put(w, ", also what is before and after the loop");
    gg__put(w, ". Functions called from there are still compiled, each by itself.");
}

static void put_number(gg__writer *w, size_t n) {
    (void)gg_buf_printf(&w->buf, "%zu", n);
}

static void put_cost(gg__writer *w, const gg_site *site, const gg__subject *subject) {
    put_label(w, "What it costs");
    put_effect(w, site, effect_of(site, subject));
    if (site->count > 1) {
        gg__put(w, " Dynamo stopped here ");
        put_number(w, site->count);
        gg__put(w, " times in this run");
        if (site->entry_count > 1) {
            gg__put(w, ", for ");
            put_number(w, site->entry_count);
            gg__put(w, " entries");
        }
        bool called = site->first != NULL && site->first->stack_len > 1;
        gg__put(w, called ? ": a break in a called function splits each caller as well." : ".");
    }
    gg__put(w, "\n\n");
}

/* For an id with a text of ours. */
static void put_our_text(gg__writer *w, gg_str file, const gg_site *site, const gg__subject *subject) {
    gg__put_template(w, gg__text_section(file, "What happens", subject), subject, GG__QUOTED_CODE_BYTES);
    gg__put(w, "\n\n");
    gg__put_template(w, gg__text_section(file, "Why it breaks", subject), subject, GG__QUOTED_CODE_BYTES);
    gg__put(w, "\n\n");
    put_cost(w, site, subject);
    put_label(w, "How to fix it");
    gg__put_template(w, gg__text_section(file, "How to fix", subject), subject, GG__QUOTED_CODE_BYTES);
    gg__put(w, "\n\n");
}

/* For any other: from the record and the registry. */
static void put_composed(gg__writer *w, const gg_site *site, const gg__subject *subject, const gg_registry *registry,
                         gg_arena *arena) {
    gg_registry_row row = {.hint_count = 0};
    bool known = gg_registry_find(registry, site->id, &row);
    if (subject->code.len > 0) {
        gg__put(w, subject->verb ? subject->verb : "Dynamo stops at");
        gg__put(w, " ");
        gg__put_code(w, subject->code, GG__QUOTED_CODE_BYTES);
        gg__put(w, ". ");
    }
    gg_str why = site->first ? site->first->explanation : GG_STR_NULL;
    if (why.len == 0 && known) why = gg__without_places(row.explanation, arena);
    if (why.len > 0) {
        gg__put_sentence(w, why);
    } else {
        gg__put(w, "Dynamo has no rule for it while it traces.");
    }
    gg__put(w, "\n\n");
    put_cost(w, site, subject);
    put_label(w, "How to fix it");
    const gg_break *first = site->first;
    const char *otherwise = gg__generic_fix(gg_break_category(site->id, site->type));
    if (first != NULL && first->hint_count > 0) {
        gg__put_hints(w, first->hints, first->hint_count, otherwise);
    } else { /* a static finding: the registry's hints, names left out */
        gg_str *hints = GG_ARENA_ARRAY(arena, gg_str, row.hint_count + 1);
        for (size_t i = 0; i < row.hint_count; i++) hints[i] = gg__without_places(row.hints[i], arena);
        gg__put_hints(w, hints, row.hint_count, otherwise);
    }
    gg__put(w, "\n\n");
}

static void put_words(gg__writer *w, const gg_site *site, const gg_tree *tree, const gg_registry *registry,
                      gg_arena *arena) {
    gg__subject subject = gg__subject_of(site, tree, arena);
    gg_str file = gg__text_find(site->id);
    gg_str title = file.len > 0 ? gg__text_title(file) : site->type.len > 0 ? site->type : GG_STR("Graph break");
    put_heading(w, site, title);
    if (file.len > 0) {
        put_our_text(w, file, site, &subject);
    } else {
        put_composed(w, site, &subject, registry, arena);
    }
    if (!site->in_workspace && site->file.len > 0) {
        gg__put(w, "This line is in a library: ");
        gg__put_code(w, site->file, GG__QUOTED_CODE_BYTES);
        gg__put(w, ".\n\n");
    }
}

gg_str gg__explain_words(const gg_site *site, const gg_tree *tree, const gg_registry *registry, gg_arena *arena) {
    gg__writer w = writer(false);
    put_words(&w, site, tree, registry, arena);
    return finish(&w, arena);
}

gg_str gg_explain_site(const gg_site *site, const gg_tree *tree, const gg_registry *registry, bool markdown,
                       gg_arena *arena) {
    gg__writer w = writer(markdown);
    put_words(&w, site, tree, registry, arena);
    if (site->reason.len > 0) gg__put_quote(&w, "Dynamo's own words:", site->reason);
    return finish(&w, arena);
}

gg_str gg_explain_code(const gg_text *text, gg_span span, size_t max_bytes, gg_str words, bool markdown,
                       gg_arena *arena) {
    gg__writer w = writer(markdown);
    char line[24];
    (void)snprintf(line, sizeof(line), "line %u, ", gg_text_position(text, span.start, GG_UTF8).line + 1);
    gg__put(&w, line);
    gg_str code = gg_text_slice(text, span);
    size_t end = 0; /* of its first line */
    while (end < code.len && code.ptr[end] != '\n' && code.ptr[end] != '\r') end++;
    if (end < code.len && end < max_bytes) code = gg_arena_printf(arena, "%.*s…", (int)end, code.ptr);
    gg__put_code(&w, code, max_bytes);
    gg__put(&w, ": ");
    gg__put_words(&w, words);
    return finish(&w, arena);
}
