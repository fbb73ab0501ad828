/* Sends messages at given times. traffic FILE: a line for each message, in the order of time: its
   start in ns, sender, receiver, bytes. The tag is the number of the line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct message {
  double start_ns;
  int from, to, bytes;
};

static struct message* read_messages(const char* path, int* count) {
  FILE* file = fopen(path, "r");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  struct message* all = malloc(sizeof *all << 16);
  struct message* next = all;
  while (next < all + (1 << 16) && fscanf(file, "%lf %d %d %d", &next->start_ns, &next->from,
                                          &next->to, &next->bytes) == 4) {
    ++next;
  }
  fclose(file);
  *count = (int)(next - all);
  return all;
}

static void wait_for(double ns) {
  struct timespec time = {(time_t)(ns / 1e9), (long)ns % 1000000000L};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, count;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct message* all = read_messages(argv[1], &count);
  char* data = calloc(1, 1 << 24);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)count);
  int posted = 0;
  for (int i = 0; i < count; ++i) {
    if (all[i].to != rank) continue;
    MPI_Irecv(data, all[i].bytes, MPI_CHAR, all[i].from, i, MPI_COMM_WORLD, &requests[posted++]);
  }
  double now_ns = 0;
  for (int i = 0; i < count; ++i) {
    if (all[i].from != rank) continue;
    if (all[i].start_ns > now_ns) wait_for(all[i].start_ns - now_ns);
    now_ns = all[i].start_ns;
    MPI_Isend(data, all[i].bytes, MPI_CHAR, all[i].to, i, MPI_COMM_WORLD, &requests[posted++]);
  }
  MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  MPI_Finalize();
  return 0;
}
