// The copies are not known to the C library's dynamic loader. The exception runtime finds an
// address's unwind tables through _dl_find_object (libgcc 12 and later) or dl_iterate_phdr; both
// are answered here for the copies, and passed on for everything else.
#include <dlfcn.h>
#include <link.h>

#include <map>
#include <mutex>

#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

// Sorted by first address. Locked: threads of the program may unwind while the main thread loads.
std::map<uint64_t, CopyLocation> g_copies;
std::mutex g_copies_mutex;

bool contains(const Image& image, uint64_t base, uint64_t address) {
  return address - (base + image.begin) < image.size;
}

}  // namespace

void register_copy(uint64_t begin, const Image* image, uint64_t base) {
  const std::lock_guard lock(g_copies_mutex);
  g_copies[begin] = {image, base};
}

void unregister_copy(uint64_t begin) {
  const std::lock_guard lock(g_copies_mutex);
  g_copies.erase(begin);
}

// Needs no lock: reads only the active rank's copies.
static CopyLocation find_own_copy(uint64_t wanted) {
  const RankProcess* process = current();
  if (process == nullptr) return {};
  for (size_t i = 0; i < process->bases.size(); ++i) {
    const Image* image = process->images->images[i].get();
    if (image != nullptr && process->bases[i] != 0 && contains(*image, process->bases[i], wanted)) {
      return {image, process->bases[i]};
    }
  }
  return {};
}

bool is_in_own_copy(const void* address) {
  return find_own_copy(reinterpret_cast<uint64_t>(address)).image != nullptr;
}

CopyLocation find_copy(const void* address) {
  const auto wanted = reinterpret_cast<uint64_t>(address);
  if (const CopyLocation own = find_own_copy(wanted); own.image != nullptr) return own;
  const std::lock_guard lock(g_copies_mutex);
  auto place = g_copies.upper_bound(wanted);
  if (place == g_copies.begin()) return {};
  --place;
  const CopyLocation& copy = place->second;
  return contains(*copy.image, copy.base, wanted) ? copy : CopyLocation{};
}

namespace {

void describe(const Image& image, uint64_t base, dl_phdr_info& info) {
  info = {};
  info.dlpi_addr = base;
  info.dlpi_name = image.file.path().c_str();
  info.dlpi_phdr = image.file.segments().data();
  info.dlpi_phnum = static_cast<Elf64_Half>(image.file.segments().size());
}

#if __GLIBC_PREREQ(2, 35)
int find_object(void* address, dl_find_object* result) {
  const CopyLocation copy = find_copy(address);
  if (copy.image == nullptr || copy.image->eh_frame_header == 0)
    return REAL(_dl_find_object)(address, result);
  *result = {};
  result->dlfo_map_start = reinterpret_cast<void*>(copy.base + copy.image->begin);
  result->dlfo_map_end = reinterpret_cast<void*>(copy.base + copy.image->begin + copy.image->size);
  result->dlfo_eh_frame = reinterpret_cast<void*>(copy.base + copy.image->eh_frame_header);
  return 0;
}
#endif

}  // namespace

extern "C" {

#if __GLIBC_PREREQ(2, 35)
int rank__dl_find_object(void* address, dl_find_object* result) {
  return find_object(address, result);
}
GLOBAL_NAME(_dl_find_object);
#endif

int rank_dl_iterate_phdr(int (*callback)(dl_phdr_info*, size_t, void*), void* data) {
  if (const int result = REAL(dl_iterate_phdr)(callback, data); result != 0) return result;
  const RankProcess* process = current();
  for (size_t i = 0; process != nullptr && i < process->bases.size(); ++i) {
    if (process->images->images[i] == nullptr || process->bases[i] == 0) continue;
    dl_phdr_info info;
    describe(*process->images->images[i], process->bases[i], info);
    if (const int result = callback(&info, sizeof info, data); result != 0) return result;
  }
  return 0;
}
GLOBAL_NAME(dl_iterate_phdr);

}  // extern "C"
}  // namespace sesame::loader
