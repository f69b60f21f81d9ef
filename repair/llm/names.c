/* What names stand for, as far as imports and plain assignments tell, and which may not be used.  See integrity.h. */
#include "repair/llm/integrity.h"

static void add_import(gg__look *look, gg_str name, gg_str path, bool module) {
    gg__import import = {name, path, module};
    for (size_t i = 0; i < look->imports.len; i++)
        if (gg_str_equal(look->imports.items[i].name, name) && gg_str_equal(look->imports.items[i].path, path)) return;
    if (name.len) gg_list_push(&look->imports, import);
}

static gg_str head_of(gg_str path) {
    return gg_str_slice(path, 0, gg_str_find(path, GG_STR("."), 0));
}

static bool is_known_module(gg_str path) {
    static const char *const modules[] = {
        "torch",         "torch.nn",       "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
        "torch.utils",   "torch.autograd", "torch.cuda",          "torch.linalg",  "torch.fft",
        "torch.special", "torch.func",     "torch.optim",         "math",          "typing",
        "numpy"};
    return gg__is_one_of(path, modules, GG_COUNT(modules)) || gg__is_system_module(path);
}

static void note_import(gg__look *look, TSNode statement) {
    TSNode module = gg__field(statement, "module_name");
    for (uint32_t i = 0; i < gg__child_count(statement); i++) {
        TSNode child = gg__child(statement, i);
        if (!ts_node_is_null(module) && ts_node_eq(child, module)) continue;
        bool aliased = gg_node_is(child, "aliased_import");
        gg_str path = gg__text(look->tree, aliased ? gg__field(child, "name") : child);
        gg_str name = aliased ? gg__text(look->tree, gg__field(child, "alias")) : path;
        if (!ts_node_is_null(module))
            path =
                gg_arena_printf(look->arena, "%.*s.%.*s", GG_STR_ARG(gg__text(look->tree, module)), GG_STR_ARG(path));
        else if (!aliased)
            name = path = head_of(path);
        add_import(look, name, path, ts_node_is_null(module) || is_known_module(path));
    }
}

static bool note(TSNode node, void *data) {
    gg__look *look = data;
    if (gg_node_is(node, "import_statement") || gg_node_is(node, "import_from_statement")) {
        note_import(look, node);
    } else if (gg_node_is(node, "assignment") || gg_node_is(node, "named_expression")) { /* `t = torch` */
        bool named = gg_node_is(node, "named_expression");
        TSNode left = gg__field(node, named ? "name" : "left"), right = gg__field(node, named ? "value" : "right");
        gg_str path = gg_node_is(left, "identifier") ? gg__path_of(look, right) : GG_STR_NULL;
        if (path.len) add_import(look, gg__text(look->tree, left), path, is_known_module(path));
    }
    return true;
}

void gg__look_init(gg__look *look, const gg_tree *tree, TSNode definition, gg_arena *arena) {
    *look = (gg__look){.tree = tree, .definition = definition, .arena = arena};
    for (int pass = 0; pass < 2; pass++) /* what is assigned may be imported further down */
        gg__visit(gg_tree_root(tree), note, look);
}

void gg__look_clear(gg__look *look) {
    gg_list_clear(&look->imports);
    gg_list_clear(&look->findings);
    gg_map_clear(&look->locals);
}

gg_str gg__path_of(const gg__look *look, TSNode node) {
    TSNode root = node;
    while (gg_node_is(root, "attribute")) root = gg__strip_parentheses(gg__field(root, "object"));
    if (!gg_node_is(root, "identifier")) return GG_STR_NULL;
    gg_str name = gg__text(look->tree, root), path = GG_STR_NULL;
    for (size_t i = 0; i < look->imports.len && path.len == 0; i++)
        if (gg_str_equal(look->imports.items[i].name, name)) path = look->imports.items[i].path;
    if (path.len == 0) return path;
    gg_str tail = GG_STR_NULL;
    for (TSNode at = node; gg_node_is(at, "attribute"); at = gg__strip_parentheses(gg__field(at, "object")))
        tail = gg_arena_printf(look->arena, ".%.*s%.*s", GG_STR_ARG(gg__text(look->tree, gg__field(at, "attribute"))),
                               GG_STR_ARG(tail));
    return gg_arena_printf(look->arena, "%.*s%.*s", GG_STR_ARG(path), GG_STR_ARG(tail));
}

bool gg__is_system_module(gg_str name) {
    static const char *const modules[] = {
        "os",       "sys",     "subprocess", "socket",     "ctypes",       "inspect",     "gc",      "builtins",
        "pathlib",  "shutil",  "importlib",  "tempfile",   "threading",    "signal",      "pickle",  "marshal",
        "urllib",   "http",    "requests",   "asyncio",    "atexit",       "traceback",   "glob",    "linecache",
        "code",     "codeop",  "runpy",      "resource",   "mmap",         "fcntl",       "select",  "ssl",
        "ftplib",   "smtplib", "sysconfig",  "site",       "faulthandler", "tracemalloc", "cffi",    "fileinput",
        "io",       "ast",     "dis",        "posix",      "concurrent",   "shelve",      "sqlite3", "time",
        "platform", "getpass", "pty",        "webbrowser", "cloudpickle",  "dill",        "joblib",  "multiprocessing",
        "_thread",  "_ctypes"};
    return gg__is_one_of(name, modules, GG_COUNT(modules));
}

static bool matches(gg_str path, const char *pattern) {
    gg_str p = gg_str_from(pattern);
    if (gg_str_ends_with(p, GG_STR("*"))) return gg_str_starts_with(path, gg_str_slice(p, 0, p.len - 1));
    return gg_str_starts_with(path, p) && (path.len == p.len || path.ptr[p.len] == '.');
}

gg__cheat gg__judge_path(gg_str path) {
    static const struct {
        const char *pattern;
        gg__cheat cheat;
    } rows[] = {
#define PATH(pattern, cheat) {pattern, GG__CHEAT_##cheat},
#include "repair/llm/forbidden.def"
#undef PATH
    };
    gg_str inner = gg_str_starts_with(path, GG_STR("torch.")) ? path : GG_STR_NULL;
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        if (!matches(path, rows[i].pattern)) continue;
        if (rows[i].cheat) return rows[i].cheat;
        inner = gg_str_slice(path, strlen(rows[i].pattern), path.len); /* what is below it is asked for all the same */
        break;
    }
    size_t at = gg_str_find(inner, GG_STR("._"), 0);
    bool dunder = at != SIZE_MAX && gg_str_starts_with(gg_str_slice(inner, at, inner.len), GG_STR(".__"));
    if (at != SIZE_MAX && !dunder) return GG__CHEAT_COMPILER; /* torch's own insides, wherever they are */
    if (gg_str_contains(inner, GG_STR(".set_"))) return GG__CHEAT_SETTINGS;
    for (gg_str rest = path; rest.len;) { /* `torch.os`, `F.torch`: a module's own imports */
        gg_str part = head_of(rest);
        bool again = part.ptr != path.ptr && gg_str_is(part, "torch");
        if ((again || gg__is_system_module(part)) && !gg_str_starts_with(path, GG_STR("torch.signal")))
            return GG__CHEAT_SYSTEM;
        rest = part.len < rest.len ? gg_str_slice(rest, part.len + 1, rest.len) : GG_STR_NULL;
    }
    return GG__CHEAT_OK;
}

bool gg__is_loose_module(const gg__look *look, TSNode name) {
    TSNode parent = gg__parent(name);
    while (gg_node_is(parent, "parenthesized_expression")) parent = gg__parent(parent);
    if (gg_node_is(parent, "attribute") || gg_node_is(parent, "dotted_name") || gg_node_is(parent, "aliased_import"))
        return false;
    if (gg_node_is(parent, "assignment") && gg_node_is(gg__field(parent, "left"), "identifier") &&
        !gg_node_is(gg__parent(parent), "assignment"))
        return false;
    if (gg_node_is(name, "attribute")) return is_known_module(gg__path_of(look, name));
    if (gg__is_binding(name)) return false;
    for (size_t i = 0; i < look->imports.len; i++)
        if (gg_str_equal(look->imports.items[i].name, gg__text(look->tree, name))) return look->imports.items[i].module;
    return false;
}

void gg__find(gg__look *look, gg__cheat cheat, gg_str key, uint32_t weight) {
    gg__finding finding = {cheat, key, weight};
    if (cheat) gg_list_push(&look->findings, finding);
}

void gg__find_node(gg__look *look, gg__cheat cheat, TSNode node) {
    gg_str text = gg__text(look->tree, node);
    gg__find(look, cheat, gg_str_slice(text, 0, gg_str_find(text, GG_STR("\n"), 0)), 1);
}

TSNode gg__around(TSNode node, const char *type) {
    return gg_node_ancestor(gg__parent(node), type);
}

gg_str gg__self_name(const gg__look *look, TSNode at) {
    for (TSNode f = gg_node_ancestor(at, "function_definition"); !ts_node_is_null(f);
         f = gg__around(f, "function_definition")) {
        TSNode holder = gg__parent(f);
        if (gg_node_is(holder, "decorated_definition")) {
            gg_str decorator = gg__text(look->tree, gg__child(holder, 0));
            if (gg_str_is(decorator, "@staticmethod") || gg_str_is(decorator, "@classmethod")) continue;
            holder = gg__parent(holder);
        }
        if (!gg_node_is(gg__parent(holder), "class_definition")) continue;
        TSNode first = gg__child(gg__field(f, "parameters"), 0);
        if (gg_node_is(first, "typed_parameter")) first = gg__child(first, 0);
        return gg_node_is(first, "identifier") ? gg__text(look->tree, first) : GG_STR_NULL;
    }
    return GG_STR_NULL;
}

bool gg__is_self(const gg__look *look, TSNode node) {
    gg_str self = gg__self_name(look, node);
    return self.len && gg_node_is(node, "identifier") && gg_str_equal(gg__text(look->tree, node), self);
}

/* ---- which scope a name belongs to ------------------------------------------------------------------------------------- */

/* The scope that runs what stands there: defaults, annotations, decorators and what a comprehension first goes over are of the scope around. */
static TSNode scope_of(TSNode node) {
    for (TSNode child = node, at = gg__parent(node); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        bool body = ts_node_eq(gg__field(at, "body"), child);
        if (body && (gg__is_definition(at) || gg_node_is(at, "lambda"))) return at;
        if (gg__is_comprehension(at) && !ts_node_eq(gg__child(at, 1), child)) return at;
        if (gg_node_is(at, "module")) return at;
    }
    return (TSNode){0};
}

/* The scope that it gives a value to the name in; null node: it gives none, as an import, `global` or `del` does not make it another thing. */
static TSNode bound_in(TSNode identifier) {
    TSNode parent = gg__parent(identifier);
    if (!gg__is_binding(identifier) || gg_node_is(parent, "dotted_name") || gg_node_is(parent, "aliased_import") ||
        gg_node_is(parent, "global_statement") || gg_node_is(parent, "nonlocal_statement") ||
        gg_node_is(parent, "delete_statement") || gg_node_is(parent, "keyword_pattern"))
        return (TSNode){0};
    for (TSNode at = parent; !ts_node_is_null(at); at = gg__parent(at)) {
        if (gg_node_is(at, "parameters") || gg_node_is(at, "lambda_parameters")) return gg__parent(at);
        if (gg_node_is(at, "for_in_clause")) return gg__parent(at);
        if (gg_node_is(at, "block") || gg__is_definition(at) || gg_node_is(at, "lambda") || gg__is_comprehension(at))
            break;
    }
    return scope_of(gg__is_definition(parent) ? parent : identifier);
}

typedef struct binding_search {
    const gg__look *look;
    TSNode scope;
    gg_str name;
} binding_search;

static bool is_no_binding(TSNode node, void *data) {
    const binding_search *s = data;
    return !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(s->look->tree, node), s->name) ||
           !ts_node_eq(bound_in(node), s->scope);
}

static bool binds(gg__look *look, TSNode scope, gg_str name) {
    uint64_t key = 14695981039346656037u ^ (uint64_t)(uintptr_t)scope.id;
    for (size_t i = 0; i < name.len; i++) key = (key ^ (unsigned char)name.ptr[i]) * 1099511628211u;
    uint32_t *known = gg_map_at(&look->locals, key);
    binding_search search = {look, scope, name};
    if (*known == 0) *known = gg__visit(scope, is_no_binding, &search) ? 1 : 2;
    return *known == 2;
}

bool gg__is_bound_around(gg__look *look, TSNode identifier, gg_str name) {
    if (!ts_node_is_null(bound_in(identifier))) return true;
    for (TSNode at = scope_of(identifier); !ts_node_is_null(at) && !gg_node_is(at, "module"); at = scope_of(at))
        if (!gg_node_is(at, "class_definition") && binds(look, at, name)) return true;
    return false;
}
