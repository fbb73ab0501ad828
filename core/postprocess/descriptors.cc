#include "core/postprocess/descriptors.h"

namespace sesame::postprocess {
namespace {

constexpr int32_t kWorkingDirectory = -100;    // AT_FDCWD
constexpr int32_t kMostDescriptors = 1 << 24;  // a damaged number must not make us reserve memory

}  // namespace

std::string Descriptors::path_of(int32_t base, std::string_view path) const {
  auto at = static_cast<size_t>(base);
  const bool known = base >= 0 && at < slots_.size() && slots_[at].opening >= 0;
  if (base == kWorkingDirectory || !known) return absolute_path(directory_, path);
  const Opening& opening = openings_[static_cast<size_t>(slots_[at].opening)];
  return absolute_path(files_[opening.file].path, path);
}

void Descriptors::change_directory_to(int32_t descriptor) {
  const Opening& opening = get(descriptor);
  if (opening.file >= 0) directory_ = files_[opening.file].path;
}

Opening& Descriptors::open(int32_t descriptor, int32_t file, bool append, int64_t position,
                           int64_t time) {
  if (descriptor < 0 || descriptor >= kMostDescriptors) {
    outside_ = {file, handles_++, position, append, 0};
    return outside_;
  }
  Slot& place = slot(descriptor);
  release(place);
  if (free_.empty()) {
    free_.push_back(static_cast<int32_t>(openings_.size()));
    openings_.emplace_back();
  }
  place.opening = free_.back();
  place.since = time;
  free_.pop_back();
  Opening& opening = openings_[static_cast<size_t>(place.opening)];
  opening = {file, handles_++, position, append, 1};
  return opening;
}

void Descriptors::duplicate(int32_t descriptor, int32_t copy, int64_t time) {
  if (copy < 0 || copy >= kMostDescriptors || copy == descriptor) return;
  get(descriptor);
  if (descriptor < 0 || descriptor >= kMostDescriptors) return;
  Slot& place = slot(copy);
  release(place);
  place.opening = slot(descriptor).opening;
  place.since = time;
  ++openings_[static_cast<size_t>(place.opening)].descriptors;
}

Opening Descriptors::close(int32_t descriptor, int64_t begin) {
  Opening closed = get(descriptor);
  auto at = static_cast<size_t>(descriptor);
  if (descriptor < 0 || at >= slots_.size()) return closed;
  if (slots_[at].since > begin) return slots_[at].replaced;
  release(slots_[at]);
  slots_[at].replaced = {};
  return closed;
}

Descriptors::Slot& Descriptors::slot(int32_t descriptor) {
  auto at = static_cast<size_t>(descriptor);
  if (at >= slots_.size()) slots_.resize(at + 1);
  return slots_[at];
}

void Descriptors::release(Slot& slot) {
  if (slot.opening < 0) return;
  Opening& opening = openings_[static_cast<size_t>(slot.opening)];
  slot.replaced = opening;
  if (--opening.descriptors == 0) free_.push_back(slot.opening);
  slot.opening = -1;
}

Opening& Descriptors::unknown(int32_t descriptor) {
  int32_t file = files_.find("descriptor " + std::to_string(descriptor));
  return open(descriptor, file, false, -1, INT64_MIN);
}

}  // namespace sesame::postprocess
