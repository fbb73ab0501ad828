// Which libraries all ranks share, and which of them nobody decided to share. Internal.
#pragma once

namespace sesame::loader {

// Counts all libraries that the C library has loaded by now as known. Those that came since the
// last call were opened by the loader itself, or else by a shared library on its own.
enum class OpenedBy { kLoader, kSharedLibrary };
void count_shared_libraries(OpenedBy who);

}  // namespace sesame::loader
