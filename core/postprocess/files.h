// The files that the calls of one process name: absolute paths, numbered in the order of first use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sesame::postprocess {

enum class FileKind : uint8_t {
  kUnknown,
  kRegular,
  kDirectory,
  kTerminal,
  kPipe,
  kSocket,
  kDevice,
  kMemory,
};

// The names of the kinds, by their number.
const std::vector<std::string>& file_kind_names();

struct FileFacts {
  std::string path;
  FileKind kind = FileKind::kUnknown;
  int64_t size_before = -1;
  int64_t block_size = 0;
  int64_t known_at = INT64_MAX;  // time on the node's clock of the call that reported the rest, ns
  int64_t length = -1;           // current length, as far as this process knows
};

class FileTable {
 public:
  // The number of a file by absolute path, or by the kernel's name of it; added when it is new.
  int32_t find(std::string_view path);
  // Sets what an open or stat reports of the file; of several reports the earliest is kept.
  void learn(int32_t file, uint32_t mode, int64_t block_size, int64_t size_before, int64_t time);

  FileFacts& operator[](int32_t file) { return files_[static_cast<size_t>(file)]; }
  std::vector<FileFacts> take() { return std::move(files_); }

 private:
  std::vector<FileFacts> files_;
  std::unordered_map<std::string, int32_t> numbers_;
};

// `path` as seen from `directory`: absolute, without "." and empty parts.
std::string absolute_path(std::string_view directory, std::string_view path);

}  // namespace sesame::postprocess
