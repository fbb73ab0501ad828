/* Starts a large non-blocking operation, works for a second, with so many messages of a byte
 * around the ring in between, and prints how long waiting for the operation takes then.
 *
 *   overlap isend|iallreduce|ibcast|ialltoall|put|iwrite MESSAGES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1 << 20 };

static char *out, *in;
static int rank, ranks;
static MPI_File file;
static MPI_Win window;
static MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

static void start(const char* name) {
  MPI_Comm world = MPI_COMM_WORLD;
  const int next = (rank + 1) % ranks;
  if (strcmp(name, "isend") == 0) {
    MPI_Irecv(in, kBytes, MPI_CHAR, (rank + ranks - 1) % ranks, 0, world, &requests[0]);
    MPI_Isend(out, kBytes, MPI_CHAR, next, 0, world, &requests[1]);
  } else if (strcmp(name, "iallreduce") == 0) {
    MPI_Iallreduce(out, in, kBytes / 8, MPI_DOUBLE, MPI_SUM, world, requests);
  } else if (strcmp(name, "ibcast") == 0) {
    MPI_Ibcast(in, kBytes, MPI_CHAR, 0, world, requests);
  } else if (strcmp(name, "ialltoall") == 0) {
    MPI_Ialltoall(out, kBytes / ranks, MPI_CHAR, in, kBytes / ranks, MPI_CHAR, world, requests);
  } else if (strcmp(name, "put") == 0) {
    MPI_Rput(out, kBytes, MPI_CHAR, next, 0, kBytes, MPI_CHAR, window, requests);
  } else if (strcmp(name, "iwrite") == 0) {
    MPI_File_iwrite_at(file, (MPI_Offset)rank * kBytes, out, kBytes, MPI_CHAR, requests);
  } else {
    fprintf(stderr, "overlap: unknown operation %s\n", name);
    MPI_Abort(world, 2);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int messages = argc > 2 ? atoi(argv[2]) : 0;
  out = calloc(kBytes, 1);
  in = calloc(kBytes, 1);
  char byte = 0;
  MPI_Win_create(in, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_File_open(MPI_COMM_WORLD, "overlap.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Barrier(MPI_COMM_WORLD);
  start(argc > 1 ? argv[1] : "");
  for (int i = 0; i < messages; ++i) {
    usleep((useconds_t)(1000000 / messages));
    MPI_Sendrecv(&byte, 1, MPI_CHAR, (rank + 1) % ranks, 1, &byte, 1, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (messages == 0) usleep(1000000);
  double time = MPI_Wtime();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  time = MPI_Wtime() - time;
  double longest = 0;
  MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.12f s\n", longest);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
