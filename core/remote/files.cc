#include "core/remote/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/messages/world.h"
#include "core/remote/file_messages.h"
#include "core/remote/request_checks.h"
#include "core/storage/block_cache.h"

namespace sesame::remote {
namespace {

// A file system of which processes know.
struct GivenSystem {
  storage::FileSystem* system;
  uint64_t files = 0;  // they may know the numbers below this; all of these exist
};
struct GivenSystems {
  std::vector<GivenSystem> all;  // by handle, less 1
  std::unordered_map<const storage::FileSystem*, uint64_t> handles;
};
GivenSystems given;

const loader::FileHooks* hooks = nullptr;

}  // namespace

// One that has not ended stays: its file system will say that it has.
struct AsyncTransfer {
  explicit AsyncTransfer(void* ticket_in) : ticket(ticket_in) {}
  AsyncTransfer(const AsyncTransfer&) = delete;
  AsyncTransfer& operator=(const AsyncTransfer&) = delete;
  ~AsyncTransfer() {
    if (has_ended) hooks->release(ticket);
  }

  void* const ticket;  // of FileHooks
  bool has_ended = false;
};

uint64_t handle_of(const storage::FileSystem* system) {
  if (system == nullptr) return 0;
  const auto [found, is_new] = given.handles.try_emplace(system, given.all.size() + 1);
  if (is_new) given.all.push_back({const_cast<storage::FileSystem*>(system)});
  return found->second;
}
storage::FileSystem* system_of(uint64_t handle) {
  expect(handle <= given.all.size(), "there is no such file system");
  return handle == 0 ? nullptr : given.all[handle - 1].system;
}

namespace {

using storage::Direction;
using storage::Extent;
using storage::FileCallRecord;
using storage::MetadataCall;
using storage::OpenFile;
using storage::PathIntent;
using storage::ResolvedPath;

using mpi::this_rank;

storage::Mounts& mounts() { return *hooks->mounts; }

// Names of calls, as FileCallRecord wants them: for ever.
const char* keep_name(std::string_view name) {
  constexpr size_t kMostLetters = 32;  // chosen: more than any function of the C library has
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  expect(name.size() <= kMostLetters && std::ranges::all_of(name, is_letter),
         "there is no such call on files");
  static std::set<std::string, std::less<>> names;
  const auto known = names.find(name);
  return (known != names.end() ? known : names.emplace(name).first)->c_str();
}

void begin(Channel& channel, Reader& values) {
  expect(!channel.file_call, "a call on a file begins in another one");
  const char* const name = keep_name(get_name(values));
  channel.file_call.emplace().name = name;
  hooks->begin(*channel.file_call);
}

void end(Channel& channel, Reader& values) {
  expect(channel.file_call.has_value(), "a call on a file ends that did not begin");
  FileCallRecord& record = *channel.file_call;
  record.path = get_name(values);
  record.offset = values.get<int64_t>();
  record.size = values.get<uint64_t>();
  record.bytes = values.get<uint64_t>();
  record.error = values.get<uint16_t>();
  record.flags = values.get<decltype(record.flags)>();
  hooks->end(record);
  channel.file_call.reset();
}

// A file of a file system.
using FileOf = std::pair<storage::FileSystem*, storage::FileId>;

void check_file(const FileOf& file) {
  expect(file.first != nullptr, "a file is on no file system");
  const GivenSystem& system = given.all[handle_of(file.first) - 1];
  expect(static_cast<uint64_t>(file.second) < system.files, "there is no such file");
}

FileOf get_file(Reader& values) {
  storage::FileSystem* const system = system_of(values.get<uint64_t>());
  const FileOf file{system, values.get<storage::FileId>()};
  check_file(file);
  return file;
}

// A path that the process has been given by give_path().
ResolvedPath get_located(Reader& values) {
  ResolvedPath path = get_path(values);
  check_file({path.system, path.file});
  path.node = hooks->node();
  return path;
}

// The same where the name will change its meaning.
ResolvedPath get_changed(Reader& values) {
  ResolvedPath path = get_located(values);
  expect(mounts().find_system(path.name, path.node) == path.system,
         "a name is on another file system");
  return path;
}

void give_path(Writer& reply, const ResolvedPath& path) {
  put_path(reply, path);
  if (path.system == nullptr) return;
  uint64_t& files = given.all[handle_of(path.system) - 1].files;
  files = std::max(files, static_cast<uint64_t>(path.file) + 1);
}

// Of an open file, for the hooks that take one.
OpenFile& find_open(Process& process, Reader& values) {
  const auto found = process.open_files.find(get_file(values));
  expect(found != process.open_files.end(), "a file is used that is not open");
  return *found->second;
}

// The part of a file that a call has moved. The model takes time and memory for each unit of it, so
// it must be one that the file may have.
Extent get_extent(Reader& values, const OpenFile& file) {
  // Blocks of 512 bytes, the smallest of disks, have different keys up to there.
  constexpr uint64_t kMostOffset = uint64_t{1} << (storage::kBlockBits + 9);
  constexpr uint64_t kMostOfCall = 0x7ffff000;  // MAX_RW_COUNT of Linux: other calls map memory
  constexpr uint64_t kPage = 4096;              // a mapping ends with a page
  const auto offset = values.get<uint64_t>();
  const Extent extent{offset, values.get<uint64_t>()};
  expect(extent.offset <= kMostOffset && extent.bytes <= kMostOffset, "a file is not that long");
  if (extent.bytes <= kMostOfCall) return extent;
  struct stat status {};
  const bool is_known = stat(file.path().host_path.c_str(), &status) == 0 ||
                        stat(file.path().backing.c_str(), &status) == 0;
  expect(!is_known || extent.offset + extent.bytes <= static_cast<uint64_t>(status.st_size) + kPage,
         "a file is not that long");
  return extent;
}

// ---- Asynchronous transfers ----

uint64_t keep_transfer(Process& process, void* ticket) {
  process.transfers[++process.transfers_started] = std::make_shared<AsyncTransfer>(ticket);
  return process.transfers_started;
}

uint64_t get_number(const Process& process, Reader& values) {
  const auto number = values.get<uint64_t>();
  expect(number > 0 && number <= process.transfers_started, "there is no such transfer");
  return number;
}

// Null: it has ended, and another thread has waited for it.
std::shared_ptr<AsyncTransfer> get_transfer(const Process& process, uint64_t number) {
  const auto found = process.transfers.find(number);
  return found == process.transfers.end() ? nullptr : found->second;
}

bool is_done(const Process& process, Reader& values) {
  const auto transfer = get_transfer(process, get_number(process, values));
  return transfer == nullptr || hooks->is_done(transfer->ticket);
}

void wait_for(Process& process, Reader& values) {
  const uint64_t number = get_number(process, values);
  const auto transfer = get_transfer(process, number);
  if (transfer == nullptr) return;
  hooks->wait_for(transfer->ticket);
  transfer->has_ended = true;
  process.transfers.erase(number);
}

// The place of the first to end, or their number.
size_t wait_for_any(const Process& process, Reader& values) {
  const auto limit_ns = values.get<int64_t>();
  const auto count = values.get<size_t>();
  expect(count <= values.left() / 8, "a list of transfers is longer than its message");
  std::vector<std::shared_ptr<AsyncTransfer>> transfers(count);
  std::vector<void*> tickets;
  for (auto& transfer : transfers) transfer = get_transfer(process, get_number(process, values));
  const auto ended = std::ranges::find(transfers, nullptr);
  if (ended != transfers.end()) return static_cast<size_t>(ended - transfers.begin());
  for (const auto& transfer : transfers) tickets.push_back(transfer->ticket);
  return hooks->wait_for_any(tickets, limit_ns);
}

void give_names(Channel& channel, Writer& reply) {
  std::vector<std::string>& names = channel.names;
  reply.put(names.size());
  auto next = names.begin();
  for (; next != names.end() && reply.left() > next->size() + 64; ++next)
    reply.put_text(next->c_str());
  names.erase(names.begin(), next);
  reply.put_text(nullptr);
}

void closed(Process& process, Reader& values) {
  const auto found = process.open_files.find(get_file(values));
  if (found != process.open_files.end()) process.open_files.erase(found);
}

// Calls that change the meaning of a path.
void serve_change(FileCall call, Reader& values, Writer& reply) {
  const ResolvedPath path = get_changed(values);
  switch (call) {
    case FileCall::kCopyOriginals: {
      bool copied = values.get<bool>();
      reply.put(mounts().copy_originals(path, &copied));
      return reply.put(copied);
    }
    case FileCall::kRemoved:
      return mounts().removed(path);
    case FileCall::kRenamed:
      return mounts().renamed(path, get_changed(values));
    case FileCall::kExchanged:
      return mounts().exchanged(path, get_changed(values));
    case FileCall::kLinked:
      return mounts().linked(path, get_changed(values));
    default:
      CHECK(false);
  }
}

// Other calls that begin with a path.
void serve_path(Channel& channel, FileCall call, Reader& values, Writer& reply) {
  const ResolvedPath path = get_located(values);
  switch (call) {
    case FileCall::kChargeMetadata:
      expect(channel.file_call.has_value(), "time passes outside of a call on a file");
      return hooks->charge_metadata(path, values.get_up_to(MetadataCall::kRemove));
    case FileCall::kList:
      channel.names = mounts().list(path);
      return give_names(channel, reply);
    case FileCall::kOpened:
      channel.process.open_files.emplace(std::pair(path.system, path.file),
                                         std::make_unique<OpenFile>(&mounts(), path));
      return;
    default:
      CHECK(false);
  }
}

// Calls about an open file, in a call of the program.
void serve_open(Channel& channel, FileCall call, Reader& values, Writer& reply) {
  expect(channel.file_call.has_value(), "time passes outside of a call on a file");
  const OpenFile& file = find_open(channel.process, values);
  if (call == FileCall::kChargeFlush) return hooks->charge_flush(file);
  const auto direction = values.get_up_to(Direction::kWrite);
  const Extent extent = get_extent(values, file);
  if (call == FileCall::kChargeAccess) return hooks->charge_access(file, direction, extent);
  reply.put(keep_transfer(channel.process, hooks->start_access(file, direction, extent)));
}

// Calls about a file of a file system.
void serve_system(FileCall call, Reader& values, Writer& reply) {
  const auto [system, file] = get_file(values);
  const auto first = values.get<uint64_t>();
  if (call == FileCall::kDrop)
    return system->drop(file, hooks->node(), first, values.get<uint64_t>());
  expect(static_cast<int64_t>(first) >= 0, "a file is not that long");
  reply.put(system->resize(file, first));
}

// Calls with a text.
void serve_text(Process& process, FileCall call, Reader& values, Writer& reply) {
  const auto detail = values.get<int>();
  const char* const text = get_name(values);
  switch (call) {
    case FileCall::kResolve:
      return put_path(reply, mounts().resolve(text, hooks->node(), detail != 0));
    case FileCall::kLocate:
      expect(detail >= 0 && detail <= static_cast<int>(PathIntent::kUnlink),
             "there is no such use of a path");
      return give_path(reply,
                       mounts().locate(text, hooks->node(), static_cast<PathIntent>(detail)));
    case FileCall::kHostFailed:
      return mounts().record_host_failure(text, detail);
    case FileCall::kEnterDirectory:
      process.directory = text;
      return;
    case FileCall::kWithoutTime:
      this_rank().world.uses_without_time[text].insert(this_rank().id);
      return;
    default:
      CHECK(false);
  }
}

void serve_one(Channel& channel, FileCall call, Reader& values, Writer& reply) {
  switch (call) {
    case FileCall::kBegin:
      return begin(channel, values);
    case FileCall::kEnd:
      return end(channel, values);
    case FileCall::kAwaitTurn:
      return hooks->await_turn();
    case FileCall::kIsDone:
      return reply.put(is_done(channel.process, values));
    case FileCall::kWaitFor:
      return wait_for(channel.process, values);
    case FileCall::kWaitForAny:
      return reply.put(wait_for_any(channel.process, values));
    case FileCall::kMoreNames:
      return give_names(channel, reply);
    case FileCall::kClosed:
      return closed(channel.process, values);
    case FileCall::kChargeAccess:
    case FileCall::kChargeFlush:
    case FileCall::kStartAccess:
      return serve_open(channel, call, values, reply);
    case FileCall::kResize:
    case FileCall::kDrop:
      return serve_system(call, values, reply);
    case FileCall::kResolve:
    case FileCall::kLocate:
    case FileCall::kHostFailed:
    case FileCall::kEnterDirectory:
    case FileCall::kWithoutTime:
      return serve_text(channel.process, call, values, reply);
    case FileCall::kChargeMetadata:
    case FileCall::kList:
    case FileCall::kOpened:
      return serve_path(channel, call, values, reply);
    default:
      return serve_change(call, values, reply);
  }
}

}  // namespace

void start_files(const loader::FileHooks* given_hooks) {
  hooks = given_hooks;
  given = {};
}

void describe_files(Writer& reply) {
  const std::vector<std::string> points =
      hooks == nullptr ? std::vector<std::string>() : mounts().mount_points();
  reply.put(points.size());
  for (const std::string& point : points) reply.put_text(point.c_str());
  if (hooks != nullptr) reply.put(mounts().discards_data());
}

void serve_files(Channel& channel, const Header& header, Reader values, Writer& reply) {
  expect(hooks != nullptr, "there are no simulated files");
  for (int left = header.function; left > 0; --left) {
    const auto call = values.get_up_to(FileCall::kDrop);
    serve_one(channel, call, values, reply);
  }
}

std::string working_directory(const Process& process) {
  if (!process.directory.empty()) return process.directory;
  std::error_code problem;
  const std::string link = "/proc/" + std::to_string(process.caller) + "/cwd";
  return std::filesystem::read_symlink(link, problem).string();
}

void begin_files(Process& process) {
  process.main.file_call.reset();
  process.main.names.clear();
  process.transfers.clear();  // they end by themselves
  process.directory.clear();
  close_files(process);
}

void close_files(Process& process) {
  for (auto& [file, open] : std::exchange(process.open_files, {})) {
    hooks->await_turn();
    open.reset();
  }
}

}  // namespace sesame::remote
