/* links: gg_protocol */
/* Envelopes and the codec: whatever JSON arrives is decoded or refused with words; what was decoded can be encoded. */
#include "protocol/gg_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const gg_type *const types[] = {&gg_type_initialize_params,  &gg_type_did_change_text_document_params,
                                           &gg_type_code_action_params, &gg_type_code_action,
                                           &gg_type_hover_params,       &gg_type_execute_command_params,
                                           &gg_type_cancel_params,      &gg_type_did_change_workspace_folders_params};
    gg_message message;
    gg_error err = {0};
    int error = gg_message_parse(&message, (gg_str){(const char *)data, size}, &err);
    if (error && err.message[0] == '\0') __builtin_trap();
    for (size_t i = 0; error == 0 && message.params && i < GG_COUNT(types); i++) {
        gg_arena *arena = gg_arena_new();
        void *value = gg_arena_alloc(arena, gg_type_size(types[i]));
        if (gg_decode(types[i], message.params, "params", value, arena, &err) == 0) {
            json_t *again = gg_encode(types[i], value);
            if (again == NULL) __builtin_trap();
            json_decref(again);
        }
        gg_arena_free(arena);
    }
    gg_message_clear(&message);
    return 0;
}
