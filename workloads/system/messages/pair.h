// Measures messages between rank 0 and a partner. Both ranks call every function in the same order;
// only the results of rank 0 are valid. Times are in seconds. Alone, rank 0 is its own partner.
#ifndef WORKLOADS_SYSTEM_MESSAGES_PAIR_H_
#define WORKLOADS_SYSTEM_MESSAGES_PAIR_H_

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace sesame::workload {

struct Timing {
  double best, median;
};

class Pair {
 public:
  // `comm` holds rank 0 and its partner, or rank 0 alone. Messages have up to `most` bytes. Those
  // of more than `cached` bytes come from memory: each is at another place of a buffer of
  // kUncached bytes, so that the next one at the same place is no longer in a cache.
  Pair(MPI_Comm comm, int most, int cached, int repeat);

  bool alone() const { return ranks_ == 1; }
  bool leads() const { return rank_ == 0; }

  // The value of rank 0, on both ranks.
  int agree(int value) const;

  // Half the round trip of a message; its content is checked.
  Timing ping_pong(int size);
  // The interval between messages of a stream: non-blocking sends, all receives posted.
  double stream_interval(int size);
  // Both send to each other at the same time.
  Timing exchange(int size);

  // Whether a send completes before its receive is posted (eager); not for a single rank.
  bool is_eager(int size);
  // Processor time of sending a message of one byte, and of receiving one that has arrived. The
  // second needs two ranks.
  Timing send_overhead();
  Timing receive_overhead();

  // Of copying `most` bytes in memory, both at the same time.
  Timing copy();
  // Of adding `elements` doubles to as many by MPI_Reduce_local, both at the same time.
  Timing reduction(int elements);

  // Bytes that arrived other than they were sent, at both ranks.
  long damaged() const;

 private:
  void check_content(int size);
  // Where the next message is sent from and received at: an offset in both buffers.
  size_t next_place(int size);
  void trip(int size);
  double window_time(int size, int window);
  // `sample()` gives the time of one sample, for rank 0 only.
  template <typename Sample>
  Timing repeated(const Sample& sample, int samples) const;
  template <typename Sample>
  Timing repeated(const Sample& sample) const;
  // Of many short samples after some that warm up the caches.
  template <typename Sample>
  Timing overhead(const Sample& sample) const;
  // How often to repeat an action of `seconds`, so that a sample is long enough to be timed.
  int count_for(double seconds) const;
  void synchronize() const;
  double since(double began) const;

  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1, other_ = 0;
  int most_, cached_, repeat_;
  size_t place_ = 0;
  double clock_cost_;
  long damaged_ = 0;
  std::vector<char> out_, in_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_SYSTEM_MESSAGES_PAIR_H_
