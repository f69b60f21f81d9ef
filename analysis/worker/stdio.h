/* The protocol on stdin and stdout, for a worker behind a launcher (ssh, srun, docker exec), which passes no other descriptors on. */
#ifndef GG_STDIO_H
#define GG_STDIO_H

/* Moves the protocol to two descriptors of its own and reads the options from the first frame: words, each ended by a NUL, so that no shell on
 * the way can change them.  0 becomes /dev/null and 1 becomes 2, before anything is printed.  *argv (argv[0] is NULL) is never freed.
 * 0, or -1 with plain words in `why`; then too `out_fd` is where a frame can be sent. */
int gg_stdio_begin(int *in_fd, int *out_fd, int *argc, char ***argv, char *why, unsigned long why_size);

#endif
