#include "core/postprocess/files.h"

#include <sys/stat.h>

namespace sesame::postprocess {
namespace {

FileKind kind_of(uint32_t mode, std::string_view path) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return path.starts_with("/memfd:") ? FileKind::kMemory : FileKind::kRegular;
    case S_IFDIR:
      return FileKind::kDirectory;
    case S_IFCHR:
      return path.starts_with("/dev/pts/") || path.starts_with("/dev/tty") || path == "/dev/console"
                 ? FileKind::kTerminal
                 : FileKind::kDevice;
    case S_IFBLK:
      return FileKind::kDevice;
    case S_IFIFO:
      return FileKind::kPipe;
    case S_IFSOCK:
      return FileKind::kSocket;
    default:
      return FileKind::kUnknown;
  }
}

}  // namespace

const std::vector<std::string>& file_kind_names() {
  static const std::vector<std::string> names = {"unknown", "regular", "directory", "terminal",
                                                 "pipe",    "socket",  "device",    "memory"};
  return names;
}

int32_t FileTable::find(std::string_view path) {
  auto [entry, added] =
      numbers_.try_emplace(std::string(path), static_cast<int32_t>(files_.size()));
  if (added) files_.push_back({.path = entry->first});
  return entry->second;
}

void FileTable::learn(int32_t number, uint32_t mode, int64_t block_size, int64_t size_before,
                      int64_t time) {
  FileFacts& file = files_[static_cast<size_t>(number)];
  if (file.known_at <= time) return;
  file.known_at = time;
  file.kind = kind_of(mode, file.path);
  file.block_size = block_size;
  file.size_before = size_before;
}

std::string absolute_path(std::string_view directory, std::string_view path) {
  std::string whole;
  if (!path.starts_with('/')) whole = std::string(directory) + '/';
  whole += path;
  std::string result;
  size_t at = 0;
  while (at < whole.size()) {
    size_t end = std::min(whole.find('/', at), whole.size());
    std::string_view part(whole.data() + at, end - at);
    if (!part.empty() && part != ".") {
      result += '/';
      result += part;
    }
    at = end + 1;
  }
  return result.empty() ? "/" : result;
}

}  // namespace sesame::postprocess
