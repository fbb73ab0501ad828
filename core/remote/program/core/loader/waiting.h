// Stands in for core/loader/waiting.h in the library of a rank that is a process of its own: other
// ranks run while it waits.
#pragma once

namespace sesame::loader {

inline void wait_for_input(int, int = 0) {}

}  // namespace sesame::loader
