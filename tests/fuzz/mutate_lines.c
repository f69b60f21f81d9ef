/* A mutator for inputs made of lines that end in JSON: most of the time it changes a value inside one, or the order of the lines, so that what comes out
 * is JSON again; else the bytes.  Only with libFuzzer. */
#include <jansson.h>
#include <string.h>

#include "base/gg_base.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { MAX_LINES = 256, MAX_WORD_BYTES = 256, MAX_COPIES = 40 };

static unsigned state;

static unsigned below(unsigned n) {
    state = state * 1103515245u + 12345u;
    return n ? (state >> 8) % n : 0;
}

/* ---- a value ---------------------------------------------------------------------------------------------------------------- */

typedef struct place { /* a value, and what holds it; parent NULL: the whole */
    json_t *parent;
    const char *key; /* of an object; else: */
    size_t index;
    json_t *value;
} place;

static void choose(json_t *parent, const char *key, size_t index, json_t *value, place *out, unsigned *seen) {
    size_t i;
    const char *k;
    json_t *v;
    if (below(++*seen) == 0) *out = (place){parent, key, index, value};
    json_array_foreach(value, i, v) choose(value, NULL, i, v, out, seen);
    json_object_foreach(value, k, v) choose(value, k, 0, v, out, seen);
}

static place somewhere(json_t *root) {
    place out = {0};
    unsigned seen = 0;
    choose(NULL, NULL, 0, root, &out, &seen);
    return out;
}

static json_t *word(const char *old) {
    uint8_t bytes[MAX_WORD_BYTES];
    size_t len = old ? strlen(old) : 0;
    if (len > sizeof(bytes) / 2) len = sizeof(bytes) / 2;
    if (len) memcpy(bytes, old, len);
    len = LLVMFuzzerMutate(bytes, len, sizeof(bytes));
    return json_stringn((const char *)bytes, gg_utf8_valid_prefix((gg_str){(const char *)bytes, len}));
}

static json_t *interesting(void) {
    static const char *const texts[] = {
        "null",  "true", "false", "0",     "-1", "1", "2147483647", "-2147483648", "4294967296", "9007199254740993",
        "1e308", "0.5",  "\"\"",  "\"x\"", "[]", "{}"};
    return json_loads(texts[below(GG_COUNT(texts))], JSON_DECODE_ANY, NULL);
}

static json_t *changed(const json_t *old, json_t *root) {
    switch (below(6)) {
    case 0:
        return interesting();
    case 1:
        return json_deep_copy(somewhere(root).value);
    case 2:
        return json_pack("[o]", json_deep_copy(old));
    default:
        if (json_is_integer(old)) return json_integer(json_integer_value(old) + (json_int_t)below(9) - 4);
        return json_is_string(old) ? word(json_string_value(old)) : interesting();
    }
}

static void put(const place *at, json_t *value_take) {
    if (json_is_array(at->parent))
        json_array_set_new(at->parent, at->index, value_take);
    else
        json_object_set_new(at->parent, at->key, value_take);
}

static json_t *mutated(json_t *root_take) {
    place at = somewhere(root_take);
    if (at.parent == NULL) return root_take;
    unsigned how = below(8);
    if (how == 0 && json_is_object(at.parent)) {
        char *key = gg_str_dup(gg_str_from(at.key));
        json_object_del(at.parent, key);
        gg_free(key);
    } else if (how == 0) {
        json_array_remove(at.parent, at.index);
    } else if (how == 1 && json_is_array(at.parent)) {
        for (unsigned i = 1 + below(below(8) ? 2 : MAX_COPIES); i > 0; i--)
            json_array_insert_new(at.parent, at.index, json_deep_copy(at.value));
    } else {
        put(&at, changed(at.value, root_take));
    }
    return root_take;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------------ */

typedef struct lines {
    gg_str items[MAX_LINES];
    size_t len;
} lines;

static void split(lines *out, gg_str text) {
    out->len = 0;
    for (size_t at = 0, end; at < text.len && out->len < MAX_LINES; at = end + 1) {
        end = gg_str_find(text, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = text.len;
        out->items[out->len++] = gg_str_slice(text, at, end);
    }
}

/* The line with its JSON changed, behind what stands in front of that; false: it has none. */
static bool mutate_json(gg_buf *out, gg_str line) {
    size_t nul = gg_str_find(line, (gg_str){"\0", 1}, 0), from = nul == SIZE_MAX ? 0 : nul;
    size_t object = gg_str_find(line, GG_STR("{"), from), array = gg_str_find(line, GG_STR("["), from);
    size_t start = object < array ? object : array;
    json_t *value = start == SIZE_MAX ? NULL : json_loadb(line.ptr + start, line.len - start, 0, NULL);
    if (value == NULL) return false;
    for (unsigned i = below(3) + 1; i > 0; i--) value = mutated(value);
    char *text = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    if (text == NULL) return false;
    gg_buf_append(out, gg_str_slice(line, 0, start));
    gg_buf_append_z(out, text);
    free(text);
    return true;
}

static void shuffle(lines *all) {
    size_t a = below((unsigned)all->len), b = below((unsigned)all->len);
    gg_str line = all->items[a];
    switch (below(3)) {
    case 0:
        all->items[a] = all->items[b];
        all->items[b] = line;
        break;
    case 1:
        memmove(&all->items[a], &all->items[a + 1], (all->len - a - 1) * sizeof(gg_str));
        all->len--;
        break;
    default:
        if (all->len == MAX_LINES) return;
        memmove(&all->items[b + 1], &all->items[b], (all->len - b) * sizeof(gg_str));
        all->items[b] = line;
        all->len++;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static lines all;
    gg_buf out;
    state = seed;
    split(&all, (gg_str){(const char *)data, size});
    if (all.len == 0 || below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
    gg_buf_init(&out, max_size);
    if (below(4) == 0) shuffle(&all);
    size_t chosen = below((unsigned)all.len);
    for (size_t i = 0; i < all.len; i++) {
        if (i) gg_buf_append_char(&out, '\n');
        if (i != chosen || !mutate_json(&out, all.items[i])) gg_buf_append(&out, all.items[i]);
    }
    size_t len = out.overflow ? 0 : out.len;
    if (len) memcpy(data, out.ptr, len);
    gg_buf_clear(&out);
    return len ? len : LLVMFuzzerMutate(data, size, max_size);
}
