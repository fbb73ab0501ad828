// Mounts: which paths are on which simulated file system, where the bytes of simulated files are
// kept on the host, and what becomes of names.
//
// The bytes of a mount are in host files below one directory of the run (the backing store); a
// node-local mount has a subdirectory for each node. Through the mount of the working directory the
// program also sees the files that are there on the host (originals); one is copied to the backing
// store before it is changed, the original stays as it is.
//
// To use a path: resolve it with locate(), open `host_path` on the host, and make an OpenFile
// (open_file.h) of the result for room and time. After the host has removed, renamed or linked a
// name, say so with removed(), renamed() or linked().
//
// Paths are absolute. Sizes are bytes. Errors of calls that a program can make are errno values (0:
// success); wrong options of the user are an Error. All calls are made on the simulation's thread.
#pragma once

#include <functional>
#include <map>
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

// What the caller is about to do with a path. Decides whether a link at its end is followed, and
// whether an original is copied first.
enum class PathIntent : uint8_t {
  kRead,      // read, list or stat the file; follows a link
  kReadLink,  // stat or read the name itself, which may be a link
  kWrite,     // write, create or change the file; follows a link, copies an original
  kUnlink,    // remove the name, or give it to another file
};

// Where a path leads for a process on `node`.
struct ResolvedPath {
  FileSystem* system = nullptr;  // models its time and room; null: a file of the host, with neither
  FileId file{};                 // how `system` knows it
  int node = 0;                  // of the process that asked
  std::string host_path;         // of the bytes on the host
  std::string backing;           // where they are, or would be, in the backing store
  std::string name;              // as the program could write it: absolute, without links
  bool is_original = false;      // a file of the host that is only read, not in the backing store
  uint64_t block = 4096;         // bytes of the file system's block
  int error = 0;                 // an errno value: the path cannot be used

  bool is_simulated() const { return system != nullptr; }
};

// What all openings of one simulated file have in common.
struct FileUse {
  int openings = 0;
  bool is_removed = false;  // its last name is gone; its room goes with the last opening
};
using FileUses = std::map<std::pair<FileSystem*, FileId>, FileUse>;

class Mounts {
 public:
  struct Options {
    std::string directory;          // the backing; made if need be
    std::string working_directory;  // what "." means
    bool discard_data = false;      // keep sizes only: contents read as zeros
    bool shows_originals = true;    // files of the host in the working directory are seen
  };

  static Result<std::unique_ptr<Mounts>> create(Options options);
  // Mounts a file system that all nodes share, or one for each node. `block` is what stat reports.
  Result<> add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared,
               uint64_t block = 4096);
  Result<> add_local(std::vector<std::string> mounts,
                     std::vector<std::unique_ptr<FileSystem>> by_node, uint64_t block = 4096);

  // Makes a file of so many zero bytes before the run, on every node from `first_node` on where the
  // mount is local; with -1 bytes only its directory. Does nothing for a path on no mount.
  Result<> prepare(std::string_view path, int64_t bytes, int first_node = 0) const;

  // Adds the local file systems of nodes that come into use later; `make` makes that of a node.
  // Returns the number of nodes that had one before.
  int add_nodes(int nodes, const std::function<std::unique_ptr<FileSystem>(int node)>& make);

  // Where an absolute path leads. A file gets its number, by which it is laid out, at its first
  // locate(): call it when everything earlier in simulated time has happened.
  ResolvedPath locate(std::string_view path, int node, PathIntent intent);
  // The same without side effects: `file` and `backing` are not set, nothing is copied. May be
  // called at any time.
  ResolvedPath resolve(std::string_view path, int node, bool follows_last) const;

  // The names in a directory, without "." and "..", in no order.
  std::vector<std::string> list(const ResolvedPath& directory) const;
  // Copies a file or directory tree of originals to the backing store, so that it can be renamed
  // there. Returns an errno value.
  int copy_originals(const ResolvedPath& path);

  // The name has been removed from the backing store, if it was there; an original of that name is
  // not seen any more. When it was the last name of its file, the file's room is given back: at
  // once, or when its last OpenFile is destroyed.
  void removed(const ResolvedPath& path);
  // `from` has been renamed to `to` in the backing store, in place of what `to` was.
  void renamed(const ResolvedPath& from, const ResolvedPath& to);
  // `name` is another name for `file`.
  void linked(const ResolvedPath& file, const ResolvedPath& name);

  // How often each file is open. OpenFile counts here, through a weak pointer: files may be closed
  // after the mounts are gone.
  const std::shared_ptr<FileUses>& uses() const { return uses_; }

  const Options& options() const { return options_; }

  // Calls visit(group, index, system) for every file system; the index of a local one is its node.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (size_t group = 0; group < groups_.size(); ++group)
      for (size_t i = 0; i < groups_[group].systems.size(); ++i)
        visit(group, i, *groups_[group].systems[i]);
  }
  bool discards_data() const { return options_.discard_data; }

  // The host could not store bytes that the simulated file system has room for: from then on the
  // program sees what it would not see on the target machine. Only a lack of space and device
  // errors of the host count; other errno values are the program's own errors.
  void note_host_failure(const std::string& host_path, int error);
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
  // The host path of the bytes as they are now, and whether it is the original's.
  std::string existing(const Mount& mount, const std::string& path, int node,
                       bool* is_original) const;
  std::string without_links(std::string_view path, int node, bool follow_last, int* error) const;
  int make_parents(const Mount& mount, const std::string& path, int node) const;
  int copy(const std::string& from, const std::string& to) const;
  Names& names_of(const Mount& mount, int node);
  FileSystem& system_of(const Mount& mount, int node) const;
  // Forgets the name; whether it was the last one of its file.
  bool forget_name(const ResolvedPath& path);
  FileId id_of(const Mount& mount, const std::string& path, int node, const std::string& bytes);

  Options options_;
  std::vector<Group> groups_;
  std::vector<Mount> mounts_;  // longest path first
  std::unordered_set<std::string> removed_;
  std::optional<Error> failure_;
  std::shared_ptr<FileUses> uses_ = std::make_shared<FileUses>();
};

// An absolute path without ".", ".." and empty parts.
std::string normalise(std::string_view path);

}  // namespace sesame::storage
