#include "core/postprocess/descriptors.h"

namespace sesame::postprocess {
namespace {

constexpr int32_t kWorkingDirectory = -100;    // AT_FDCWD
constexpr int32_t kMostDescriptors = 1 << 24;  // a damaged number must not make us reserve memory

}  // namespace

std::string Descriptors::path_of(int32_t base, std::string_view path) const {
  auto at = static_cast<size_t>(base);
  const bool known = base >= 0 && at < slots_.size() && slots_[at].open_file >= 0;
  if (base == kWorkingDirectory || !known) return absolute_path(directory_, path);
  const OpenFile& open_file = open_files_[static_cast<size_t>(slots_[at].open_file)];
  return absolute_path(files_[open_file.file].path, path);
}

void Descriptors::change_directory_to(int32_t descriptor) {
  const OpenFile& open_file = get(descriptor);
  if (open_file.file >= 0) directory_ = files_[open_file.file].path;
}

OpenFile& Descriptors::open(int32_t descriptor, int32_t file, bool append, int64_t position,
                            int64_t time) {
  if (descriptor < 0 || descriptor >= kMostDescriptors) {
    outside_ = {file, handles_++, position, append, 0};
    return outside_;
  }
  Slot& target = slot(descriptor);
  release(target);
  if (free_.empty()) {
    free_.push_back(static_cast<int32_t>(open_files_.size()));
    open_files_.emplace_back();
  }
  target.open_file = free_.back();
  target.since = time;
  free_.pop_back();
  OpenFile& open_file = open_files_[static_cast<size_t>(target.open_file)];
  open_file = {file, handles_++, position, append, 1};
  return open_file;
}

void Descriptors::duplicate(int32_t descriptor, int32_t copy, int64_t time) {
  if (copy < 0 || copy >= kMostDescriptors || copy == descriptor) return;
  get(descriptor);
  if (descriptor < 0 || descriptor >= kMostDescriptors) return;
  Slot& target = slot(copy);
  release(target);
  target.open_file = slot(descriptor).open_file;
  target.since = time;
  ++open_files_[static_cast<size_t>(target.open_file)].descriptors;
}

OpenFile Descriptors::close(int32_t descriptor, int64_t begin) {
  OpenFile closed = get(descriptor);
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
  if (slot.open_file < 0) return;
  OpenFile& open_file = open_files_[static_cast<size_t>(slot.open_file)];
  slot.replaced = open_file;
  if (--open_file.descriptors == 0) free_.push_back(slot.open_file);
  slot.open_file = -1;
}

OpenFile& Descriptors::unknown(int32_t descriptor) {
  int32_t file = files_.find("descriptor " + std::to_string(descriptor));
  return open(descriptor, file, false, -1, INT64_MIN);
}

}  // namespace sesame::postprocess
