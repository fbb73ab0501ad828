#include "core/sim/worker_recorder.h"

#include <cerrno>
#include <string_view>
#include <type_traits>

#include "core/loader/loader.h"

namespace sesame::sim {
namespace {

// What precedes each record. Times are in ps.
struct Entry {
  enum class Kind : uint8_t { kCall, kMessage, kFileCall, kUntil };

  Kind kind = Kind::kUntil;
  uint8_t detail = 0;  // of a call: 1 if it polls; of a message: its protocol
  uint16_t call = 0;
  int rank = 0;
  int peer = 0;  // or the message's destination
  int tag = 0;
  uint32_t context = 0;
  uint64_t bytes = 0;
  int64_t times_ps[3] = {};
};
static_assert(std::is_trivially_copyable_v<Entry>);

void give_call(const Entry& entry, mpi::Recorder& recorder) {
  recorder.record(mpi::CallRecord{entry.rank, entry.call, SimTime::from_ps(entry.times_ps[0]),
                                  SimTime::from_ps(entry.times_ps[1]),
                                  SimTime::from_ps(entry.times_ps[2]), entry.peer, entry.tag,
                                  entry.context, entry.bytes, entry.detail != 0});
}

void give_message(const Entry& entry, mpi::Recorder& recorder) {
  recorder.record(
      mpi::MessageRecord{entry.rank, entry.peer, entry.tag, entry.context, entry.bytes,
                         SimTime::from_ps(entry.times_ps[0]), SimTime::from_ps(entry.times_ps[1]),
                         SimTime::from_ps(entry.times_ps[2]), mpi::Protocol{entry.detail}});
}

}  // namespace

void WorkerRecorder::add(const void* entry, size_t bytes) {
  buffer_.append(static_cast<const char*>(entry), bytes);
  if (buffer_.size() >= kBufferBytes) write_buffer();
}

void WorkerRecorder::write_buffer() {
  const loader::HostScope host;
  if (error_number_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size())
    error_number_ = errno;
  buffer_.clear();
}

void WorkerRecorder::flush() {
  write_buffer();
  if (std::fflush(file_) != 0 && error_number_ == 0) error_number_ = errno;
}

void WorkerRecorder::record(const mpi::CallRecord& call) {
  const Entry entry{
      Entry::Kind::kCall, call.polling, call.call,
      call.rank,          call.peer,    call.tag,
      call.context,       call.bytes,   {call.begin.ps(), call.end.ps(), call.compute_before.ps()}};
  add(&entry, sizeof entry);
  ++pending_[static_cast<size_t>(call.rank)];
}

void WorkerRecorder::record(const mpi::MessageRecord& message) {
  const Entry entry{Entry::Kind::kMessage,
                    static_cast<uint8_t>(message.protocol),
                    0,
                    message.source,
                    message.destination,
                    message.tag,
                    message.context,
                    message.bytes,
                    {message.sent.ps(), message.arrived.ps(), message.received.ps()}};
  add(&entry, sizeof entry);
  ++pending_[static_cast<size_t>(message.destination)];
}

// The entry, the numbers of the record, then path and name of the call.
void WorkerRecorder::record(int rank, const storage::FileCallRecord& call) {
  const std::string_view name = call.name;
  note_first_use(call);
  Entry entry;
  entry.kind = Entry::Kind::kFileCall;
  entry.rank = rank;
  entry.bytes = call.path.size();
  entry.tag = static_cast<int>(name.size());
  add(&entry, sizeof entry);
  const sesame_file_call_record& numbers = call;
  add(&numbers, sizeof numbers);
  add(call.path.data(), call.path.size());
  add(name.data(), name.size());
  ++pending_[static_cast<size_t>(rank)];
}

void WorkerRecorder::note_first_use(const storage::FileCallRecord& call) {
  const bool is_new_file = !call.path.empty() && known_files_.insert(call.path).second;
  const bool is_new_call = known_calls_.insert(call.name).second;
  if (is_new_file || is_new_call)
    first_uses_.push_back({round_, call.end_ps, call.path, call.name});
}

void WorkerRecorder::write_until(int rank, SimTime now) {
  const Entry entry{Entry::Kind::kUntil, false, 0, rank, 0, 0, 0, 0, {now.ps(), 0, 0}};
  add(&entry, sizeof entry);
  pending_[static_cast<size_t>(rank)] = 0;
}

namespace {

bool read_text(std::FILE* file, size_t size, std::string* text) {
  text->resize(size);
  return std::fread(text->data(), 1, size, file) == size;
}

// False at the end of the file.
bool give_file_call(const Entry& entry, std::FILE* file, mpi::Recorder& recorder) {
  storage::FileCallRecord call;
  std::string name;
  sesame_file_call_record& numbers = call;
  if (std::fread(&numbers, sizeof numbers, 1, file) != 1 ||
      !read_text(file, entry.bytes, &call.path) ||
      !read_text(file, static_cast<size_t>(entry.tag), &name))
    return false;
  call.name = name.c_str();
  recorder.record(entry.rank, call);
  return true;
}

}  // namespace

Result<> replay_records(std::FILE* file, mpi::Recorder& recorder) {
  std::rewind(file);
  Entry entry;
  while (std::fread(&entry, sizeof entry, 1, file) == 1) {
    switch (entry.kind) {
      case Entry::Kind::kCall:
        give_call(entry, recorder);
        break;
      case Entry::Kind::kMessage:
        give_message(entry, recorder);
        break;
      case Entry::Kind::kFileCall:
        if (!give_file_call(entry, file, recorder)) return error("a record of a worker is cut off");
        break;
      case Entry::Kind::kUntil:
        recorder.write_until(entry.rank, SimTime::from_ps(entry.times_ps[0]));
        break;
    }
  }
  if (std::ferror(file) != 0) return error("cannot read the records of a worker");
  return {};
}

}  // namespace sesame::sim
