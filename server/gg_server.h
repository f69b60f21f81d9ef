/* server/ — the libuv loop: LSP over stdio, the command line, the worker's process.  main.c and tests use only this header.
 * Loop thread only, unless a function says otherwise. */
#ifndef GG_SERVER_H
#define GG_SERVER_H

#include "base/gg_base.h"

#define GG_VERSION "0.1.0"

typedef struct gg_server_settings {
    bool test;           /* answer gg/sync and gg/status; stall watchdog aborts nothing but reports */
    uint32_t parent_pid; /* exit when this process ends; 0: the parent at start */
} gg_server_settings;

/* Allocations of the libraries we use fail as ours do, in words.  Before anything else is done. */
void gg_memory_or_abort(void);

/* Speaks LSP on stdin/stdout until exit.  Returns the process's exit status (0 after shutdown + exit, else 1). */
int gg_server_run(const gg_server_settings *settings);

/* The command line, one function per subcommand (server/cli/<name>.c); argv[0] is the subcommand.  Return the exit status. */
int gg_cli_check(int argc, char **argv);
int gg_cli_fix(int argc, char **argv);
int gg_cli_graph(int argc, char **argv);
int gg_cli_explain(int argc, char **argv);
int gg_cli_doctor(int argc, char **argv);
int gg_cli_record(int argc, char **argv);
int gg_cli_run_command(int argc, char **argv);
/* Is what was typed this name with a mistake or two? */
bool gg_cli_is_near(const char *typed, const char *name);

#endif
