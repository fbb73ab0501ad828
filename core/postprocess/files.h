// The files that one process met: paths made absolute, numbered in the order of meeting.
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
  int64_t known_at = INT64_MAX;  // time of the node at which the rest was learnt
  int64_t length = -1;           // as far as this process knows it; not a fact of the file
};

class FileTable {
 public:
  // The file of an absolute path, or of another name of the kernel's.
  int32_t find(std::string_view path);
  // What an opening or stat says of it; only the first counts.
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
