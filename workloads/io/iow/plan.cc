#include "io/iow/plan.h"

#include <algorithm>

#include "kit/arguments.h"
#include "kit/byte_sizes.h"
#include "kit/ranks.h"

namespace sesame::workload::iow {
namespace {

constexpr long kWord = 8;      // data is checked in words
constexpr long kSector = 512;  // O_DIRECT works in these at best
constexpr long kLargest = 1L << 30;
constexpr long kLeastOperations = 2;

void require(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

void require_one_of(const std::string& option, const std::string& value,
                    std::initializer_list<const char*> known) {
  std::string list;
  for (const char* name : known) {
    if (value == name) return;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(option + " " + value + ": expected one of " + list);
}

// "64:1MiB" or "64".
void read_sizes(Plan& plan) {
  const std::size_t colon = plan.sizes.find(':');
  plan.from = plan.to = parse_bytes("--size", plan.sizes.substr(0, colon));
  if (colon != plan.sizes.npos) plan.to = parse_bytes("--size", plan.sizes.substr(colon + 1));
  require(plan.from > 0 && plan.to >= plan.from,
          "--size " + plan.sizes + ": expected SIZE or FROM:TO");
  require(plan.from % kWord == 0, "--size " + plan.sizes + ": expected a multiple of 8");
  require(plan.to <= kLargest, "--size " + plan.sizes + ": expected at most 1 GiB");
  if (!plan.is_sweep()) return;
  require(is_power_of_two(plan.from) && is_power_of_two(plan.to),
          "--size " + plan.sizes + ": expected powers of 2");
}

void check_direct(const Plan& plan) {
  if (!plan.direct) return;
  require(plan.interface == "posix", "--direct needs --interface posix");
  require(plan.from % kSector == 0 && plan.offset % kSector == 0 && plan.stride % kSector == 0,
          "--direct needs sizes, --offset and --stride that are multiples of 512");
}

}  // namespace

long Plan::count(long size) const {
  if (operations > 0) return operations;
  return std::clamp(total / size, kLeastOperations, std::max(most, kLeastOperations));
}

long Plan::place(long size, long index, int rank, int ranks) const {
  long number = index;
  if (is_shared()) number = map == "cyclic" ? index * ranks + rank : rank * count(size) + index;
  return offset + number * step(size);
}

double Plan::extent(long size, int ranks) const {
  const double records = static_cast<double>(count(size)) * ranks;
  return records * static_cast<double>(step(size)) + static_cast<double>(offset) * ranks;
}

void check(Plan& plan, int ranks) {
  read_sizes(plan);
  require_one_of("--mode", plan.mode, {"write", "read", "both"});
  require_one_of("--files", plan.files, {"shared", "each"});
  require_one_of("--map", plan.map, {"block", "cyclic"});
  require_one_of("--sync", plan.sync, {"none", "end", "each"});
  require(plan.operations >= 0 && plan.total > 0 && plan.most > 0,
          "--operations, --total and --most: expected positive numbers");
  require(plan.repeat > 0, "--repeat: expected a positive number");
  require(plan.offset >= 0 && plan.offset % kWord == 0,
          "--offset: expected a multiple of 8, at least 0");
  require(plan.stride == 0 || (plan.stride >= plan.to && plan.stride % kWord == 0),
          "--stride: expected a multiple of 8, at least the largest size");
  plan.shift = (plan.shift % ranks + ranks) % ranks;
  check_direct(plan);
  require_one_of("--interface", plan.interface, {"posix", "stdio", "mpi"});
}

}  // namespace sesame::workload::iow
