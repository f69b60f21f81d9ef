/* See toml.h.  The one file in C++: TOML has no maintained reader in C among the packages that we build from. */
#define TOML_EXCEPTIONS        0
#define TOML_HEADER_ONLY       1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNDEF_MACROS      0
#include <cmath>
#include <new>
#include <string>
#include <string_view>
#include <toml++/toml.h>

extern "C" {
#include "server/toml.h"
}

/* Built without exceptions, so that nobody could catch it. */
[[maybe_unused]] static const std::new_handler before = std::set_new_handler(gg_out_of_memory);

static json_t *text_of(std::string_view text) {
    return json_stringn(text.data(), text.size());
}

template <typename T> static std::string two(T number) {
    return std::string(number < 10 ? "0" : "") + std::to_string(static_cast<int>(number));
}

static std::string words(const toml::date &date) {
    return std::to_string(date.year) + "-" + two(date.month) + "-" + two(date.day);
}

static std::string words(const toml::time &time) {
    return two(time.hour) + ":" + two(time.minute) + ":" + two(time.second);
}

static json_t *value_of(const toml::node &node) { /* toml++ refuses what is nested deeper than 256 */
    if (const toml::table *table = node.as_table()) {
        json_t *out = json_object();
        for (const auto &[key, value] : *table)
            json_object_setn_new(out, key.str().data(), key.str().size(), value_of(value));
        return out;
    }
    if (const toml::array *array = node.as_array()) {
        json_t *out = json_array();
        for (const toml::node &value : *array) json_array_append_new(out, value_of(value));
        return out;
    }
    if (const auto *value = node.as_string()) return text_of(value->get());
    if (const auto *value = node.as_integer()) return json_integer(value->get());
    if (const auto *value = node.as_boolean()) return json_boolean(value->get());
    if (const auto *value = node.as_date()) return text_of(words(value->get()));
    if (const auto *value = node.as_time()) return text_of(words(value->get()));
    if (const auto *value = node.as_date_time())
        return text_of(words(value->get().date) + "T" + words(value->get().time));
    const double number = node.as_floating_point()->get();
    if (std::isfinite(number)) return json_real(number);
    return text_of(std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
}

extern "C" json_t *gg_toml_parse(gg_str text, gg_error *err) {
    const toml::parse_result result = toml::parse(std::string_view(text.ptr ? text.ptr : "", text.len));
    if (result) return value_of(result.table());
    const toml::parse_error &error = result.error();
    const std::string said(error.description());
    (void)gg_fail(err, GG_ESYNTAX, "%u:%u: %s", static_cast<unsigned>(error.source().begin.line),
                  static_cast<unsigned>(error.source().begin.column), said.c_str());
    return nullptr;
}
