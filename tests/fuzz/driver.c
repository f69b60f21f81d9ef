/* Replays a corpus through a fuzz target without libFuzzer: every file, and every file of every folder, named on the command line.
 * Fails when there is nothing to replay, so that a moved corpus is noticed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_INPUT_BYTES (16u * 1024 * 1024)

static size_t replayed;

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (file == NULL || fstat(fileno(file), &info) != 0 || info.st_size > (off_t)MAX_INPUT_BYTES) {
        perror(path);
        if (file != NULL) fclose(file);
        return 1;
    }
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1); /* its own block, so that a read past the end is seen */
    if (data == NULL || fread(data, 1, size, file) != size) {
        perror(path);
        free(data);
        fclose(file);
        return 1;
    }
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last one printed is the one that crashed */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
    return 0;
}

static int replay_folder(const char *path) {
    int failed = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) return replay_file(path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= (int)sizeof(name)) continue;
        failed |= replay_file(name);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed |= replay_folder(argv[i]);
    fprintf(stderr, "%zu inputs replayed\n", replayed);
    return failed || replayed == 0;
}
