/* See overlay.h.  What is kept below <project>/.graphglue/overlay/<package>-<version>/ (docs/overlay.md): each patched file where it lies in the
 * package, its diff beside it, and manifest.json, a row for each file.
 *
 * Invariant: `patches` holds each (root, path) once; rows are those of the manifests. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cli/overlay.h"
#include "server/support.h"

enum { FORMAT = 1, FILE_MODE = 0644 };

typedef struct package {
    char *name, *distribution, *version, *folder; /* the folder of a package of one file is that file */
} package;

typedef struct patch {
    const package *package;
    char *root, *path; /* the overlay's folder of the package; the package's file */
    gg_text *original, *text;
    json_t *row; /* of the manifest */
} patch;

struct gg_cli_overlay {
    GG_LIST(package) packages;
    GG_LIST(gg_str) folders;
    GG_LIST(patch) patches;
    GG_LIST(char *) roots;   /* manifests that were read */
    GG_LIST(char *) written; /* roots */
};

static const char *string_of(const json_t *json, const char *key) {
    return json_string_value(json_object_get(json, key));
}

static char *dup_of(const json_t *json, const char *key) {
    const char *text = string_of(json, key);
    return text ? gg_str_dup(gg_str_from(text)) : NULL;
}

int gg_cli_overlay_new(gg_cli_overlay **out, gg_cli_run *run, const gg_cli_args *args, gg_error *err) {
    char here[GG_PATH_BYTES] = "", beside[GG_PATH_BYTES + 2];
    int error = 0;
    if (args->remote.command.len)
        return gg_fail(err, GG_EPARAMS, "--package is about packages of this machine: it excludes --worker-command");
    if (getcwd(here, sizeof(here)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    snprintf(beside, sizeof(beside), "%s/x", here);
    gg_str *names = gg_calloc(args->packages.len, sizeof(gg_str));
    for (size_t i = 0; i < args->packages.len; i++) names[i] = gg_str_from(args->packages.items[i]);
    gg_capture_request request = {.file = gg_str_from(beside), .packages = names, .package_count = args->packages.len};
    gg_cli_overlay *overlay = gg_calloc(1, sizeof(gg_cli_overlay));
    json_t *values = NULL, *done = gg_cli_job(run, gg_packages_request_encode(&request), "package", "package", &values);
    char *failure = gg_cli_failure(done);
    if (failure) error = gg_fail(err, GG_EFAILED, "%s", failure);
    size_t index;
    json_t *value;
    json_array_foreach(values, index, value) {
        const char *why = string_of(value, "error");
        if (why && error == 0) error = gg_fail(err, GG_EPARAMS, "--package: %s", why);
        if (why || error) continue;
        package p = {dup_of(value, "name"), dup_of(value, "distribution"), dup_of(value, "version"),
                     dup_of(value, "folder")};
        gg_list_push(&overlay->packages, p);
        gg_list_push(&overlay->folders, gg_str_from(p.folder));
    }
    gg_free(failure);
    gg_free(names);
    json_decref(values);
    json_decref(done);
    if (error) {
        gg_cli_overlay_free(overlay);
        return error;
    }
    *out = overlay;
    return 0;
}

static void patch_clear(patch *p) {
    gg_free(p->root);
    gg_free(p->path);
    gg_text_unref(&p->original);
    gg_text_unref(&p->text);
    json_decref(p->row);
}

static void patch_remove(gg_cli_overlay *overlay, size_t index) {
    patch_clear(&overlay->patches.items[index]);
    overlay->patches.items[index] = overlay->patches.items[--overlay->patches.len];
}

void gg_cli_overlay_free(gg_cli_overlay *overlay) {
    if (overlay == NULL) return;
    for (size_t i = 0; i < overlay->packages.len; i++) {
        package *p = &overlay->packages.items[i];
        gg_free(p->name);
        gg_free(p->distribution);
        gg_free(p->version);
        gg_free(p->folder);
    }
    for (size_t i = 0; i < overlay->patches.len; i++) patch_clear(&overlay->patches.items[i]);
    for (size_t i = 0; i < overlay->roots.len; i++) gg_free(overlay->roots.items[i]);
    gg_list_clear(&overlay->packages);
    gg_list_clear(&overlay->folders);
    gg_list_clear(&overlay->patches);
    gg_list_clear(&overlay->roots);
    gg_list_clear(&overlay->written);
    gg_free(overlay);
}

const gg_str *gg_cli_overlay_folders(const gg_cli_overlay *overlay, size_t *out_count) {
    *out_count = overlay ? overlay->folders.len : 0;
    return overlay ? overlay->folders.items : NULL;
}

static const package *package_of(const gg_cli_overlay *overlay, gg_str path) {
    for (size_t i = 0; i < overlay->packages.len; i++) {
        gg_str folder = gg_str_from(overlay->packages.items[i].folder);
        if (gg_str_starts_with(path, folder) && (path.len == folder.len || path.ptr[folder.len] == '/'))
            return &overlay->packages.items[i];
    }
    return NULL;
}

static bool covers(const void *data, gg_str path) {
    return package_of(data, path) != NULL;
}

/* Where a file lies in its package, which is where its copy lies in the overlay. */
static const char *inside(const package *p, const char *path) {
    const char *rest = path + strlen(p->folder);
    return *rest == '/' ? rest + 1 : strrchr(path, '/') + 1;
}

static int root_of(char out[GG_PATH_BYTES], const package *p, const gg_cli_file *file, gg_error *err) {
    char base[GG_PATH_BYTES];
    int error = gg_cli_state_path(base, sizeof(base), file->absolute, "overlay", err);
    if (error) return error;
    int length = snprintf(out, GG_PATH_BYTES, "%s/%s-%s", base, p->name, p->version);
    return length < GG_PATH_BYTES ? 0 : gg_fail(err, GG_EIO, "the path of the overlay is too long");
}

/* ---- what is there already --------------------------------------------------------------------------------------------------- */

static gg_text *read_if(const char *path, const json_t *row, const char *key) {
    gg_text *text = NULL;
    char sum[GG_SHA256_TEXT];
    const char *wanted = string_of(row, key);
    if (wanted == NULL || gg_text_read(&text, path, NULL) != 0) return NULL;
    gg_sha256(sum, gg_text_bytes(text));
    if (strcmp(sum, wanted) != 0) gg_text_unref(&text);
    return text;
}

static bool is_plain(const char *file) {
    return file[0] && file[0] != '/' && strstr(file, "..") == NULL;
}

static void read_row(gg_cli_overlay *overlay, const package *p, const char *root, const json_t *row) {
    char path[GG_PATH_BYTES * 2], copy[GG_PATH_BYTES * 2];
    const char *file = string_of(row, "file");
    if (file == NULL || !is_plain(file) || !json_is_array(json_object_get(row, "for"))) return;
    bool single = gg_str_ends_with(gg_str_from(p->folder), GG_STR(".py"));
    snprintf(path, sizeof(path), "%s%s%s", p->folder, single ? "" : "/", single ? "" : file);
    snprintf(copy, sizeof(copy), "%s/%s", root, file);
    gg_text *original = read_if(path, row, "sha256"), *text = read_if(copy, row, "patched_sha256");
    patch found = {
        p, gg_str_dup(gg_str_from(root)), gg_str_dup(gg_str_from(path)), original, text, json_deep_copy(row)};
    if (original && text)
        gg_list_push(&overlay->patches, found);
    else
        patch_clear(&found); /* of another version, or changed by hand: it proves nothing */
}

static void read_manifest(gg_cli_overlay *overlay, const package *p, const char *root) {
    for (size_t i = 0; i < overlay->roots.len; i++)
        if (strcmp(overlay->roots.items[i], root) == 0) return;
    gg_list_push(&overlay->roots, gg_str_dup(gg_str_from(root)));
    char path[GG_PATH_BYTES + 16];
    snprintf(path, sizeof(path), "%s/manifest.json", root);
    json_t *manifest = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *row;
    const char *version = string_of(manifest, "version");
    size_t index;
    if (json_integer_value(json_object_get(manifest, "format")) == FORMAT && version &&
        strcmp(version, p->version) == 0)
        json_array_foreach(json_object_get(manifest, "files"), index, row) read_row(overlay, p, root, row);
    json_decref(manifest);
}

static patch *patch_at(gg_cli_overlay *overlay, const char *root, const char *path) {
    for (size_t i = 0; i < overlay->patches.len; i++)
        if (strcmp(overlay->patches.items[i].root, root) == 0 && strcmp(overlay->patches.items[i].path, path) == 0)
            return &overlay->patches.items[i];
    return NULL;
}

static bool is_for_this_alone(const patch *p, const gg_cli_file *file) {
    const json_t *files = json_object_get(p->row, "for");
    const char *first = json_string_value(json_array_get(files, 0));
    return json_array_size(files) == 1 && first && strcmp(first, file->absolute) == 0;
}

void gg_cli_overlay_begin(gg_cli_overlay *overlay, gg_fix *fix, const gg_cli_file *file) {
    char root[GG_PATH_BYTES];
    gg_fix_cover(fix, covers, overlay);
    for (size_t i = 0; i < overlay->packages.len; i++) {
        const package *p = &overlay->packages.items[i];
        if (root_of(root, p, file, NULL) != 0) continue;
        read_manifest(overlay, p, root);
        for (size_t j = overlay->patches.len; j-- > 0;) {
            patch *at = &overlay->patches.items[j];
            if (strcmp(at->root, root) != 0) continue;
            if (is_for_this_alone(at, file))
                patch_remove(overlay, j);
            else
                gg_fix_put(fix, gg_str_from(at->path), at->original, at->text);
        }
    }
}

/* ---- what a session has mended ------------------------------------------------------------------------------------------------- */

/* transformers/models/bart/modeling_bart.py → transformers.models.bart.modeling_bart */
static json_t *module_of(const package *p, const char *file) {
    gg_buf name;
    gg_buf_init(&name, GG_PATH_BYTES * 2);
    gg_buf_append_z(&name, p->name);
    gg_str rest = gg_str_from(file);
    rest = gg_str_slice(rest, 0, rest.len - GG_STR(".py").len);
    bool single = gg_str_ends_with(gg_str_from(p->folder), GG_STR(".py"));
    if (gg_str_ends_with(rest, GG_STR("__init__"))) rest = gg_str_slice(rest, 0, rest.len - GG_STR("__init__").len);
    if (rest.len && rest.ptr[rest.len - 1] == '/') rest.len--;
    for (size_t i = 0; i < rest.len && !single; i++) {
        if (i == 0) gg_buf_append_char(&name, '.');
        gg_buf_append_char(&name, rest.ptr[i] == '/' ? '.' : rest.ptr[i]);
    }
    json_t *out = json_stringn(name.ptr, name.len);
    gg_buf_clear(&name);
    return out;
}

static json_t *accepted_in(const json_t *repairs, const char *path) {
    json_t *out = json_array(), *repair;
    size_t index;
    json_array_foreach(repairs, index, repair) {
        const char *file = string_of(repair, "file");
        if (file && strcmp(file, path) == 0 &&
            json_is_true(json_object_get(json_object_get(repair, "verdict"), "accepted")))
            json_array_append(out, repair);
    }
    return out;
}

static void keep_row(patch *p, const gg_cli_file *file, const json_t *repairs) {
    char sum[GG_SHA256_TEXT], patched[GG_SHA256_TEXT];
    gg_sha256(sum, gg_text_bytes(p->original));
    gg_sha256(patched, gg_text_bytes(p->text));
    json_t *files = json_object_get(p->row, "for"), *known = json_object_get(p->row, "repairs"), *each;
    files = files ? json_deep_copy(files) : json_array();
    known = known ? json_deep_copy(known) : json_array();
    bool named = false;
    size_t index;
    json_array_foreach(files, index, each) named = named || strcmp(json_string_value(each), file->absolute) == 0;
    if (!named) json_array_append_new(files, json_string(file->absolute));
    json_t *own = accepted_in(repairs, p->path);
    json_array_extend(known, own);
    json_decref(own);
    json_decref(p->row);
    const char *where = inside(p->package, p->path);
    p->row = json_pack("{s:s, s:o, s:s, s:s, s:o, s:o}", "file", where, "module", module_of(p->package, where),
                       "sha256", sum, "patched_sha256", patched, "for", files, "repairs", known);
}

static char *diff_of(const patch *p) {
    char *bytes = NULL, path[GG_PATH_BYTES * 2];
    size_t size = 0;
    bool single = gg_str_ends_with(gg_str_from(p->package->folder), GG_STR(".py"));
    snprintf(path, sizeof(path), "%s%s%s", single ? "" : p->package->name, single ? "" : "/",
             inside(p->package, p->path));
    FILE *out = open_memstream(&bytes, &size);
    if (out == NULL) return NULL;
    gg_cli_print_diff(out, path, p->original, p->text);
    fclose(out);
    return bytes;
}

json_t *gg_cli_overlay_take(gg_cli_overlay *overlay, const gg_fix *fix, const gg_cli_file *file,
                            const json_t *repairs) {
    json_t *out = json_array();
    const gg_fix_file *f;
    for (size_t i = 1; (f = gg_fix_file_at(fix, i)) != NULL; i++) {
        char root[GG_PATH_BYTES];
        const package *p = package_of(overlay, f->path);
        if (gg_str_equal(gg_text_bytes(f->begun), gg_text_bytes(f->text)) || p == NULL ||
            root_of(root, p, file, NULL) != 0)
            continue;
        char *path = gg_str_dup(f->path);
        patch *at = patch_at(overlay, root, path);
        if (at == NULL) {
            patch fresh = {.package = p,
                           .root = gg_str_dup(gg_str_from(root)),
                           .path = gg_str_dup(f->path),
                           .original = gg_text_ref(f->original),
                           .text = gg_text_ref(f->text)};
            gg_list_push(&overlay->patches, fresh);
            at = &overlay->patches.items[overlay->patches.len - 1];
        } else {
            gg_text_unref(&at->text);
            at->text = gg_text_ref(f->text);
        }
        keep_row(at, file, repairs);
        char *diff = diff_of(at);
        gg_str text = gg_text_bytes(at->text);
        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:s%}", "package", p->name, "version", p->version,
                                             "file", path, "diff", diff ? diff : "", "text", text.ptr, text.len));
        free(diff);
        gg_free(path);
    }
    return out;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

static int write_patch(const patch *p, gg_error *err) {
    char path[GG_PATH_BYTES * 2], folder[GG_PATH_BYTES * 2];
    snprintf(path, sizeof(path), "%s/%s", p->root, inside(p->package, p->path));
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    int error = gg_cli_make_folder(folder, err);
    if (error == 0) error = gg_cli_write_file(path, gg_text_bytes(p->text), FILE_MODE, err);
    char *diff = diff_of(p);
    snprintf(path, sizeof(path), "%s/%s.diff", p->root, inside(p->package, p->path));
    if (error == 0) error = gg_cli_write_file(path, gg_str_from(diff ? diff : ""), FILE_MODE, err);
    free(diff);
    return error;
}

/* Copies of files that are not in the manifest any more. */
static void drop_others(const char *root, const json_t *files) {
    char path[GG_PATH_BYTES * 2];
    snprintf(path, sizeof(path), "%s/manifest.json", root);
    json_t *before = json_load_file(path, 0, NULL), *row, *other;
    size_t i, j;
    json_array_foreach(json_object_get(before, "files"), i, row) {
        const char *file = string_of(row, "file");
        bool kept = file == NULL || !is_plain(file);
        json_array_foreach(files, j, other) kept = kept || strcmp(string_of(other, "file"), file) == 0;
        if (kept) continue;
        snprintf(path, sizeof(path), "%s/%s", root, file);
        (void)unlink(path);
        snprintf(path, sizeof(path), "%s/%s.diff", root, file);
        (void)unlink(path);
        fprintf(stderr, "graphglue-lsp: %s/%s was removed: this time no repair of it was proved\n", root, file);
    }
    json_decref(before);
}

/* The module that `run` puts on the path, so that an overlay works where graphglue-lsp is not installed. */
static int write_loader(const char *root, gg_error *err) {
    char path[GG_PATH_BYTES * 2];
    char *support = gg_support_folder("graphglue_overlay/graphglue_overlay.py");
    gg_text *text = NULL;
    if (support == NULL)
        return gg_fail(err, GG_ENOTFOUND,
                       "graphglue_overlay/ was not found beside graphglue-worker: reinstall graphglue-lsp");
    int error = gg_text_read(&text, support, err);
    snprintf(path, sizeof(path), "%.*s/graphglue_overlay.py", (int)(strrchr(root, '/') - root), root);
    if (error == 0) error = gg_cli_write_file(path, gg_text_bytes(text), FILE_MODE, err);
    gg_text_unref(&text);
    gg_free(support);
    return error;
}

static int write_root(gg_cli_overlay *overlay, const package *p, const char *root, gg_error *err) {
    json_t *files = json_array();
    int error = 0;
    for (size_t i = 0; i < overlay->patches.len && error == 0; i++) {
        const patch *at = &overlay->patches.items[i];
        if (strcmp(at->root, root) != 0) continue;
        error = write_patch(at, err);
        json_array_append(files, at->row);
    }
    if (error == 0) drop_others(root, files);
    json_t *manifest =
        json_pack("{s:i, s:s, s:s, s:s, s:s?, s:O}", "format", FORMAT, "graphglue", GG_VERSION, "package", p->name,
                  "version", p->version, "distribution", p->distribution, "files", files);
    char path[GG_PATH_BYTES * 2], *text = json_dumps(manifest, JSON_INDENT(1));
    snprintf(path, sizeof(path), "%s/manifest.json", root);
    bool some = json_array_size(files) > 0;
    if (error == 0 && (some || access(path, F_OK) == 0))
        error = gg_cli_write_file(path, gg_str_from(text), FILE_MODE, err);
    if (error == 0 && some) error = write_loader(root, err);
    free(text);
    json_decref(manifest);
    json_decref(files);
    return error;
}

int gg_cli_overlay_write(gg_cli_overlay *overlay, const gg_cli_file *file, gg_error *err) {
    for (size_t i = 0; i < overlay->packages.len; i++) {
        char root[GG_PATH_BYTES];
        const package *p = &overlay->packages.items[i];
        int error = root_of(root, p, file, err);
        if (error == 0) error = write_root(overlay, p, root, err);
        if (error) return error;
        for (size_t j = 0; j < overlay->roots.len; j++) {
            bool known = strcmp(overlay->roots.items[j], root) != 0;
            for (size_t k = 0; k < overlay->written.len; k++)
                known = known || overlay->written.items[k] == overlay->roots.items[j];
            if (!known) gg_list_push(&overlay->written, overlay->roots.items[j]);
        }
    }
    return 0;
}

void gg_cli_overlay_summary(const gg_cli_overlay *overlay) {
    const gg_cli_style *style = gg_cli_style_for(stdout);
    bool any = false;
    for (size_t i = 0; i < overlay->written.len; i++) {
        size_t count = 0;
        for (size_t j = 0; j < overlay->patches.len; j++)
            count += strcmp(overlay->patches.items[j].root, overlay->written.items[i]) == 0;
        if (count == 0) continue;
        any = true;
        printf("%soverlay:%s %zu patched file%s in %s\n", style->bold, style->reset, count, count == 1 ? "" : "s",
               overlay->written.items[i]);
    }
    if (any)
        printf("%shelp:%s run with %s: graphglue-lsp run -- python script.py\n", style->green, style->reset,
               overlay->written.len > 1 ? "them" : "it");
}
