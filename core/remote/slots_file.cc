#include "core/remote/slots_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace sesame::remote {
namespace {

std::unexpected<Error> cannot(const char* what) {
  return error(std::string("cannot ") + what +
               " memory for the ranks' processes: " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<SlotsFile>> SlotsFile::create() {
  const int descriptor = memfd_create("sesame-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return cannot("make");
  void* const head =
      ftruncate(descriptor, slot_offset(0)) != 0 ||
              fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) != 0
          ? MAP_FAILED
          : mmap(nullptr, sizeof(SlotsHead), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (head != MAP_FAILED)
    return std::unique_ptr<SlotsFile>(new SlotsFile(descriptor, static_cast<SlotsHead*>(head)));
  auto failed = cannot("map");
  close(descriptor);
  return failed;
}

SlotsFile::~SlotsFile() {
  munmap(head_, sizeof(SlotsHead));
  close(descriptor_);
}

Result<> SlotsFile::grow(int slots) {
  if (ftruncate(descriptor_, slot_offset(slots)) != 0) return cannot("make");
  return {};
}

int SlotsFile::slots() const {
  struct stat status {};
  fstat(descriptor_, &status);
  return static_cast<int>((status.st_size - slot_offset(0)) / static_cast<off_t>(sizeof(Slot)));
}

Slot* SlotsFile::map(int first, int count) const {
  void* const slots = mmap(nullptr, sizeof(Slot) * static_cast<size_t>(count),
                           PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, slot_offset(first));
  return slots == MAP_FAILED ? nullptr : static_cast<Slot*>(slots);
}

void SlotsFile::unmap(Slot* slot) { munmap(slot, sizeof(Slot)); }

}  // namespace sesame::remote
