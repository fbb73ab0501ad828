// Where simulated files are: which paths lie on which simulated file system, and where their real
// bytes are kept. A mount's bytes lie in a directory of the run (the backing), node-local ones in
// one for each node. On the mount of the working directory, files that are really there can be
// seen too: before one is changed it is copied to the backing, the original stays as it is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/error.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

// What is about to be done with a path: decides whether a link at its end is followed, and whether
// a file that is really there is copied first.
enum class Use {
  kLook,     // read, list, ask about it
  kChange,   // write to it or make it
  kName,     // ask about the name itself, which may be a link
  kReplace,  // remove the name, or give it to something else
};

struct Place {
  FileSystem* system = nullptr;  // which model's time it takes
  FileId file{};
  std::string path;          // of the real bytes
  std::string backing;       // where they would be if they were in the backing
  std::string name;          // as the program could call it: absolute, without links
  bool is_original = false;  // really there and not in the backing: not to be changed
  uint64_t block = 4096;     // bytes of the file system's block
  int error = 0;             // an errno value: it cannot be used
};

class Mounts {
 public:
  struct Options {
    std::string directory;          // the backing; made if need be
    std::string working_directory;  // what "." means
    bool discard_data = false;      // sizes are kept, contents read as zeros
    bool shows_originals = true;    // files of the working directory that are really there
  };

  // Takes the file systems that the machine has; either may be absent.
  static Result<std::unique_ptr<Mounts>> create(Options options);
  Result<> add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared,
               uint64_t block = 4096);
  Result<> add_local(std::vector<std::string> mounts,
                     std::vector<std::unique_ptr<FileSystem>> by_node, uint64_t block = 4096);

  // Before the run there is a file of so many zeros, on every node where the mount is local; of -1
  // bytes only the directory that it lies in. Nothing for a path on no mount. Where the mount is
  // local, nodes before `first_node` are left alone.
  Result<> prepare(std::string_view path, int64_t bytes, int first_node = 0) const;

  // Local file systems of nodes that come into use later; `make` gives that of a node. The number
  // of nodes that had one before.
  int add_nodes(int nodes, const std::function<std::unique_ptr<FileSystem>(int node)>& make);

  // Where an absolute path is for a rank on this node; nothing: it is on no mount.
  std::optional<Place> find(std::string_view path, int node, Use use = Use::kChange);
  // The same, with links followed also for a path on no mount: then `system` is null.
  Place locate(std::string_view path, int node, Use use);
  // The same, but no file gets its number, by which it is laid out, and nothing is copied: also for
  // a look before everything earlier has happened.
  Place resolve(std::string_view path, int node, bool follows_last) const;

  // The names in a directory, without "." and "..".
  std::vector<std::string> list(const Place& directory, int node) const;
  // The backing holds all of a directory (or file) that is really there, for it to be renamed.
  // Returns an errno value.
  int copy_all(const std::string& name, int node);

  // The name is gone from the backing, if it was there: what is really there is not seen any more.
  // Whether that was the last name of its file.
  bool removed(const Place& place, int node);
  void renamed(const Place& from, const Place& to, int node);
  // Another name for the same file.
  void linked(const Place& file, const Place& name, int node);

  const Options& options() const { return options_; }

  // Calls visit(group, index, system) for every file system; a local one has the number of its node
  // as index.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (size_t group = 0; group < groups_.size(); ++group)
      for (size_t i = 0; i < groups_[group].systems.size(); ++i)
        visit(group, i, *groups_[group].systems[i]);
  }
  bool discards_data() const { return options_.discard_data; }

  // The host could not do something with the bytes of a simulated file that the simulated file
  // system can: from then on the program sees what it would not see on the target machine. Others
  // than a lack of room and broken devices are the program's own errors.
  void note_failure(const std::string& path, int error);
  // The first one, for the user.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Names = std::unordered_map<std::string, FileId>;
  struct Group {
    std::vector<std::unique_ptr<FileSystem>> systems;  // one, or one for each node
    std::vector<Names> names;                          // of each system's files
    uint64_t block = 4096;
  };
  struct Mount {
    std::string path;     // where it is for the program
    std::string backing;  // the directory of its bytes; of a local one node-N follows
    size_t group;
    bool is_local;
    bool shows_originals;
  };

  explicit Mounts(Options options) : options_(std::move(options)) {}
  Result<> mount(const std::string& path, size_t group, bool is_local);
  const Mount* mount_of(std::string_view path) const;
  std::string backing_of(const Mount& mount, std::string_view path, int node) const;
  bool is_hidden(std::string_view path) const;
  // The path of the bytes as they are now, and whether it is the original's.
  std::string existing(const Mount& mount, const std::string& path, int node,
                       bool* is_original) const;
  std::string without_links(std::string_view path, int node, bool follow_last, int* error) const;
  int make_parents(const Mount& mount, const std::string& path, int node) const;
  int copy(const std::string& from, const std::string& to) const;
  Names& names_of(const Mount& mount, int node);
  FileSystem& system_of(const Mount& mount, int node) const;
  FileId id_of(const Mount& mount, const std::string& path, int node, const std::string& bytes);

  Options options_;
  std::vector<Group> groups_;
  std::vector<Mount> mounts_;  // longest path first
  std::unordered_set<std::string> removed_;
  std::optional<Error> failure_;
};

// An absolute path without ".", ".." and empty parts.
std::string normalise(std::string_view path);

}  // namespace sesame::storage
