/* What the subcommands share.  Private to server/cli/.  Loop thread only. */
#ifndef GG_CLI_H
#define GG_CLI_H

#include <uv.h>

#include "repair/gg_repair.h"
#include "server/gg_server.h"
#include "server/options.h"
#include "server/python.h"
#include "server/worker.h"

enum { GG_CLI_CLEAN = 0, GG_CLI_BREAKS = 1, GG_CLI_FAILED = 2 };

/* ---- arguments (args.c) ------------------------------------------------------------------------------------------------ */
typedef GG_LIST(char *) gg_cli_names;

typedef struct gg_cli_args {
    const char *command;
    gg_cli_names paths; /* strings borrow from argv or are owned by `owned` */
    json_t *given;      /* settings: what options said of them, as gg_settings_read reads it */
    struct gg_cli_settings *settings;
    gg_cli_names owned;
    const char *python, *stdin_filename;
    const char *out, *values; /* of record */
    gg_cli_names packages;    /* of fix: their files are mended too; borrowed from argv */
    const char *overlay;      /* of run */
    bool strict;              /* of run */
    const char *repair_log;   /* of fix */
    bool llm;                 /* of check and fix */
    bool show_prompt;         /* of fix */
    const char *entry;        /* of graph */
    bool svg;                 /* of graph */
    bool bench;               /* of fix: time what was mended */
    bool model;               /* of doctor */
    bool json, sarif, is_static, fresh, train, diff, apply, never_fail;
    unsigned jobs; /* 0: as many as the machine bears */
    gg_remote remote;
} gg_cli_args;

/* 0, or GG_EPARAMS with words for the user.  --help is answered by the caller: *help is set. */
int gg_cli_parse(gg_cli_args *out, int argc, char **argv, bool *help, gg_error *err) GG_MUST_USE;
void gg_cli_args_clear(gg_cli_args *args);
/* "124", "gb0124" → "GB0124"; false when no break is called so in any version of torch. */
bool gg_cli_normalize_id(char *out, size_t size, const char *given);
/* The usage text of a subcommand, on stdout; returns GG_CLI_CLEAN. */
int gg_cli_help(const char *command);
/* "graphglue-lsp check: words" on stderr; returns GG_CLI_FAILED. */
int gg_cli_usage_error(const char *command, const gg_error *err);

/* ---- settings (settings.c) ----------------------------------------------------------------------------------------------- */
typedef struct gg_cli_settings gg_cli_settings;
gg_cli_settings *gg_cli_settings_new(void);
void gg_cli_settings_free(gg_cli_settings *settings);
/* Of a file's folder, or a folder (absolute); borrowed from args.  What is wrong with a pyproject.toml is said on stderr, once. */
const gg_options *gg_cli_options_for(const gg_cli_args *args, const char *file);
const gg_options *gg_cli_options_at(const gg_cli_args *args, const char *folder);
void gg_cli_settle(gg_cli_args *args); /* the interpreter, where no option said one: the current folder's */
/* GG_LEVEL_OFF: it is not to be shown, mended or counted. */
gg_level gg_cli_level_of(const gg_options *options, const gg_site *site);
gg_safety gg_cli_max_safety(const gg_options *options); /* of `fix`: exact unless an option or a setting says more */
bool gg_cli_fails(gg_level level);                      /* does one of this level raise the exit code? */

/* ---- paths (paths.c) --------------------------------------------------------------------------------------------------- */
typedef struct gg_cli_path {
    char *given;    /* as the user wrote it, or folder + "/" + rest */
    char *absolute; /* resolved; equal to given when the file does not exist */
} gg_cli_path;
typedef GG_LIST(gg_cli_path) gg_cli_paths;

/* Python files of the given paths, in order, each once.  Folders are walked: what git ignores, hidden folders, virtual environments and caches are
 * skipped.  A path that does not exist stays in the list: reading it says so. */
void gg_cli_collect(gg_cli_paths *out, const gg_cli_args *args);
void gg_cli_paths_clear(gg_cli_paths *paths);
enum { GG_PATH_BYTES = 4096 };
/* The nearest folder above an absolute path that is a project: what is kept for later lies there.  False: there is none. */
bool gg_cli_project_of(const char *file, char root[GG_PATH_BYTES]);

/* ---- runs (run.c) ---------------------------------------------------------------------------------------------------------- */
typedef struct gg_cli_file {
    char *path, *absolute;
    const gg_options *options;
    char *error;           /* why the file could not be handled; NULL: it was */
    uint32_t line, column; /* where, 1-based, in UTF-16 units; 0: not known */
    bool timed_out;        /* the error is the deadline */
    gg_text *text;         /* NULL when it could not be read */
    json_t *entries;       /* array of the worker's `entry` values */
    bool taken, done;
} gg_cli_file;

typedef struct gg_cli_run gg_cli_run;

/* Chooses the interpreter; workers start with the first job. */
int gg_cli_run_new(gg_cli_run **out, const gg_cli_args *args, gg_error *err) GG_MUST_USE;
uv_loop_t *gg_cli_run_loop(gg_cli_run *run);
void gg_cli_run_free(gg_cli_run *run); /* ends the workers and closes the loop */
/* Captures every file that has a text; on_done is called in the files' order, as soon as that order allows. */
void gg_cli_capture_all(gg_cli_run *run, gg_cli_file *files, size_t count,
                        void (*on_done)(void *data, gg_cli_file *file), void *data);
/* One job, waited for.  Returns its `done` frame (new reference); *collected: array of the values of frames named `op`. */
json_t *gg_cli_job(gg_cli_run *run, json_t *request_take, const char *op, const char *key, json_t **collected);
const gg_worker_info *gg_cli_run_info(gg_cli_run *run); /* of a worker that has torch, if there is one */
void gg_cli_run_start(gg_cli_run *run); /* starts one worker and waits until it is ready, or has failed */
const gg_python_choice *gg_cli_run_python(const gg_cli_run *run);
const gg_registry *gg_cli_run_registry(gg_cli_run *run); /* NULL until a worker is ready, and without a run */
void gg_cli_progress(gg_cli_run *run, const char *format, ...)
    GG_PRINTF(2, 3); /* a line on a terminal's stderr; "" clears it */
/* Its names and settings; no text yet. */
void gg_cli_file_init(gg_cli_file *file, const gg_cli_args *args, const gg_cli_path *path);
void gg_cli_file_clear(gg_cli_file *file);
/* What a job's `done` frame says went wrong, in words; NULL when all went well.  The caller frees. */
char *gg_cli_failure(const json_t *done);
void gg_cli_locate(gg_cli_file *file, const json_t *done); /* sets line and column */

int gg_cli_read_stdin(gg_text **out, gg_error *err) GG_MUST_USE;

/* check --static (scan.c).  args: those of `check`, the name for standard input among its paths.  An exit code. */
int gg_cli_scan(gg_cli_args *args);

int gg_cli_doctor_model(const gg_cli_args *args); /* doctor --model (doctor_model.c); an exit code */
void gg_cli_line(const char *name, const char *format, ...) GG_PRINTF(2, 3); /* a line of a doctor's report */

/* ---- fix's JSON (fix_json.c) --------------------------------------------------------------------------------------------------- */
json_t *gg_cli_repairs_json(const gg_fix *fix); /* what was tried; NULL: nothing */
/* The contract's file; fix may be NULL. */
json_t *gg_cli_fix_json(gg_cli_run *run, const gg_fix *fix, const gg_cli_file *file, json_t *repairs_take,
                        json_t *overlay_take, json_t *bench_take, json_t *model_take);

/* ---- fix's report (fix_report.c) ------------------------------------------------------------------------------------------------ */
typedef struct gg_cli_fix_counts {
    size_t proved, refused;
    size_t own;       /* of the proved, those in the user's own file */
    size_t held_back; /* sites left that an edit over --max-safety may mend */
    gg_safety needed; /* the strongest safety that lets all of those be tried */
} gg_cli_fix_counts;

/* What was tried, the diff (unless applied), and what is left, as text on stdout.  Adds to *counts. */
void gg_cli_fix_report(const gg_fix *fix, const gg_cli_file *file, gg_cli_run *run, const gg_cli_args *args,
                       gg_cli_fix_counts *counts);
/* The session's texts, as they were or as they are now; the caller frees. */
gg_sources *gg_cli_fix_sources(const gg_fix *fix, bool before);
void gg_cli_fix_summary(const gg_cli_fix_counts *counts, const gg_cli_args *args);

/* ---- reports ------------------------------------------------------------------------------------------------------------------ */
json_t *gg_cli_range_json(gg_range range);
typedef struct gg_cli_explainer gg_cli_explainer; /* check_model.h */
/* The contract's entry, from a decoded one.  `explainer`: of check --llm; NULL: explanations are ours. */
json_t *gg_cli_entry_json(const gg_entry *entry, gg_sources *sources, const gg_registry *registry,
                          const gg_options *options, const gg_cli_explainer *explainer, gg_arena *arena);
json_t *gg_cli_finding_json(const gg_prediction *prediction, const gg_text *text);
json_t *gg_cli_head_json(gg_cli_run *run); /* version, torch, python, interpreter; run may be NULL */
void gg_cli_print_json(json_t *json_take);

/* SARIF (report_sarif.c): findings are added, then printed. */
typedef struct gg_cli_sarif gg_cli_sarif;
gg_cli_sarif *gg_cli_sarif_new(void);
void gg_cli_sarif_free(gg_cli_sarif *sarif); /* NULL is fine */
/* Explanations are of this torch from now on (borrowed); NULL changes nothing. */
void gg_cli_sarif_use(gg_cli_sarif *sarif, const gg_registry *registry);
/* What settings leave out is left out; what a comment ignores is there, suppressed. */
void gg_cli_sarif_site(gg_cli_sarif *sarif, const gg_options *options, const gg_site *site);
void gg_cli_sarif_prediction(gg_cli_sarif *sarif, const gg_cli_file *file, const gg_prediction *prediction,
                             bool ignored);
void gg_cli_sarif_problems(gg_cli_sarif *sarif, const gg_cli_file *file, const gg_entry *entries, size_t count);
void gg_cli_sarif_print(const gg_cli_sarif *sarif, int exit_code);

typedef struct gg_cli_style {
    const char *bold, *red, *yellow, *green, *blue, *dim, *reset;
} gg_cli_style;
const gg_cli_style *gg_cli_style_for(FILE *stream); /* colours for a terminal without NO_COLOR, else nothing */
/* A site as text: place, what it is, the source line with the range underlined, cost, help.  `tried`: the rules up to this safety were
 * tried at the site and refused, so they are no help; NULL when none was. */
void gg_cli_print_site(FILE *out, const gg_site *site, gg_sources *sources, const char *shown_path,
                       const gg_cli_args *args, const gg_safety *tried);
/* A prediction as text. */
void gg_cli_print_prediction(FILE *out, const gg_prediction *prediction, const gg_text *text, const char *shown_path);
/* The first rule that offers to mend the site and was not tried; NULL when there is none, or no tree. */
const gg_rule *gg_cli_offer(const gg_site *site, const gg_tree *tree, const gg_safety *tried);
const char *gg_cli_shown(const char *path);  /* a path as people read it: without a leading ./ */
void gg_cli_sort_sites(gg_site_list *sites); /* by file and place: people read from top to bottom */
/* "path: error: words" and an empty line. */
void gg_cli_print_problem(FILE *out, const gg_cli_file *file, const char *severity, const char *format, ...)
    GG_PRINTF(4, 5);
void gg_cli_print_error(FILE *out, const gg_cli_file *file); /* file->error */
json_t *gg_cli_error_json(const gg_cli_file *file); /* the same behind its path and place; null when there is none */
/* What an entry has to say besides its breaks; nothing when it has no message. */
void gg_cli_print_entry_problem(FILE *out, const gg_cli_file *file, const gg_entry *entry);
/* "; on cuda:0 …", what an entry took of its CUDA device; nothing where it ran on none. */
void gg_cli_print_cuda(FILE *out, const gg_cuda_use *cuda);
const char *gg_cli_status_words(gg_entry_status status); /* "captured whole", … */
/* A unified diff of two texts with three lines around; nothing when they are equal. */
void gg_cli_print_diff(FILE *out, const char *path, const gg_text *before, const gg_text *after);

#endif
