// Which copy an address lies in: for the exception runtime, and for messages about crashes.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace sesame::loader {

struct Image;
struct ImageGroup;
class RankProcess;

// Maps a copy of a group for a rank and fills in what depends on its place; executes nothing.
Result<> copy_group(RankProcess& process, const ImageGroup& group);
// Unmaps one image's copy, if there is one.
void remove_copy(RankProcess& process, uint32_t index);

struct CopyLocation {
  const Image* image = nullptr;  // null: in no copy
  uint64_t base = 0;             // what was added to the image's addresses
};

void register_copy(uint64_t begin, const Image* image, uint64_t base);
void unregister_copy(uint64_t begin);

// Looks in the active rank's copies first. Allocates nothing, so that a crash can ask.
CopyLocation find_copy(const void* address);

}  // namespace sesame::loader
