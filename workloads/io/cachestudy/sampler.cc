#include "io/cachestudy/sampler.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <random>
#include <span>

namespace sesame::workload {
namespace {

constexpr long kFillBytes = 1 << 20;
constexpr unsigned kSeed = 1996;

// The same on every rank, so that each transfer is done once.
std::vector<long> order_of(long transfers, Order order) {
  std::vector<long> numbers(transfers);
  std::iota(numbers.begin(), numbers.end(), 0L);
  if (order == Order::kSequential) return numbers;
  for (long& number : numbers) number *= kScatter;
  std::mt19937 random(kSeed);
  for (long i = transfers - 1; i > 0; --i) std::swap(numbers[i], numbers[random() % (i + 1)]);
  return numbers;
}

}  // namespace

std::string name_of(Mode mode) {
  if (mode == Mode::kRead) return "read";
  return mode == Mode::kWrite ? "write" : "update";
}

void Sampler::Free::operator()(char* data) const { std::free(data); }

Sampler::Sampler(Store& store, MPI_Comm comm, Filter filter, bool warm)
    : store_(store), comm_(comm), filter_(filter), warm_(warm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

void Sampler::resize_buffer(long bytes) {
  if (bytes <= buffer_bytes_) return;
  const long rounded = (bytes + kStampBytes - 1) / kStampBytes * kStampBytes;
  buffer_.reset(static_cast<char*>(std::aligned_alloc(kStampBytes, rounded)));
  if (!buffer_) throw std::bad_alloc();
  std::memset(buffer_.get(), 0, rounded);
  buffer_bytes_ = rounded;
}

void Sampler::make_file(long bytes) {
  file_bytes_ = bytes;
  ++file_number_;
  if (rank_ == 0) store_.create(bytes);
  MPI_Barrier(comm_);
  store_.open();
  pass(Mode::kWrite, std::min(bytes, kFillBytes));
  synchronize();
}

Rate Sampler::measure(Mode mode, long transfer) {
  std::vector<double> rates;
  if (warm_) pass(mode, transfer);
  for (int group = 0; group < filter_.groups; ++group) {
    double seconds = 0;
    for (int i = 0; i < filter_.averaged; ++i) {
      if (!warm_) flush();
      seconds += pass(mode, transfer);
    }
    rates.push_back(static_cast<double>(file_bytes_) * filter_.averaged / seconds);
  }
  std::sort(rates.begin(), rates.end());
  return {rates[rates.size() / 2], rates.front(), rates.back()};
}

long Sampler::transfers(long transfer, Order order) const {
  const long all = (file_bytes_ + transfer - 1) / transfer;
  return order == Order::kSequential ? all : (all + kScatter - 1) / kScatter;
}

double Sampler::pass(Mode mode, long transfer, Order order) {
  const std::vector<long> numbers = order_of(transfers(transfer, order), order);
  resize_buffer(transfer);
  transfer_times_.clear();
  MPI_Barrier(comm_);
  const double begin = store_.now();
  double last = begin;
  for (std::size_t i = rank_; i < numbers.size(); i += ranks_) {
    const long offset = numbers[i] * transfer;
    transfer_once(mode, offset, std::min(transfer, file_bytes_ - offset));
    const double now = store_.now();
    transfer_times_.push_back(now - last);
    last = now;
  }
  return slowest(last - begin);
}

void Sampler::transfer_once(Mode mode, long offset, long bytes) {
  const std::span<char> data(buffer_.get(), bytes);
  if (mode != Mode::kWrite) {
    store_.read(offset, data);
    verify(offset, bytes);
  }
  if (mode == Mode::kRead) return;
  stamp(offset, bytes);
  store_.write(offset, data);
}

void Sampler::stamp(long offset, long bytes) {
  for (long at = 0; at < bytes; at += kStampBytes) {
    const std::int64_t word = (offset + at) ^ (file_number_ << 48);
    std::memcpy(buffer_.get() + at, &word, sizeof word);
  }
}

void Sampler::verify(long offset, long bytes) {
  for (long at = 0; at < bytes; at += kStampBytes) {
    std::int64_t word = 0;
    std::memcpy(&word, buffer_.get() + at, sizeof word);
    misread_ += word != ((offset + at) ^ (file_number_ << 48));
  }
}

void Sampler::flush() {
  store_.flush();
  MPI_Barrier(comm_);
}

double Sampler::synchronize() {
  const double begin = store_.now();
  store_.synchronize();
  return slowest(store_.now() - begin);
}

double Sampler::slowest(double seconds) const {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return seconds;
}

}  // namespace sesame::workload
