#include "core/postprocess/file_view.h"

#include <algorithm>

namespace sesame::postprocess {
namespace {

constexpr uint32_t kNumbers = 8;  // s32 for each run

int64_t number(const trace::ListView& list, uint32_t at) {
  return static_cast<int64_t>(static_cast<uint32_t>(list[at])) |
         static_cast<int64_t>(static_cast<uint64_t>(list[at + 1]) << 32);
}

}  // namespace

FileView::FileView(const trace::mpi_view_record& record)
    : displacement_(record.displacement),
      etype_size_(record.etype_size),
      size_(record.filetype_size),
      extent_(record.filetype_extent) {
  read_runs(record.runs);
}

// Drops runs that do not add up to the filetype's size: the record is damaged.
void FileView::read_runs(const trace::ListView& numbers) {
  int64_t data = 0;
  for (uint32_t at = 0; at + kNumbers <= numbers.size; at += kNumbers) {
    const ViewRun run{number(numbers, at), number(numbers, at + 2), number(numbers, at + 4),
                      number(numbers, at + 6)};
    int64_t bytes = 0;
    if (run.bytes <= 0 || run.count <= 0 || __builtin_mul_overflow(run.bytes, run.count, &bytes)) {
      break;
    }
    before_.push_back(data);
    runs_.push_back(run);
    if (__builtin_add_overflow(data, bytes, &data)) break;
  }
  if (data == size_) return;
  runs_.clear();
  before_.clear();
}

FileView::Position FileView::find(int64_t data) const {
  if (runs_.empty()) return {data, size_ - data};
  const auto next = std::ranges::upper_bound(before_, data);
  const auto at = static_cast<size_t>(next - before_.begin()) - 1;
  const ViewRun& run = runs_[at];
  const int64_t inside = data - before_[at];
  return {run.offset + inside / run.bytes * run.stride + inside % run.bytes,
          run.bytes - inside % run.bytes};
}

int64_t FileView::file_offset(int64_t data) const {
  if (data < 0 || size_ <= 0) return -1;
  return displacement_ + data / size_ * extent_ + find(data % size_).offset;
}

bool FileView::has_holes() const {
  if (size_ != extent_ || runs_.size() > 1) return true;
  return !runs_.empty() && runs_[0].count > 1;
}

bool FileView::is_contiguous(int64_t data, int64_t bytes) const {
  if (!has_holes()) return true;
  return !runs_.empty() && data >= 0 && find(data % size_).left >= bytes;
}

std::string FileView::text() const {
  std::string text;
  for (const ViewRun& run : runs_) {
    if (!text.empty()) text += ',';
    text += std::to_string(run.offset) + '+' + std::to_string(run.bytes);
    if (run.count == 1) continue;
    text += 'x' + std::to_string(run.count) + '/' + std::to_string(run.stride);
  }
  return text;
}

}  // namespace sesame::postprocess
