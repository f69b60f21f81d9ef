/* Errors: a function that can fail returns 0 or a negative GG_E…; the words go into the caller's gg_error.
 * One table gives the enum, the default text and the JSON-RPC code (after libuv's UV_ERRNO_MAP). */
#ifndef GG_ERROR_H
#define GG_ERROR_H

#include "base/mem.h"

#define GG_ERROR_MAP(X)                                      \
    /* name, JSON-RPC code, text */                          \
    X(GG_EPARSE, -32700, "the message is not valid JSON")    \
    X(GG_EREQUEST, -32600, "invalid request")                \
    X(GG_EMETHOD, -32601, "method not found")                \
    X(GG_EPARAMS, -32602, "invalid params")                  \
    X(GG_EINTERNAL, -32603, "internal error")                \
    X(GG_ENOTREADY, -32002, "the server is not initialized") \
    X(GG_EFAILED, -32803, "request failed")                  \
    X(GG_ESERVERCANCELED, -32802, "canceled by the server")  \
    X(GG_ESTALE, -32801, "content modified")                 \
    X(GG_ECANCELED, -32800, "canceled")                      \
    X(GG_ETOOBIG, -32803, "over the size limit")             \
    X(GG_EIO, -32803, "input/output error")                  \
    X(GG_ENOTFOUND, -32803, "not found")                     \
    X(GG_EFRAME, -32700, "malformed frame")                  \
    X(GG_ESYNTAX, -32803, "syntax error")                    \
    X(GG_ETIMEOUT, -32803, "timed out")                      \
    X(GG_EWORKER, -32803, "the worker failed")               \
    X(GG_ENOMATCH, -32803, "does not apply here")

enum gg__error_ordinal {
#define GG__ORDINAL(name, rpc, text) GG__ORDINAL_##name,
    GG_ERROR_MAP(GG__ORDINAL)
#undef GG__ORDINAL
};
enum gg_error_code {
    GG_OK = 0,
#define GG__CODE(name, rpc, text) name = -1 - (int)GG__ORDINAL_##name,
    GG_ERROR_MAP(GG__CODE)
#undef GG__CODE
};

typedef struct gg_error {
    int code; /* 0 or a negative GG_E… */
    char message[1024];
} gg_error;

/* Fills err (NULL is fine) and returns code, so that `return gg_fail(err, GG_EIO, "…");` works.  Long text is cut at a
 * UTF-8 boundary. */
int gg_fail(gg_error *err, int code, const char *format, ...) GG_PRINTF(3, 4);
const char *gg_error_text(int code); /* static */
int gg_error_rpc_code(int code);     /* the JSON-RPC code; -32603 for an unknown one */

/* "Cannot happen" from outside data: asserts in debug, still degrades safely in release (SQLite's NEVER). */
#ifdef NDEBUG
#define GG_NEVER(condition) (condition)
#else
#include <assert.h>
#define GG_NEVER(condition) ((condition) ? (assert(!#condition), 1) : 0)
#endif

#endif
