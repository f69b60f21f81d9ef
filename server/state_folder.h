/* .graphglue/ of a project: what is kept for later.  Blocking file I/O; any thread, no state. */
#ifndef GG_STATE_FOLDER_H
#define GG_STATE_FOLDER_H

#include <stdbool.h>

/* Writes the .gitignore that keeps `folder`, a .graphglue/, out of version control, if there is none.  false: it cannot. */
bool gg_state_folder_ignore(const char *folder);
/* Makes <root>/.graphglue/<below> and what is above it; `below` may be "".  false: it cannot. */
bool gg_state_folder_make(const char *root, const char *below);

#endif
