// Shared libraries that all ranks use, and which of them were opened without the loader's
// knowledge. Internal.
#pragma once

namespace sesame::loader {

// Marks all libraries that the C library has loaded by now as known. `who` opened those that were
// loaded since the last call: the loader itself, or a shared library on its own.
enum class OpenedBy { kLoader, kSharedLibrary };
void count_shared_libraries(OpenedBy who);

}  // namespace sesame::loader
