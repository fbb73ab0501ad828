// Mounts: which paths are on which simulated file system, where the host stores the bytes of
// simulated files, and how names change during the run. The bytes of a mount are in host files
// below one directory of the run (the backing store). A node-local mount has a subdirectory for
// each node.
//
// Through the mount of the working directory the program also sees the host's files (originals). An
// original is copied to the backing store before it is changed and is never changed itself. This is
// what overlayfs does: the working directory is its lower, the backing store its upper layer. As
// there, a descriptor that the program opened for reading before the copy still reads the original.
// Files opened by MPI-IO read the copy from then on (OriginalReader).
//
// To use a path: resolve it with locate(), open `host_path` on the host, and make an OpenFile
// (open_file.h) of the result for space and time. After a name was removed, renamed, exchanged or
// linked on the host, call removed(), renamed(), exchanged() or linked(). `host_path` of an
// original is the user's own file: never write or unlink it. remove_file() (open_file.h) follows
// this rule.
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
#include "core/storage/access.h"

namespace sesame::storage {

class FileSystem;  // file_system.h, which has times

// What the caller will do with a path. It decides whether a symbolic link at its end is followed,
// and whether an original is copied first.
enum class PathIntent : uint8_t {
  kRead,      // read, list or stat the file; follows a link
  kReadLink,  // stat or read the name itself, which may be a link
  kWrite,     // write or change the file, or open(O_CREAT); follows a link, copies an original
  kUnlink,    // remove, rename, mkdir, symlink or link the name itself; does not follow a link
};

// The result of resolving a path for a process on `node`.
struct ResolvedPath {
  FileSystem* system =
      nullptr;               // models its time and space; null: a file of the host, with neither
  FileId file{};             // its number in `system`
  int node = 0;              // of the process
  std::string host_path;     // the host file that has the bytes now
  std::string backing;       // the host file in the backing store, which may not exist
  std::string name;          // the path as the program sees it: absolute, without links
  bool is_original = false;  // host_path is an original: only read it
  uint64_t block = 4096;     // bytes of the file system's block
  int error = 0;             // an errno value: the path cannot be used

  bool is_simulated() const { return system != nullptr; }
};

// An open file that reads an original in place until the original is copied.
class OriginalReader {
 public:
  // The original was copied to `copy`, which other opens may change: read it from now on.
  virtual void follow_copy(const std::string& copy) = 0;

 protected:
  ~OriginalReader() = default;
};

// What all opens of one simulated file share.
struct FileUse {
  int open_count = 0;
  bool is_removed = false;  // its last name was removed; the last close frees its space
  std::vector<OriginalReader*> original_readers;
};
using FileUses = std::map<std::pair<FileSystem*, FileId>, FileUse>;

// A change of what Mounts know about files that all nodes can see. The processes of a parallel
// simulation tell each other (replicas.h).
struct MountsChange {
  enum class Kind : uint8_t {
    kName,     // `name` in `group` means `file`
    kNoName,   // `name` in `group` means nothing
    kHidden,   // the original of this name is hidden
    kCopied,   // the original of `file` is copied to the host file `name`
    kOpened,   // `file` is open once more
    kClosed,   // once less
    kRemoved,  // it has no name any more, and is open
  };
  Kind kind = Kind::kName;
  size_t group = 0;
  size_t system_number = 0;  // in the group
  FileSystem* system = nullptr;
  FileId file{};
  std::string name;
};

class Mounts {
 public:
  struct Options {
    std::string directory;          // the backing store; created if it does not exist
    std::string working_directory;  // what "." mounts
    bool discard_data = false;      // keep only sizes; reads return zeros
    bool shows_originals = true;    // the program sees the host's files in the working directory
  };

  static Result<std::unique_ptr<Mounts>> create(Options options);
  ~Mounts();
  // Mounts a file system that all nodes share, or one for each node. `block` is what stat reports.
  Result<> add(std::vector<std::string> mounts, std::unique_ptr<FileSystem> shared,
               uint64_t block = 4096);
  Result<> add_local(std::vector<std::string> mounts,
                     std::vector<std::unique_ptr<FileSystem>> by_node, uint64_t block = 4096);

  // Creates a file of `bytes` zero bytes before the run; with -1 only its directory. On a
  // node-local mount it does so on every node from `first_node` on. Does nothing for a path on no
  // mount.
  Result<> prepare(std::string_view path, int64_t bytes, int first_node = 0) const;

  // Extends node-local mounts to `nodes` nodes; `make` makes the file system of one node. Returns
  // the number of nodes that had one before.
  int add_nodes(int nodes, const std::function<std::unique_ptr<FileSystem>(int node)>& make);

  // Resolves an absolute path. A file gets its FileId, which decides where it is striped, at its
  // first locate(): call it after all events that are earlier in simulated time.
  ResolvedPath locate(std::string_view path, int node, PathIntent intent);
  // The same without side effects: does not set `file` and `backing`, copies nothing. May be called
  // at any time.
  ResolvedPath resolve(std::string_view path, int node, bool follows_last) const;

  // The names in a directory, without "." and "..", in no order.
  std::vector<std::string> list(const ResolvedPath& directory) const;
  // Copies a file or a directory tree of originals to the backing store, so that it can be renamed
  // there. Returns an errno value. Sets `copied` if it copied a file: other processes that read the
  // original open the copy by its name when they apply() the change.
  int copy_originals(const ResolvedPath& path, bool* copied);

  // The name was removed from the backing store, if it was there. Hides an original of that name,
  // which the caller has not removed from the host.
  // If it was the file's last name, its space is freed: now, or when its last OpenFile is
  // destroyed.
  void removed(const ResolvedPath& path);
  // `from` was renamed to `to` in the backing store. A file that `to` named before was reported by
  // removed().
  void renamed(const ResolvedPath& from, const ResolvedPath& to);
  // The two names were exchanged (RENAME_EXCHANGE). REQUIRES: no original is left at or below them,
  // see copy_originals().
  void exchanged(const ResolvedPath& one, const ResolvedPath& other);
  // `name` was made another name of `file` (a hard link).
  void linked(const ResolvedPath& file, const ResolvedPath& name);

  // For OpenFile: the file is open once more, or once less.
  void opened(const ResolvedPath& path);
  void closed(const ResolvedPath& path);
  // How often each file is open. OpenFile has a weak pointer: a file may be closed after the mounts
  // were destroyed.
  const std::shared_ptr<FileUses>& uses() const { return uses_; }

  // Whether ranks on different nodes can see the same files.
  bool is_shared() const;
  bool is_shared(const FileSystem& system) const;
  // Passes to `tell` each change from now on that concerns files which several nodes can see.
  // apply() makes such a change of another process.
  void tell_changes(std::function<void(const MountsChange&)> tell) { tell_ = std::move(tell); }
  void apply(const MountsChange& change);

  const Options& options() const { return options_; }
  // The file system that a process on `node` sees at the path, whose links are not followed; null:
  // none.
  FileSystem* find_system(std::string_view path, int node) const;
  // Where file systems are mounted, the longest path first.
  std::vector<std::string> mount_points() const;

  // Calls visit(node, system) for every file system; the node is -1 if all nodes share it.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (const Group& group : groups_)
      for (size_t i = 0; i < group.systems.size(); ++i)
        visit(group.is_local ? static_cast<int>(i) : -1, *group.systems[i]);
  }
  bool discards_data() const { return options_.discard_data; }

  // The host could not store bytes for which the simulated file system has space. From then on the
  // program behaves differently than on the target machine. Records the first such error; ignores
  // errno values that are not a lack of space or a device error of the host.
  void record_host_failure(const std::string& host_path, int error);
  // That error, for the user.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Names = std::unordered_map<std::string, FileId>;
  struct Group {
    std::vector<std::unique_ptr<FileSystem>> systems;  // one, or one for each node
    std::vector<Names> names;  // by system: the FileId of each name seen so far
    uint64_t block = 4096;
    bool is_local = false;
  };
  struct Mount {
    std::string path;     // the mount point
    std::string backing;  // the host directory of its bytes; in a node-local mount node-N follows
    size_t group;
    bool is_local;
    bool shows_originals;
  };

  explicit Mounts(Options options);
  Result<> mount(const std::string& path, size_t group, bool is_local);
  const Mount* mount_of(std::string_view path) const;
  std::string backing_of(const Mount& mount, std::string_view path, int node) const;
  bool is_hidden(std::string_view path) const;
  // The host path that has the bytes now: of the backing store or of the original.
  std::string find_existing(const Mount& mount, const std::string& path, int node,
                            bool* is_original) const;
  std::string resolve_links(std::string_view path, int node, bool follow_last, int* error) const;
  int mirror_parents(const Mount& mount, const std::string& path, int node) const;
  int copy(const std::string& from, const std::string& to) const;
  // Copies the original at found->host_path and makes `found` name the copy. Returns an errno
  // value.
  int copy_original(ResolvedPath* found) const;
  void tell_readers_of_copy(const ResolvedPath& copied);
  Names& names_of(const Mount& mount, int node);
  // Makes a change and tells it.
  void change(const MountsChange& change);
  void set_name(const Mount& mount, int node, const std::string& name, FileId file);
  void erase_name(const Mount& mount, int node, const std::string& name);
  FileSystem& system_of(const Mount& mount, int node) const;
  // From now on the program does not see an original of this name.
  void hide_original(const std::string& name);
  // Move the names of files at and below a path: take_names() removes and returns them without
  // `top`, so that they are empty or begin with '/'. give_names() adds them below another path.
  using MovedNames = std::vector<std::pair<std::string, FileId>>;
  MovedNames take_names(const ResolvedPath& top);
  void give_names(const ResolvedPath& top, const MovedNames& moved);
  FileId find_id(const Mount& mount, const std::string& path, int node, const std::string& bytes);

  Options options_;
  std::function<void(const MountsChange&)> tell_;  // empty: no listener
  std::vector<Group> groups_;
  std::vector<Mount> mounts_;  // longest path first
  std::unordered_set<std::string>
      hidden_;  // originals (and what is below them) that were removed or renamed
  std::optional<Error> failure_;
  std::shared_ptr<FileUses> uses_ = std::make_shared<FileUses>();
};

}  // namespace sesame::storage
