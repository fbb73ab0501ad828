#include "core/storage/mounts.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace sesame::storage {
namespace {

bool lies_under(std::string_view path, std::string_view mount) {
  return path.starts_with(mount) &&
         (path.size() == mount.size() || mount.ends_with('/') || path[mount.size()] == '/');
}

}  // namespace

Result<std::unique_ptr<Mounts>> Mounts::create(Options options) {
  if (mkdir(options.directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return error_at(
        options.directory, 0,
        std::string("cannot make the directory of simulated files: ") + std::strerror(errno));
  }
  return std::unique_ptr<Mounts>(new Mounts(std::move(options)));
}

void Mounts::add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared) {
  std::vector<std::unique_ptr<FileSystem>> systems;
  systems.push_back(std::move(shared));
  add_local(std::move(mounts), std::move(systems));
}

void Mounts::add_local(std::vector<std::string> mounts,
                       std::vector<std::unique_ptr<FileSystem>> by_node) {
  for (std::string& mount : mounts)
    if (mount == ".") mount = options_.working_directory;
  groups_.push_back({std::move(mounts), std::move(by_node)});
}

std::optional<Place> Mounts::find(std::string_view path, int node) {
  for (const Group& group : groups_) {
    for (const std::string& mount : group.mounts) {
      if (!lies_under(path, mount)) continue;
      const size_t index = group.systems.size() == 1 ? 0 : static_cast<size_t>(node);
      FileSystem& system = *group.systems[index];
      const std::string name(path);
      return Place{&system, system.find_file(name), backing_of(name, mount, node)};
    }
  }
  return std::nullopt;
}

// Everything under a mount lies flat in one directory, so that no directory needs to be made.
std::string Mounts::backing_of(const std::string& path, const std::string&, int) const {
  std::string flat = path.substr(1);
  for (char& c : flat)
    if (c == '/') c = '+';
  return options_.directory + "/" + flat;
}

}  // namespace sesame::storage
