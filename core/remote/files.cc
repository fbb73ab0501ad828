#include "core/remote/files.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/messages/world.h"
#include "core/remote/file_messages.h"

namespace sesame::remote {

uint64_t handle_of(const storage::FileSystem* system) {
  return reinterpret_cast<uintptr_t>(system);
}
storage::FileSystem* system_of(uint64_t handle) {
  return reinterpret_cast<storage::FileSystem*>(handle);
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

const loader::FileHooks* hooks = nullptr;

storage::Mounts& mounts() { return *hooks->mounts; }

// Names of calls, as FileCallRecord wants them: for ever.
const char* keep_name(const char* name) {
  static std::set<std::string, std::less<>> names;
  const auto known = names.find(name);
  return (known != names.end() ? known : names.emplace(name).first)->c_str();
}

void begin(Channel& channel, Reader& values) {
  CHECK(!channel.file_call);
  channel.file_call.emplace().name = keep_name(values.get_text());
  hooks->begin(*channel.file_call);
}

void end(Channel& channel, Reader& values) {
  FileCallRecord& record = channel.file_call.value();
  record.path = values.get_text();
  record.offset = values.get<int64_t>();
  record.size = values.get<uint64_t>();
  record.bytes = values.get<uint64_t>();
  record.error = values.get<uint16_t>();
  record.flags = values.get<decltype(record.flags)>();
  hooks->end(record);
  channel.file_call.reset();
}

// Of an open file, for the hooks that take one.
OpenFile& find_open(Process& process, Reader& values) {
  storage::FileSystem* const system = system_of(values.get<uint64_t>());
  const auto file = values.get<storage::FileId>();
  const auto found = process.open_files.find({system, file});
  CHECK(found != process.open_files.end());
  return *found->second;
}

Extent get_extent(Reader& values) {
  const auto offset = values.get<uint64_t>();
  return {offset, values.get<uint64_t>()};
}

void wait_for_any(Reader& values, Writer& reply) {
  const auto limit_ns = values.get<int64_t>();
  std::vector<void*> tickets(values.get<size_t>());
  for (void*& ticket : tickets) ticket = reinterpret_cast<void*>(values.get<uint64_t>());
  reply.put(hooks->wait_for_any(tickets, limit_ns));
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
  storage::FileSystem* const system = system_of(values.get<uint64_t>());
  const auto found = process.open_files.find({system, values.get<storage::FileId>()});
  if (found != process.open_files.end()) process.open_files.erase(found);
}

// Calls that begin with a path.
void serve_path(Channel& channel, FileCall call, Reader& values, Writer& reply) {
  const ResolvedPath path = get_path(values);
  switch (call) {
    case FileCall::kChargeMetadata:
      return hooks->charge_metadata(path, values.get<MetadataCall>());
    case FileCall::kList:
      channel.names = mounts().list(path);
      return give_names(channel, reply);
    case FileCall::kCopyOriginals: {
      bool copied = values.get<bool>();
      reply.put(mounts().copy_originals(path, &copied));
      return reply.put(copied);
    }
    case FileCall::kRemoved:
      return mounts().removed(path);
    case FileCall::kRenamed:
      return mounts().renamed(path, get_path(values));
    case FileCall::kExchanged:
      return mounts().exchanged(path, get_path(values));
    case FileCall::kLinked:
      return mounts().linked(path, get_path(values));
    case FileCall::kOpened:
      channel.process.open_files.emplace(std::pair(path.system, path.file),
                                         std::make_unique<OpenFile>(&mounts(), path));
      return;
    default:
      CHECK(false);
  }
}

// Calls about an open file.
void serve_open(Process& process, FileCall call, Reader& values, Writer& reply) {
  const OpenFile& file = find_open(process, values);
  if (call == FileCall::kChargeFlush) return hooks->charge_flush(file);
  const auto direction = values.get<Direction>();
  const Extent extent = get_extent(values);
  if (call == FileCall::kChargeAccess) return hooks->charge_access(file, direction, extent);
  reply.put(hooks->start_access(file, direction, extent));
}

// Calls about a file of a file system.
void serve_system(FileCall call, Reader& values, Writer& reply) {
  storage::FileSystem& system = *system_of(values.get<uint64_t>());
  const auto file = values.get<storage::FileId>();
  const auto first = values.get<uint64_t>();
  if (call == FileCall::kResize) return reply.put(system.resize(file, first));
  system.drop(file, hooks->node(), first, values.get<uint64_t>());
}

// Calls with a text.
void serve_text(Process& process, FileCall call, Reader& values, Writer& reply) {
  const auto detail = values.get<int>();
  const char* const text = values.get_text();
  switch (call) {
    case FileCall::kResolve:
      return put_path(reply, mounts().resolve(text, hooks->node(), detail != 0));
    case FileCall::kLocate:
      return put_path(reply, mounts().locate(text, hooks->node(), static_cast<PathIntent>(detail)));
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
      return reply.put(hooks->is_done(values.get<void*>()));
    case FileCall::kWaitFor:
      return hooks->wait_for(values.get<void*>());
    case FileCall::kWaitForAny:
      return wait_for_any(values, reply);
    case FileCall::kMoreNames:
      return give_names(channel, reply);
    case FileCall::kClosed:
      return closed(channel.process, values);
    case FileCall::kChargeAccess:
    case FileCall::kChargeFlush:
    case FileCall::kStartAccess:
      return serve_open(channel.process, call, values, reply);
    case FileCall::kResize:
    case FileCall::kDrop:
      return serve_system(call, values, reply);
    case FileCall::kResolve:
    case FileCall::kLocate:
    case FileCall::kHostFailed:
    case FileCall::kEnterDirectory:
    case FileCall::kWithoutTime:
      return serve_text(channel.process, call, values, reply);
    default:
      return serve_path(channel, call, values, reply);
  }
}

}  // namespace

void start_files(const loader::FileHooks* given) { hooks = given; }

void describe_files(Writer& reply) {
  const std::vector<std::string> points =
      hooks == nullptr ? std::vector<std::string>() : mounts().mount_points();
  reply.put(points.size());
  for (const std::string& point : points) reply.put_text(point.c_str());
  if (hooks != nullptr) reply.put(mounts().discards_data());
}

void serve_files(Channel& channel, const Header& header, const char* begin_of_values,
                 Writer& reply) {
  Reader values(begin_of_values);
  for (int left = header.function; left > 0; --left) {
    const auto call = values.get<FileCall>();
    serve_one(channel, call, values, reply);
  }
}

std::string working_directory(const Process& process) {
  if (!process.directory.empty()) return process.directory;
  std::error_code problem;
  const std::string link = "/proc/" + std::to_string(process.main.slot.owner) + "/cwd";
  return std::filesystem::read_symlink(link, problem).string();
}

void close_files(Process& process) {
  for (auto& [file, open] : std::exchange(process.open_files, {})) {
    hooks->await_turn();
    open.reset();
  }
}

}  // namespace sesame::remote
