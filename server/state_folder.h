/* .graphglue/ of a project: what is kept for later.  Blocking file I/O; any thread, no state. */
#ifndef GG_STATE_FOLDER_H
#define GG_STATE_FOLDER_H

#include <sys/stat.h>

#include "base/gg_base.h"

/* Writes the .gitignore that keeps `folder`, a .graphglue/, out of version control, if there is none.  false: it cannot. */
bool gg_state_folder_ignore(const char *folder);
/* Makes <root>/.graphglue/<below> and what is above it; `below` may be "".  false: it cannot, and errno says why. */
bool gg_state_folder_make(const char *root, const char *below);
/* Writes a file in one step, so that nobody reads half of it: 0, or an errno value, and what was there stays.  `synced`: it returns when the disk
 * has it; what is only kept for later need not wait for that. */
int gg_state_file_replace(const char *path, gg_str bytes, unsigned mode, bool synced);
/* … synced, with the mode, owner and group of another; EPERM where it may not be given to them. */
int gg_state_file_replace_as(const char *path, gg_str bytes, const struct stat *like);
/* The same file, written anew: not in one step, but whoever else has a name of it sees it.  `*torn`: it failed in the middle. */
int gg_state_file_overwrite(const char *path, gg_str bytes, bool *torn);
/* Removes a quarter of the .json files of `folder`, those that changed least recently, once there are more than `max`. */
void gg_state_folder_trim(const char *folder, size_t max);
/* A record at `path`, which lies in <root>/.graphglue/<below>, beside at most `max` others.  One that cannot be kept is not there the next time, and
 * is logged. */
void gg_state_record_keep(const char *root, const char *below, const char *path, gg_str bytes, size_t max);

#endif
