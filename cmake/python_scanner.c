/* The Python grammar's scanner as it came, but that its memory is asked for where tree-sitter's is: its own never looks whether it got any. */
#define TREE_SITTER_REUSE_ALLOCATOR
#include <stdlib.h>

#include "tree_sitter/alloc.h"

#define calloc ts_calloc
#define free   ts_free
#include "scanner.c" /* NOLINT(bugprone-suspicious-include): that is the point */
