// Random reads and writes, as those of the SESAME report's synthetic benchmark (8.2.1, 8.2.4).
#include <mpi.h>
#include <time.h>

#include <cmath>

#include "io/requests/contents.h"
#include "io/requests/latencies.h"
#include "io/requests/stream.h"
#include "kit/files.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/ranks.h"

namespace sesame::workload::requests {
namespace {

struct Options {
  long requests = 5000, warmup = 5000, blocks = 4096, largest = 4, stride = 0, seed = 1;
  long block_size = 4 << 10;
  double reads = 80, hot_set = 10, hot_share = 90, think_us = 0;
  std::string sizes = "uniform", offsets = "random", file = "shared", interface = "posix";
  std::string directory = ".";

  void add_to(Arguments& arguments) {
    arguments.add("--requests", requests, "requests of each rank that are measured");
    arguments.add("--warmup", warmup, "requests of each rank before those");
    arguments.add("--reads", reads, "how many are reads, in per cent; the others are writes");
    arguments.add("--blocks", blocks, "size of a file, in blocks");
    arguments.add_size("--block-size", block_size, "size of a block");
    arguments.add("--sizes", sizes, "blocks of a request: uniform, fixed or geometric");
    arguments.add("--largest", largest, "blocks of the largest request");
    arguments.add("--offsets", offsets, "random, sequential, strided or hot");
    arguments.add("--stride", stride, "blocks from request to request; 0: ranks interleave");
    arguments.add("--hot-set", hot_set, "blocks that are hot, in per cent");
    arguments.add("--hot-share", hot_share, "requests to hot blocks, in per cent");
    arguments.add("--think", think_us, "mean time between requests, in microseconds");
    arguments.add("--file", file, "shared, or own: one for each rank");
    arguments.add("--interface", interface, "posix or mpi");
    arguments.add("--seed", seed, "of the random requests");
    arguments.add("--dir", directory, "where the files lie while the program runs");
  }
};

void require(bool fulfilled, const std::string& expected) {
  if (!fulfilled) throw UsageError(expected);
}

bool is_per_cent(double value) { return value >= 0 && value <= 100; }

void check(const Options& options) {
  constexpr long kMost = 1L << 30;
  const auto from_1 = [](long value) { return value >= 1 && value <= kMost; };
  require(from_1(options.block_size) && options.block_size % 8 == 0,
          "--block-size: expected a multiple of 8 bytes, at most 1 GiB");
  require(from_1(options.blocks), "--blocks: expected from 1 to 2^30");
  require(from_1(options.largest) && options.largest <= options.blocks,
          "--largest: expected from 1 to the number of blocks");
  require(options.largest * options.block_size <= kMost,
          "--largest: expected requests of at most 1 GiB");
  require(from_1(options.requests), "--requests: expected from 1 to 2^30");
  require(options.warmup >= 0 && options.warmup <= kMost, "--warmup: expected from 0 to 2^30");
  require(options.stride >= 0 && options.stride <= kMost, "--stride: expected from 0 to 2^30");
  require(is_per_cent(options.reads), "--reads: expected from 0 to 100 per cent");
  require(is_per_cent(options.hot_set), "--hot-set: expected from 0 to 100 per cent");
  require(is_per_cent(options.hot_share), "--hot-share: expected from 0 to 100 per cent");
  require(options.think_us >= 0 && options.think_us <= 1e9, "--think: expected from 0 to 10^9");
  require(options.file == "shared" || options.file == "own",
          "--file " + options.file + ": expected shared or own");
  check_interface(options.interface);
}

Pattern pattern_of(const Options& options) {
  const bool shared = options.file == "shared";
  const int ranks = number_of_ranks();
  const Offsets offsets = offsets_of(options.offsets);
  const long interleaved = options.largest * (shared ? ranks : 1);
  long first = 0;
  if (shared && offsets == Offsets::kSequential) first = this_rank() * options.blocks / ranks;
  if (shared && offsets == Offsets::kStrided) first = this_rank() * options.largest;
  return {options.blocks,
          options.reads / 100,
          sizes_of(options.sizes),
          options.largest,
          offsets,
          options.stride > 0 ? options.stride : interleaved,
          options.hot_set / 100,
          options.hot_share / 100,
          options.think_us * 1e-6,
          first};
}

void think(double seconds) {
  if (seconds <= 0) return;
  timespec time;
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  ::nanosleep(&time, nullptr);
}

// A rank that carries out its stream of requests.
class Client {
 public:
  Client(const Options& options, const Layout& layout, SharedFile& file, Contents& contents)
      : layout_(layout),
        file_(file),
        contents_(contents),
        stream_(pattern_of(options), options.seed, this_rank()),
        by_size_(options.largest + 1) {}

  void run(long count) {
    for (long i = 0; i < count; ++i) {
      const Request request = stream_.next();
      think(request.think_s);
      if (request.read) {
        read(request);
      } else {
        write(request);
      }
    }
  }

  // Of the requests so far nothing but what they have written counts.
  void forget() {
    reads_.clear();
    writes_.clear();
    bytes_ = 0;
    by_size_.assign(by_size_.size(), 0);
  }

  const std::vector<double>& reads() const { return reads_; }
  const std::vector<double>& writes() const { return writes_; }
  double bytes() const { return bytes_; }
  const std::vector<double>& by_size() const { return by_size_; }
  long wrong() const { return wrong_; }

 private:
  void read(const Request& request) {
    words_.resize(request.blocks * layout_.words());
    const double began = MPI_Wtime();
    file_.read(words_.data(), size_of(request), request.block * layout_.block_bytes);
    reads_.push_back(MPI_Wtime() - began);
    count(request);
    wrong_ += contents_.wrong(request.block, request.blocks, words_);
  }

  void write(const Request& request) {
    const Tag tag = tag_of(this_rank(), ++written_);
    fill(layout_, request.block, request.blocks, tag, words_);
    const double began = MPI_Wtime();
    file_.write(words_.data(), size_of(request), request.block * layout_.block_bytes);
    writes_.push_back(MPI_Wtime() - began);
    count(request);
    contents_.wrote(request.block, request.blocks, tag);
  }

  void count(const Request& request) {
    bytes_ += static_cast<double>(size_of(request));
    by_size_[request.blocks] += 1;
  }

  long size_of(const Request& request) const { return request.blocks * layout_.block_bytes; }

  const Layout& layout_;
  SharedFile& file_;
  Contents& contents_;
  Stream stream_;
  Words words_;
  std::vector<double> reads_, writes_, by_size_;
  double bytes_ = 0;
  long written_ = 0, wrong_ = 0;
};

template <typename Value>
Value sum_of(Value value, MPI_Datatype type) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

void report_parameters(Report& report, const Options& options) {
  report.parameter("requests", options.requests);
  report.parameter("warmup", options.warmup);
  report.parameter("reads", options.reads);
  report.parameter("blocks", options.blocks);
  report.parameter("block size", options.block_size);
  report.parameter("sizes", options.sizes);
  report.parameter("largest", options.largest);
  report.parameter("offsets", options.offsets);
  report.parameter("think", options.think_us);
  report.parameter("file", options.file);
  report.parameter("interface", options.interface);
  report.parameter("seed", options.seed);
}

// Table "sizes".
void report_sizes(Report& report, std::vector<double> by_size) {
  MPI_Allreduce(MPI_IN_PLACE, by_size.data(), static_cast<int>(by_size.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  std::vector<double> blocks, requests;
  for (std::size_t size = 1; size < by_size.size(); ++size) {
    if (by_size[size] == 0) continue;
    blocks.push_back(static_cast<double>(size));
    requests.push_back(by_size[size]);
  }
  report.column("sizes", "blocks", "", blocks);
  report.column("sizes", "requests", "", requests);
}

void report_figures(Report& report, const Client& client, double time_s) {
  const std::vector<double> reads = gather_sorted(client.reads());
  const std::vector<double> writes = gather_sorted(client.writes());
  const double requests = static_cast<double>(reads.size() + writes.size());
  const double bytes = sum_of(client.bytes(), MPI_DOUBLE);
  report.time(time_s);
  if (this_rank() == 0) {
    report.figure("reads", 100 * static_cast<double>(reads.size()) / requests, "%");
    report.figure("mean request", bytes / requests, "B");
    report.figure("mean time of a read", mean_of(reads), "s");
    report.figure("mean time of a write", mean_of(writes), "s");
    const double all_s = mean_of(reads) * static_cast<double>(reads.size()) +
                         mean_of(writes) * static_cast<double>(writes.size());
    report.figure("time in requests", all_s / number_of_ranks(), "s");
  }
  if (time_s > 0) {
    report.figure("throughput", bytes / time_s * 1e-6, "MB/s");
    report.figure("requests in a second", requests / time_s, "1/s");
  }
  report_latencies(report, reads, writes);
  report_sizes(report, client.by_size());
}

void run(Report& report, const Options& options) {
  check(options);
  const Pattern pattern = pattern_of(options);  // what is wrong with it, before files are made
  const Layout layout{pattern.blocks, options.block_size};
  const bool shared = options.file == "shared";
  const long files = shared ? 1 : number_of_ranks();
  const double bytes = static_cast<double>(files) * static_cast<double>(layout.blocks) *
                       static_cast<double>(layout.block_bytes);
  const std::string name = make_temporary_directory("--dir", options.directory, bytes) + "/data";
  const auto file =
      shared ? open_shared(options.interface, name, MPI_COMM_WORLD)
             : open_shared(options.interface, name + std::to_string(this_rank()), MPI_COMM_SELF);
  Contents contents(layout, shared);
  contents.make(*file);
  Client client(options, layout, *file, contents);
  client.run(options.warmup);
  client.forget();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  client.run(options.requests);
  const double time_s = largest(MPI_Wtime() - began);
  report_parameters(report, options);
  report_figures(report, client, time_s);
  report.check_exact("blocks read wrong", sum_of(client.wrong(), MPI_LONG), 0);
  report.check_exact("blocks right at the end", contents.right_at_the_end(*file),
                     files * layout.blocks);
}

}  // namespace
}  // namespace sesame::workload::requests

int main(int argc, char** argv) {
  sesame::workload::Program program("requests", "random reads and writes whose data are checked");
  sesame::workload::requests::Options options;
  options.add_to(program.arguments());
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::requests::run(report, options);
  });
}
