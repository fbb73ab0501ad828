/* Non-blocking accesses to files: each is waited for in another way. Rank 0 says the number of
 * accesses of each rank; the contents are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, ACCESSES = 6 };

static void check(int right, const char* what) {
  if (right) return;
  printf("wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, done = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* data = malloc(BYTES);
  char* back = calloc(1, BYTES);
  memset(data, 'a' + rank, BYTES);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  const MPI_Offset own = (MPI_Offset)rank * 2 * BYTES;
  MPI_Request requests[3];

  MPI_File_iwrite_at(file, own, data, BYTES, MPI_BYTE, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_iread_at(file, own, back, BYTES, MPI_BYTE, &requests[0]);
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  check(memcmp(data, back, BYTES) == 0, "what was written is not read");

  MPI_File_seek(file, own + BYTES, MPI_SEEK_SET);
  MPI_File_iwrite(file, data, BYTES / 2, MPI_BYTE, &requests[0]);
  MPI_File_iwrite_at(file, own + BYTES + BYTES / 2, data, BYTES / 2, MPI_BYTE, &requests[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);

  MPI_File_iwrite_at_all(file, own, data, BYTES, MPI_BYTE, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  memset(back, 0, BYTES);
  MPI_File_iread_at_all(file, own, back, BYTES, MPI_BYTE, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  check(memcmp(data, back, BYTES) == 0, "what all wrote is not read");

  MPI_File_close(&file);
  if (rank == 0) printf("%d accesses on each of %d ranks\n", ACCESSES, ranks);
  MPI_Finalize();
  return 0;
}
