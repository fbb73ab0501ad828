// What the loader needs from the simulator for files on simulated file systems. The bytes of such a
// file are really in a file of the host; descriptors of it are the host's. Each call does what it
// does there, at a moment when all earlier calls of all ranks have done theirs; how long it takes
// is up to the simulator. Called while a rank is active, for that rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sesame::loader {

// What is about to be done with a path: the same as storage::Use.
enum class PathUse : uint8_t { kLook, kChange, kName, kReplace };

enum class FileCall : uint8_t { kOpen, kCreate, kClose, kStat, kRemove };

// Where a path leads.
struct FilePath {
  void* system = nullptr;  // the simulator's own; null: the path is the host's
  uint32_t file = 0;       // likewise
  int node = 0;
  std::string path;          // for the host's kernel
  std::string backing;       // where a new file of that name is made
  std::string name;          // for the program: absolute, without links
  bool is_original = false;  // a real file that only may be read
  uint64_t block = 4096;     // bytes of a block of the file system
  int error = 0;             // an errno value: the path cannot be used

  bool is_simulated() const { return system != nullptr; }
};

// What a call was about, for its record.
struct FileCallNote {
  int64_t result = 0;
  int error = 0;        // errno of a call that failed
  int64_t offset = -1;  // of the first byte; -1: none
  uint64_t size = 0;    // bytes asked for; the flags of an opening
};

struct FileHooks {
  FilePath (*locate)(const std::string& path, PathUse use);
  // The same for a look that changes nothing, before begin(): `file` and `backing` are not known.
  FilePath (*resolve)(const std::string& path, bool follows_last);

  // Around each call. After begin() everything earlier has happened; the time from there to end()
  // is I/O. In between, those that wait: a call about names, moved data, a flush.
  void (*begin)(const char* call);
  void (*end)(const FileCallNote& note);
  void (*metadata)(const FilePath& file, FileCall call);
  void (*moved)(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes);
  void (*flush)(const FilePath& file);
  // Moved data whose time goes on beside the rank: begun, whether it has ended by now, waited for.
  void* (*start)(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes);
  bool (*has_ended)(void* ticket);
  void (*await)(void* ticket);

  // The file is about to have this size; false: there is no room for it.
  bool (*resize)(const FilePath& file, uint64_t bytes);
  // A descriptor of it has been made, or the last of them closed.
  void (*opened)(const FilePath& file);
  void (*closed)(const FilePath& file);

  // Names: what is in a directory; a real directory is copied, so that it can be renamed (errno);
  // what has become of names. A removed file's bytes go with the last descriptor.
  std::vector<std::string> (*list)(const FilePath& directory);
  int (*copy_all)(const FilePath& directory);
  void (*removed)(const FilePath& name);
  void (*renamed)(const FilePath& from, const FilePath& to);
  void (*linked)(const FilePath& file, const FilePath& name);

  bool discards_data;  // sizes only: nothing is written, zeros are read
  // The host's kernel could not write its bytes, although there was room (errno).
  void (*failed)(const FilePath& file, int error);

  // The cache of the rank's node need not keep these bytes; 0: all from the offset on.
  void (*drop)(const FilePath& file, uint64_t offset, uint64_t bytes);
};

}  // namespace sesame::loader
