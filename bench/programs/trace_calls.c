/* Runs calls of one kind in batches, on request: reads lines "CALL COUNT" and answers each with
 * the time of one call, in ns. `argv[1]` names a file to use, on a file system in memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int file;
static FILE* stream;
static const char* path;
static char block[4096];

static void do_pwrite(int i) { (void)!pwrite(file, block, sizeof block, (i & 255) * 4096l); }
static void do_pread(int i) { (void)!pread(file, block, sizeof block, (i & 255) * 4096l); }
static void do_write(int i) {
  (void)i;
  (void)!write(file, block, 8);
}
static void do_read(int i) {
  (void)i;
  (void)!read(file, block, 8);
}
static void do_lseek(int i) { lseek(file, i, SEEK_SET); }
static void do_stat(int i) {
  struct stat status;
  (void)i;
  stat(path, &status);
}
static void do_fprintf(int i) {
  fprintf(stream, "%08d the quick brown fox jumps over the lazy d\n", i & 0xffffff);
}
static void do_fputc(int i) { fputc(i & 127, stream); }
static void do_fwrite(int i) {
  (void)i;
  fwrite(block, 64, 1, stream);
}

static const struct {
  const char* name;
  void (*call)(int);
} calls[] = {{"pwrite", do_pwrite},   {"pread", do_pread}, {"write", do_write},
             {"read", do_read},       {"lseek", do_lseek}, {"stat", do_stat},
             {"fprintf", do_fprintf}, {"fputc", do_fputc}, {"fwrite", do_fwrite}};

static double ns_per_call(void (*call)(int), int count) {
  struct timespec begin, end;
  lseek(file, 0, SEEK_SET);
  rewind(stream);
  call(0);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < count; ++i) call(i);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
         count;
}

int main(int argc, char** argv) {
  char line[64], name[32], second[4096];
  int count;
  if (argc != 2) return 2;
  path = argv[1];
  file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  snprintf(second, sizeof second, "%s.stream", path);
  stream = fopen(second, "w");
  if (file < 0 || stream == NULL || ftruncate(file, 256 * 4096) != 0) return 1;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "%31s %d", name, &count) != 2) return 2;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
      if (strcmp(calls[i].name, name) == 0) printf("%.3f\n", ns_per_call(calls[i].call, count));
    }
    fflush(stdout);
  }
  return 0;
}
