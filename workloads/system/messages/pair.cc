#include "system/messages/pair.h"

#include <algorithm>
#include <cmath>

namespace sesame::workload {
namespace {

constexpr double kSampleSeconds = 3e-4;  // long compared with the clock's resolution
constexpr int kMostTrips = 200;
constexpr int kShortWindow = 8, kLongWindow = 32;
constexpr int kOverheadWindow = 16;   // calls of a sample
constexpr int kOverheadSamples = 50;  // for each one asked for: a sample takes a microsecond
constexpr int kWarmUps = 5;           // the first calls miss the caches and take twice as long
constexpr int kData = 1, kToken = 2;  // tags
// Of each of a rank's two buffers. Together a pass over them is more than the last cache of a
// processor, 32 MiB for eight cores in AMD's EPYC 7003 and 112 MiB for 60 in Intel's Xeon 8490H.
constexpr size_t kUncached = 128 << 20;

// The cost of reading the clock, which every measured time includes once.
double clock_cost() {
  double least = 1;
  for (int i = 0; i < 100; ++i) {
    const double began = MPI_Wtime();
    least = std::min(least, MPI_Wtime() - began);
  }
  return least;
}

char content(int size, int at) { return static_cast<char>((at * 31 + size) & 0xff); }

}  // namespace

Pair::Pair(MPI_Comm comm, int most, int cached, int repeat)
    : comm_(comm), most_(most), cached_(cached), repeat_(repeat), clock_cost_(clock_cost()) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  other_ = alone() ? 0 : 1 - rank_;
  const size_t bytes = std::max(most, 1);
  out_.resize(most > cached ? std::max(bytes, kUncached) : bytes);
  in_.resize(out_.size());
}

int Pair::agree(int value) const {
  MPI_Bcast(&value, 1, MPI_INT, 0, comm_);
  return value;
}

long Pair::damaged() const {
  long all = 0;
  MPI_Reduce(&damaged_, &all, 1, MPI_LONG, MPI_SUM, 0, comm_);
  return all;
}

double Pair::since(double began) const { return std::max(MPI_Wtime() - began - clock_cost_, 0.0); }

void Pair::synchronize() const {
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, other_, kToken, nullptr, 0, MPI_BYTE, other_, kToken, comm_,
               MPI_STATUS_IGNORE);
}

int Pair::count_for(double seconds) const {
  const double wanted = seconds > 0 ? kSampleSeconds / seconds : kMostTrips;
  return agree(static_cast<int>(std::clamp(wanted, 1.0, double(kMostTrips))));
}

template <typename Sample>
Timing Pair::repeated(const Sample& sample, int samples) const {
  std::vector<double> times(samples);
  for (double& time : times) time = sample();
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

template <typename Sample>
Timing Pair::repeated(const Sample& sample) const {
  return repeated(sample, repeat_);
}

template <typename Sample>
Timing Pair::overhead(const Sample& sample) const {
  for (int i = 0; i < kWarmUps; ++i) sample();
  return repeated(sample, repeat_ * kOverheadSamples);
}

Timing Pair::copy() {
  return repeated([this] {
    synchronize();
    const double began = MPI_Wtime();
    std::copy_n(out_.begin(), most_, in_.begin());
    return since(began);
  });
}

Timing Pair::reduction(int elements) {
  std::vector<double> in(elements, 1.0), inout(elements, 1.0);
  const auto sample = [&] {
    synchronize();
    const double began = MPI_Wtime();
    MPI_Reduce_local(in.data(), inout.data(), elements, MPI_DOUBLE, MPI_SUM);
    return since(began);
  };
  sample();  // the first one brings the vectors into the caches
  return repeated(sample);
}

size_t Pair::next_place(int size) {
  if (size <= cached_) return 0;
  place_ += size;
  if (place_ + size > out_.size()) place_ = 0;
  return place_;
}

// The receive is posted before the message comes: no rendezvous waits for it.
void Pair::trip(int size) {
  const size_t place = next_place(size);
  char* const out = out_.data() + place;
  char* const in = in_.data() + place;
  if (rank_ == 0) {
    MPI_Request request;
    MPI_Irecv(in, size, MPI_BYTE, other_, kData, comm_, &request);
    MPI_Send(out, size, MPI_BYTE, other_, kData, comm_);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, size, MPI_BYTE, other_, kData, comm_, MPI_STATUS_IGNORE);
    MPI_Send(size > cached_ ? out : in, size, MPI_BYTE, other_, kData, comm_);
  }
}

void Pair::check_content(int size) {
  place_ = out_.size();  // the next place is the first one
  for (int i = 0; i < size; ++i) out_[i] = content(size, i);
  std::fill_n(in_.begin(), size, '\0');
  trip(size);
  for (int i = 0; i < size; ++i) damaged_ += in_[i] != content(size, i);
}

Timing Pair::ping_pong(int size) {
  check_content(size);
  const double messages = alone() ? 1 : 2;
  const auto sample = [&](int trips) {
    synchronize();
    const double began = MPI_Wtime();
    for (int i = 0; i < trips; ++i) trip(size);
    return since(began) / trips / messages;
  };
  sample(1);
  const int trips = count_for(sample(1));
  return repeated([&] { return sample(trips); });
}

double Pair::window_time(int size, int window) {
  std::vector<MPI_Request> requests(2 * window);
  int count = 0;
  if (alone() || rank_ == 1) {
    for (int i = 0; i < window; ++i) {
      char* const in = in_.data() + next_place(size);
      MPI_Irecv(in, size, MPI_BYTE, other_, kData, comm_, &requests[count++]);
    }
  }
  synchronize();
  const double began = MPI_Wtime();
  if (rank_ == 0) {
    for (int i = 0; i < window; ++i) {
      char* const out = out_.data() + next_place(size);
      MPI_Isend(out, size, MPI_BYTE, other_, kData, comm_, &requests[count++]);
    }
  }
  MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
  synchronize();
  return since(began);
}

double Pair::stream_interval(int size) {
  const double few = repeated([&] { return window_time(size, kShortWindow); }).best;
  const double many = repeated([&] { return window_time(size, kLongWindow); }).best;
  return std::max(many - few, 0.0) / (kLongWindow - kShortWindow);
}

Timing Pair::exchange(int size) {
  const auto sample = [&](int count) {
    synchronize();
    const double began = MPI_Wtime();
    for (int i = 0; i < count; ++i) {
      MPI_Request requests[2];
      const size_t place = next_place(size);
      MPI_Irecv(in_.data() + place, size, MPI_BYTE, other_, kData, comm_, &requests[0]);
      MPI_Isend(out_.data() + place, size, MPI_BYTE, other_, kData, comm_, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return since(began) / count;
  };
  sample(1);
  const int count = count_for(sample(1));
  return repeated([&] { return sample(count); });
}

// The token that follows the message cannot overtake it: once the answer is back, an eager message
// has left, and one that waits for its receive has not.
bool Pair::is_eager(int size) {
  int gone = 0;
  if (rank_ == 0) {
    MPI_Request request;
    MPI_Isend(out_.data(), size, MPI_BYTE, other_, kData, comm_, &request);
    synchronize();
    MPI_Test(&request, &gone, MPI_STATUS_IGNORE);
    synchronize();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    synchronize();
    synchronize();
    MPI_Recv(in_.data(), size, MPI_BYTE, other_, kData, comm_, MPI_STATUS_IGNORE);
  }
  return agree(gone) != 0;
}

Timing Pair::send_overhead() {
  return overhead([&] {
    MPI_Request receives[kOverheadWindow], sends[kOverheadWindow];
    if (alone() || rank_ == 1) {
      for (MPI_Request& request : receives) {
        MPI_Irecv(in_.data(), 1, MPI_BYTE, other_, kData, comm_, &request);
      }
    }
    synchronize();
    const double began = MPI_Wtime();
    if (rank_ == 0) {
      for (MPI_Request& request : sends) {
        MPI_Isend(out_.data(), 1, MPI_BYTE, other_, kData, comm_, &request);
      }
    }
    const double spent = since(began);
    if (rank_ == 0) MPI_Waitall(kOverheadWindow, sends, MPI_STATUSES_IGNORE);
    if (alone() || rank_ == 1) MPI_Waitall(kOverheadWindow, receives, MPI_STATUSES_IGNORE);
    synchronize();
    return spent / kOverheadWindow;
  });
}

Timing Pair::receive_overhead() {
  return overhead([&] {
    if (rank_ == 1) {
      for (int i = 0; i < kOverheadWindow; ++i) {
        MPI_Send(out_.data(), 1, MPI_BYTE, other_, kData, comm_);
      }
    }
    synchronize();  // all have arrived
    const double began = MPI_Wtime();
    if (rank_ == 0) {
      for (int i = 0; i < kOverheadWindow; ++i) {
        MPI_Recv(in_.data(), 1, MPI_BYTE, other_, kData, comm_, MPI_STATUS_IGNORE);
      }
    }
    const double spent = since(began);
    synchronize();
    return spent / kOverheadWindow;
  });
}

}  // namespace sesame::workload
