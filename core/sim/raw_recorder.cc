#include "core/sim/raw_recorder.h"

#include <sys/resource.h>

#include <algorithm>
#include <tuple>

#include "core/mpi/call_ids.h"

namespace sesame::sim {
namespace {

// Calls of a rank that wait to be written.
constexpr size_t kCalls = 256;

// A total order: records that it does not tell apart are the same.
bool completes_earlier(const sesame_message_record& a, const sesame_message_record& b) {
  if (a.receive_complete_ps != b.receive_complete_ps) {
    return a.receive_complete_ps < b.receive_complete_ps;
  }
  const auto rest = [](const sesame_message_record& m) {
    return std::tuple(m.arrival_ps, m.send_ps, m.source, m.context, m.tag, m.bytes);
  };
  return rest(a) < rest(b);
}

// As many as half of the descriptors: simulated files need the others.
size_t most_open_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
}

int64_t end_of(const sesame_call_record& call) { return call.end_ps; }
int64_t end_of(const sesame_file_call_record& call) { return call.end_ps; }

}  // namespace

Result<std::unique_ptr<RawRecorder>> RawRecorder::open(const std::string& directory, int ranks,
                                                       bool one_file, const std::string& machine,
                                                       const network::Network& network) {
  trace::WriterOptions options;
  options.directory = directory;
  options.ranks = static_cast<uint32_t>(ranks);
  options.open_files = most_open_files();
  options.one_file = one_file;
  for (int call = 0; call < mpi::kCallIds; ++call) {
    options.metadata.call_names.emplace_back(mpi::call_name(static_cast<mpi::CallId>(call)));
  }
  options.metadata.environment = {{"machine", machine}, {"ranks", std::to_string(ranks)}};
  auto writer = trace::Writer::open(std::move(options));
  if (!writer) return std::unexpected(writer.error());
  return std::unique_ptr<RawRecorder>(new RawRecorder(std::move(*writer), ranks, network));
}

RawRecorder::RawRecorder(std::unique_ptr<trace::Writer> writer, int ranks,
                         const network::Network& network)
    : writer_(std::move(writer)), streams_(static_cast<size_t>(ranks)), network_(network) {
  for (uint16_t call = 0; call < mpi::kCallIds; ++call) {
    call_numbers_.emplace(mpi::call_name(static_cast<mpi::CallId>(call)), call);
  }
}

void RawRecorder::add_ranks(int ranks) {
  streams_.resize(streams_.size() + static_cast<size_t>(ranks));
  writer_->add_ranks(static_cast<uint32_t>(ranks));
}

void RawRecorder::record(const mpi::CallRecord& call) {
  const auto rank = static_cast<uint32_t>(call.rank);
  sesame_call_record record{};
  record.begin_ps = call.begin.ps();
  record.end_ps = call.end.ps();
  record.compute_before_ps = call.compute_before.ps();
  record.bytes = call.bytes;
  record.peer = call.peer;
  record.tag = call.tag;
  record.context = call.context;
  record.call = call.call;
  record.flags = call.polling ? SESAME_CALL_POLL : 0;
  streams_[rank].calls.emplace_back(record);
}

void RawRecorder::record(const mpi::MessageRecord& message) {
  sesame_message_record record{};
  record.send_ps = message.sent.ps();
  record.arrival_ps = message.arrived.ps();
  record.receive_complete_ps = message.received.ps();
  record.bytes = message.bytes;
  record.source = message.source;
  record.destination = message.destination;
  record.tag = message.tag;
  record.context = message.context;
  record.protocol = message.rendezvous ? SESAME_PROTOCOL_RENDEZVOUS : SESAME_PROTOCOL_EAGER;
  if (network_.node_of(message.source) == network_.node_of(message.destination)) {
    record.flags |= SESAME_MESSAGE_IN_NODE;
  }
  if (message.context % 2 == 1) record.flags |= SESAME_MESSAGE_OF_COLLECTIVE;
  streams_[static_cast<size_t>(message.destination)].messages.push_back(record);
}

void RawRecorder::record(int rank, const storage::FileCallRecord& call) {
  sesame_file_call_record record = call;
  // Tables have signed numbers; what a program asks for can be more.
  record.size = std::min(call.size, uint64_t{INT64_MAX});
  record.file = call.path.empty() ? -1 : number_of_file(call.path);
  record.call = number_of_call(call.name);
  streams_[static_cast<size_t>(rank)].calls.emplace_back(record);
}

uint16_t RawRecorder::number_of_call(const char* name) {
  const auto known = call_numbers_.find(std::string_view(name));
  if (known != call_numbers_.end()) return known->second;
  return call_numbers_[name] = writer_->add_call_name(name);
}

int32_t RawRecorder::number_of_file(std::string_view path) {
  const auto known = file_numbers_.find(path);
  if (known != file_numbers_.end()) return known->second;
  const auto number = static_cast<int32_t>(files_.size());
  files_.emplace_back(path);
  file_numbers_.emplace(path, number);
  return number;
}

bool RawRecorder::is_full(int rank) const {
  return streams_[static_cast<size_t>(rank)].calls.size() >= kCalls;
}

void RawRecorder::write_until(int rank_number, SimTime now) {
  const auto rank = static_cast<uint32_t>(rank_number);
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
  write_messages(now.ps());
  messages.erase(messages.begin(), next);
}

Result<> RawRecorder::close() {
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    write_until(static_cast<int>(rank), SimTime::never());
  }
  return writer_->close();
}

}  // namespace sesame::sim
