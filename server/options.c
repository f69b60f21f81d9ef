/* See options.h. */
#include "server/options.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>

enum type {
#define TYPE(ordinal, wants) ordinal,
#include "server/settings.def"
};
enum scope { PROJECT, TRUSTED, CLIENT, START };

static bool is_for_projects(enum scope scope) {
    return scope == PROJECT || scope == TRUSTED;
}

static const char *const type_wants[] = {
#define TYPE(ordinal, wants) [ordinal] = (wants),
#include "server/settings.def"
};

static const struct setting {
    const char *key;
    enum type type;
    enum scope scope;
} settings[] = {
#define SETTING(ordinal, key, type, default, scope, description) {key, type, scope},
#include "server/settings.def"
};

void gg_words_clear(gg_words *words) {
    for (size_t i = 0; i < words->len; i++) gg_free(words->items[i]);
    gg_list_clear(words);
}

static void say(gg_words *problems, const char *format, ...) GG_PRINTF(2, 3);
static void say(gg_words *problems, const char *format, ...) {
    char said[512];
    va_list words;
    va_start(words, format);
    vsnprintf(said, sizeof(said), format, words);
    va_end(words);
    gg_list_push(problems, gg_str_dup(gg_str_from(said)));
}

/* ---- values ---------------------------------------------------------------------------------------------------------------- */

static bool is_one_of(const json_t *value, const char *const *names, size_t count, size_t *index) {
    for (*index = 0; json_is_string(value) && *index < count; ++*index)
        if (strcmp(json_string_value(value), names[*index]) == 0) return true;
    return false;
}

static const char *const runs[] = {
    [GG_RUN_ON_SAVE] = "onSave", [GG_RUN_ON_TYPE] = "onType", [GG_RUN_MANUAL] = "manual"};
static const char *const apis[] = {"openai", "anthropic"};
static const char *const levels[] = {[GG_LEVEL_DEFAULT] = "",        [GG_LEVEL_ERROR] = "error",
                                     [GG_LEVEL_WARNING] = "warning", [GG_LEVEL_INFORMATION] = "information",
                                     [GG_LEVEL_HINT] = "hint",       [GG_LEVEL_OFF] = "off"};

static bool is_id(const char *name) {
    return strlen(name) == 6 && strncmp(name, "GB", 2) == 0 && strspn(name + 2, "0123456789") == 4;
}

/* The id or rule that is meant, in the arena; empty when there is none of that name. */
static gg_str name_of(const char *given, gg_arena *arena) {
    gg_str name = gg_id_normal(gg_str_from(given), arena);
    return is_id(gg_arena_z(arena, name)) || gg_is_rule(name) ? name : GG_STR_NULL;
}

static json_t *names_of(const json_t *given, const char *key, gg_words *problems) {
    json_t *out = json_array(), *item;
    gg_arena *arena = gg_arena_new();
    size_t i;
    json_array_foreach((json_t *)given, i, item) {
        const char *said = json_string_value(item);
        gg_str name = said ? name_of(said, arena) : GG_STR_NULL;
        if (name.len)
            json_array_append_new(out, json_stringn(name.ptr, name.len));
        else
            say(problems, "%s: there is no id or rule '%s'", key, said ? said : "(not a string)");
    }
    gg_arena_free(arena);
    return out;
}

static json_t *levels_of(const json_t *given, const char *key, gg_words *problems) {
    json_t *out = json_object(), *value;
    gg_arena *arena = gg_arena_new();
    const char *said;
    json_object_foreach((json_t *)given, said, value) {
        size_t index;
        gg_str name = name_of(said, arena);
        if (name.len == 0)
            say(problems, "%s: there is no id or rule '%s'", key, said);
        else if (!is_one_of(value, levels, GG_COUNT(levels), &index) || index == GG_LEVEL_DEFAULT)
            say(problems, "%s.%s wants off, hint, information, warning or error", key, said);
        else
            json_object_setn_new(out, name.ptr, name.len, json_integer((json_int_t)index));
    }
    gg_arena_free(arena);
    return out;
}

static bool all_strings(const json_t *array) {
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)array, i, item) if (!json_is_string(item)) return false;
    return json_is_array(array);
}

/* The value as it is kept (a new reference); NULL when it is none of the type. */
static json_t *checked(const struct setting *setting, const char *key, const json_t *given, gg_words *problems) {
    gg_safety safety;
    size_t index;
    bool good = true;
    switch (setting->type) {
    case BOOL:
        good = json_is_boolean(given);
        break;
    case PATH:
    case TEXT:
        good = json_is_string(given);
        break;
    case RUN:
        good = is_one_of(given, runs, GG_COUNT(runs), &index);
        break;
    case SECONDS:
        good = json_is_number(given) && json_number_value(given) >= 1 && json_number_value(given) <= 86400;
        break;
    case SAFETY:
        good =
            json_is_string(given) && gg_safety_parse(json_string_value(given), &safety) && safety != GG_SAFETY_OPAQUE;
        break;
    case NAMES:
        return json_is_array(given) ? names_of(given, key, problems) : NULL;
    case PATTERNS:
        good = all_strings(given);
        break;
    case LEVELS:
        return json_is_object(given) ? levels_of(given, key, problems) : NULL;
    case WORKER:
        good = json_is_object(given);
        break;
    case API:
        good = is_one_of(given, apis, GG_COUNT(apis), &index);
        break;
    case WORDS:
        good = all_strings(given);
        break;
    case COUNT:
        good = json_is_integer(given) && json_integer_value(given) >= 0;
        break;
    case PRICE:
        good = json_is_number(given) && json_number_value(given) >= 0;
        break;
    }
    return good ? json_deep_copy(given) : NULL;
}

/* ---- keys ------------------------------------------------------------------------------------------------------------------- */

/* maxSafety → max-safety. */
static void toml_key(const char *key, char *out, size_t size) {
    size_t n = 0;
    for (; *key && n + 2 < size; key++) {
        if (isupper((unsigned char)*key)) out[n++] = '-';
        out[n++] = (char)tolower((unsigned char)*key);
    }
    out[n] = '\0';
}

static const json_t *at(const json_t *json, const char *key) {
    char part[64];
    for (const char *dot; json && key; key = dot ? dot + 1 : NULL) {
        dot = strchr(key, '.');
        snprintf(part, sizeof(part), "%.*s", (int)(dot ? dot - key : (ptrdiff_t)strlen(key)), key);
        json = json_object_get(json, part);
    }
    return json;
}

/* Says which keys of a pyproject.toml are none of ours, or not for it.  `prefix`: of an inner table. */
static void tell_unknown(const json_t *given, const char *prefix, gg_words *problems) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)given, name, value) {
        char key[128], ours[64];
        snprintf(key, sizeof(key), "%s%s", prefix, name);
        const struct setting *found = NULL;
        bool table = false;
        for (size_t i = 0; i < GG_COUNT(settings); i++) {
            toml_key(settings[i].key, ours, sizeof(ours));
            if (strcmp(ours, key) == 0) found = &settings[i];
            size_t n = strlen(key);
            table = table || (strncmp(ours, key, n) == 0 && ours[n] == '.');
        }
        if (table && json_is_object(value)) {
            strncat(key, ".", sizeof(key) - strlen(key) - 1);
            tell_unknown(value, key, problems);
        } else if (found == NULL) {
            say(problems, "there is no setting '%s'", key);
        } else if (!is_for_projects(found->scope)) {
            say(problems, "%s is the editor's to say, not a project's", key);
        }
    }
}

void gg_settings_read(json_t *values, const json_t *given, bool toml, gg_words *problems) {
    if (toml) tell_unknown(given, "", problems);
    for (size_t i = 0; i < GG_COUNT(settings); i++) {
        const struct setting *setting = &settings[i];
        char key[64];
        snprintf(key, sizeof(key), "%s", setting->key);
        if (toml) toml_key(setting->key, key, sizeof(key));
        const json_t *value = at(given, key);
        if (value == NULL || json_is_null(value) || setting->type == WORKER || setting->scope == START ||
            (toml && !is_for_projects(setting->scope)))
            continue;
        json_t *kept = checked(setting, key, value, problems);
        if (kept)
            json_object_set_new(values, setting->key, kept);
        else
            say(problems, "%s wants %s", key, type_wants[setting->type]);
    }
}

/* ---- options ------------------------------------------------------------------------------------------------------------------ */

gg_options *gg_options_new(const json_t *over, const json_t *under, const char *folder) {
    gg_options *o = gg_calloc(1, sizeof(gg_options));
    o->values = under ? json_copy((json_t *)under) : json_object();
    json_t *rules = json_object_get(under, "rules") ? json_copy(json_object_get(under, "rules")) : json_object();
    o->client = over ? json_copy((json_t *)over) : NULL;
    if (over) json_object_update(o->values, (json_t *)over);
    if (json_object_get(over, "rules")) json_object_update(rules, json_object_get(over, "rules"));
    json_object_set_new(o->values, "rules", rules);
    o->folder = folder ? gg_str_dup(gg_str_from(folder)) : NULL;
    const char *python = json_string_value(json_object_get(o->values, "python"));
    const char *safety = json_string_value(json_object_get(o->values, "maxSafety"));
    json_t *timeout = json_object_get(o->values, "capture.timeout"), *run = json_object_get(o->values, "capture.run");
    size_t index;
    o->python = python && *python ? python : NULL;
    o->run = is_one_of(run, runs, GG_COUNT(runs), &index) ? (gg_run)index : GG_RUN_ON_SAVE;
    o->predict = !json_is_false(json_object_get(o->values, "predict"));
    o->levels = json_object_size(rules) || json_array_size(json_object_get(o->values, "ignore")) ||
                json_array_size(json_object_get(o->values, "select"));
    o->preview = json_is_true(json_object_get(o->values, "preview"));
    o->store = !json_is_false(json_object_get(o->values, "capture.store"));
    o->timeout_ms = timeout ? (uint32_t)(json_number_value(timeout) * 1000) : 60000;
    o->max_safety = GG_SAFETY_EFFECTS;
    o->safety_given = safety && gg_safety_parse(safety, &o->max_safety);
    return o;
}

void gg_options_free(gg_options *options) {
    if (options == NULL) return;
    json_decref(options->values);
    json_decref(options->client);
    gg_free(options->folder);
    gg_free(options);
}

static bool holds(const json_t *list, gg_str id, gg_str rule) {
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item) {
        const char *name = json_string_value(item);
        if (gg_str_is(id, name) || gg_str_is(rule, name)) return true;
    }
    return false;
}

gg_level gg_options_level(const gg_options *options, gg_str id, gg_str rule) {
    if (!options->levels) return GG_LEVEL_DEFAULT;
    const json_t *select = json_object_get(options->values, "select"),
                 *rules = json_object_get(options->values, "rules");
    if (holds(json_object_get(options->values, "ignore"), id, rule)) return GG_LEVEL_OFF;
    if (json_array_size(select) && !holds(select, id, rule)) return GG_LEVEL_OFF;
    const json_t *level = json_object_getn(rules, id.ptr ? id.ptr : "", id.len);
    if (level == NULL) level = json_object_getn(rules, rule.ptr ? rule.ptr : "", rule.len);
    return level ? (gg_level)json_integer_value(level) : GG_LEVEL_DEFAULT;
}

static bool matches(const json_t *patterns, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)patterns, i, item) {
        const char *pattern = json_string_value(item);
        if (fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, path, 0) == 0) return true;
    }
    return false;
}

/* The path below the folder; NULL when it is not. */
static const char *below(const char *path, const char *folder) {
    size_t n = folder ? strlen(folder) : 0;
    return n && strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

bool gg_options_exclude_one(const gg_options *options, const char *path, const char *shown) {
    const json_t *patterns = json_object_get(options->values, "exclude");
    const char *relative = below(path, options->folder);
    return json_array_size(patterns) && (matches(patterns, shown) || (relative && matches(patterns, relative)));
}

bool gg_options_exclude(const gg_options *options, const char *path) {
    const json_t *patterns = json_object_get(options->values, "exclude");
    const char *relative = below(path, options->folder);
    if (json_array_size(patterns) == 0) return false;
    if (relative == NULL) return matches(patterns, path);
    char part[PATH_MAX];
    snprintf(part, sizeof(part), "%s", relative);
    for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) { /* each folder on the way */
        *slash = '\0';
        bool out = matches(patterns, part);
        *slash = '/';
        if (out) return true;
    }
    return matches(patterns, part);
}
