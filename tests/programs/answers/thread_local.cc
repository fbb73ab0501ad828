// Thread-local variables as buffers of messages, of a reduction and of a window; in threads too.
#include <mpi.h>

#include <cstdio>
#include <string>
#include <thread>

struct Counter {
  Counter() : value(7) {}
  ~Counter() { std::printf("counter ends with %d\n", value); }
  int value;
};

thread_local int received[4] = {-1, -1, -1, -1};
thread_local double sum;
thread_local std::string text = "text";
thread_local Counter counter;
thread_local int window[8];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  // Posted early: the data arrive while other ranks run.
  MPI_Request request;
  MPI_Irecv(&received[0], 2, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  const int sent[2] = {rank, 100 + rank};
  MPI_Send(sent, 2, MPI_INT, right, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&received[1], 1, MPI_INT, right, 1, &received[2], 1, MPI_INT, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sum = 0.5 + rank;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  counter.value += rank;
  text += std::to_string(rank);
  MPI_Win shared;
  MPI_Win_create(window, sizeof window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared);
  MPI_Win_fence(0, shared);
  MPI_Put(&received[0], 1, MPI_INT, right, 3, 1, MPI_INT, shared);
  MPI_Win_fence(0, shared);
  MPI_Win_free(&shared);
  int of_thread = 0;
  std::thread([&] {
    of_thread = received[3] + counter.value + static_cast<int>(text.size());
  }).join();
  std::printf("%d: %d %d %d %d %.1f %d %s %d %d\n", rank, received[0], received[1], received[2],
              received[3], sum, counter.value, text.c_str(), window[3], of_thread);
  MPI_Finalize();
  return 0;
}
