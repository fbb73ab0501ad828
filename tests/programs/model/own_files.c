/* Each rank makes files of its own and reads files that are there before the run, by calls of its
 * own choice, between numbers of calls, which are its work, that differ from rank to rank.
 *
 *   own_files ROUNDS          # reads input0 to input3
 *   own_files ROUNDS new      # reads nothing
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t state;

static int draw(int bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)bound);
}

static void use_descriptor(const char* name, int flags, char* data, int bytes) {
  const int fd = open(name, flags, 0666);
  if (fd < 0) abort();
  if ((flags & O_CREAT) != 0 ? write(fd, data, (size_t)bytes) < 0 : read(fd, data, 100) < 0)
    abort();
  close(fd);
}

static void use_stream(const char* name, const char* mode, char* data, int bytes) {
  FILE* stream = fopen(name, mode);
  if (stream == NULL) abort();
  if (mode[0] == 'w') fwrite(data, 1, (size_t)bytes, stream);
  if (mode[0] == 'r' && fread(data, 1, 100, stream) == 0) abort();
  fclose(stream);
}

static void use_mpi(const char* name, int mode, char* data, int bytes) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) abort();
  if ((mode & MPI_MODE_CREATE) != 0) {
    MPI_File_write(file, data, bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  } else {
    MPI_File_read_at_all(file, 0, data, 100, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  state = (uint64_t)rank * 7919 + 1;
  static char data[100000];
  for (int round = 0; round < atoi(argv[1]); ++round) {
    char name[40], input[40];
    snprintf(name, sizeof name, "made-%d-%d", rank, round);
    snprintf(input, sizeof input, "input%d", draw(4));
    const int bytes = 1 + draw((int)sizeof data - 1);
    for (int call = draw(300); call > 0; --call) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (draw(argc > 2 ? 3 : 6)) {
      case 0:
        use_descriptor(name, O_CREAT | O_WRONLY, data, bytes);
        break;
      case 1:
        use_stream(name, "w", data, bytes);
        break;
      case 2:
        use_mpi(name, MPI_MODE_CREATE | MPI_MODE_WRONLY, data, bytes);
        break;
      case 3:
        use_descriptor(input, O_RDONLY, data, bytes);
        break;
      case 4:
        use_stream(input, "r", data, bytes);
        break;
      default:
        use_mpi(input, MPI_MODE_RDONLY, data, bytes);
    }
  }
  MPI_Finalize();
  return 0;
}
