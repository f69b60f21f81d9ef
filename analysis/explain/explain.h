/* What the files of analysis/explain/ share.
 *
 * A text is texts/<id>.md, embedded by cmake/embed.cmake: a title line "# GB0170: …" and sections
 *
 *   ## Short                     one clause for a diagnostic
 *   ## What happens              what Python does here
 *   ## Why it breaks
 *   ## How to fix
 *   ## Before / ## After         whole programs in a ```python fence; a test runs them under Dynamo
 *
 * A section may come in variants, "## How to fix: warnings.*, warn": the first one with a pattern that fits a name of the
 * code at hand wins, else the plain one.  `{code|this call}` in a text is replaced by the code at hand, or by what follows the
 * bar when there is none; {value|a tensor} by what the capture saw there. */
#ifndef GG_EXPLAIN_PRIVATE_H
#define GG_EXPLAIN_PRIVATE_H

#include "analysis/gg_analysis.h"

typedef struct gg__explain_file { /* generated: sorted by id */
    const char *id;
    const unsigned char *bytes;
    size_t len;
} gg__explain_file;
extern const gg__explain_file gg__explain_files[];
extern const size_t gg__explain_file_count;

/* What stands at a site, as far as the tree and the record tell. */
typedef struct gg__subject {
    gg_str code;     /* "if h.sum() > 0", "print(h)"; empty when unknown */
    gg_str value;    /* "a `torch.float32` tensor of shape `[4, 4]`"; empty when unknown */
    gg_str names[4]; /* what variants are chosen by: the construct, the callee as written, the one Dynamo names */
    size_t name_count;
    const char *verb;     /* for texts made up from the registry: "Python calls" */
    bool in_loop, in_try; /* in the function that the site lies in */
} gg__subject;

gg__subject gg__subject_of(const gg_site *site, const gg_tree *tree, gg_arena *arena);

/* ---- texts.c ---- */
gg_str gg__text_find(gg_str id);    /* the whole file, empty when there is none */
gg_str gg__text_title(gg_str file); /* "Data-dependent branching" */
/* The section, trimmed; subject NULL gives the plain one. */
gg_str gg__text_section(gg_str file, const char *title, const gg__subject *subject);
/* Iterates over the variants of a section; start with *at = 0.  False at the end. */
bool gg__text_next_variant(gg_str file, const char *title, size_t *at, gg_str *patterns, gg_str *body);
bool gg__glob_matches(gg_str pattern, gg_str name); /* '*' stands for any bytes */

/* ---- markup.c: everything that came from outside is escaped here ---- */
typedef struct gg__writer {
    gg_buf buf;
    bool markdown;
} gg__writer;

void gg__put(gg__writer *w, const char *z); /* our own words, as they are */
/* A code span: one line, white space collapsed, cut after max bytes. */
void gg__put_code(gg__writer *w, gg_str code, size_t max_bytes);
/* Words from torch or a record, which may hold user code: escaped, but for balanced `code`. */
void gg__put_words(gg__writer *w, gg_str words);
/* Our text with its places filled in; lines are joined to paragraphs. */
void gg__put_template(gg__writer *w, gg_str text, const gg__subject *subject, size_t max_code_bytes);
/* A quote block. */
void gg__put_quote(gg__writer *w, const char *head, gg_str text);
/* A block of code; `fenced` is the section with its fence. */
void gg__put_block(gg__writer *w, gg_str fenced);
/* Python that came from outside, between fences that nothing in it can close. */
void gg__put_program(gg__writer *w, gg_str code);

/* ---- compose.c: ids without a text of ours ---- */
void gg__put_sentence(gg__writer *w, gg_str words); /* gg__put_words and a full stop */
/* The hints in our words, one sentence after the other, and `otherwise` when none says what to write. */
void gg__put_hints(gg__writer *w, const gg_str *hints, size_t count, const char *otherwise);
const char *gg__generic_fix(const char *category);
gg_str gg__without_places(gg_str words, gg_arena *arena); /* the registry's "{name}" → "…" */

#endif
