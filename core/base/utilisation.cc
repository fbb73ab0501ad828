#include "core/base/utilisation.h"

#include <algorithm>

namespace sesame {

void Utilisation::add(SimTime begin, SimTime end) {
  if (end <= begin) return;
  const SimTime last = end - SimTime::from_ps(1);
  while (slice_of(last) >= most_) double_slices();
  if (slice_of(last) >= busy_.size()) busy_.resize(slice_of(last) + 1);
  for (size_t at = slice_of(begin); at <= slice_of(last); ++at) {
    const SimTime from = slice_ * static_cast<int64_t>(at);
    busy_[at] += std::min(end, from + slice_) - later(begin, from);
  }
}

void Utilisation::double_slices() {
  slice_ = slice_ * 2;
  for (size_t i = 0; i < busy_.size(); i += 2)
    busy_[i / 2] = i + 1 < busy_.size() ? busy_[i] + busy_[i + 1] : busy_[i];
  busy_.resize((busy_.size() + 1) / 2);
}

}  // namespace sesame
