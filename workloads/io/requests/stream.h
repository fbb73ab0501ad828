// The requests of one rank: reads or writes of some blocks in a row, at offsets and in sizes that
// are drawn. The same seed and rank give the same requests.
#ifndef WORKLOADS_IO_REQUESTS_STREAM_H_
#define WORKLOADS_IO_REQUESTS_STREAM_H_

#include <cstdint>
#include <string>

namespace sesame::workload::requests {

enum class Sizes { kUniform, kFixed, kGeometric };
enum class Offsets { kRandom, kSequential, kStrided, kHot };

// Throw UsageError.
Sizes sizes_of(const std::string& name);
Offsets offsets_of(const std::string& name);

struct Pattern {
  long blocks;   // of the file
  double reads;  // share of the requests
  Sizes sizes;
  long largest;  // blocks of a request
  Offsets offsets;
  long stride;       // blocks from one request to the next
  double hot_set;    // share of the blocks
  double hot_share;  // share of the requests that go there
  double think_s;    // mean time between requests, exponentially distributed
  long first;        // block where a sequence begins
};

struct Request {
  bool read;
  long block, blocks;
  double think_s;
};

class Stream {
 public:
  Stream(const Pattern& pattern, long seed, int rank);
  Request next();

 private:
  double uniform();  // in [0, 1)
  long below(long count);
  long draw_size();
  long draw_block(long size);

  Pattern pattern_;
  std::uint64_t state_;
  long cursor_;
};

}  // namespace sesame::workload::requests

#endif  // WORKLOADS_IO_REQUESTS_STREAM_H_
