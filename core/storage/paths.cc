#include "core/storage/paths.h"

#include <algorithm>

namespace sesame::storage {

std::string normalise(std::string_view path) {
  std::string result;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      result.resize(result.empty() ? 0 : result.rfind('/'));
    } else {
      result.append("/").append(part);
    }
  }
  return result.empty() ? "/" : result;
}

bool lies_under(std::string_view path, std::string_view top) {
  return path.starts_with(top) &&
         (path.size() == top.size() || top == "/" || path[top.size()] == '/');
}

bool is_kernel_path(std::string_view path) {
  return lies_under(path, "/dev") || lies_under(path, "/proc") || lies_under(path, "/sys");
}

}  // namespace sesame::storage
