/* A folder with no source yet. */
typedef int gg_empty;
