/* Folders that are installed with the programs. */
#ifndef GG_SUPPORT_H
#define GG_SUPPORT_H

/* The Python folder `name` ("graphglue_worker", "graphglue_record") beside graphglue-worker; NULL: not there.  The caller frees.  Any thread. */
char *gg_support_folder(const char *name);

#endif
