/* Files by stream: modes, positions, buffers, what is written at exit. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[64], kept[64], line[256], buffer[100];
  snprintf(name, sizeof name, "stream-%d", rank);
  snprintf(kept, sizeof kept, "kept-%d", rank);
  char said[512];
/* A line is one write, or lines of two ranks mix under mpiexec. */
#define SAY(...) (snprintf(said, sizeof said, __VA_ARGS__), dprintf(1, "rank %d: %s\n", rank, said))
  FILE* file = fopen("missing", "r");
  SAY("missing %d errno %d", file != NULL, errno);
  file = fopen(name, "w");
  for (int i = 0; i < 1000; ++i) fprintf(file, "line %d of rank %d\n", i, rank);
  SAY("ftell %ld", ftell(file));
  SAY("reading it %d", fgetc(file));
  SAY("fclose %d", fclose(file));
  file = fopen(name, "r+");
  int number = -1, who = -1;
  const int found = fscanf(file, "line %d of rank %d\n", &number, &who);
  SAY("fscanf %d: %d %d", found, number, who);
  SAY("fgets %s", strtok(fgets(line, sizeof line, file), "\n"));
  SAY("fseek %d", fseek(file, -20, SEEK_END));
  SAY("ftell %ld", ftell(file));
  SAY("fread %zu", fread(buffer, 1, sizeof buffer, file));
  SAY("feof %d", feof(file) != 0);
  rewind(file);
  SAY("fwrite %zu", fwrite("LINE", 1, 4, file));
  SAY("fflush %d", fflush(file));
  struct stat status;
  SAY("fileno %d", fstat(fileno(file), &status));
  SAY("size %ld", (long)status.st_size);
  SAY("fputs %d", fputs(" second", file) >= 0);
  fclose(file);
  file = fopen(name, "a+");
  SAY("append at %ld", ftell(file));
  fputs("the end\n", file);
  SAY("then at %ld", ftell(file));
  rewind(file);
  SAY("first %s", strtok(fgets(line, sizeof line, file), "\n"));
  fclose(file);
  file = fopen(name, "wx");
  SAY("exclusive %d errno %d", file != NULL, errno);
  const int fd = open(name, O_RDWR);
  file = fdopen(fd, "r");
  char* text = NULL;
  size_t capacity = 0;
  SAY("getline %zd", getline(&text, &capacity, file));
  SAY("text %s", strtok(text, "\n"));
  SAY("ungetc %c", ungetc('Q', file));
  SAY("fgetc %c", fgetc(file));
  fclose(file);
  SAY("closed with it %ld", (long)lseek(fd, 0, SEEK_CUR));
  file = tmpfile();
  fputs("temporary", file);
  rewind(file);
  SAY("tmpfile %s", fgets(line, sizeof line, file));
  fclose(file);
  char big[50000];
  memset(big, 'b', sizeof big);
  file = fopen(name, "w");
  setvbuf(file, NULL, _IOFBF, 1 << 16);
  SAY("big %zu", fwrite(big, 1, sizeof big, file));
  file = freopen(kept, "w", file);
  fprintf(file, "not closed by rank %d\n", rank);
  stat(name, &status);
  SAY("reopened %ld", (long)status.st_size);
  MPI_Finalize();
  return 0; /* what is in the buffer is written now */
}
