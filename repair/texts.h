/* Values that a program asks for to tell them, and the formats of texts.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_TEXTS_H
#define GG_REPAIR_TEXTS_H

#include "repair/syntax.h"

/* ---- what only looks (looks.c) ---------------------------------------------------------------------------------------- */
/* A call of a function that asks for the state of the machine, of torch or of logging, and changes nothing: os.getpid(), logging.getLogger("a"). */
bool gg__only_looks(const gg_tree *tree, TSNode call);
bool gg__looks_without_fail(const gg_tree *tree, TSNode call);  /* … and its arguments are such as it always takes */
bool gg__looks_at_a_number(const gg_tree *tree, TSNode call);   /* … and it gives a number */
bool gg__clock_counts(const gg_tree *tree, TSNode call);        /* a clock that gives a number, and no date */
bool gg__is_thread_name(const gg_tree *tree, TSNode attribute); /* threading.current_thread().name */

/* ---- what computes nothing (idle.c) ------------------------------------------------------------------------------------ */
/* time.sleep(0.5), gc.collect(): it cannot fail, and nothing of the file depends on the time that passes or on what is freed. */
bool gg__is_idle(const gg_tree *tree, TSNode call);

/* ---- constants (constants.c) ------------------------------------------------------------------------------------------- */
/* Has the call, `statistics.mean([1, 2])` or `hashlib.sha256(b"a").hexdigest()`, the same value each time, a number, text or bytes, and cannot fail?
 * Or a list of numbers that torch.tensor copies, around it. A word for the value; `out`: the function's own call in it.  NULL when it is none. */
const char *gg__constant_call(const gg_tree *tree, TSNode call, TSNode *out);

/* ---- integers of a tensor (written.c) ------------------------------------------------------------------------------------- */
/* Are integers read at the break that stand in the tensor right there?  `torch.tensor([1, 3]).tolist()`, `int(torch.tensor(3))`, `x[: torch.tensor(3)]`,
 * `torch.tensor_split(x, torch.tensor([1, 2]))`.  `out_read`: what they can stand for; `out_content`: the list or the integer. */
bool gg__written_integers(const gg_rule_input *in, TSNode *out_read, TSNode *out_content);
gg_str gg__written_text(const gg_rule_input *in, TSNode read, TSNode content, gg_arena *arena); /* for its place */

/* ---- formats (texts.c) ---------------------------------------------------------------------------------------------------- */
typedef enum gg__conversion { GG__ANYTHING, GG__WHOLE, GG__REAL } gg__conversion;
enum { GG__MAX_CONVERSIONS = 16 };

/* What stands between the quotes of a string without interpolation; false when it is another one, or has escapes. */
bool gg__between_quotes(const gg_tree *tree, TSNode string, gg_str *out);
bool gg__is_bytes(const gg_tree *tree, TSNode string);
/* What the places of `"%s of %d"` and `"{} {:.3f}"` take; how many there are, -1 when there are too many or others. */
int32_t gg__percent_conversions(const gg_tree *tree, TSNode string, gg__conversion *out);
int32_t gg__format_conversions(const gg_tree *tree, TSNode string, gg__conversion *out);
bool gg__is_plain_date(const gg_tree *tree, TSNode string); /* a format that strftime knows everywhere */

#endif
