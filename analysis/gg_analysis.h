/* analysis/ — text, syntax tree, captures, break sites, explanations.
 * Knows tree-sitter and (for worker frames and the registry) jansson; no LSP, no event loop, no Python.
 * Everything here is tested, fuzzed and used from the command line without a server.
 *
 * Threads: gg_text and gg_tree are immutable and reference counted, safe to share; everything else is one owner at a time. */
#ifndef GG_ANALYSIS_H
#define GG_ANALYSIS_H

#include <jansson.h>
#ifdef __cplusplus
#include <atomic>
using std::atomic_bool;
#else
#include <stdatomic.h>
#endif
#include <tree_sitter/api.h>

#include "base/gg_base.h"

/* ---- text ------------------------------------------------------------------------------------------------------ */
#define GG_MAX_DOCUMENT_BYTES (16u * 1024 * 1024)

typedef struct gg_span {
    uint32_t start, end;
} gg_span; /* byte offsets, end exclusive */
typedef struct gg_position {
    uint32_t line, character;
} gg_position; /* zero-based; character in units of an encoding */
typedef struct gg_range {
    gg_position start, end;
} gg_range;
typedef enum gg_encoding { GG_UTF16, GG_UTF8, GG_UTF32 } gg_encoding;

typedef struct gg_text gg_text; /* immutable bytes (valid UTF-8) + line index; lines end in \n, \r\n or \r */

/* 0, GG_ETOOBIG, or GG_EPARAMS for bytes that are no UTF-8 (the message names the offset and line). */
int gg_text_new(gg_text **out, gg_str bytes, gg_error *err) GG_MUST_USE;
int gg_text_read(gg_text **out, const char *path, gg_error *err) GG_MUST_USE; /* from disk; GG_ENOTFOUND / GG_EIO too */
gg_text *gg_text_ref(const gg_text *text);
void gg_text_unref(gg_text **text); /* NULLs the caller's pointer */
gg_str gg_text_bytes(const gg_text *text);
gg_str gg_text_slice(const gg_text *text, gg_span span);
uint32_t gg_text_line_count(const gg_text *text);
gg_str gg_text_line(const gg_text *text, uint32_t line); /* without its terminator; "" past the end */
uint32_t gg_text_line_start(const gg_text *text, uint32_t line);
/* Both clamp to the line and to the text, and never split a code point. */
uint32_t gg_text_offset(const gg_text *text, gg_position position, gg_encoding encoding);
gg_position gg_text_position(const gg_text *text, uint32_t offset, gg_encoding encoding);
gg_range gg_text_range(const gg_text *text, gg_span span, gg_encoding encoding);
/* The same; looked for from a line on, which is set to that of the span's start: for many spans from top to bottom.  guess: what it may well be. */
gg_range gg_text_range_near(const gg_text *text, gg_span span, gg_encoding encoding, gg_range guess, uint32_t *line);
/* A new text with span replaced.  The old one is untouched. */
int gg_text_replace(gg_text **out, const gg_text *text, gg_span span, gg_str with, gg_error *err) GG_MUST_USE;

/* A text while changes are made to it, one owner at a time; many cost little more than one. */
typedef struct gg_draft gg_draft;
gg_draft *gg_draft_new(const gg_text *text);
void gg_draft_free(gg_draft *draft);
gg_text *gg_draft_finish(gg_draft *draft); /* frees the draft */
uint32_t gg_draft_len(const gg_draft *draft);
uint32_t gg_draft_offset(gg_draft *draft, gg_position position, gg_encoding encoding); /* as gg_text_offset */
gg_str gg_draft_slice(gg_draft *draft, gg_span span);          /* borrowed until the next call that takes the draft */
bool gg_draft_over_lines(const gg_draft *draft, gg_span span); /* it begins and ends in different lines */
bool gg_draft_equals(const gg_draft *draft, gg_str bytes);
/* Errors as gg_text_replace's; then nothing was changed. */
int gg_draft_replace(gg_draft *draft, gg_span span, gg_str with, gg_error *err) GG_MUST_USE;

/* ---- tree ------------------------------------------------------------------------------------------------------- */
typedef struct gg_tree gg_tree; /* a syntax tree and the text it was parsed from */

/* One change, in bytes of the text before it. */
typedef struct gg_change {
    gg_span span;
    uint32_t new_len;
} gg_change;

/* Parses text; reuses `old` (NULL is fine) after `changes` were applied to its text in order.  GG_ECANCELED once *cancel
 * (NULL is fine) is true.  Any thread. */
int gg_tree_parse(gg_tree **out, const gg_text *text, const gg_tree *old, const gg_change *changes, size_t change_count,
                  const atomic_bool *cancel, gg_error *err) GG_MUST_USE;
/* Trees lie in slabs (gg_slab) from now on: for a process that holds them for long.  Before the first is made. */
void gg_trees_in_slabs(void);
gg_tree *gg_tree_ref(const gg_tree *tree);
void gg_tree_unref(gg_tree **tree);
bool gg_tree_unref_shared(gg_tree **tree); /* false, and nothing is done: it is the last, which frees the tree */
const gg_text *gg_tree_text(const gg_tree *tree);
TSNode gg_tree_root(const gg_tree *tree);
bool gg_tree_has_error(const gg_tree *tree);
unsigned gg_tree_levels(const gg_tree *tree); /* of nodes, one below the other: what a recursion over it may need */
gg_str gg_node_text(const gg_tree *tree, TSNode node); /* borrowed from the text */
gg_span gg_node_span(TSNode node);
bool gg_node_is(TSNode node, const char *type);       /* false for a null node */
TSNode gg_node_at(const gg_tree *tree, gg_span span); /* smallest named node that covers span */
TSNode gg_node_ancestor(TSNode node,
                        const char *type); /* nearest enclosing (or the node itself); null node when none */

/* "Net.forward", "f.<locals>.g", "<module>": the enclosing classes and functions of an offset, as __qualname__ writes them. */
gg_str gg_enclosing_name(const gg_tree *tree, uint32_t offset, gg_arena *arena);
/* Span of the innermost class (preferred) or function around offset, decorators included; false at module level. */
bool gg_enclosing_definition(const gg_tree *tree, uint32_t offset, gg_span *out);

/* A range from instruction positions, made exact by the tree: a method chain over several lines and what is called are widened
 * to the call, the ends of a slice to the subscript; names that are unpacked into stand for what is unpacked; a position without
 * columns becomes the statement's header (condition, call); parentheses and white space are trimmed.
 * line and end_line 1-based; col/end_col UTF-8 bytes or -1. */
gg_span gg_refine_range(const gg_tree *tree, uint32_t line, uint32_t end_line, int32_t col, int32_t end_col);

/* ---- captures ----------------------------------------------------------------------------------------------------- */
typedef enum gg_origin { GG_ORIGIN_WORKSPACE, GG_ORIGIN_LIBRARY, GG_ORIGIN_TORCH, GG_ORIGIN_STDLIB } gg_origin;

typedef struct gg_frame { /* a Python frame at a break; innermost first in lists */
    gg_str file, function;
    uint32_t line, end_line; /* 1-based; 0 unknown */
    int32_t col, end_col;    /* UTF-8 bytes, -1 unknown */
    gg_origin origin;
} gg_frame;

typedef enum gg_value_kind {
    GG_VALUE_UNKNOWN,
    GG_VALUE_TENSOR,
    GG_VALUE_INT,
    GG_VALUE_FLOAT,
    GG_VALUE_BOOL,
    GG_VALUE_STR,
    GG_VALUE_NONE,
    GG_VALUE_LIST,
    GG_VALUE_TUPLE,
    GG_VALUE_DICT,
    GG_VALUE_MODULE,
    GG_VALUE_NDARRAY,
    GG_VALUE_SYMINT,
    GG_VALUE_OTHER
} gg_value_kind;

/* How the elements of a tensor lie: row after row, in another order of its dimensions without gaps, else. */
typedef enum gg_layout { GG_LAYOUT_CONTIGUOUS, GG_LAYOUT_DENSE, GG_LAYOUT_STRIDED } gg_layout;

/* What a call of a module does to a tensor, where it is known to be pure (worker/pure_modules.py). */
typedef enum gg_step_op {
    GG_STEP_MAP,    /* element by element */
    GG_STEP_SAME,   /* gives back the tensor itself */
    GG_STEP_ALONG,  /* sizes: the dimension it goes along */
    GG_STEP_TAIL,   /* sizes: what the last dimensions must be */
    GG_STEP_LINEAR, /* sizes: of the last dimension, before and after */
    GG_STEP_CONV    /* sizes: channels before and after; kernel, stride, padding and dilation of each dimension */
} gg_step_op;

typedef struct gg_step {
    gg_step_op op;
    gg_str dtype, device; /* of its parameters; empty when it has none */
    bool widens;          /* under autocast the result is float32 */
    const int64_t *sizes;
    size_t size_count;
} gg_step;

typedef struct gg_fact { /* what a capture saw of a name, or of an attribute (`self.scale`), at a break */
    gg_str name;
    gg_value_kind kind;
    gg_layout layout;
    gg_str dtype, device; /* "torch.float32"; empty when no tensor */
    gg_str type;          /* the class, of a value of another kind or a special tensor: "device"; empty when not told */
    const int64_t *shape; /* -1 for a symbolic size */
    int32_t rank;         /* -1 unknown */
    bool requires_grad;
    bool has_number;     /* a number had the value `number` in this capture */
    bool steady, filled; /* … what a rule found (gg__meta); never of a capture */
    uint8_t vague;       /* a gg__vagueness of `dtype`, which a rule found; 0 of a capture */
    double number;
    const gg_step *steps; /* of a module's call, in their order */
    size_t step_count;    /* 0: not known to be pure */
} gg_fact;

typedef struct gg_break {
    gg_str id, type, reason, context, explanation;
    gg_str *hints;
    size_t hint_count;
    bool skip; /* the whole frame fell to eager; else the graph is split and goes on */
    bool in_loop;
    gg_str eager_function; /* the function that runs without Dynamo because of it; empty when none does */
    bool eager_rest;       /* … but for what precedes the break in it */
    gg_str *aggravations;
    size_t aggravation_count;
    gg_frame *stack;
    size_t stack_len;
    gg_fact *facts;
    size_t fact_count;
    gg_fact value; /* of the value Dynamo stopped at; kind UNKNOWN when not known */
} gg_break;

typedef enum gg_entry_status {
    GG_ENTRY_CAPTURED,
    GG_ENTRY_BREAKS,
    GG_ENTRY_NOTHING,
    GG_ENTRY_NO_INPUTS,
    GG_ENTRY_EAGER_ERROR,
    GG_ENTRY_CAPTURE_ERROR,
    GG_ENTRY_TIMEOUT,
    GG_ENTRY_CRASHED
} gg_entry_status;

/* What an entry took of the CUDA device it ran on; unknown is -1, or an empty string. */
typedef struct gg_cuda_use {
    bool asked;                      /* for a CUDA device; false: it ran on none and wanted none */
    gg_str device, name;             /* "cuda:0", empty where it asked for one that is not there; "NVIDIA H200" */
    int64_t total_bytes, free_bytes; /* of the whole device, before the entry was built */
    int64_t peak_bytes;              /* most in use on the whole device, by all programs, while it ran */
    int64_t tensor_bytes;            /* most that its own tensors held, by torch's count */
    double elapsed_ms;               /* of one call, by the device's own clock */
} gg_cuda_use;

typedef struct gg_entry {
    gg_str name, inputs, message, file;
    uint32_t line; /* 1-based, 0 unknown */
    gg_entry_status status;
    int32_t graphs;
    int32_t *ops;
    size_t op_count;
    gg_break *breaks;
    size_t break_count;
    bool never_settles; /* it is compiled anew on each call; `message` says why */
    gg_cuda_use cuda;
} gg_entry;

const char *gg_entry_status_name(gg_entry_status status); /* "captured", … */
bool gg_entry_lacks_device(const gg_entry *entry);        /* it asked for a CUDA device that is not there */
const char *gg_origin_name(gg_origin origin);

/* What a `entry` / `break` value of a worker frame says.  Everything is copied into the arena. 0 or GG_EPARAMS. */
int gg_entry_decode(gg_entry *out, const json_t *json, gg_arena *arena, gg_error *err) GG_MUST_USE;
int gg_break_decode(gg_break *out, const json_t *json, gg_arena *arena, gg_error *err) GG_MUST_USE;

/* ---- sources ------------------------------------------------------------------------------------------------------ */
struct gg_prediction_list;
/* Texts and trees by absolute path: open buffers (overlay) first, then disk.  Not shared between threads. */
typedef struct gg_sources gg_sources;
gg_sources *gg_sources_new(void);
void gg_sources_free(gg_sources *sources);
void gg_sources_put(gg_sources *sources, gg_str path, const gg_text *text,
                    const gg_tree *tree_or_null); /* takes refs */
/* Borrowed until the sources are freed or the path is put again; NULL with err when it cannot be read or parsed. */
const gg_tree *gg_sources_tree(gg_sources *sources, gg_str path, gg_error *err);
/* A file is predicted once, when it is first asked about; empty for one that cannot be read.  Borrowed like the tree. */
const struct gg_prediction_list *gg_sources_predictions(gg_sources *sources, gg_str path);
/* The rule whose prediction is of this id and place; "" when there is none. */
gg_str gg_sources_rule(gg_sources *sources, gg_str path, gg_span span, gg_str id);

/* ---- break sites ---------------------------------------------------------------------------------------------------- */
/* Breaks grouped by (file, exact range, id): what a user sees and mends. */
typedef struct gg_site {
    gg_str id, type, category, reason,
        explanation;       /* category: contract's words; explanation: plain text, our GCM words */
    bool skip, in_loop;    /* in_loop: it lies in one, or a function that reaches it calls it from one */
    gg_str eager_function; /* as in gg_break, of the record that costs most */
    bool eager_rest;
    gg_str *aggravations;
    size_t aggravation_count;
    uint32_t count;       /* break records grouped into it: functions whose graph it splits */
    gg_str file;          /* absolute */
    gg_span span;         /* in the text the capture ran on */
    gg_range range_utf16; /* the same, for JSON */
    gg_str enclosing;
    gg_frame *stack;
    size_t stack_len;  /* of the first record */
    uint32_t *callers; /* lines of `file`, from 1, that all records were reached from: where its function is called */
    size_t caller_count;
    const gg_break *first; /* the record that made it (facts, hints) */
    gg_str *entries;
    size_t entry_count;    /* names of the entries that hit it */
    bool nothing_compiled; /* none of them has a graph, and all ran to their end */
    bool in_workspace;     /* false: it lies in a library; the editor marks the entry */
    gg_str rule;           /* of the prediction that foresees it; empty: none does, or it lies in a library */
    bool ignored;          /* a comment of its file says so */
    bool by_model;         /* `explanation` is a language model's, in Markdown */
    gg_str summary;        /* what gg_explain_short says; made while the tree is at hand */
} gg_site;

typedef struct gg_site_list {
    gg_site *items;
    size_t len;
} gg_site_list;

/* Is it an error that leaves the compiled call, where no handler inside gets it? */
bool gg_site_raises(const gg_site *site);
/* Is it no break, but compiled to something else than what is written? */
bool gg_site_differs(const gg_site *site);

struct gg_registry;
/* Groups the breaks of `entries` (one entry for `check --json`, all of a file for the editor), in order of first appearance.
 * The site's frame is the innermost workspace frame, else the innermost outside torch and the standard library, else the
 * innermost.  Reads files through `sources`; a file that cannot be read gives line ranges.  The result lives in the arena. */
gg_site_list gg_sites_group(const gg_entry *entries, size_t entry_count, gg_sources *sources,
                            const struct gg_registry *registry, gg_arena *arena);

/* What a capture found of an entry, in a few words: "one graph", "3 graphs, 4 breaks at 2 sites", "no example inputs". */
gg_str gg_entry_summary(const gg_entry *entry, const gg_site_list *sites, gg_arena *arena);

/* Where a span of the old text is after a change; false when the change touched its inside (then *span covers what is left). */
bool gg_span_carry(gg_span *span, gg_change change);

/* ---- prediction --------------------------------------------------------------------------------------------------------- */
/* A break that a run would meet, found without one. */
typedef struct gg_prediction {
    gg_str id, rule, message;
    gg_str guard; /* a condition of the program, or words; empty when certain */
    gg_span span;
    bool certain; /* false: when `guard` holds */
    bool beyond;  /* no break, and so not certain: `id` is the rule's name, `guard` is empty */
    bool in_loop;
    uint32_t order;  /* in which it was found */
    uint64_t alike;  /* a print of rule and message */
    uint64_t serial; /* of one gg_predictor: what has the same serial says the same, wherever it stands */
} gg_prediction;

typedef struct gg_prediction_list {
    gg_prediction *items;
    size_t len;
} gg_prediction_list;

/* What the entries of a file would meet: modules, compiled functions, what graphglue_inputs() and the like name.  From top to bottom; lives in
 * the arena.  Any thread. */
gg_prediction_list gg_predict(const gg_tree *tree, gg_arena *arena);

/* The same of a text that changes: what an edit did not touch, and what does not depend on it, is not looked into again.  The tree need not come of
 * the one before.  One owner at a time; the predictions it gives are immutable, outlive it, and may be freed by any thread. */
typedef struct gg_predictor gg_predictor;
typedef struct gg_predictions gg_predictions;
gg_predictor *gg_predictor_new(void);
void gg_predictor_free(gg_predictor *predictor); /* NULL is fine */
gg_predictions *gg_predictor_run(gg_predictor *predictor, const gg_tree *tree);
size_t gg_predictor_walked(const gg_predictor *predictor); /* entries that the last run looked into */
size_t gg_predictor_steps(const gg_predictor *predictor);  /* … what that took: nodes walked, names compared */
gg_prediction_list gg_predictions_list(const gg_predictions *predictions); /* borrowed; of NULL: empty */
void gg_predictions_free(gg_predictions *predictions);                     /* NULL is fine */

/* Which of a list's predictions, now at `spans`, a capture has settled: those at a site that it found, and, where `captured` (what was predicted of
 * its text; NULL: it was not whole) is given, those that it had and did not meet.  Writes list->len of `settled`. */
void gg_predictions_settle(bool *settled, const gg_prediction_list *list, const gg_span *spans, const gg_span *sites,
                           size_t site_count, const gg_prediction_list *captured);
bool gg_entries_whole(const gg_entry *entries, size_t count); /* there are some, and each ran to its end */

/* ---- comments that say what not to show ----------------------------------------------------------------------------------- */
/* One `# graphglue: ignore`, `# graphglue: ignore[GB0170, logging]` or `# graphglue: ignore-file[…]`. */
typedef struct gg_ignore {
    gg_span span;  /* what it is about; of ignore-file from 0 to UINT32_MAX */
    bool all;      /* whatever it is; else: */
    gg_str *names; /* ids, as "GB0170", and rules, as predictions name them */
    size_t count;
    uint32_t list_end; /* where its list closes; 0: it has none */
} gg_ignore;

typedef struct gg_ignore_list {
    gg_ignore *items;
    size_t len;
} gg_ignore_list;

gg_str gg_id_normal(gg_str id, gg_arena *arena); /* "gb170", "170" → "GB0170"; anything else as it is */
bool gg_is_rule(gg_str name);                    /* of prediction */
gg_ignore_list gg_ignores_of(const gg_tree *tree, gg_arena *arena); /* lives in the arena.  Any thread. */
/* `rule` of a prediction, or of the one that foresaw a break; empty: none. */
bool gg_is_ignored(const gg_ignore_list *list, gg_span span, gg_str id, gg_str rule);
/* What to insert at *at, in an existing list or as a comment of its own, so that `id` at `span` is ignored; empty when there is no place. */
gg_str gg_ignore_comment(const gg_tree *tree, gg_span span, gg_str id, gg_arena *arena, uint32_t *at);

/* ---- explanations (GCM) ------------------------------------------------------------------------------------------------ */
typedef struct gg_registry gg_registry; /* torch's graph_break_registry.json, read at run time */

int gg_registry_load(gg_registry **out, const char *path, gg_error *err) GG_MUST_USE;
/* The same from its bytes; `name` is what messages call it. */
int gg_registry_parse(gg_registry **out, gg_str bytes, const char *name, gg_error *err) GG_MUST_USE;
void gg_registry_free(gg_registry *registry);

typedef struct gg_registry_row {
    gg_str id, type, context, explanation;
    gg_str *hints;
    size_t hint_count;
} gg_registry_row;
bool gg_registry_find(const gg_registry *registry, gg_str id,
                      gg_registry_row *out); /* borrows; NULL registry is fine */

/* "unsupported_operation", "dynamic_control_flow" or "tensor_tracing_disruption" (GraphGlue's three). */
const char *gg_break_category(gg_str id, gg_str type);

/* One short line for a diagnostic: "print() cannot be traced: it splits the graph here (GB0059)". */
gg_str gg_explain_short(const gg_site *site, gg_arena *arena);
/* What Python does here, why Dynamo stops, what it costs in this program (graphs, loop, skipped frame), how to fix it, the
 * enclosing definition; Dynamo's own words last.  Markdown (folded words in a quote block) or plain text.  User code inside
 * is escaped. `tree` may be NULL. */
gg_str gg_explain_site(const gg_site *site, const gg_tree *tree, const gg_registry *registry, bool markdown,
                       gg_arena *arena);
/* "line 12, `print(x)`: runs on one way only": the first line of the code that stands there, cut after max bytes, and what is said of it. */
gg_str gg_explain_code(const gg_text *text, gg_span span, size_t max_bytes, gg_str words, bool markdown,
                       gg_arena *arena);
/* `graphglue-lsp explain GB0170`.  GG_ENOTFOUND for an id neither we nor the registry know. */
int gg_explain_id(gg_buf *out, gg_str id, const gg_registry *registry, bool markdown, gg_error *err) GG_MUST_USE;
/* "https://meta-pytorch.org/compile-graph-break-site/gb/gb0170.html" */
gg_str gg_explain_url(gg_str id, gg_arena *arena);

/* ---- worker frames (pure: bytes in, values out) ---------------------------------------------------------------------- */
#define GG_MAX_WORKER_FRAME_BYTES (64u * 1024 * 1024)

/* Takes one frame off the front of `in` (consumed).  1: *out is a new reference; 0: more bytes are needed; GG_EFRAME. */
int gg_worker_frame_next(gg_buf *in, json_t **out, gg_error *err) GG_MUST_USE;
int gg_worker_frame_write(gg_buf *out, const json_t *frame, gg_error *err) GG_MUST_USE;

typedef struct gg_overlay_file {
    gg_str file, text;
} gg_overlay_file;

typedef struct gg_capture_request {
    json_int_t id;
    gg_str file;
    const gg_overlay_file *overlay;
    size_t overlay_count;
    const gg_str *entries;
    size_t entry_count; /* 0: all */
    const gg_str *packages;
    size_t package_count; /* folders and files that count as the workspace's */
    bool train;
    uint32_t deadline_ms;
} gg_capture_request;
json_t *gg_capture_request_encode(const gg_capture_request *request); /* new reference */
/* The same, asking for code that gives the file's example inputs; `entries` and `train` are not read. */
json_t *gg_write_inputs_request_encode(const gg_capture_request *request); /* new reference */

json_t *gg_graphs_request_encode(const gg_capture_request *request); /* new reference */

/* ---- graphs (graphs.c, graphs_svg.c): what an entry is captured as, to be looked at ---------------------------------------------- */
typedef struct gg_graph {
    uint32_t ops, inputs;
    gg_str code;   /* FX code, as print_readable gives it; cut where it is long */
    int32_t ended; /* index of the break that ended it; -1: none did */
} gg_graph;

typedef struct gg_graph_break {
    gg_str id, summary, file; /* of its site: one line in our words; absolute path */
    gg_position start;        /* UTF-16 */
    uint32_t before;          /* how many graphs there were when Dynamo met it */
} gg_graph_break;

typedef struct gg_graphs {
    gg_str name, message; /* of the entry; message: what went wrong, or is to be known */
    gg_graph *graphs;
    size_t graph_count;
    gg_graph_break *breaks;
    size_t break_count;
} gg_graphs;

/* The `graphs` value of a worker's frame.  Copied into the arena.  Files of breaks are read through `sources`. */
int gg_graphs_decode(gg_graphs *out, const json_t *json, gg_sources *sources, const struct gg_registry *registry,
                     gg_arena *arena, gg_error *err) GG_MUST_USE;
gg_str gg_graphs_summary(const gg_graphs *graphs, gg_arena *arena); /* "Net: 3 graphs, 2 breaks" */
/* A section for each graph, and between them each break with its reason and a link to its place. */
void gg_graphs_markdown(const gg_graphs *graphs, gg_buf *out);
/* A picture of where the graph splits; self-contained, and text in it is escaped. */
void gg_graphs_svg(const gg_graphs *graphs, gg_buf *out);

typedef struct gg_verify_request {
    json_int_t id;
    gg_str file;
    const gg_overlay_file *original;
    size_t original_count;
    const gg_overlay_file *edited;
    size_t edited_count;
    const gg_str *entries;
    size_t entry_count;
    const gg_str *packages;
    size_t package_count; /* as for a capture */
    const char *safety;   /* "exact", … */
    const gg_str *also;
    size_t also_count; /* classes of edits that were accepted before: what they waive is waived too */
    bool copies;       /* a result may be a new tensor where the original gives back one that others hold */
    bool sandbox;      /* the edited code is not the user's: it is confined, and judged harder */
    bool train;
    const gg_str *more_inputs;
    size_t
        more_input_count; /* expressions of a model's: only they and the given inputs are run, of an edit that was accepted; 0: all as always */
    uint32_t deadline_ms;
} gg_verify_request;
json_t *gg_verify_request_encode(const gg_verify_request *request); /* new reference */
/* The same two texts, to be timed; `safety` is not read. */
json_t *gg_bench_request_encode(const gg_verify_request *request); /* new reference */
/* Where installed packages lie, by the names in `packages`; `overlay`, `entries` and `train` are not read. */
json_t *gg_packages_request_encode(const gg_capture_request *request); /* new reference */

#endif
