/* other_names.c DIRECTORY: works in a directory of a file system, and uses names relative to it, of
   files there and of files of the host's DIRECTORY, which has a file "text" that begins with t. */
#define _GNU_SOURCE
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int seen;
static int see(const char* path, const struct stat* status, int kind) {
  (void)path, (void)status;
  seen += kind == FTW_F;
  return 0;
}
static int see_new(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)where;
  return see(path, status, kind);
}
static int is_text(const struct dirent* entry) { return strcmp(entry->d_name, "text") == 0; }

static void list(const char* what, const char* path, int directory) {
  struct dirent** names = NULL;
  printf("%s: scandir %d", what, scandir(path, &names, is_text, alphasort));
  printf(" scandirat %d", scandirat(directory, path, &names, is_text, alphasort));
  seen = 0;
  printf(" ftw %d", ftw(path, see, 4));
  printf(" nftw %d", nftw(path, see_new, 4, FTW_PHYS));
  printf(" seen %d\n", seen);
}

static void read_list(const char* path) {
  struct dirent entry, *next = NULL;
  int count = 0;
  DIR* stream = opendir(path);
  while (readdir_r(stream, &entry, &next) == 0 && next != NULL) count += is_text(&entry);
  printf("readdir_r: %d %d\n", count, next == NULL);
  closedir(stream);
}

static long time_of(const char* path) {
  struct stat status = {0};
  lstat(path, &status);
  return status.st_mtime;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  mkdir("/pfs/work", 0777);
  if (chdir("/pfs/work") != 0) return 1;
  char host[4096];
  snprintf(host, sizeof host, "../..%s", argv[1]);
  const int directory = open(".", O_RDONLY);
  fclose(fopen("text", "w"));
  list("here", ".", directory);
  list("host", host, directory);
  read_list(".");
  const struct timeval times[2] = {{1000, 0}, {2000, 0}};
  if (symlink("text", "link") != 0) return 1;
  int status = lutimes("link", times);
  printf("lutimes: %d %ld %d\n", status, time_of("link"), time_of("text") != 2000);
  status = futimesat(directory, "text", times);
  printf("futimesat: %d %ld\n", status, time_of("text"));
  strcat(host, "/text");
  FILE* stream = freopen(host, "r", stdin);
  printf("freopen: %c\n", stream == NULL ? '-' : getc(stream));
  MPI_Finalize();
  return 0;
}
