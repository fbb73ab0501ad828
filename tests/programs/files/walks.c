/* Walks through a tree by ftw() and nftw(): each rank says what it saw of its own, "walks-RANK".
   Names in a directory have no order, so each is a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank;
static const char* walk;

static int see(const char* path, const struct stat* status, int kind, struct FTW* where) {
  const int is_there = access(path + where->base, F_OK) == 0;
  printf("rank %d: %s %s kind %d level %d name %s size %ld here %d\n", rank, walk, path, kind,
         where->level, path + where->base, kind == FTW_F ? (long)status->st_size : 0L, is_there);
  return 0;
}

static int see_old(const char* path, const struct stat* status, int kind) {
  (void)status;
  printf("rank %d: ftw %s kind %d\n", rank, path, kind);
  return 0;
}

static int stop(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)path, (void)status, (void)kind;
  return where->level == 2 ? 7 : 0;
}

static int skip(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)status;
  printf("rank %d: skipping %s kind %d\n", rank, path, kind);
  return kind == FTW_D && where->level == 1 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

static void make(const char* path, int bytes) {
  const int fd = open(path, O_CREAT | O_WRONLY, 0666);
  if (ftruncate(fd, bytes) != 0) perror(path);
  close(fd);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char own[32];
  snprintf(own, sizeof own, "walks-%d", rank);
  mkdir(own, 0777);
  if (chdir(own) != 0) return 1;
  mkdir("a", 0777);
  mkdir("a/b", 0777);
  make("a/x", 5);
  make("a/b/y", 0);
  if (symlink("x", "a/link") != 0 || symlink("none", "a/broken") != 0) return 1;
  walk = "physical";
  printf("rank %d: %d\n", rank, nftw("a", see, 10, FTW_PHYS));
  walk = "depth";
  printf("rank %d: %d\n", rank, nftw("a/", see, 10, FTW_DEPTH | FTW_CHDIR));
  printf("rank %d: stopped by %d\n", rank, nftw("a", stop, 10, 0));
  printf("rank %d: %d\n", rank, nftw("a", skip, 10, FTW_ACTIONRETVAL | FTW_PHYS));
  printf("rank %d: %d\n", rank, ftw("a", see_old, 3));
  errno = 0;
  const int missing = nftw("none", see, 10, 0);
  printf("rank %d: missing %d errno %d\n", rank, missing, errno);
  char host[] = "/tmp/walks-XXXXXX";
  char inside[sizeof host + 4];
  if (mkdtemp(host) == NULL || symlink(host, "host") != 0) return 1;
  snprintf(inside, sizeof inside, "%s/in", host);
  make(inside, 3);
  walk = "through a link";
  printf("rank %d: %d\n", rank, nftw("host", see, 10, 0));
  remove(inside), remove(host), remove("host");
  const char* const gone[] = {"a/x", "a/b/y", "a/link", "a/broken", "a/b", "a"};
  for (int i = 0; i < 6; ++i) remove(gone[i]);
  if (chdir("..") != 0) return 1;
  rmdir(own);
  MPI_Finalize();
  return 0;
}
