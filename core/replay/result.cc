#include "core/replay/result.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sesame::replay {

std::string ReplayResult::bytes() const {
  std::string all(reinterpret_cast<const char*>(&header), sizeof header);
  all.append(reinterpret_cast<const char*>(operations.data()),
             operations.size() * sizeof(OperationResult));
  all.append(reinterpret_cast<const char*>(streams.data()), streams.size() * sizeof(StreamResult));
  return all;
}

Result<> write_file(const std::string& path, const std::string& bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  bool written =
      file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) return error_at(path, 0, std::string("cannot write it: ") + std::strerror(errno));
  return {};
}

}  // namespace sesame::replay
