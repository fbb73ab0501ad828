/* strtok, the environment, directories, masks, locales: each rank has its own. */
#include <locale.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

int main(int argc, char **argv) {
  int rank;
  char text[64], directory[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  snprintf(text, sizeof text, "a%d b%d c%d", rank, rank, rank);
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    printf("%s ", word);
    barrier();
  }
  snprintf(text, sizeof text, "value %d", rank);
  setenv("LOADER_TEST", text, 1);
  char entry[] = "LOADER_PUT=x";
  entry[11] = (char)('0' + rank);
  putenv(entry);
  if (rank == 1) unsetenv("HOME");
  barrier();
  printf("| %s %s %s", getenv("LOADER_TEST"), getenv("LOADER_PUT"), getenv("HOME") ? "home" : "-");
  getenv("PATH")[0] = (char)('A' + rank);
  barrier();
  printf(" %c", getenv("PATH")[0]);
  int found = 0;
  for (char **e = environ; *e != NULL; ++e) found += strncmp(*e, "LOADER_TEST=", 12) == 0;
  printf(" %d", found);

  if (rank == 1 && chdir("/usr/lib") != 0) return 1;
  if (rank == 2 && chdir("/etc") != 0) return 1;
  if (rank == 1) umask(077);
  barrier();
  printf(" | %s", rank == 0 ? "-" : getcwd(directory, sizeof directory));
  mode_t mask = umask(0);
  umask(mask);
  printf(" %03o", rank == 1 ? (int)mask : 0);

  time_t moment = 86400 * rank;
  struct tm *day = gmtime(&moment);
  barrier();
  printf(" | day %d", day->tm_mday);
  printf(" %s", setlocale(LC_ALL, NULL));
  if (rank == 1) setlocale(LC_ALL, "C.UTF-8");
  barrier();
  printf(" %s", setlocale(LC_CTYPE, NULL));
  static const int kinds[] = {LC_CTYPE,    LC_NUMERIC,  LC_TIME,  LC_COLLATE,
                              LC_MONETARY, LC_MESSAGES, LC_PAPER, LC_NAME};
  int names = 0;
  for (int each = 0; rank == 1 && each < 100; ++each) {
    for (int i = 0; i < 8; ++i) setlocale(kinds[i], each >> i & 1 ? "C.UTF-8" : "C");
    names += setlocale(LC_ALL, NULL) != NULL;
  }
  printf(" %d\n", names);
  MPI_Finalize();
  return 0;
}
