/* The standard streams and descriptors of a rank. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank;
  char line[64] = "", name[64], path[64];
  struct stat status;
  struct utsname system;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("printf %d\n", rank);
  fputs("to stderr\n", stderr);
  (void)!write(1, "write\n", 6);
  struct iovec parts[2] = {{"writ", 4}, {"ev\n", 3}};
  (void)!writev(STDOUT_FILENO, parts, 2);
  fstat(1, &status);
  gethostname(name, sizeof name);
  uname(&system);
  printf("%d %d %d | tty %d fifo %d seek %ld | %s %s pid %d\n", fileno(stdin), fileno(stdout),
         fileno(stderr), isatty(1), S_ISFIFO(status.st_mode), (long)lseek(1, 0, SEEK_END), name,
         system.nodename, (int)getpid());
  MPI_Barrier(MPI_COMM_WORLD);
  if (fgets(line, sizeof line, stdin) == NULL) strcpy(line, "end of file\n");
  printf("read %s", line);
  int number = -1;
  int scanned = scanf("%d", &number);
  printf("scanned %d %d\n", scanned, number);
  perror("perror");
  if (argc > 1) {
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    if (freopen(path, "w", stdout) == NULL) return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    printf("into the file %d\n", rank);
  }
  MPI_Finalize();
  return 0;
}
