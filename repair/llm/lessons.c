/* Pairs of code before and after a repair, and which of them are nearest to new code: BM25 over the words of the code before and the break's id.
 * One owner at a time.
 *
 * DESIGN  A few hundred lessons at most, so that each search may go over all of them: an index would be more to keep right than it saves.  A word is an
 * identifier, or a part of one (`hidden_states` is also `hidden` and `states`), as a number: prints that meet by chance only blur the order. */
#include <math.h>
#include <stdlib.h>

#include "repair/llm/exchange.h"

enum { MAX_LESSONS = 512, MAX_SIDE_BYTES = 16 * 1024, MAX_WORDS = 4096, MAX_LINE_BYTES = 256 * 1024 };
static const double saturation = 1.2, length_weight = 0.75, id_weight = 4.0;

typedef struct word {
    uint64_t print;
    uint32_t count;
} word;

typedef struct entry {
    gg_lesson lesson; /* texts on the heap */
    word *words;      /* sorted */
    size_t word_count;
    uint32_t total;
} entry;

struct gg_lessons {
    GG_LIST(entry) entries; /* oldest first */
};

gg_lessons *gg_lessons_new(void) {
    return gg_calloc(1, sizeof(gg_lessons));
}

static gg_str copy_of(gg_str s) {
    return (gg_str){gg_str_dup(s), s.len};
}

static void clear_entry(entry *e) {
    gg_free((char *)e->lesson.id.ptr);
    gg_free((char *)e->lesson.before.ptr);
    gg_free((char *)e->lesson.after.ptr);
    gg_free(e->words);
}

void gg_lessons_free(gg_lessons *lessons) {
    if (lessons == NULL) return;
    for (size_t i = 0; i < lessons->entries.len; i++) clear_entry(&lessons->entries.items[i]);
    gg_list_clear(&lessons->entries);
    gg_free(lessons);
}

size_t gg_lessons_count(const gg_lessons *lessons) {
    return lessons->entries.len;
}

/* ---- words ---------------------------------------------------------------------------------------------------------------- */

static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

static uint64_t print_of(const char *ptr, size_t len) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)ptr[i]) * 1099511628211u;
    return h;
}

static int by_print(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static word *words_of(gg_str code, size_t *out_count, uint32_t *out_total) {
    GG_LIST(uint64_t) prints = {0};
    for (size_t i = 0; i < code.len && prints.len < MAX_WORDS;) {
        size_t from = i;
        while (i < code.len && in_word(code.ptr[i])) i++;
        if (i == from) {
            i++;
            continue;
        }
        gg_list_push(&prints, print_of(code.ptr + from, i - from));
        for (size_t part = from, at = from; at <= i; at++) { /* … and its parts */
            if (at < i && code.ptr[at] != '_') continue;
            if (at > part && at - part < i - from) gg_list_push(&prints, print_of(code.ptr + part, at - part));
            part = at + 1;
        }
    }
    *out_total = (uint32_t)prints.len;
    *out_count = 0;
    if (prints.len) qsort(prints.items, prints.len, sizeof(uint64_t), by_print);
    word *words = gg_calloc(prints.len + 1, sizeof(word));
    for (size_t i = 0; i < prints.len; i++) {
        if (*out_count == 0 || words[*out_count - 1].print != prints.items[i])
            words[(*out_count)++].print = prints.items[i];
        words[*out_count - 1].count++;
    }
    gg_list_clear(&prints);
    return words;
}

static uint32_t count_of(const entry *e, uint64_t print) {
    size_t low = 0, high = e->word_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (e->words[middle].print == print) return e->words[middle].count;
        if (e->words[middle].print < print)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- adding, and the file they are kept in ---------------------------------------------------------------------------------- */

static bool fits(gg_str side) {
    return side.len > 0 && side.len <= MAX_SIDE_BYTES && gg_utf8_valid_prefix(side) == side.len;
}

bool gg_lessons_add(gg_lessons *lessons, const gg_lesson *lesson) {
    if (!fits(lesson->before) || !fits(lesson->after) || gg_str_equal(lesson->before, lesson->after)) return false;
    if (lesson->id.len > 64 || gg_utf8_valid_prefix(lesson->id) != lesson->id.len) return false;
    for (size_t i = 0; i < lessons->entries.len; i++) {
        const gg_lesson *known = &lessons->entries.items[i].lesson;
        if (gg_str_equal(known->id, lesson->id) && gg_str_equal(known->before, lesson->before) &&
            gg_str_equal(known->after, lesson->after))
            return false;
    }
    if (lessons->entries.len == MAX_LESSONS) {
        clear_entry(&lessons->entries.items[0]);
        gg_list_remove(&lessons->entries, 0);
    }
    entry e = {.lesson = {copy_of(lesson->id), copy_of(lesson->before), copy_of(lesson->after)}};
    e.words = words_of(lesson->before, &e.word_count, &e.total);
    gg_list_push(&lessons->entries, e);
    return true;
}

static gg_str member(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    return json_is_string(value) ? (gg_str){json_string_value(value), json_string_length(value)} : GG_STR_NULL;
}

size_t gg_lessons_load(gg_lessons *lessons, gg_str jsonl) {
    size_t added = 0;
    for (size_t at = 0; at < jsonl.len;) {
        size_t end = gg_str_find(jsonl, GG_STR("\n"), at);
        gg_str line = gg_str_slice(jsonl, at, end);
        at = end == SIZE_MAX ? jsonl.len : end + 1;
        if (line.len == 0 || line.len > MAX_LINE_BYTES) continue;
        json_t *json = json_loadb(line.ptr, line.len, 0, NULL);
        gg_lesson lesson = {member(json, "id"), member(json, "before"), member(json, "after")};
        added += gg_lessons_add(lessons, &lesson);
        json_decref(json);
    }
    return added;
}

void gg_lessons_render(const gg_lessons *lessons, gg_buf *out) {
    for (size_t i = 0; i < lessons->entries.len; i++) {
        const gg_lesson *l = &lessons->entries.items[i].lesson;
        json_t *json = json_pack("{s:s%, s:s%, s:s%}", "id", l->id.ptr, l->id.len, "before", l->before.ptr,
                                 l->before.len, "after", l->after.ptr, l->after.len);
        char *line = json_dumps(json, JSON_COMPACT);
        if (line) gg_buf_printf(out, "%s\n", line);
        free(line);
        json_decref(json);
    }
}

/* ---- nearest ------------------------------------------------------------------------------------------------------------------ */

static double score_of(const gg_lessons *lessons, const entry *e, const word *query, size_t query_count, double mean,
                       const uint32_t *holders) {
    double score = 0, n = (double)lessons->entries.len;
    for (size_t i = 0; i < query_count; i++) {
        double f = count_of(e, query[i].print), held = holders[i];
        if (f == 0) continue;
        double rarity = log(1 + (n - held + 0.5) / (held + 0.5));
        score += rarity * f * (saturation + 1) /
                 (f + saturation * (1 - length_weight + length_weight * (double)e->total / mean));
    }
    return score;
}

size_t gg_lessons_nearest(const gg_lessons *lessons, gg_str id, gg_str code, const gg_lesson **out, size_t max) {
    size_t query_count, n = lessons->entries.len, found = 0;
    uint32_t total;
    word *query = words_of(code, &query_count, &total);
    uint32_t *holders = gg_calloc(query_count + 1, sizeof(uint32_t));
    double mean = 1, *scores = gg_calloc(n + 1, sizeof(double));
    for (size_t k = 0; k < n; k++) {
        mean += (double)lessons->entries.items[k].total / (double)n;
        for (size_t i = 0; i < query_count; i++) holders[i] += count_of(&lessons->entries.items[k], query[i].print) > 0;
    }
    for (size_t k = 0; k < n; k++) {
        const entry *e = &lessons->entries.items[k];
        scores[k] = score_of(lessons, e, query, query_count, mean, holders);
        if (id.len && gg_str_equal(e->lesson.id, id)) scores[k] += id_weight;
    }
    for (; found < max; found++) { /* of equals, the newer one */
        size_t best = SIZE_MAX;
        for (size_t k = n; k-- > 0;)
            if (scores[k] > 0 && (best == SIZE_MAX || scores[k] > scores[best])) best = k;
        if (best == SIZE_MAX) break;
        scores[best] = 0;
        out[found] = &lessons->entries.items[best].lesson;
    }
    gg_free(query);
    gg_free(holders);
    gg_free(scores);
    return found;
}
