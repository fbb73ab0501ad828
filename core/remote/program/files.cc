// POSIX and stdio calls of a rank's process on simulated files. The code is that of ranks in one
// process (core/loader/files.h), compiled a second time: it resolves paths, keeps records and lets
// simulated time pass by requests to the simulator (core/remote/file_messages.h). The bytes are in
// files of the host, for which the process has descriptors of its own, so they are right whatever
// it does with these. A path that is on no mount causes no request.
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <unordered_map>

#include "core/loader/files.h"
#include "core/loader/real.h"
#include "core/remote/file_messages.h"
#include "core/remote/program/callers.h"
#include "core/remote/program/connection.h"
#include "core/storage/file_system.h"
#include "core/storage/paths.h"

namespace sesame::remote {
namespace {

using storage::FileId;
using storage::FileSystem;

// A file system of the simulator.
class RemoteFileSystem final : public FileSystem {
 public:
  explicit RemoteFileSystem(uint64_t handle_in) : handle(handle_in) {}

  bool resize(FileId file, uint64_t bytes) override;
  void drop(FileId file, int node, uint64_t begin, uint64_t end) override;

  // The rest is the simulator's own business.
  FileId find_file(const std::string&) override { abort(); }
  void release_name(const std::string&) override { abort(); }
  void access(SimTime, const storage::Access&, storage::Completion&) override { abort(); }
  void access_directed(SimTime, std::span<const storage::Access>, storage::Completion&) override {
    abort();
  }
  void metadata(SimTime, storage::MetadataCall, FileId, const storage::Client&,
                storage::Completion&) override {
    abort();
  }
  void flush(SimTime, FileId, const storage::Client&, storage::Completion&) override { abort(); }
  void remove(FileId) override { abort(); }
  void mark_existing_contents(FileId) override { abort(); }
  storage::Statistics statistics() const override { abort(); }
  void set_striping(FileId, const storage::Striping&) override { abort(); }
  std::optional<storage::Striping> striping(FileId) const override { abort(); }

  const uint64_t handle;
};

// A directory of the host.
struct Directory {
  dev_t device;
  ino_t number;
  bool leads_to_mount;  // by links in its name
};

struct Files {
  loader::RankProcess rank;
  std::unique_ptr<storage::Mounts> mounts;
  std::vector<std::string> mount_points;
  loader::FileHooks file_hooks;
  loader::SimulationHooks hooks;
  std::mutex mutex;  // of the two below
  std::unordered_map<uint64_t, std::unique_ptr<RemoteFileSystem>> systems;
  std::unordered_map<std::string, Directory> directories;  // not on mounts, by name
};
// Threads may outlive static objects. Null: the process is no rank, or there are no file systems.
Files* files = nullptr;

// Whether the thread runs this library's own code.
thread_local bool is_inside = false;
// Calls on files that it is in: more than one in a signal handler.
thread_local int calls_within = 0;
// Of the request in the making: calls so far, and their bytes in the slot.
thread_local uint16_t calls_made = 0;
thread_local size_t bytes_made = 0;

// Whether the simulator can be asked now.
bool can_ask() {
  if (sesame_rank_slot() == nullptr) return false;
  const Caller* const caller = this_caller();
  return caller == nullptr || !caller->waits;
}

// A call to the simulator. Its values are put one after the other; then it is sent, or left for the
// next request.
class Ask {
 public:
  explicit Ask(FileCall call)
      : slot_(join()), writer_(slot_.message + bytes_made, kMessageBytes - bytes_made) {
    writer_.put(call);
  }
  ~Ask() { is_inside = was_inside_; }
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;

  template <typename T>
  Ask& put(T value) {
    writer_.put(value);
    return *this;
  }
  Ask& put_text(const std::string& text) {
    writer_.put_text(text.c_str());
    return *this;
  }
  Ask& put(const storage::ResolvedPath& path) {
    put_path(writer_, path);
    return *this;
  }
  Ask& put(const storage::OpenFile& file) {
    return put(handle_of(file.path().system)).put(file.path().file);
  }

  void leave() {
    bytes_made += writer_.bytes();
    ++calls_made;
  }
  Reader send(void (*exchange)(const Header&)) {
    leave();
    Header header = header_of(RequestKind::kFiles, bytes_made);
    header.function = calls_made;
    bytes_made = calls_made = 0;
    exchange(header);
    return Reader(slot_.message, kMessageBytes);
  }
  Reader send() {
    return send([](const Header& header) { sesame_rank_exchange(header); });
  }

 private:
  Slot& join() {
    is_inside = true;
    return *sesame_rank_join();
  }

  bool was_inside_ = is_inside;
  Slot& slot_;
  Writer writer_;
};

bool RemoteFileSystem::resize(FileId file, uint64_t bytes) {
  if (!can_ask()) return true;
  return Ask(FileCall::kResize).put(handle).put(file).put(bytes).send().get<bool>();
}

void RemoteFileSystem::drop(FileId file, int, uint64_t begin, uint64_t end) {
  if (can_ask()) Ask(FileCall::kDrop).put(handle).put(file).put(begin).put(end).send();
}

// ---- FileHooks ----

void begin(storage::FileCallRecord& record) {
  if (calls_within++ > 0) return;
  Ask(FileCall::kBegin).put_text(record.name).send(begin_exchanges);
}

void end(storage::FileCallRecord& record) {
  if (--calls_within > 0) return;
  Ask(FileCall::kEnd)
      .put_text(record.path)
      .put(record.offset)
      .put(record.size)
      .put(record.bytes)
      .put(record.error)
      .put(record.flags)
      .send(end_exchanges);
}

void await_turn() {
  if (can_ask()) Ask(FileCall::kAwaitTurn).send();
}

void charge_metadata(const storage::ResolvedPath& path, storage::MetadataCall call) {
  if (calls_within == 1) Ask(FileCall::kChargeMetadata).put(path).put(call).leave();
}

void charge_access(const storage::OpenFile& file, storage::Direction direction,
                   const storage::Extent& extent) {
  if (calls_within != 1) return;
  Ask(FileCall::kChargeAccess)
      .put(file)
      .put(direction)
      .put(extent.offset)
      .put(extent.bytes)
      .leave();
}

void charge_flush(const storage::OpenFile& file) {
  if (calls_within == 1) Ask(FileCall::kChargeFlush).put(file).leave();
}

void* start_access(const storage::OpenFile& file, storage::Direction direction,
                   const storage::Extent& extent) {
  return Ask(FileCall::kStartAccess)
      .put(file)
      .put(direction)
      .put(extent.offset)
      .put(extent.bytes)
      .send()
      .get<void*>();
}

bool is_done(void* ticket) { return Ask(FileCall::kIsDone).put(ticket).send().get<bool>(); }

void wait_for(void* ticket) { Ask(FileCall::kWaitFor).put(ticket).send(); }

size_t wait_for_any(std::span<void* const> tickets, int64_t limit_ns) {
  Ask ask(FileCall::kWaitForAny);
  ask.put(limit_ns).put(tickets.size());
  for (void* ticket : tickets) ask.put(ticket);
  return ask.send().get<size_t>();
}

loader::FileHooks make_hooks() {
  return {.mounts = files->mounts.get(),
          .node = [] { return 0; },  // the simulator knows
          .begin = begin,
          .end = end,
          .await_turn = await_turn,
          .charge_metadata = charge_metadata,
          .charge_access = charge_access,
          .charge_flush = charge_flush,
          .start_access = start_access,
          .is_done = is_done,
          .wait_for = wait_for,
          .release = [](void*) {},  // the simulator does, after the wait
          .wait_for_any = wait_for_any};
}

pthread_mutex_t tables = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // TableLock

std::string directory_of_process() {
  char path[PATH_MAX];
  return REAL(getcwd)(path, sizeof path) != nullptr ? path : "/";
}

// ---- Which paths are simulated ----

bool is_on_mount(std::string_view path) {
  for (const std::string& mount : files->mount_points)
    if (storage::is_on_mount(path, mount)) return true;
  return false;
}

// Whether links lead from this directory, which is on no mount, to one. They are followed when the
// directory is first used, and again when the name means another one.
bool leads_to_mount(const std::string& directory) {
  if (storage::is_kernel_path(directory)) return false;
  struct stat status {};
  if (REAL(stat)(directory.empty() ? "/" : directory.c_str(), &status) != 0) return false;
  const std::lock_guard lock(files->mutex);
  Directory& known = files->directories[directory];
  if (known.device != status.st_dev || known.number != status.st_ino) {
    char real[PATH_MAX];
    const bool is_found = REAL(realpath)(directory.c_str(), real) != nullptr;
    known = {status.st_dev, status.st_ino, is_found && is_on_mount(real)};
  }
  return known.leads_to_mount;
}

// False: it is the host's for certain. The simulator need not be asked. Keeps errno.
bool may_be_simulated(std::string_view path) {
  const std::string whole = storage::normalise(path);
  if (is_on_mount(whole)) return true;
  const int error = errno;
  const bool may_be = leads_to_mount(whole.substr(0, whole.rfind('/')));
  errno = error;
  return may_be;
}

// The kernel does not find the way by "..", out of a directory that it may not have.
storage::ResolvedPath path_of_host(std::string_view path) {
  storage::ResolvedPath found;
  found.name = found.host_path = is_on_mount(path) ? storage::normalise(path) : std::string(path);
  return found;
}

}  // namespace

uint64_t handle_of(const FileSystem* system) {
  return system == nullptr ? 0 : static_cast<const RemoteFileSystem*>(system)->handle;
}

FileSystem* system_of(uint64_t handle) {
  if (handle == 0) return nullptr;
  const std::lock_guard lock(files->mutex);
  std::unique_ptr<RemoteFileSystem>& system = files->systems[handle];
  if (system == nullptr) system = std::make_unique<RemoteFileSystem>(handle);
  return system.get();
}

namespace {

// The process has become the rank.
void start(int rank, Reader mounts) {
  const auto count = mounts.get<size_t>();
  if (count == 0) return;
  auto* const made = new Files;
  made->rank.rank = rank;
  for (size_t i = 0; i < count; ++i) made->mount_points.emplace_back(mounts.get_text());
  storage::Mounts::Options options;
  options.discard_data = mounts.get<bool>();
  made->mounts = std::move(*storage::Mounts::create(std::move(options)));
  files = made;
  files->file_hooks = make_hooks();
  files->hooks.files = &files->file_hooks;
  files->rank.working_directory = directory_of_process();
  const auto before_fork = [] {
    loader::tell_inherited_files();
    pthread_mutex_lock(&tables);
  };
  pthread_atfork(
      before_fork, [] { pthread_mutex_unlock(&tables); },
      [] { tables = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; });
}

int find_io_uring(dl_phdr_info* library, size_t, void*) {
  return std::string_view(library->dlpi_name).contains("/liburing.so") ? 1 : 0;
}

void finish() {
  if (files == nullptr) return;
  loader::flush_file_streams(files->rank);
  if (!loader::g_descriptors->empty() && dl_iterate_phdr(find_io_uring, nullptr) != 0)
    loader::tell_use_without_time("requests of io_uring");
}

[[gnu::constructor]] void listen() { set_listener({start, loader::tell_inherited_files, finish}); }

}  // namespace

}  // namespace sesame::remote

namespace sesame::loader {

using remote::files;

RankProcess* current() {
  const bool is_program = files != nullptr && !remote::is_inside && !remote::is_vforked();
  return is_program ? &files->rank : nullptr;
}

const SimulationHooks& hooks() {
  static const SimulationHooks none;
  return files == nullptr ? none : files->hooks;
}

bool is_forked() { return !remote::can_ask(); }

// MPI-IO, which the simulator does, resolves names relative to it.
void set_working_directory(RankProcess& process, const std::string& path) {
  process.working_directory = path.empty() ? remote::directory_of_process() : path;
  if (remote::can_ask())
    remote::Ask(remote::FileCall::kEnterDirectory).put(0).put_text(path).send();
}

void tell_use_without_time(const char* what) {
  if (files != nullptr && remote::can_ask())
    remote::Ask(remote::FileCall::kWithoutTime).put(0).put_text(what).send();
}

TableLock::TableLock() { pthread_mutex_lock(&remote::tables); }
TableLock::~TableLock() { pthread_mutex_unlock(&remote::tables); }

RankProcess* active() { return current(); }
void set_active(RankProcess* process) { remote::is_inside = process == nullptr; }

}  // namespace sesame::loader

// ---- Mounts, as far as the code of ranks uses them ----

namespace sesame::storage {

using remote::Ask;
using remote::can_ask;
using remote::FileCall;
using remote::Reader;

Mounts::Mounts(Options options) : options_(std::move(options)) {}
Mounts::~Mounts() = default;

Result<std::unique_ptr<Mounts>> Mounts::create(Options options) {
  return std::unique_ptr<Mounts>(new Mounts(std::move(options)));
}

ResolvedPath Mounts::resolve(std::string_view path, int, bool follows_last) const {
  if (!can_ask() || !remote::may_be_simulated(path)) return remote::path_of_host(path);
  Reader reply = Ask(FileCall::kResolve).put<int>(follows_last).put_text(std::string(path)).send();
  return remote::get_path(reply);
}

ResolvedPath Mounts::locate(std::string_view path, int, PathIntent intent) {
  if (!can_ask() || !remote::may_be_simulated(path)) return remote::path_of_host(path);
  Reader reply =
      Ask(FileCall::kLocate).put(static_cast<int>(intent)).put_text(std::string(path)).send();
  return remote::get_path(reply);
}

std::vector<std::string> Mounts::list(const ResolvedPath& directory) const {
  std::vector<std::string> names;
  if (!can_ask()) return names;
  Reader reply = Ask(FileCall::kList).put(directory).send();
  for (;;) {
    const auto left = reply.get<size_t>();
    const size_t before = names.size();
    while (const char* name = reply.get_text()) names.emplace_back(name);
    if (names.size() - before == left) return names;
    reply = Ask(FileCall::kMoreNames).send();
  }
}

int Mounts::copy_originals(const ResolvedPath& path, bool* copied) {
  if (!can_ask()) return 0;
  Reader reply = Ask(FileCall::kCopyOriginals).put(path).put(*copied).send();
  const int error = reply.get<int>();
  *copied = reply.get<bool>();
  return error;
}

void Mounts::removed(const ResolvedPath& path) {
  if (can_ask()) Ask(FileCall::kRemoved).put(path).send();
}
void Mounts::renamed(const ResolvedPath& from, const ResolvedPath& to) {
  if (can_ask()) Ask(FileCall::kRenamed).put(from).put(to).send();
}
void Mounts::exchanged(const ResolvedPath& one, const ResolvedPath& other) {
  if (can_ask()) Ask(FileCall::kExchanged).put(one).put(other).send();
}
void Mounts::linked(const ResolvedPath& file, const ResolvedPath& name) {
  if (can_ask()) Ask(FileCall::kLinked).put(file).put(name).send();
}
void Mounts::opened(const ResolvedPath& path) {
  if (can_ask()) Ask(FileCall::kOpened).put(path).send();
}
void Mounts::closed(const ResolvedPath& path) {
  if (can_ask()) Ask(FileCall::kClosed).put(remote::handle_of(path.system)).put(path.file).send();
}

void Mounts::record_host_failure(const std::string& path, int error) {
  if (can_ask()) Ask(FileCall::kHostFailed).put(error).put_text(path).send();
}

}  // namespace sesame::storage
