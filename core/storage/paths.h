// Paths as text.
#pragma once

#include <string>
#include <string_view>

namespace sesame::storage {

// The absolute path without ".", ".." and empty components.
std::string normalise(std::string_view path);

// Whether the path is that of `top` or of something below it. Both are normalised.
bool lies_under(std::string_view path, std::string_view top);
// Of the kernel's own file systems, which are never simulated, even if "/" is mounted.
bool is_kernel_path(std::string_view path);
// Whether a path belongs to this mount, if there is no longer one.
inline bool is_on_mount(std::string_view path, std::string_view mount) {
  return lies_under(path, mount) && !(mount == "/" && is_kernel_path(path));
}

}  // namespace sesame::storage
