/* The Python files of a folder.  Private to server/.  Any thread; it reads folders and asks git, when there is one, what it ignores. */
#ifndef GG_FILES_H
#define GG_FILES_H

#include "server/options.h"

/* Is `path` (absolute; `shown`: below the folder as it was given), which lies in `folder`, to be passed over? */
typedef bool (*gg_files_excluded)(void *data, const char *folder, const char *path, const char *shown);

/* Adds them to *out, by name, each as folder + "/" + rest.  What git ignores, hidden folders, virtual environments and caches are passed over. */
void gg_files_below(gg_words *out, const char *folder, gg_files_excluded excluded, void *data);

#endif
