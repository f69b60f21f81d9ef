/* Explanations for ids that have no text of ours: Dynamo's words put into plain ones.  Threads: any. */
#include <string.h>

#include "analysis/explain/explain.h"

/* Hints that torch uses over and over, and what they mean to a user. */
typedef struct stock_hint {
    const char *starts, *says; /* says NULL: nothing a user can act on */
    bool advises;              /* it says what to write */
} stock_hint;

static const stock_hint stock[] = {
    {"Your code may result in an error", NULL, false}, /* it was run without, and did not */
    {"This is likely to be a Dynamo bug",
     "This looks like a bug of Dynamo's: another way to write it, or a newer torch, may help.", false},
    {"This graph break may be difficult to debug", NULL, false},
    {"This graph break is fundamental",
     "Dynamo's authors do not expect to support it, so it has to be written in another way.", false},
    {"It may be possible to write Dynamo tracing rules", NULL, false},
    {"This graph break may have been caused by an earlier",
     "It may only follow from an earlier break: mend that one first.", false},
    {"Sparse tensor operations are not yet fully supported",
     "Make and use sparse tensors outside the compiled function.", true},
    {"Please report an issue", NULL, false},
    {"Please file an issue", NULL, false},
    {"Avoid calling", NULL, false}, /* what the generic advice says better */
};

static const stock_hint *find_stock(gg_str hint) {
    for (size_t i = 0; i < GG_COUNT(stock); i++)
        if (gg_str_starts_with(hint, gg_str_from(stock[i].starts))) return &stock[i];
    return NULL;
}

void gg__put_sentence(gg__writer *w, gg_str words) {
    words = gg_str_trim(words);
    gg__put_words(w, words);
    if (words.len > 0 && strchr(".!?:", words.ptr[words.len - 1]) == NULL) gg__put(w, ".");
}

void gg__put_hints(gg__writer *w, const gg_str *hints, size_t count, const char *otherwise) {
    bool any = false, advised = false;
    for (size_t i = 0; i < count; i++) {
        gg_str hint = gg_str_trim(hints[i]);
        const stock_hint *known = find_stock(hint); /* its words are ours */
        if (known != NULL) hint = gg_str_from(known->says);
        if (hint.len == 0) continue;
        if (any) gg__put(w, " ");
        gg__put_sentence(w, hint);
        any = true;
        advised = advised || known == NULL || known->advises;
    }
    if (advised) return;
    if (any) gg__put(w, " ");
    gg__put(w, otherwise);
}

const char *gg__generic_fix(const char *category) {
    switch (category[0]) {
    case 'd':
        return "Let the flow of the program depend on Python values (settings, sizes) only, and select between tensors "
               "with `torch.where` "
               "or `torch.cond`.";
    case 't':
        return "Keep the value a tensor inside the compiled function, and do this step before or after it, on its "
               "inputs or results.";
    default:
        return "If its result does not depend on tensors, compute it before the compiled function and pass it in. If "
               "it only reports, put "
               "it under `if not torch.compiler.is_compiling():`. Otherwise write it with torch operations.";
    }
}

gg_str gg__without_places(gg_str words, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, words.len * 3 + 1);
    for (size_t i = 0; i < words.len;) {
        size_t end = words.ptr[i] == '{' ? gg_str_find(words, GG_STR("}"), i) : SIZE_MAX;
        if (end == SIZE_MAX) {
            (void)gg_buf_append_char(&out, words.ptr[i++]);
            continue;
        }
        (void)gg_buf_append_z(&out, "…");
        i = end + 1;
    }
    gg_str copy = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return copy;
}
