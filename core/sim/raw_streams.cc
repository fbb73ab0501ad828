#include "core/sim/raw_streams.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/mpi/call_ids.h"
#include "core/sim/record_tables.h"

namespace sesame::sim {
namespace {

// Half of the limit on descriptors: simulated files need the others.
size_t most_open_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
}

int64_t end_of(const sesame_call_record& call) { return call.end_ps; }
int64_t end_of(const sesame_file_call_record& call) { return call.end_ps; }

}  // namespace

Result<std::unique_ptr<RawStreams>> RawStreams::open(const std::string& directory, int ranks,
                                                     const std::string& machine) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return error_at(directory, 0,
                    std::string("cannot make the directory: ") + std::strerror(errno));
  }
  trace::WriterOptions options;
  options.directory = directory;
  options.ranks = static_cast<uint32_t>(ranks);
  options.open_files = most_open_files();
  for (int call = 0; call < mpi::kCallIds; ++call) {
    options.metadata.call_names.emplace_back(mpi::call_name(static_cast<mpi::CallId>(call)));
  }
  options.metadata.environment = {{"machine", machine}, {"ranks", std::to_string(ranks)}};
  auto writer = trace::Writer::open(std::move(options));
  if (!writer) return std::unexpected(writer.error());
  return std::unique_ptr<RawStreams>(new RawStreams(std::move(*writer), ranks));
}

void RawStreams::add_ranks(int ranks) {
  streams_.resize(streams_.size() + static_cast<size_t>(ranks));
  writer_->add_ranks(static_cast<uint32_t>(ranks));
}

void RawStreams::write_until(uint32_t rank, SimTime now) {
  auto& [messages, calls] = streams_[rank];
  if (!std::ranges::is_sorted(messages, completes_earlier)) {
    std::ranges::sort(messages, completes_earlier);
  }
  auto next = messages.begin();
  const auto write_messages = [&](int64_t until_ps) {
    for (; next != messages.end() && next->receive_complete_ps <= until_ps; ++next) {
      writer_->append(rank, *next);
    }
  };
  for (const Call& call : calls) {
    std::visit(
        [&](const auto& record) {
          write_messages(end_of(record));
          writer_->append(rank, record);
        },
        call);
  }
  calls.clear();
  write_messages(now.ps() - 1);  // messages received at `now` may not all be known
  messages.erase(messages.begin(), next);
}

Result<> RawStreams::close() {
  for (uint32_t rank = 0; rank < streams_.size(); ++rank) write_until(rank, SimTime::never());
  return writer_->close();
}

}  // namespace sesame::sim
