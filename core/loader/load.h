// Maps copies of images for a rank, and finds the copy that contains an address: for the exception
// runtime, and for messages about crashes. Internal.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace sesame::loader {

struct Image;
struct ImageGroup;
class RankProcess;

// Maps a copy of a group for a rank and applies the fix-ups, which depend on its addresses.
// Executes nothing.
Result<> copy_group(RankProcess& process, const ImageGroup& group);
// Unmaps one image's copy, if there is one.
void remove_copy(RankProcess& process, uint32_t index);

struct CopyLocation {
  const Image* image = nullptr;  // null: in no copy
  uint64_t base = 0;             // what was added to the image's addresses
};

// Add and remove a copy for find_copy(); `begin` is its first address.
void register_copy(uint64_t begin, const Image* image, uint64_t base);
void unregister_copy(uint64_t begin);

// Looks in the active rank's copies first. Allocates nothing, so that the crash reporter can use
// it.
CopyLocation find_copy(const void* address);

}  // namespace sesame::loader
