#include "core/storage/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/spelling.h"
#include "core/storage/file_system.h"
#include "core/storage/paths.h"

namespace sesame::storage {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat of_a;
  struct stat of_b;
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

Result<> make_directories(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (!problem && access(path.c_str(), W_OK | X_OK) == 0) return {};
  return error_at(path, 0,
                  "cannot keep the bytes of simulated files here: " +
                      (problem ? problem.message() : std::string(std::strerror(errno))),
                  std::string("name another directory with ") + spelled("--files", "files="));
}

void add_names(const std::string& directory, std::vector<std::string>* names) {
  DIR* stream = opendir(directory.c_str());
  if (stream == nullptr) return;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
  }
  closedir(stream);
}

// Copies the bytes of a file; with `hollow` only its size. Returns an errno value.
int copy_file(const std::string& from, const std::string& to, const struct stat& status,
              bool hollow) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return errno;
  const int target =
      open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
  int error = target < 0 ? errno : 0;
  off_t left = status.st_size;
  if (error == 0 && hollow && ftruncate(target, left) != 0) error = errno;
  while (error == 0 && !hollow && left > 0) {
    const ssize_t moved = sendfile(target, source, nullptr, static_cast<size_t>(left));
    if (moved < 0) error = errno;
    if (moved == 0) break;
    left -= moved;
  }
  if (error == 0) {
    const timespec times[2] = {status.st_atim, status.st_mtim};
    futimens(target, times);
  }
  close(source);
  if (target >= 0) close(target);
  if (error != 0 && target >= 0) unlink(to.c_str());
  return error;
}

}  // namespace

Mounts::Mounts(Options options) : options_(std::move(options)) {}
Mounts::~Mounts() = default;

Result<std::unique_ptr<Mounts>> Mounts::create(Options options) {
  if (auto made = make_directories(options.directory); !made) return std::unexpected(made.error());
  std::error_code problem;
  options.directory = std::filesystem::canonical(options.directory, problem);
  options.working_directory = std::filesystem::canonical(options.working_directory, problem);
  if (problem) return error_at(options.working_directory, 0, problem.message());
  return std::unique_ptr<Mounts>(new Mounts(std::move(options)));
}

Result<> Mounts::add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared,
                     uint64_t block) {
  std::vector<std::unique_ptr<FileSystem>> systems;
  systems.push_back(std::move(shared));
  groups_.push_back({std::move(systems), std::vector<Names>(1), block, false});
  for (const std::string& path : mounts)
    if (auto done = mount(path, groups_.size() - 1, false); !done) return done;
  return {};
}

Result<> Mounts::add_local(std::vector<std::string> mounts,
                           std::vector<std::unique_ptr<FileSystem>> by_node, uint64_t block) {
  const size_t nodes = by_node.size();
  groups_.push_back({std::move(by_node), std::vector<Names>(nodes), block, true});
  for (const std::string& path : mounts)
    if (auto done = mount(path, groups_.size() - 1, true); !done) return done;
  return {};
}

Result<> Mounts::mount(const std::string& path, size_t group, bool is_local) {
  const std::string& directory = options_.directory;
  const bool is_working = path == ".";
  Mount made{is_working ? options_.working_directory : normalise(path), directory, group, is_local,
             options_.shows_originals && is_working &&
                 (is_local || !is_same_directory(directory, options_.working_directory))};
  if (!is_working && made.path != "/") made.backing += made.path;
  if (auto done = make_directories(made.backing); !done) return done;
  const auto position = std::ranges::find_if(
      mounts_, [&](const Mount& other) { return other.path.size() < made.path.size(); });
  mounts_.insert(position, std::move(made));
  return {};
}

int Mounts::add_nodes(int nodes, const std::function<std::unique_ptr<FileSystem>(int node)>& make) {
  int before = nodes;
  for (const Mount& mount : mounts_) {
    Group& group = groups_[mount.group];
    if (!mount.is_local || group.systems.size() >= static_cast<size_t>(nodes)) continue;
    before = static_cast<int>(group.systems.size());
    for (int node = before; node < nodes; ++node) group.systems.push_back(make(node));
    group.names.resize(group.systems.size());
  }
  return before;
}

Result<> Mounts::prepare(std::string_view path, int64_t bytes, int first_node) const {
  const std::string name = normalise(path);
  const Mount* mount = mount_of(name);
  if (mount == nullptr) return {};
  const size_t nodes = mount->is_local ? groups_[mount->group].systems.size() : 1;
  const size_t first = mount->is_local ? static_cast<size_t>(first_node) : 0;
  for (size_t node = first; node < nodes; ++node) {
    const std::string backing = backing_of(*mount, name, static_cast<int>(node));
    if (auto made = make_directories(backing.substr(0, backing.rfind('/'))); !made) return made;
    if (bytes < 0) continue;
    const int file = open(backing.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    const bool is_made = file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0;
    const int error = errno;
    if (file >= 0) close(file);
    if (!is_made) return error_at(backing, 0, std::strerror(error));
  }
  return {};
}

const Mounts::Mount* Mounts::mount_of(std::string_view path) const {
  for (const Mount& mount : mounts_)
    if (is_on_mount(path, mount.path)) return &mount;
  return nullptr;
}

FileSystem* Mounts::find_system(std::string_view path, int node) const {
  const Mount* mount = mount_of(path);
  return mount == nullptr ? nullptr : &system_of(*mount, node);
}

std::vector<std::string> Mounts::mount_points() const {
  std::vector<std::string> points;
  for (const Mount& mount : mounts_) points.push_back(mount.path);
  return points;
}

std::string Mounts::backing_of(const Mount& mount, std::string_view path, int node) const {
  std::string backing = mount.backing;
  if (mount.is_local) {
    backing += "/node-" + std::to_string(node);
    mkdir(backing.c_str(), 0777);
  }
  return backing.append(path.substr(mount.path == "/" ? 0 : mount.path.size()));
}

bool Mounts::is_hidden(std::string_view path) const {
  if (hidden_.empty()) return false;
  for (; path.size() > 1; path = path.substr(0, path.rfind('/')))
    if (hidden_.contains(std::string(path))) return true;
  return false;
}

std::string Mounts::find_existing(const Mount& mount, const std::string& path, int node,
                                  bool* is_original) const {
  std::string backing = backing_of(mount, path, node);
  *is_original = mount.shows_originals && !exists(backing) && !is_hidden(path) && exists(path);
  return *is_original ? path : backing;
}

// Follows links as the program sees them: a link in the backing store may lead to another mount.
std::string Mounts::resolve_links(std::string_view given, int node, bool follow_last,
                                  int* error) const {
  std::string path = normalise(given);
  if (is_kernel_path(path)) return path;
  int links = 0;
  for (size_t end = path.find('/', 1); path.size() > 1; end = path.find('/', end + 1)) {
    const bool is_last = end == std::string::npos;
    if (is_last && !follow_last) break;
    const std::string part = path.substr(0, end);
    bool is_original = false;
    const Mount* mount = mount_of(part);
    const std::string real =
        mount == nullptr ? part : find_existing(*mount, part, node, &is_original);
    char target[PATH_MAX];
    const ssize_t length = readlink(real.c_str(), target, sizeof target);
    if (length > 0 && ++links > kMostLinks) {
      *error = ELOOP;
      return path;
    }
    if (length > 0) {
      const std::string_view text(target, static_cast<size_t>(length));
      const std::string rest = is_last ? "" : path.substr(end);
      const std::string before = text.front() == '/' ? "" : part.substr(0, part.rfind('/') + 1);
      path = normalise(before + std::string(text) + rest);
      end = 0;
      continue;
    }
    if (is_last) break;
  }
  return path;
}

// Mirrors parent directories of the host into the backing store before an entry is created there.
int Mounts::mirror_parents(const Mount& mount, const std::string& path, int node) const {
  if (!mount.shows_originals || path.size() <= mount.path.size()) return 0;
  const std::string parent = path.substr(0, path.rfind('/'));
  bool is_original = false;
  find_existing(mount, parent, node, &is_original);
  if (!is_original) return 0;
  struct stat status;
  if (stat(parent.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return 0;
  if (const int error = mirror_parents(mount, parent, node); error != 0) return error;
  const std::string made = backing_of(mount, parent, node);
  return mkdir(made.c_str(), status.st_mode & 0777) == 0 || errno == EEXIST ? 0 : errno;
}

int Mounts::copy(const std::string& from, const std::string& to) const {
  struct stat status;
  if (lstat(from.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode))
    return mkdir(to.c_str(), status.st_mode & 0777) == 0 || errno == EEXIST ? 0 : errno;
  if (S_ISREG(status.st_mode)) return copy_file(from, to, status, options_.discard_data);
  std::error_code problem;
  std::filesystem::copy(from, to, std::filesystem::copy_options::copy_symlinks, problem);
  return problem.value();
}

int Mounts::copy_original(ResolvedPath* found) const {
  const int error = copy(found->host_path, found->backing);
  found->host_path = found->backing;
  found->is_original = false;
  return error;
}

void Mounts::tell_readers_of_copy(const ResolvedPath& copied) {
  change({.kind = MountsChange::Kind::kCopied,
          .system = copied.system,
          .file = copied.file,
          .name = copied.host_path});
}

FileSystem& Mounts::system_of(const Mount& mount, int node) const {
  const Group& group = groups_[mount.group];
  return *group.systems[mount.is_local ? static_cast<size_t>(node) : 0];
}

Mounts::Names& Mounts::names_of(const Mount& mount, int node) {
  return groups_[mount.group].names[mount.is_local ? static_cast<size_t>(node) : 0];
}

// A file that existed before the run uses space from its first locate() on.
FileId Mounts::find_id(const Mount& mount, const std::string& path, int node,
                       const std::string& bytes) {
  Names& names = names_of(mount, node);
  if (const auto known = names.find(path); known != names.end()) return known->second;
  FileSystem& system = system_of(mount, node);
  const FileId file = system.find_file(path);
  set_name(mount, node, path, file);

  struct stat status;
  if (stat(bytes.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    system.resize(file, static_cast<uint64_t>(status.st_size));
    system.mark_existing_contents(file);
  }
  return file;
}

ResolvedPath Mounts::resolve(std::string_view path, int node, bool follows_last) const {
  ResolvedPath found;
  found.node = node;
  found.name = resolve_links(path, node, follows_last, &found.error);
  found.host_path = found.name;
  const Mount* mount = mount_of(found.name);
  if (mount == nullptr || found.error != 0) return found;
  found.system = &system_of(*mount, node);
  found.host_path = find_existing(*mount, found.name, node, &found.is_original);
  return found;
}

ResolvedPath Mounts::locate(std::string_view path, int node, PathIntent intent) {
  const bool is_write = intent == PathIntent::kWrite;
  ResolvedPath found = resolve(path, node, is_write || intent == PathIntent::kRead);
  if (!found.is_simulated()) return found;
  const Mount* mount = mount_of(found.name);
  found.backing = backing_of(*mount, found.name, node);
  found.block = groups_[mount->group].block;
  if (is_write || intent == PathIntent::kUnlink)
    found.error = mirror_parents(*mount, found.name, node);
  const bool copies = is_write && found.is_original && found.error == 0;
  if (copies) found.error = copy_original(&found);
  // Directories, and names that do not exist, have no FileId: use that of the mount point.
  const bool has_number = is_write || is_file(found.host_path);
  const std::string& subject = has_number ? found.name : mount->path;
  found.file = find_id(*mount, subject, node, found.host_path);
  if (copies && found.error == 0) tell_readers_of_copy(found);
  return found;
}

std::vector<std::string> Mounts::list(const ResolvedPath& directory) const {
  std::vector<std::string> names;
  const Mount* mount = mount_of(directory.name);
  if (mount == nullptr) return names;
  add_names(backing_of(*mount, directory.name, directory.node), &names);
  if (!mount->shows_originals || is_hidden(directory.name)) return names;
  std::vector<std::string> originals;
  add_names(directory.name, &originals);
  std::unordered_set<std::string> known(names.begin(), names.end());
  for (std::string& name : originals)
    if (!known.contains(name) && !hidden_.contains(directory.name + "/" + name))
      names.push_back(std::move(name));
  return names;
}

int Mounts::copy_originals(const ResolvedPath& path, bool* copied) {
  ResolvedPath found = locate(path.name, path.node, PathIntent::kUnlink);
  const Mount* mount = mount_of(found.name);
  if (mount == nullptr || found.error != 0 || !mount->shows_originals) return found.error;
  if (found.is_original) {
    if (const int error = copy_original(&found); error != 0) return error;
    if (is_file(found.host_path)) {
      tell_readers_of_copy(found);
      *copied = true;
    }
  }
  for (const std::string& inside : list(found)) {
    ResolvedPath entry;
    entry.name = found.name + "/" + inside;
    entry.node = path.node;
    if (const int error = copy_originals(entry, copied); error != 0) return error;
  }
  return 0;
}

void Mounts::hide_original(const std::string& name) {
  const Mount* mount = mount_of(name);
  if (mount != nullptr && mount->shows_originals && exists(name))
    change({.kind = MountsChange::Kind::kHidden, .name = name});
}

void Mounts::removed(const ResolvedPath& path) {
  const Mount* mount = mount_of(path.name);
  if (mount == nullptr) return;
  hide_original(path.name);
  const Names& names = names_of(*mount, path.node);
  if (!names.contains(path.name)) return;
  erase_name(*mount, path.node, path.name);
  const bool has_other_name =
      std::ranges::any_of(names, [&](const auto& e) { return e.second == path.file; });
  const auto use = uses_->find({path.system, path.file});
  const bool is_open = use != uses_->end();
  if (has_other_name || is_open) path.system->release_name(path.name);
  if (has_other_name) return;
  if (is_open) {
    change({.kind = MountsChange::Kind::kRemoved, .system = path.system, .file = path.file});
  } else {
    path.system->remove(path.file);
  }
}

Mounts::MovedNames Mounts::take_names(const ResolvedPath& top) {
  MovedNames moved;
  const Mount* mount = mount_of(top.name);
  if (mount == nullptr) return moved;
  hide_original(top.name);
  for (const auto& [name, file] : names_of(*mount, top.node))
    if (lies_under(name, top.name)) moved.emplace_back(name.substr(top.name.size()), file);
  for (const auto& [rest, file] : moved) {
    erase_name(*mount, top.node, top.name + rest);
    top.system->release_name(top.name + rest);
  }
  return moved;
}

void Mounts::give_names(const ResolvedPath& top, const MovedNames& moved) {
  const Mount* mount = mount_of(top.name);
  if (mount == nullptr) return;
  for (const auto& [rest, file] : moved) set_name(*mount, top.node, top.name + rest, file);
}

void Mounts::renamed(const ResolvedPath& from, const ResolvedPath& to) {
  give_names(to, take_names(from));
}

void Mounts::exchanged(const ResolvedPath& one, const ResolvedPath& other) {
  const MovedNames of_one = take_names(one);
  const MovedNames of_other = take_names(other);
  give_names(other, of_one);
  give_names(one, of_other);
}

void Mounts::record_host_failure(const std::string& host_path, int error) {
  const bool is_host_error = error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
  if (failure_ || !is_host_error) return;
  failure_ = error_at(host_path, 0,
                      std::string("cannot keep the bytes of this simulated file: ") +
                          strerrordesc_np(error) +
                          "; the prediction is wrong from here on: the program continued "
                          "without them",
                      std::string("free space there, or name another directory with ") +
                          spelled("--files", "files=") + "; " +
                          spelled("--discard-data", "discard_data=True") + " keeps sizes only")
                 .error();
}

void Mounts::linked(const ResolvedPath& file, const ResolvedPath& name) {
  if (const Mount* mount = mount_of(name.name)) set_name(*mount, file.node, name.name, file.file);
}

bool Mounts::is_shared() const {
  return std::ranges::any_of(
      mounts_, [](const Mount& mount) { return !mount.is_local || mount.shows_originals; });
}

void Mounts::opened(const ResolvedPath& path) {
  change({.kind = MountsChange::Kind::kOpened, .system = path.system, .file = path.file});
}

void Mounts::closed(const ResolvedPath& path) {
  const FileUse& use = uses_->at({path.system, path.file});
  if (use.open_count == 1 && use.is_removed) path.system->remove(path.file);
  change({.kind = MountsChange::Kind::kClosed, .system = path.system, .file = path.file});
}

void Mounts::set_name(const Mount& mount, int node, const std::string& name, FileId file) {
  change({.kind = MountsChange::Kind::kName,
          .group = mount.group,
          .system_number = mount.is_local ? static_cast<size_t>(node) : 0,
          .system = &system_of(mount, node),
          .file = file,
          .name = name});
}

void Mounts::erase_name(const Mount& mount, int node, const std::string& name) {
  change({.kind = MountsChange::Kind::kNoName,
          .group = mount.group,
          .system_number = mount.is_local ? static_cast<size_t>(node) : 0,
          .system = &system_of(mount, node),
          .name = name});
}

bool Mounts::is_shared(const FileSystem& system) const {
  return std::ranges::any_of(groups_, [&](const Group& group) {
    return !group.is_local && group.systems[0].get() == &system;
  });
}

// Changes of a node's own file system concern the process of this node only.
void Mounts::change(const MountsChange& change) {
  if (tell_ && (change.system == nullptr || is_shared(*change.system))) tell_(change);
  apply(change);
}

void Mounts::apply(const MountsChange& change) {
  const std::pair file(change.system, change.file);
  switch (change.kind) {
    case MountsChange::Kind::kName:
      groups_[change.group].names[change.system_number][change.name] = change.file;
      return;
    case MountsChange::Kind::kNoName:
      groups_[change.group].names[change.system_number].erase(change.name);
      return;
    case MountsChange::Kind::kHidden:
      hidden_.insert(change.name);
      return;
    case MountsChange::Kind::kCopied:
      if (const auto use = uses_->find(file); use != uses_->end())
        for (OriginalReader* reader : std::exchange(use->second.original_readers, {}))
          reader->follow_copy(change.name);
      return;
    case MountsChange::Kind::kOpened:
      ++(*uses_)[file].open_count;
      return;
    case MountsChange::Kind::kClosed:
      if (--uses_->at(file).open_count == 0) uses_->erase(file);
      return;
    case MountsChange::Kind::kRemoved:
      uses_->at(file).is_removed = true;
      return;
  }
}

}  // namespace sesame::storage
