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
};
static_assert(sizeof(Run) == 20);

using Expected = std::vector<mpi::ExpectedSources>;  // by rank

Result<> read_runs(const std::string& path, Expected& expected) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return error_at(path, 0, std::strerror(errno));
  for (Run run; std::fread(&run, sizeof run, 1, file.get()) == 1;) {
    if (run.destination < 0 || std::cmp_greater_equal(run.destination, expected.size()))
      return error_at(path, 0,
                      "a message to rank " + std::to_string(run.destination) +
                          ", expected one of " + std::to_string(expected.size()));
    expected[static_cast<size_t>(run.destination)].add(
        static_cast<uint32_t>(run.context), run.tag, run.source, static_cast<uint64_t>(run.count));
  }
  if (std::ferror(file.get())) return error_at(path, 0, "cannot read the expected sources");
  return {};
}

}  // namespace

Result<> expect_sources(const Scenario& scenario, const mpi::RemoteRanks& workers,
                        mpi::World& world) {
  const bool is_single = scenario.sources == Sources::kTags;
  Expected expected(static_cast<size_t>(world.size()),
                    is_single ? mpi::ExpectedSources::single() : mpi::ExpectedSources::ordered());
  if (!is_single)
    if (auto read = read_runs(scenario.expected_sources, expected); !read) return read;
  for (const auto& rank : world.ranks) {
    if (!workers.is_here(rank->id)) continue;
    rank->matching.expect(std::move(expected[static_cast<size_t>(rank->id)]));
  }
  return {};
}

}  // namespace sesame::sim
