/* Collective writes while the same network interfaces send: directed_and_messages SEED [FILE].

   Even ranks announce large messages to the next rank, write to a file together and wait for all.
   Odd ranks post their receives one after the other during the access. Run with
   --collective disk-directed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seeded.h"

enum { kLarge = 300000, kPart = 200000, kMessages = 5, kSteps = 4 };

static unsigned char out[kLarge];
static unsigned char part[kPart];

/* In odd steps the access is non-blocking, and the rank announces more messages meanwhile. */
static void write_and_send(MPI_File file, MPI_Comm writers, int to, int step) {
  MPI_Request requests[kMessages + 1];
  int writer, count;
  MPI_Comm_rank(writers, &writer);
  MPI_Comm_size(writers, &count);
  memset(part, writer + step, sizeof part);
  const MPI_Offset offset = (MPI_Offset)kPart * (writer + count * step);
  const int before = step % 2 == 0 ? kMessages : 2;
  for (int i = 0; i < before; ++i)
    MPI_Isend(out, kLarge, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
  requests[kMessages] = MPI_REQUEST_NULL;
  if (step % 2 == 0)
    MPI_File_write_at_all(file, offset, part, kPart, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_iwrite_at_all(file, offset, part, kPart, MPI_BYTE, &requests[kMessages]);
  for (int i = before; i < kMessages; ++i) {
    usleep(next(4000));
    MPI_Isend(out, kLarge, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(kMessages + 1, requests, MPI_STATUSES_IGNORE);
}

static unsigned receive(int from) {
  static unsigned char in[kLarge];
  unsigned sum = 0;
  for (int i = 0; i < kMessages; ++i) {
    usleep(next(20000));
    MPI_Recv(in, kLarge, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += in[kLarge - 1];
  }
  return sum;
}

int main(int argc, char** argv) {
  begin(argc, argv);
  const int writes = rank % 2 == 0 && rank + 1 < ranks;
  memset(out, rank + 1, sizeof out);
  MPI_Comm writers;
  MPI_Comm_split(MPI_COMM_WORLD, writes ? 0 : MPI_UNDEFINED, rank, &writers);
  unsigned sum = 0;
  MPI_File file;
  if (writes)
    MPI_File_open(writers, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int step = 0; step < kSteps; ++step) {
    if (writes) write_and_send(file, writers, rank + 1, step);
    if (rank % 2 != 0) sum += receive(rank - 1);
  }
  if (writes) {
    MPI_File_close(&file);
    MPI_Comm_free(&writers);
  }
  printf("rank %d: %u at %.9f\n", rank, sum, MPI_Wtime());
  MPI_Finalize();
  return 0;
}
