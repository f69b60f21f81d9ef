/* What a message is spoken by.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_SPEAKERS_H
#define GG_REPAIR_SPEAKERS_H

#include "repair/syntax.h"

/* `logging.getLogger(…)`, `get_logger(…)`, `logging.get_logger(…)`, with a get_logger from elsewhere */
bool gg__makes_logger(const gg_tree *tree, TSNode value);
/* A logger: the module logging, or what makes one bound to a name of the module or of the function, or by the methods of a class to an
 * attribute of `self`, and to nothing else. */
bool gg__is_logger(const gg_tree *tree, TSNode object);
/* … of the standard library, whose methods give None. */
bool gg__is_own_logger(const gg_tree *tree, TSNode object);

#endif
