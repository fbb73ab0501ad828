// Where simulated files are: which paths lie on which simulated file system, and where their real
// bytes are kept. A mount's bytes lie in a directory of the run (the backing), node-local ones in
// one for each node. On the mount of the working directory, files that are really there can be
// read too: the first time one is opened it is copied to the backing, the original stays as it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

struct Place {
  FileSystem* system = nullptr;  // which model's time it takes
  FileId file{};
  std::string path;  // of the real bytes
};

class Mounts {
 public:
  struct Options {
    std::string directory;          // the backing; made if need be
    std::string working_directory;  // what "." means
    bool discard_data = false;      // sizes are kept, contents read as zeros
  };

  // Takes the file systems that the machine has; either may be absent.
  static Result<std::unique_ptr<Mounts>> create(Options options);
  void add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared);
  void add_local(std::vector<std::string> mounts, std::vector<std::unique_ptr<FileSystem>> by_node);

  // Where an absolute, normalised path is for a rank on this node; nothing: it is on no mount.
  std::optional<Place> find(std::string_view path, int node);
  // Calls visit(group, index, system) for every file system; a local one has the number of its node
  // as index.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (size_t group = 0; group < groups_.size(); ++group)
      for (size_t i = 0; i < groups_[group].systems.size(); ++i)
        visit(group, i, *groups_[group].systems[i]);
  }
  bool discards_data() const { return options_.discard_data; }

 private:
  struct Group {
    std::vector<std::string> mounts;
    std::vector<std::unique_ptr<FileSystem>> systems;  // one, or one for each node
  };
  explicit Mounts(Options options) : options_(std::move(options)) {}
  std::string backing_of(const std::string& path, const std::string& mount, int node) const;

  Options options_;
  std::vector<Group> groups_;
};

}  // namespace sesame::storage
