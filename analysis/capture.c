/* The values of a worker's `break` and `entry` frames (docs/worker-protocol.md), decoded.
 * Missing keys and nulls mean "unknown"; a value of a wrong type is GG_EPARAMS with its path; unknown words fall back to the
 * general one (kind "other"), so that a newer worker does not silence an older server.
 * Threads: any. */
#include <string.h>

#include "analysis/costs.h"
#include "analysis/private.h"

typedef struct reader {
    gg_arena *arena;
    gg_error *err;
    const char *what; /* "break", "entry": the head of error messages */
    int rc;           /* the first failure; everything after it is skipped */
} reader;

static void wrong(reader *r, const char *key, const char *wants) {
    if (r->rc == 0) r->rc = gg_fail(r->err, GG_EPARAMS, "%s.%s wants %s", r->what, key, wants);
}

/* The value, or NULL when it is missing, null, or something failed before. */
static const json_t *value_of(reader *r, const json_t *object, const char *key) {
    const json_t *value = r->rc == 0 ? json_object_get(object, key) : NULL;
    return json_is_null(value) ? NULL : value;
}

static gg_str copy_string(reader *r, const json_t *value) {
    return gg_arena_str(r->arena, (gg_str){json_string_value(value), json_string_length(value)});
}

static gg_str read_string(reader *r, const json_t *object, const char *key) {
    const json_t *value = value_of(r, object, key);
    if (value == NULL) return GG_STR_NULL;
    if (!json_is_string(value)) {
        wrong(r, key, "a string");
        return GG_STR_NULL;
    }
    return copy_string(r, value);
}

static int64_t read_int(reader *r, const json_t *object, const char *key, int64_t low, int64_t high, int64_t unknown) {
    const json_t *value = value_of(r, object, key);
    if (value == NULL) return unknown;
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < low || number > high) {
        wrong(r, key, "an integer in its range");
        return unknown;
    }
    return number;
}

static bool read_bool(reader *r, const json_t *object, const char *key) {
    const json_t *value = value_of(r, object, key);
    if (value != NULL && !json_is_boolean(value)) wrong(r, key, "a boolean");
    return json_is_true(value);
}

static const json_t *read_array(reader *r, const json_t *object, const char *key, size_t max, size_t *out_count) {
    const json_t *value = value_of(r, object, key);
    *out_count = 0;
    if (value == NULL) return NULL;
    if (!json_is_array(value) || json_array_size(value) > max) {
        wrong(r, key, "an array of a sane length");
        return NULL;
    }
    *out_count = json_array_size(value);
    return value;
}

static gg_str *read_strings(reader *r, const json_t *object, const char *key, size_t *out_count) {
    size_t count;
    const json_t *array = read_array(r, object, key, GG__MAX_FRAMES, &count);
    gg_str *items = count > 0 ? GG_ARENA_ARRAY(r->arena, gg_str, count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) {
            wrong(r, key, "an array of strings");
            break;
        }
        items[i] = copy_string(r, item);
    }
    *out_count = r->rc == 0 ? count : 0;
    return items;
}

/* ---- words ---- */
static const char *const status_names[] = {
    [GG_ENTRY_CAPTURED] = "captured",
    [GG_ENTRY_BREAKS] = "breaks",
    [GG_ENTRY_NOTHING] = "nothing_to_capture",
    [GG_ENTRY_NO_INPUTS] = "no_inputs",
    [GG_ENTRY_EAGER_ERROR] = "eager_error",
    [GG_ENTRY_CAPTURE_ERROR] = "capture_error",
    [GG_ENTRY_TIMEOUT] = "timeout",
    [GG_ENTRY_CRASHED] = "crashed",
};

static const char *const origin_names[] = {
    [GG_ORIGIN_WORKSPACE] = "workspace",
    [GG_ORIGIN_LIBRARY] = "library",
    [GG_ORIGIN_TORCH] = "torch",
    [GG_ORIGIN_STDLIB] = "stdlib",
};

static const char *const value_kind_names[] = {
    [GG_VALUE_UNKNOWN] = "unknown", [GG_VALUE_TENSOR] = "tensor", [GG_VALUE_INT] = "int",
    [GG_VALUE_FLOAT] = "float",     [GG_VALUE_BOOL] = "bool",     [GG_VALUE_STR] = "str",
    [GG_VALUE_NONE] = "none",       [GG_VALUE_LIST] = "list",     [GG_VALUE_TUPLE] = "tuple",
    [GG_VALUE_DICT] = "dict",       [GG_VALUE_MODULE] = "module", [GG_VALUE_NDARRAY] = "ndarray",
    [GG_VALUE_SYMINT] = "symint",   [GG_VALUE_OTHER] = "other",
};
static const char *const layout_names[] = {
    [GG_LAYOUT_CONTIGUOUS] = "contiguous", [GG_LAYOUT_DENSE] = "dense", [GG_LAYOUT_STRIDED] = "strided"};

const char *gg_entry_status_name(gg_entry_status status) {
    return (size_t)status < GG_COUNT(status_names) ? status_names[status] : "capture_error";
}

bool gg_entry_lacks_device(const gg_entry *entry) {
    return entry->cuda.asked && entry->cuda.device.len == 0;
}

const char *gg_origin_name(gg_origin origin) {
    return (size_t)origin < GG_COUNT(origin_names) ? origin_names[origin] : "library";
}

static int find_word(gg_str word, const char *const *words, size_t count, int otherwise) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_is(word, words[i])) return (int)i;
    return otherwise;
}

/* ---- values ---- */
static const int64_t *read_sizes(reader *r, const json_t *object, const char *key, size_t *out_count) {
    const json_t *array = read_array(r, object, key, GG__MAX_FRAMES, out_count);
    if (*out_count == 0) return NULL;
    int64_t *sizes = GG_ARENA_ARRAY(r->arena, int64_t, *out_count);
    for (size_t i = 0; i < *out_count; i++) {
        const json_t *size = json_array_get(array, i);
        sizes[i] = json_is_integer(size) ? json_integer_value(size) : -1; /* symbolic: "s0" or null */
    }
    return sizes;
}

static void read_shape(reader *r, gg_fact *fact, const json_t *object) {
    size_t count;
    fact->shape = read_sizes(r, object, "shape", &count);
    fact->rank = value_of(r, object, "shape") != NULL ? (int32_t)count : -1;
}

static const char *const step_names[] = {
    [GG_STEP_MAP] = "map",   [GG_STEP_SAME] = "same",     [GG_STEP_ALONG] = "along",
    [GG_STEP_TAIL] = "tail", [GG_STEP_LINEAR] = "linear", [GG_STEP_CONV] = "conv",
};

/* A step of a kind that is not known makes the whole call unknown. */
static void read_steps(reader *r, gg_fact *fact, const json_t *object) {
    size_t count;
    const json_t *array = read_array(r, object, "steps", GG__MAX_MODULE_STEPS, &count);
    gg_step *steps = count ? GG_ARENA_ARRAY(r->arena, gg_step, count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_object(item)) {
            wrong(r, "steps", "an array of objects");
            return;
        }
        int op = find_word(read_string(r, item, "op"), step_names, GG_COUNT(step_names), -1);
        if (op < 0) return;
        steps[i] = (gg_step){.op = (gg_step_op)op, .widens = read_bool(r, item, "widens")};
        steps[i].dtype = read_string(r, item, "dtype");
        steps[i].device = read_string(r, item, "device");
        steps[i].sizes = read_sizes(r, item, "sizes", &steps[i].size_count);
    }
    fact->steps = steps;
    fact->step_count = count;
}

static gg_fact read_fact(reader *r, gg_str name, const json_t *object) {
    gg_fact fact = {.name = name, .rank = -1};
    if (object == NULL || json_is_null(object)) return fact;
    if (!json_is_object(object)) {
        wrong(r, "facts", "objects");
        return fact;
    }
    gg_str kind = read_string(r, object, "kind");
    fact.kind = (gg_value_kind)find_word(kind, value_kind_names, GG_COUNT(value_kind_names), GG_VALUE_OTHER);
    fact.dtype = read_string(r, object, "dtype");
    fact.device = read_string(r, object, "device");
    fact.type = read_string(r, object, "type");
    fact.requires_grad = read_bool(r, object, "requires_grad");
    gg_str layout = read_string(r, object, "layout");
    fact.layout = (gg_layout)find_word(layout, layout_names, GG_COUNT(layout_names), GG_LAYOUT_CONTIGUOUS);
    const json_t *number = value_of(r, object, "number");
    fact.has_number = json_is_number(number);
    fact.number = json_number_value(number);
    read_shape(r, &fact, object);
    read_steps(r, &fact, object);
    return fact;
}

static void read_facts(reader *r, gg_break *out, const json_t *object) {
    json_t *facts = (json_t *)value_of(r, object, "facts"); /* jansson iterates over a pointer that is not const */
    if (facts == NULL) return;
    if (!json_is_object(facts) || json_object_size(facts) > GG__MAX_FACTS) {
        wrong(r, "facts", "an object of a sane size");
        return;
    }
    out->facts = GG_ARENA_ARRAY(r->arena, gg_fact, json_object_size(facts));
    const char *name;
    json_t *fact;
    json_object_foreach(facts, name, fact) out->facts[out->fact_count++] =
        read_fact(r, gg_arena_str(r->arena, gg_str_from(name)), fact);
}

static void read_frame(reader *r, gg_frame *out, const json_t *object) {
    if (!json_is_object(object)) {
        wrong(r, "stack", "an array of frames");
        return;
    }
    out->file = read_string(r, object, "file");
    out->function = read_string(r, object, "function");
    out->line = (uint32_t)read_int(r, object, "line", 0, INT32_MAX, 0);
    out->end_line = (uint32_t)read_int(r, object, "end_line", 0, INT32_MAX, 0);
    out->col = (int32_t)read_int(r, object, "col", -1, GG_MAX_DOCUMENT_BYTES, -1);
    out->end_col = (int32_t)read_int(r, object, "end_col", -1, GG_MAX_DOCUMENT_BYTES, -1);
    gg_str origin = read_string(r, object, "origin");
    out->origin = (gg_origin)find_word(origin, origin_names, GG_COUNT(origin_names), GG_ORIGIN_LIBRARY);
}

static void read_stack(reader *r, gg_break *out, const json_t *object) {
    size_t count;
    const json_t *stack = read_array(r, object, "stack", GG__MAX_FRAMES, &count);
    if (count == 0) return;
    out->stack = GG_ARENA_ARRAY(r->arena, gg_frame, count);
    out->stack_len = count;
    for (size_t i = 0; i < count; i++) read_frame(r, &out->stack[i], json_array_get(stack, i));
}

static void read_eager(reader *r, gg_break *out, const json_t *object) {
    const json_t *eager = value_of(r, object, "eager");
    if (eager == NULL) return;
    if (!json_is_object(eager)) {
        wrong(r, "eager", "an object");
        return;
    }
    out->eager_function = read_string(r, eager, "function");
    out->eager_rest = read_bool(r, eager, "rest");
}

static void read_break(reader *r, gg_break *out, const json_t *object) {
    if (!json_is_object(object)) {
        wrong(r, "breaks", "an object");
        return;
    }
    out->id = read_string(r, object, "id");
    out->type = read_string(r, object, "type");
    out->reason = read_string(r, object, "reason");
    out->context = read_string(r, object, "context");
    out->explanation = read_string(r, object, "explanation");
    out->hints = read_strings(r, object, "hints", &out->hint_count);
    out->skip = gg_str_is(read_string(r, object, "kind"), "skip");
    out->in_loop = read_bool(r, object, "in_loop");
    read_eager(r, out, object);
    out->aggravations = read_strings(r, object, "aggravations", &out->aggravation_count);
    read_stack(r, out, object);
    read_facts(r, out, object);
    out->value = read_fact(r, GG_STR_NULL, value_of(r, object, "value"));
}

static double read_ms(reader *r, const json_t *object, const char *key) {
    const json_t *value = value_of(r, object, key);
    if (value == NULL) return -1;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= 0)) wrong(r, key, "a duration");
    return number;
}

static void read_cuda(reader *r, gg_cuda_use *out, const json_t *object) {
    *out = (gg_cuda_use){.total_bytes = -1, .free_bytes = -1, .peak_bytes = -1, .tensor_bytes = -1, .elapsed_ms = -1};
    const json_t *cuda = value_of(r, object, "cuda");
    if (cuda == NULL) return;
    if (!json_is_object(cuda)) {
        wrong(r, "cuda", "an object");
        return;
    }
    out->asked = true;
    out->device = read_string(r, cuda, "device");
    out->name = read_string(r, cuda, "name");
    out->total_bytes = read_int(r, cuda, "total_bytes", 0, INT64_MAX, -1);
    out->free_bytes = read_int(r, cuda, "free_bytes", 0, INT64_MAX, -1);
    out->peak_bytes = read_int(r, cuda, "peak_bytes", 0, INT64_MAX, -1);
    out->tensor_bytes = read_int(r, cuda, "tensor_bytes", 0, INT64_MAX, -1);
    out->elapsed_ms = read_ms(r, cuda, "elapsed_ms");
}

int gg_break_decode(gg_break *out, const json_t *json, gg_arena *arena, gg_error *err) {
    *out = (gg_break){0};
    reader r = {arena, err, "break", 0};
    read_break(&r, out, json);
    return r.rc;
}

int gg_entry_decode(gg_entry *out, const json_t *json, gg_arena *arena, gg_error *err) {
    *out = (gg_entry){0};
    reader r = {arena, err, "entry", 0};
    if (!json_is_object(json)) return gg_fail(err, GG_EPARAMS, "entry wants an object");
    out->name = read_string(&r, json, "name");
    out->inputs = read_string(&r, json, "inputs");
    out->message = read_string(&r, json, "message");
    out->file = read_string(&r, json, "file");
    out->line = (uint32_t)read_int(&r, json, "line", 0, INT32_MAX, 0);
    out->status = (gg_entry_status)find_word(read_string(&r, json, "status"), status_names, GG_COUNT(status_names),
                                             GG_ENTRY_CAPTURE_ERROR);
    out->graphs = (int32_t)read_int(&r, json, "graphs", 0, INT32_MAX, 0);
    size_t count;
    const json_t *ops = read_array(&r, json, "ops", GG__MAX_BREAKS, &count);
    if (count > 0) out->ops = GG_ARENA_ARRAY(arena, int32_t, count);
    out->op_count = count;
    for (size_t i = 0; i < count; i++) out->ops[i] = (int32_t)json_integer_value(json_array_get(ops, i));
    const json_t *breaks = read_array(&r, json, "breaks", GG__MAX_BREAKS, &count);
    if (count > 0) out->breaks = GG_ARENA_ARRAY(arena, gg_break, count);
    out->break_count = count;
    for (size_t i = 0; i < count && r.rc == 0; i++) read_break(&r, &out->breaks[i], json_array_get(breaks, i));
    const json_t *recompiles = read_array(&r, json, "recompiles", GG__MAX_BREAKS, &count);
    for (size_t i = 0; i < count; i++)
        if (json_is_true(json_object_get(json_array_get(recompiles, i), "each_call"))) out->never_settles = true;
    read_cuda(&r, &out->cuda, json);
    return r.rc;
}
