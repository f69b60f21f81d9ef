/* A program with a break site: the first lines of it say what a capture would (tests/unit/test_rules.c tells how).  Whatever they hold, it is read
 * or refused with words: tests/fuzz/fuzz_repair.c reads such texts too. */
#ifndef RULE_FIXTURE_H
#define RULE_FIXTURE_H

#include <stdlib.h>

#include "repair/gg_repair.h"

enum { RULE_FIXTURE_FACTS = 32, RULE_FIXTURE_SIZES = 8 };

typedef struct rule_fixture {
    gg_arena *arena; /* borrowed; all below lives in it or in the text */
    gg_break record;
    gg_site site; /* its span is empty when the expression is not in the program */
    bool copies;
    const char *wrong; /* NULL: all was understood */
} rule_fixture;

static inline void rule_fixture_fact(rule_fixture *f, gg_str word) {
    gg_arena *arena = f->arena;
    gg_fact fact = {.kind = GG_VALUE_TENSOR, .device = GG_STR("cpu")};
    if (gg_str_ends_with(word, GG_STR("/strided"))) {
        fact.layout = GG_LAYOUT_STRIDED;
        word = gg_str_slice(word, 0, word.len - (sizeof("/strided") - 1));
    }
    if (gg_str_ends_with(word, GG_STR("/grad"))) {
        fact.requires_grad = true;
        word = gg_str_slice(word, 0, word.len - (sizeof("/grad") - 1));
    }
    if (gg_str_ends_with(word, GG_STR("/parameter"))) {
        fact.type = GG_STR("Parameter");
        word = gg_str_slice(word, 0, word.len - (sizeof("/parameter") - 1));
    }
    size_t equals = gg_str_find(word, GG_STR("="), 0), bracket = gg_str_find(word, GG_STR("["), 0);
    if (equals == SIZE_MAX || f->record.fact_count == RULE_FIXTURE_FACTS || (bracket < equals)) {
        f->wrong = equals == SIZE_MAX ? "a fact is name=what" : "there are too many facts, or a [ in a name";
        return;
    }
    fact.name = gg_str_slice(word, 0, equals);
    if (bracket == SIZE_MAX) {
        size_t colon = gg_str_find(word, GG_STR(":"), equals);
        gg_str kind = gg_str_slice(word, equals + 1, colon == SIZE_MAX ? word.len : colon);
        gg_str said = colon == SIZE_MAX ? GG_STR_NULL : gg_str_slice(word, colon + 1, word.len);
        bool other = gg_str_is(kind, "other");
        bool module = gg_str_is(kind, "module");
        bool known = other || module || gg_str_is(kind, "int") || gg_str_is(kind, "float") || gg_str_is(kind, "bool");
        if (!known) f->wrong = "no such kind of fact";
        if (other) fact.type = said;
        fact.has_number = !other && said.len != 0;
        fact.number = fact.has_number ? strtod(gg_arena_z(arena, said), NULL) : 0;
        if (module) {
            gg_step *step = GG_ARENA_ARRAY(arena, gg_step, 1);
            *step = (gg_step){.op = gg_str_is(said, "same") ? GG_STEP_SAME : GG_STEP_MAP};
            fact.steps = step;
            fact.step_count = 1;
            fact.has_number = false;
            if (gg_str_is(said, "list")) fact.type = GG_STR("ModuleList");
        }
        fact.kind = module                     ? GG_VALUE_MODULE
                    : other                    ? GG_VALUE_OTHER
                    : gg_str_is(kind, "int")   ? GG_VALUE_INT
                    : gg_str_is(kind, "float") ? GG_VALUE_FLOAT
                                               : GG_VALUE_BOOL;
        if (other) fact.device = GG_STR_NULL;
    } else {
        int64_t *shape = GG_ARENA_ARRAY(arena, int64_t, RULE_FIXTURE_SIZES);
        gg_str sizes = gg_str_slice(word, bracket + 1, word.len - 1);
        fact.dtype = gg_arena_printf(arena, "torch.%.*s", GG_STR_ARG(gg_str_slice(word, equals + 1, bracket)));
        for (size_t at = 0, comma; at < sizes.len && fact.rank < RULE_FIXTURE_SIZES; at = comma + 1) {
            comma = gg_str_find(sizes, GG_STR(","), at);
            if (comma == SIZE_MAX) comma = sizes.len;
            shape[fact.rank++] = strtol(gg_arena_z(arena, gg_str_slice(sizes, at, comma)), NULL, 10);
        }
        fact.shape = shape;
    }
    f->record.facts[f->record.fact_count++] = fact;
}

static inline void rule_fixture_facts(rule_fixture *f, gg_str line) {
    for (size_t at = sizeof("# facts:") - 1, end; at < line.len; at = end + 1) {
        end = gg_str_find(line, GG_STR(" "), at);
        if (end == SIZE_MAX) end = line.len;
        gg_str word = gg_str_trim(gg_str_slice(line, at, end));
        if (word.len) rule_fixture_fact(f, word);
    }
}

/* `f` is written whole but for its arena, and its site must stay where it is: it points into `f`. */
static inline void rule_fixture_read(rule_fixture *f, gg_arena *arena, const gg_text *text) {
    gg_str first = gg_text_line(text, 0), bytes = gg_text_bytes(text);
    size_t bar = gg_str_find(first, GG_STR(" | "), 0);
    *f = (rule_fixture){.arena = arena};
    f->record.facts = GG_ARENA_ARRAY(arena, gg_fact, RULE_FIXTURE_FACTS);
    f->site.first = &f->record;
    f->site.in_workspace = true;
    if (!gg_str_starts_with(first, GG_STR("# site: ")) || bar == SIZE_MAX) {
        f->wrong = "the first line is no  # site: GB0170 | code";
        return;
    }
    f->record.id = f->site.id = gg_str_slice(first, sizeof("# site: ") - 1, bar);
    uint32_t line = 1;
    for (gg_str at; gg_str_starts_with(at = gg_text_line(text, line), GG_STR("# ")); line++) {
        if (gg_str_starts_with(at, GG_STR("# facts:"))) rule_fixture_facts(f, at);
        if (gg_str_is(at, "# copies")) f->copies = true;
        if (gg_str_starts_with(at, GG_STR("# context: "))) f->record.context = gg_str_slice(at, 11, at.len);
        for (size_t i = 0; gg_str_starts_with(at, GG_STR("# device: ")) && i < f->record.fact_count; i++)
            f->record.facts[i].device = gg_str_slice(at, 10, at.len);
    }
    gg_str code = gg_str_slice(first, bar + 3, first.len);
    size_t start = code.len ? gg_str_find(bytes, code, gg_text_line_start(text, line)) : SIZE_MAX;
    if (start != SIZE_MAX) f->site.span = (gg_span){(uint32_t)start, (uint32_t)(start + code.len)};
}

#endif
