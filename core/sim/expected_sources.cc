#include "core/sim/expected_sources.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/mpi/messages/expected_sources.h"
#include "core/mpi/messages/rank.h"

namespace sesame::sim {
namespace {

// Messages that follow each other (docs/formats/scenario.md).
struct Run {
  int32_t destination;
  int32_t context;
  int32_t tag;
  int32_t source;
  int32_t count;
  int32_t is_tied;
};
static_assert(sizeof(Run) == 24);

using Expected = std::vector<mpi::ExpectedSources>;  // by rank

bool is_right(const Run& run, size_t ranks) {
  const auto is_rank = [&](int32_t rank) { return rank >= 0 && std::cmp_less(rank, ranks); };
  return is_rank(run.destination) && is_rank(run.source) && run.count > 0 &&
         (run.is_tied == 0 || run.is_tied == 1);
}

Result<> read_runs(const std::string& path, const mpi::RemoteRanks& workers, Expected& expected) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return error_at(path, 0, std::strerror(errno));
  Run run;
  size_t bytes = 0;
  while ((bytes = std::fread(&run, 1, sizeof run, file.get())) == sizeof run) {
    if (!is_right(run, expected.size()))
      return error_at(path, 0,
                      std::to_string(run.count) + " messages of rank " +
                          std::to_string(run.source) + " to rank " +
                          std::to_string(run.destination) + ": expected 1 or more, and ranks of " +
                          std::to_string(expected.size()));
    if (!workers.is_here(run.destination)) continue;
    expected[static_cast<size_t>(run.destination)].add(static_cast<uint32_t>(run.context), run.tag,
                                                       run.source, static_cast<uint64_t>(run.count),
                                                       run.is_tied == 1);
  }
  if (std::ferror(file.get())) return error_at(path, 0, "cannot read the expected sources");
  if (bytes > 0) return error_at(path, 0, "the last of the expected sources are cut off");
  return {};
}

}  // namespace

Result<> expect_sources(const Scenario& scenario, const mpi::RemoteRanks& workers,
                        mpi::World& world) {
  const bool has_one = scenario.sources == Sources::kTags;
  Expected expected(
      static_cast<size_t>(world.size()),
      has_one ? mpi::ExpectedSources::one_source_per_tag() : mpi::ExpectedSources::ordered());
  if (!has_one)
    if (auto read = read_runs(scenario.expected_sources, workers, expected); !read) return read;
  for (const auto& rank : world.ranks) {
    if (!workers.is_here(rank->id)) continue;
    rank->matching.expect(std::move(expected[static_cast<size_t>(rank->id)]));
  }
  return {};
}

}  // namespace sesame::sim
