// NPB kernel IS (NPB specification, RNR-94-007): ranks integer keys by a bucket sort. The
// ranks of the machine count buckets together, share the buckets out in equal parts, and send
// every key to the rank that has its bucket.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kit/classes.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/random.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

using Key = std::int32_t;

constexpr int kSteps = 10;
constexpr int kTests = 5;
constexpr int kMostBuckets = 1024;
constexpr std::uint64_t kStart = 314159265;

// The rank expected of test key j in step i is rank + slope * i + offset (published).
struct Test {
  long index;
  long rank;
  int slope, offset;
};

struct Class {
  const char* name;
  int log2_keys, log2_most_key;
  Test tests[kTests];
};

constexpr Class kClasses[] = {
    {"S",
     16,
     11,
     {{48427, 0, 1, 0},
      {17148, 18, 1, 0},
      {23627, 346, 1, 0},
      {62548, 64917, -1, 0},
      {4431, 65463, -1, 0}}},
    {"W",
     20,
     16,
     {{357773, 1249, 1, -2},
      {934767, 11698, 1, -2},
      {875723, 1039987, -1, 0},
      {898999, 1043896, -1, 0},
      {404505, 1048018, -1, 0}}},
    {"A",
     23,
     19,
     {{2112377, 104, 1, -1},
      {662041, 17523, 1, -1},
      {5336171, 123928, 1, -1},
      {3642833, 8288932, -1, 1},
      {4250760, 8388264, -1, 1}}},
    {"B",
     25,
     21,
     {{41869, 33422937, -1, 0},
      {812306, 10244, 1, 0},
      {5102857, 59149, 1, 0},
      {18232239, 33135281, -1, 0},
      {26860214, 99, 1, 0}}},
};

std::vector<Key> make_keys(const Class& problem, Block mine) {
  NpbRandom random(kStart);
  random.skip(4 * mine.begin);
  const double quarter = static_cast<double>(1L << problem.log2_most_key) / 4;
  std::vector<Key> keys(mine.size());
  for (Key& key : keys) {
    double sum = random.next();
    for (int i = 1; i < 4; ++i) sum += random.next();
    key = static_cast<Key>(quarter * sum);
  }
  return keys;
}

class Sorter {
 public:
  explicit Sorter(const Class& problem) : problem_(problem) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    mine_ = block_of(1L << problem.log2_keys, ranks_, rank_);
    const int log2_buckets = std::min(problem.log2_most_key, log2_of(kMostBuckets));
    shift_ = problem.log2_most_key - log2_buckets;
    // After the bucket's own counts come the values of the test keys.
    counts_.resize((1 << log2_buckets) + kTests);
    totals_.resize(counts_.size());
    keys_ = make_keys(problem, mine_);
    sorted_by_bucket_.resize(keys_.size());
    for (auto* list : {&send_counts_, &send_begins_, &receive_counts_, &receive_begins_}) {
      list->resize(ranks_);
    }
  }

  // Changes two keys as the specification says and ranks all; the number of tests that are right.
  int step(int number) {
    set_key(number, number);
    set_key(number + kSteps, static_cast<Key>((1L << problem_.log2_most_key) - number));
    {
      Phases::Scope scope(phases_, count_phase_);
      count_buckets();
    }
    {
      Phases::Scope scope(phases_, exchange_phase_);
      MPI_Allreduce(counts_.data(), totals_.data(), static_cast<int>(counts_.size()), MPI_INT,
                    MPI_SUM, MPI_COMM_WORLD);
      share_out();
      exchange();
    }
    Phases::Scope scope(phases_, rank_phase_);
    rank_keys();
    return right_tests(number);
  }

  Phases& phases() { return phases_; }

  // Puts the keys of the last step in order; the number of keys that are not, over all ranks.
  long misplaced() {
    std::vector<Key> sorted(received_.size());
    for (Key key : received_) sorted[--ranks_of_keys_[key - first_key_]] = key;
    long wrong = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) wrong += sorted[i - 1] > sorted[i];
    const Key last = sorted.empty() ? -1 : sorted.back();
    Key before = -1;
    MPI_Exscan(&last, &before, 1, MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank_ > 0 && !sorted.empty()) wrong += before > sorted.front();
    long sums[2] = {wrong, static_cast<long>(sorted.size())};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sums[0] + std::abs(sums[1] - (1L << problem_.log2_keys));
  }

 private:
  int buckets() const { return static_cast<int>(counts_.size()) - kTests; }

  void set_key(long index, Key key) {
    if (mine_.begin <= index && index < mine_.end) keys_[index - mine_.begin] = key;
  }

  void count_buckets() {
    std::fill(counts_.begin(), counts_.end(), 0);
    for (Key key : keys_) ++counts_[key >> shift_];
    std::vector<int> next(buckets());
    std::exclusive_scan(counts_.begin(), counts_.begin() + buckets(), next.begin(), 0);
    for (Key key : keys_) sorted_by_bucket_[next[key >> shift_]++] = key;
    for (int j = 0; j < kTests; ++j) {
      const long index = problem_.tests[j].index;
      if (mine_.begin <= index && index < mine_.end) {
        counts_[buckets() + j] = keys_[index - mine_.begin];
      }
    }
  }

  // Which buckets go to which rank: consecutive ones, by how many keys lie before them.
  void share_out() {
    std::fill(send_counts_.begin(), send_counts_.end(), 0);
    const long keys = 1L << problem_.log2_keys;
    long before = 0;
    first_rank_ = -1;
    int first_bucket = -1, end_bucket = -1;
    for (int bucket = 0; bucket < buckets(); ++bucket) {
      const int owner = static_cast<int>(std::min<long>(before * ranks_ / keys, ranks_ - 1));
      send_counts_[owner] += counts_[bucket];
      if (owner == rank_) {
        if (first_bucket < 0) {
          first_bucket = bucket;
          first_rank_ = before;
        }
        end_bucket = bucket + 1;
      }
      before += totals_[bucket];
    }
    first_key_ = first_bucket < 0 ? 0 : static_cast<Key>(first_bucket) << shift_;
    end_key_ = first_bucket < 0 ? 0 : static_cast<Key>(end_bucket) << shift_;
  }

  void exchange() {
    MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT,
                 MPI_COMM_WORLD);
    std::exclusive_scan(send_counts_.begin(), send_counts_.end(), send_begins_.begin(), 0);
    std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_begins_.begin(), 0);
    received_.resize(receive_begins_.back() + receive_counts_.back());
    MPI_Alltoallv(sorted_by_bucket_.data(), send_counts_.data(), send_begins_.data(), MPI_INT32_T,
                  received_.data(), receive_counts_.data(), receive_begins_.data(), MPI_INT32_T,
                  MPI_COMM_WORLD);
  }

  // ranks_of_keys_[k] becomes the number of keys here that are at most first_key_ + k.
  void rank_keys() {
    ranks_of_keys_.assign(end_key_ - first_key_, 0);
    for (Key key : received_) ++ranks_of_keys_[key - first_key_];
    std::inclusive_scan(ranks_of_keys_.begin(), ranks_of_keys_.end(), ranks_of_keys_.begin());
  }

  int right_tests(int number) const {
    int right = 0;
    for (int j = 0; j < kTests; ++j) {
      const Test& test = problem_.tests[j];
      const Key key = totals_[buckets() + j];
      if (key < first_key_ || key >= end_key_) continue;
      const long smaller = key == first_key_ ? 0 : ranks_of_keys_[key - first_key_ - 1];
      right += first_rank_ + smaller == test.rank + test.slope * number + test.offset;
    }
    return right;
  }

  const Class& problem_;
  Phases phases_;
  int count_phase_ = phases_.add("count buckets");
  int exchange_phase_ = phases_.add("exchange keys");
  int rank_phase_ = phases_.add("rank keys");
  int rank_, ranks_, shift_;
  Block mine_;
  std::vector<Key> keys_, sorted_by_bucket_, received_;
  std::vector<int> counts_, totals_, ranks_of_keys_;
  std::vector<int> send_counts_, send_begins_, receive_counts_, receive_begins_;
  Key first_key_ = 0, end_key_ = 0;  // the keys that come to this rank
  long first_rank_ = -1;             // the number of keys below first_key_
};

void run(Report& report, const std::string& name) {
  const Class& problem = find_class(kClasses, name);
  Sorter sorter(problem);
  sorter.step(1);  // untimed, to touch all memory
  sorter.phases().reset();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  int right = 0;
  for (int number = 1; number <= kSteps; ++number) right += sorter.step(number);
  report.time(largest(MPI_Wtime() - began));
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const long keys = 1L << problem.log2_keys;
  report.parameter("class", problem.name);
  report.parameter("keys", keys);
  report.parameter("largest key", 1L << problem.log2_most_key);
  report.rate(static_cast<double>(keys) * kSteps);
  sorter.phases().report(report);
  report.check_exact("ranks of test keys right", right, kSteps * kTests);
  report.check_exact("keys out of order", sorter.misplaced(), 0);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("is", "NPB kernel IS: ranks integer keys by a bucket sort");
  std::string name = "S";
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  return program.run(
      argc, argv, [&](sesame::workload::Report& report) { sesame::workload::run(report, name); });
}
