// The processor's time-stamp counter. It counts evenly, and alike on all processors, at a rate that
// depends on the machine.
#pragma once

#include <cstdint>

namespace sesame {

// (__rdtsc of <x86intrin.h>, a header that takes long to compile.)
inline uint64_t read_time_stamp() { return __builtin_ia32_rdtsc(); }

}  // namespace sesame
