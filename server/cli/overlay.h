/* Patched copies of installed packages' files: what `fix --package` makes and `run` runs with (docs/overlay.md).  Private to server/cli/.
 * Loop thread only. */
#ifndef GG_OVERLAY_H
#define GG_OVERLAY_H

#include "server/cli/cli.h"

enum { GG_SHA256_TEXT = 65 };
void gg_sha256(char out[GG_SHA256_TEXT], gg_str bytes); /* in hex (sha256.c) */

typedef struct gg_cli_overlay gg_cli_overlay;

/* Asks the worker where the packages of --package lie.  GG_EPARAMS with words for one that cannot be mended. */
int gg_cli_overlay_new(gg_cli_overlay **out, gg_cli_run *run, const gg_cli_args *args, gg_error *err) GG_MUST_USE;
void gg_cli_overlay_free(gg_cli_overlay *overlay); /* NULL is fine */
/* The packages' folders, for the worker; borrowed. */
const gg_str *gg_cli_overlay_folders(const gg_cli_overlay *overlay, size_t *out_count);
/* Lets a session mend the packages' files too, beginning with what other files' sessions have mended in them: earlier ones of this run, and
 * those that are in the project's overlay already.  What this very file's session left there is made anew. */
void gg_cli_overlay_begin(gg_cli_overlay *overlay, gg_fix *fix, const gg_cli_file *file);
/* Takes up what a session has mended.  `repairs`: its repairs as JSON.  Returns the contract's `overlay` of it (new reference). */
json_t *gg_cli_overlay_take(gg_cli_overlay *overlay, const gg_fix *fix, const gg_cli_file *file, const json_t *repairs);
/* Writes what was taken up for the file: patched copies, their diffs, a manifest for each package. */
int gg_cli_overlay_write(gg_cli_overlay *overlay, const gg_cli_file *file, gg_error *err) GG_MUST_USE;
/* Which folders were written, and how to run with them, on stdout. */
void gg_cli_overlay_summary(const gg_cli_overlay *overlay);

/* ---- bench.c ---- */
/* Times a session's entries: an array of the contract's `bench` (new reference); *failure (the caller frees) where the worker could not. */
json_t *gg_cli_bench(gg_cli_run *run, const gg_fix *fix, const gg_cli_file *file, const gg_cli_args *args,
                     const gg_cli_overlay *packages, char **failure);
void gg_cli_print_bench(const json_t *bench); /* on stdout */

/* ---- folders.c ---- */
/* <project>/.graphglue/<name>: of the project that an absolute path lies in, else of the current folder.  Nothing is made. */
int gg_cli_state_path(char *out, size_t size, const char *file, const char *name, gg_error *err) GG_MUST_USE;
/* Makes a folder (absolute) and what is above it; a .graphglue/ on the way keeps itself out of version control. */
int gg_cli_make_folder(const char *path, gg_error *err) GG_MUST_USE;
/* Gives a file of the user's another text: in one step where it has one name and stays its owner's.  Refuses one that may not be written. */
int gg_cli_rewrite_file(const char *path, gg_str bytes, gg_error *err) GG_MUST_USE;
/* Replaces a file, or makes it, in one step. */
int gg_cli_write_file(const char *path, gg_str bytes, unsigned mode, gg_error *err) GG_MUST_USE;

/* ---- launch.c ---- */
void gg_cli_path_first(const char *variable, const char *folder); /* of the environment, as PYTHONPATH */
/* Runs a program (NULL-ended) to its end, with the terminal; its exit status as a shell gives it. */
int gg_cli_launch(const char *command, char *const *program);

#endif
