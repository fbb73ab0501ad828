// The file in memory with the slots of a simulator's ranks (wire.h). Their processes open it by its
// descriptor here and map their slots.
//
// Use: create(), then grow() before slots are mapped or given out. One thread.
#pragma once

#include <memory>

#include "core/base/error.h"
#include "core/remote/wire.h"

namespace sesame::remote {

class SlotsFile {
 public:
  // With the head only.
  static Result<std::unique_ptr<SlotsFile>> create();
  ~SlotsFile();
  SlotsFile(const SlotsFile&) = delete;
  SlotsFile& operator=(const SlotsFile&) = delete;

  int descriptor() const { return descriptor_; }
  SlotsHead& head() const { return *head_; }
  // Makes space for so many slots in all. Those that are not used take no memory.
  Result<> grow(int slots);
  // How many there is space for. A process can make it larger, but not smaller.
  int slots() const;
  // Maps slots that follow each other; null with errno if that fails.
  Slot* map(int first, int count) const;
  // One that was mapped alone.
  static void unmap(Slot* slot);

 private:
  SlotsFile(int descriptor, SlotsHead* head) : descriptor_(descriptor), head_(head) {}

  const int descriptor_;
  SlotsHead* const head_;
};

}  // namespace sesame::remote
