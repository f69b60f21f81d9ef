/* The error table's words and codes.  Any thread. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

int gg_fail(gg_error *err, int code, const char *format, ...) {
    if (err == NULL) return code;
    err->code = code;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    if (length < 0) err->message[0] = '\0';
    if (length >= (int)sizeof(err->message)) /* cut: do not leave half a code point */
        err->message[gg_utf8_valid_prefix(gg_str_from(err->message))] = '\0';
    return code;
}

const char *gg_error_text(int code) {
    switch (code) {
#define GG__CASE(name, rpc, text) \
    case name:                    \
        return text;
        GG_ERROR_MAP(GG__CASE)
#undef GG__CASE
    default:
        return code == 0 ? "no error" : "unknown error";
    }
}

int gg_error_rpc_code(int code) {
    switch (code) {
#define GG__CASE(name, rpc, text) \
    case name:                    \
        return rpc;
        GG_ERROR_MAP(GG__CASE)
#undef GG__CASE
    default:
        return -32603;
    }
}
