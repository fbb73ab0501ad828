#include "io/requests/stream.h"

#include <algorithm>
#include <cmath>

#include "io/scramble.h"
#include "kit/arguments.h"

namespace sesame::workload::requests {

Sizes sizes_of(const std::string& name) {
  if (name == "uniform") return Sizes::kUniform;
  if (name == "fixed") return Sizes::kFixed;
  if (name == "geometric") return Sizes::kGeometric;
  throw UsageError("--sizes " + name + ": expected uniform, fixed or geometric");
}

Offsets offsets_of(const std::string& name) {
  if (name == "random") return Offsets::kRandom;
  if (name == "sequential") return Offsets::kSequential;
  if (name == "strided") return Offsets::kStrided;
  if (name == "hot") return Offsets::kHot;
  throw UsageError("--offsets " + name + ": expected random, sequential, strided or hot");
}

Stream::Stream(const Pattern& pattern, long seed, int rank)
    : pattern_(pattern),
      state_(scramble(static_cast<std::uint64_t>(seed)) + static_cast<std::uint64_t>(rank)),
      cursor_(pattern.first) {
  state_ = scramble(state_);
}

Request Stream::next() {
  const bool read = uniform() < pattern_.reads;
  const long size = draw_size();
  const long block = draw_block(size);
  return {read, block, size, -pattern_.think_s * std::log1p(-uniform())};
}

double Stream::uniform() { return static_cast<double>(scramble(++state_) >> 11) * 0x1p-53; }

long Stream::below(long count) {
  return std::min(count - 1, static_cast<long>(uniform() * static_cast<double>(count)));
}

long Stream::draw_size() {
  switch (pattern_.sizes) {
    case Sizes::kUniform:
      return 1 + below(pattern_.largest);
    case Sizes::kGeometric: {
      long size = 1;
      while (size < pattern_.largest && uniform() < 0.5) ++size;
      return size;
    }
    case Sizes::kFixed:
      break;
  }
  return pattern_.largest;
}

long Stream::draw_block(long size) {
  const long last = pattern_.blocks - size;
  if (pattern_.offsets == Offsets::kRandom) return below(last + 1);
  if (pattern_.offsets == Offsets::kHot) {
    const long hot = std::lround(pattern_.hot_set * static_cast<double>(pattern_.blocks));
    const bool to_hot = uniform() < pattern_.hot_share;
    const long begin = to_hot ? 0 : std::min(hot, last);
    const long end = to_hot ? std::clamp(hot, 1L, last + 1) : last + 1;
    return begin + below(end - begin);
  }
  const long block = cursor_ > last ? cursor_ % (last + 1) : cursor_;
  cursor_ = block + (pattern_.offsets == Offsets::kStrided ? pattern_.stride : size);
  if (cursor_ >= pattern_.blocks) cursor_ %= pattern_.blocks;
  return block;
}

}  // namespace sesame::workload::requests
