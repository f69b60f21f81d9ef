/* A trajectory as Markdown: "Show repair log".  Any thread. */
#include "repair/llm/exchange.h"

/* In a fence longer than any run of backticks inside. */
void gg__fenced(gg_buf *out, gg_str text) {
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i <= longest; i++) gg_buf_append_char(out, '`');
        if (side == 0) {
            gg_buf_append_z(out, "text\n");
            gg_buf_append(out, text);
            if (!gg_str_ends_with(text, GG_STR("\n"))) gg_buf_append_char(out, '\n');
        }
    }
    gg_buf_append_z(out, "\n\n");
}

void gg__append_usage(gg_buf *out, const gg_llm_usage *usage) {
    gg_buf_printf(out, "%llu tokens sent, %llu received", (unsigned long long)usage->input_tokens,
                  (unsigned long long)usage->output_tokens);
    if (usage->cost > 0) gg_buf_printf(out, ", cost %.4f", usage->cost);
    gg_buf_append_z(out, ".\n\n");
}

void gg_srs_log(const gg_srs *srs, gg_buf *out) {
    size_t count;
    const gg_srs_round *rounds = gg_srs_rounds(srs, &count);
    for (size_t i = 0; i < count; i++) {
        const gg_srs_round *r = &rounds[i];
        gg_buf_printf(out, "### Round %zu: %s\n\n", i,
                      i == 0     ? "first attempt"
                      : r->fresh ? "from the original code again"
                                 : "with the verdict on the one before");
        gg__append_usage(out, &r->usage);
        gg_buf_append_z(out, "Asked:\n\n");
        gg__fenced(out, r->asked);
        gg_buf_append_z(out, "Answered:\n\n");
        gg__fenced(out, r->answered);
        if (r->cheat.len) gg_buf_printf(out, "Refused for `%.*s`.\n\n", GG_STR_ARG(r->cheat));
        if (r->wider.len)
            gg_buf_printf(out, "Proved, and then tried on more inputs: of these, %.*s", GG_STR_ARG(r->wider));
        gg_buf_append_z(out, "Came to:\n\n");
        gg__fenced(out, r->outcome);
    }
}
