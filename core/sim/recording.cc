#include "core/sim/recording.h"

#include <algorithm>

#include "core/mpi/call_ids.h"

namespace sesame::sim {

Recording::Recording(std::unique_ptr<RecordTables> tables, std::unique_ptr<RawStreams> raw,
                     const network::Network& network)
    : tables_(std::move(tables)), raw_(std::move(raw)), network_(network) {
  for (uint16_t call = 0; call < mpi::kCallIds; ++call) {
    call_names_.emplace_back(mpi::call_name(static_cast<mpi::CallId>(call)));
    call_numbers_.emplace(call_names_.back(), call);
  }
}

void Recording::add_ranks(int ranks) {
  tables_->add_ranks(ranks);
  if (raw_ != nullptr) raw_->add_ranks(ranks);
}

template <typename Record>
void Recording::add(int rank, const Record& record) {
  tables_->add(static_cast<uint32_t>(rank), record);
  if (raw_ != nullptr) [[unlikely]]
    raw_->add(static_cast<uint32_t>(rank), record);
}

void Recording::record(const mpi::CallRecord& call) {
  sesame_call_record record;
  record.begin_ps = call.begin.ps();
  record.end_ps = call.end.ps();
  record.compute_before_ps = call.compute_before.ps();
  record.bytes = call.bytes;
  record.peer = call.peer;
  record.tag = call.tag;
  record.context = call.context;
  record.call = call.call;
  record.flags = call.polling ? SESAME_CALL_POLL : 0;
  add(call.rank, record);
}

void Recording::record(const mpi::MessageRecord& message) {
  sesame_message_record record;
  record.send_ps = message.sent.ps();
  record.arrival_ps = message.arrived.ps();
  record.receive_complete_ps = message.received.ps();
  record.bytes = message.bytes;
  record.source = message.source;
  record.destination = message.destination;
  record.tag = message.tag;
  record.context = message.context;
  record.protocol = static_cast<uint32_t>(message.protocol);
  record.flags = 0;
  if (network_.node_of(message.source) == network_.node_of(message.destination)) {
    record.flags |= SESAME_MESSAGE_IN_NODE;
  }
  if (message.context % 2 == 1) record.flags |= SESAME_MESSAGE_OF_COLLECTIVE;
  add(message.destination, record);
}

void Recording::record(int rank, const storage::FileCallRecord& call) {
  sesame_file_call_record record = call;
  // Tables have signed numbers; a program can request more.
  record.size = std::min(call.size, uint64_t{INT64_MAX});
  record.file = number_of_file(call.path);
  record.call = number_of_call(call.name);
  add(rank, record);
}

void Recording::give_numbers(std::string_view path, const char* call) {
  number_of_file(path);
  number_of_call(call);
}

uint16_t Recording::number_of_call(const char* name) {
  const auto known = call_numbers_.find(std::string_view(name));
  if (known != call_numbers_.end()) return known->second;
  if (raw_ != nullptr) raw_->add_call_name(name);
  const auto number = static_cast<uint16_t>(call_names_.size());
  call_names_.emplace_back(name);
  return call_numbers_[name] = number;
}

int32_t Recording::number_of_file(std::string_view path) {
  if (path.empty()) return -1;
  const auto known = file_numbers_.find(path);
  if (known != file_numbers_.end()) return known->second;
  const auto number = static_cast<int32_t>(files_.size());
  files_.emplace_back(path);
  file_numbers_.emplace(path, number);
  return number;
}

void Recording::write_until(int rank, SimTime now) {
  tables_->write_until(static_cast<uint32_t>(rank), now);
  if (raw_ != nullptr) raw_->write_until(static_cast<uint32_t>(rank), now);
}

Result<> Recording::close() {
  auto rows = tables_->close(call_names_);
  if (!rows) return std::unexpected(rows.error());
  rows_ = *std::move(rows);
  return raw_ == nullptr ? Result<>() : raw_->close();
}

const std::optional<Error>& Recording::failure() const {
  if (raw_ != nullptr && raw_->failure()) return raw_->failure();
  return tables_->failure();
}

}  // namespace sesame::sim
