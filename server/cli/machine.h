/* What this machine can bear: processors and memory.  What is Linux-only about that is in machine.c.  Any thread. */
#ifndef GG_CLI_MACHINE_H
#define GG_CLI_MACHINE_H

#include <stdint.h>

unsigned gg_machine_cores(void); /* that this process may use: affinity and the container's quota; at least 1 */
uint64_t gg_machine_free_bytes(
    void); /* memory that may be used without swapping, the container's ceiling heeded; 0: not known */
/* Workers for `files` files when nobody said how many: as many as there are processors and memory for, and none for a handful of files that
 * are done before it has imported torch. */
unsigned gg_machine_workers(unsigned cores, uint64_t free_bytes, uint64_t files);

#endif
