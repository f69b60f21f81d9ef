/* The formats of texts.  See texts.h. */
#include "repair/texts.h"

bool gg__between_quotes(const gg_tree *tree, TSNode string, gg_str *out) {
    *out = GG_STR("");
    if (!gg_node_is(string, "string") || gg__is_bytes(tree, string)) return false;
    gg_str start = gg__text(tree, gg__child(string, 0));
    if (start.len == 0 || (start.ptr[0] != '"' && start.ptr[0] != '\'')) return false; /* a prefix */
    if (gg__child_count(string) == 2) return true;
    TSNode content = gg__child(string, 1);
    *out = gg__text(tree, content);
    return gg__child_count(string) == 3 && gg_node_is(content, "string_content") && gg__child_count(content) == 0;
}

bool gg__is_bytes(const gg_tree *tree, TSNode string) {
    gg_str start = gg__text(tree, gg__child(string, 0));
    return gg_str_contains(start, GG_STR("b")) || gg_str_contains(start, GG_STR("B"));
}

static bool is_any_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

/* `+08.3` of a conversion: no `*`, which takes a value of its own, and no name. */
static size_t behind_the_width(gg_str text, size_t at) {
    while (at < text.len && is_any_of(text.ptr[at], "+- #0")) at++;
    size_t digits = at;
    while (at < text.len && is_any_of(text.ptr[at], "0123456789.")) at++;
    return at - digits > 4 ? text.len : at; /* a width that needs no memory to speak of */
}

static bool conversion_of(char letter, gg__conversion *out) {
    *out = is_any_of(letter, "sr") ? GG__ANYTHING : letter == 'd' ? GG__WHOLE : GG__REAL;
    return is_any_of(letter, "srdefg");
}

int32_t gg__percent_conversions(const gg_tree *tree, TSNode string, gg__conversion *out) {
    gg_str text;
    int32_t count = 0;
    if (!gg__between_quotes(tree, string, &text)) return -1;
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] != '%') continue;
        if (at + 1 < text.len && text.ptr[at + 1] == '%') {
            at++;
            continue;
        }
        at = behind_the_width(text, at + 1);
        if (count == GG__MAX_CONVERSIONS || at >= text.len || !conversion_of(text.ptr[at], &out[count])) return -1;
        count++;
    }
    return count;
}

int32_t gg__format_conversions(const gg_tree *tree, TSNode string, gg__conversion *out) {
    gg_str text;
    int32_t count = 0;
    if (!gg__between_quotes(tree, string, &text)) return -1;
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] == '}') return -1;
        if (text.ptr[at] != '{') continue;
        if (count == GG__MAX_CONVERSIONS || ++at >= text.len) return -1;
        out[count] = GG__ANYTHING;
        if (text.ptr[at] == ':') {
            size_t from = ++at;
            while (at < text.len && is_any_of(text.ptr[at], "0123456789.")) at++;
            if (at - from > 4 || at + 1 >= text.len || !is_any_of(text.ptr[at], "efg")) return -1;
            out[count] = GG__REAL;
            at++;
        }
        if (at >= text.len || text.ptr[at] != '}') return -1;
        count++;
    }
    return count;
}

bool gg__is_plain_date(const gg_tree *tree, TSNode string) {
    gg_str text;
    if (!gg__between_quotes(tree, string, &text)) return false;
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] == '%' && (++at >= text.len || !is_any_of(text.ptr[at], "YmdHMSybBaAjfIp"))) return false;
        if ((unsigned char)text.ptr[at] >= 0x80) return false;
    }
    return true;
}
