#include "io/sparse/allocation.h"
#include "kit/ranks.h"

#include <mpi.h>

namespace sesame::workload::sparse {
namespace {

constexpr int kManager = 0;
constexpr int kReady = 1, kGo = 2, kStop = 3;  // tags

int wait_for_ready() {
  MPI_Status status;
  MPI_Recv(nullptr, 0, MPI_LONG, MPI_ANY_SOURCE, kReady, MPI_COMM_WORLD, &status);
  return status.MPI_SOURCE;
}

void manage(const RowChunks& chunks) {
  const int workers = number_of_ranks() - 1;
  for (long chunk = workers; chunk < chunks.count(); ++chunk) {
    MPI_Send(&chunk, 1, MPI_LONG, wait_for_ready(), kGo, MPI_COMM_WORLD);
  }
  for (int i = 0; i < workers; ++i) {
    MPI_Send(nullptr, 0, MPI_LONG, wait_for_ready(), kStop, MPI_COMM_WORLD);
  }
}

// A worker's side of the messages.
class Orders {
 public:
  Orders() {
    MPI_Irecv(nullptr, 0, MPI_LONG, kManager, kStop, MPI_COMM_WORLD, &requests_[1]);
    ask();
  }

  // The next chunk, and asks for the one after it; -1 when there is none.
  long next() {
    const double began = MPI_Wtime();
    int which = 0;
    MPI_Waitany(2, requests_, &which, MPI_STATUS_IGNORE);
    waited_s_ += MPI_Wtime() - began;
    if (which == 1) {
      MPI_Cancel(&requests_[0]);
      MPI_Wait(&requests_[0], MPI_STATUS_IGNORE);
      return -1;
    }
    const long chunk = chunk_;
    ask();
    return chunk;
  }

  double waited_s() const { return waited_s_; }

 private:
  void ask() {
    MPI_Irecv(&chunk_, 1, MPI_LONG, kManager, kGo, MPI_COMM_WORLD, &requests_[0]);
    MPI_Send(nullptr, 0, MPI_LONG, kManager, kReady, MPI_COMM_WORLD);
  }

  MPI_Request requests_[2];  // go, stop
  long chunk_ = 0;
  double waited_s_ = 0;
};

double work(Access& access, const RowChunks& chunks, const Compute& compute) {
  long chunk = this_rank() - 1;
  bool reading = chunk < chunks.count();
  if (reading) access.post(chunk);
  Orders orders;
  while (true) {
    chunk = orders.next();
    std::span<const char> rows;
    if (reading) rows = access.wait();
    reading = chunk >= 0;
    if (reading) access.post(chunk);
    compute(rows);
    if (!reading) return orders.waited_s();
  }
}

// First come, first served until the end of the file.
void take_what_comes(Access& access, const Compute& compute) {
  access.post(0);
  for (std::span<const char> rows = access.wait(); !rows.empty(); rows = access.wait()) {
    access.post(0);
    compute(rows);
  }
}

}  // namespace

void allocate_statically(Access& access, Mode mode, const RowChunks& chunks,
                         const Compute& compute) {
  if (mode == Mode::kLog) return take_what_comes(access, compute);
  const long ranks = number_of_ranks();
  const long all = (chunks.count() + ranks - 1) / ranks * ranks;
  const long end = is_collective(mode) ? all : chunks.count();
  long chunk = this_rank();
  if (chunk < end) access.post(chunk);
  for (; chunk < end; chunk += ranks) {
    const std::span<const char> rows = access.wait();
    if (chunk + ranks < end) access.post(chunk + ranks);
    compute(rows);
  }
}

double allocate_dynamically(Access& access, const RowChunks& chunks, const Compute& compute) {
  if (this_rank() != kManager) return work(access, chunks, compute);
  manage(chunks);
  return 0;
}

}  // namespace sesame::workload::sparse
