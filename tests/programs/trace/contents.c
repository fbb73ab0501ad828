/* What records say: about descriptors that were there before, single characters, mapped files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64

static char block[PAGES * 4096];

static int data_file(const char* name) {
  int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  return write(file, block, sizeof block) == sizeof block ? file : -1;
}

static int characters(void) {
  FILE* out = fopen("characters", "w");
  for (int i = 0; i < 10000; ++i) fputc('a' + i % 26, out);
  fclose(out);
  FILE* in = fopen("characters", "r");
  while (fgetc(in) != EOF) {
  }
  fclose(in);
  return 0;
}

/* Lines with zeros in them, and longer than a buffer. */
static int lines(void) {
  static char line[20000];
  FILE* out = fopen("lines", "w");
  for (int i = 0; i < 500; ++i) fwrite("ab\0cd\n", 6, 1, out);
  for (int i = 0; i < 9000; ++i) fputs("x", out);
  fputs("\n12 34 56\n", out);
  fclose(out);
  FILE* in = fopen("lines", "r");
  for (int i = 0; i < 500; ++i) fgets(line, 100, in);
  fgets(line, sizeof line, in);
  int a, b, c;
  int found = fscanf(in, "%d %d %d", &a, &b, &c);
  fclose(in);
  return found == 3 ? 0 : 1;
}

/* A descriptor that the tracer has not seen open, then another with its number. */
static int unseen(void) {
  int pair[2];
  data_file("unseen");
  struct open_how how = {.flags = O_RDWR | O_APPEND};
  int file = (int)syscall(SYS_openat2, AT_FDCWD, "unseen", &how, sizeof how);
  lseek(file, 100, SEEK_SET);
  if (read(file, block, 50) != 50) return 1;
  close(file);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || pair[0] != file) return 2;
  return write(pair[0], "x", 1) == 1 ? 0 : 3;
}

static char* map(int file, int protection, int flags) {
  return mmap(NULL, sizeof block, protection, flags, file, 0);
}

/* Written are the pages 3, 4 and 9 of a private mapping; 9 is unmapped for itself. */
static int private_pages(void) {
  int file = data_file("private");
  char* memory = map(file, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  close(file);
  memory[3 * 4096] = memory[4 * 4096] = memory[9 * 4096] = 1;
  block[0] = memory[20 * 4096];
  munmap(memory + 9 * 4096, 4096);
  return 0; /* the rest is still mapped */
}

/* A child reads page 7 of what its parent has mapped, and does nothing else. */
static int inherited_pages(void) {
  int status, file = data_file("inherited");
  char* memory = map(file, PROT_READ, MAP_SHARED);
  block[0] = memory[2 * 4096];
  if (fork() == 0) {
    block[0] = memory[7 * 4096];
    _exit(0);
  }
  wait(&status);
  munmap(memory, sizeof block);
  return 0;
}

/* A mapping over another, and one that moves. */
static int moved_pages(void) {
  int file = data_file("moved");
  char* memory = map(file, PROT_READ | PROT_WRITE, MAP_SHARED);
  memory[5 * 4096] = 1;
  mmap(memory + 5 * 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memory[1 * 4096] = 1;
  char* reserved = mmap(NULL, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* now = mremap(memory, 4 * 4096, 4 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, reserved);
  return now == reserved && now[1 * 4096] == 1 ? 0 : 1;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } programs[] = {{"characters", characters},
                  {"lines", lines},
                  {"unseen", unseen},
                  {"private_pages", private_pages},
                  {"inherited_pages", inherited_pages},
                  {"moved_pages", moved_pages}};
  for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(argv[1], programs[i].name) == 0) return programs[i].run();
  }
  return 2;
}
