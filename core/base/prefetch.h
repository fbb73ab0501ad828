// Loading memory into the cache before it is needed (docs/decisions/0006-loading-ahead.md).
#pragma once

#include <cstddef>

namespace sesame {

inline constexpr size_t kCacheLineBytes = 64;

// Starts loading, for writing, the lines of `bytes` bytes from `begin` on. Any address will do.
inline void prefetch_bytes(const void* begin, size_t bytes) {
  const char* const first = static_cast<const char*>(begin);
  for (size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(first + at, 1);
}

}  // namespace sesame
