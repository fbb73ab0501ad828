#include "core/mpi/io/io_list.h"

#include <algorithm>

#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

// A bound of a sub-array in one copy of a file type.
struct BoundMarker {
  int64_t data_byte;  // the marker comes before this byte of the copy's data
  int64_t offset;     // in the file
};

bool is_subarray(const DatatypeObject& type) {
  return type.combiner() == MPI_COMBINER_SUBARRAY || type.combiner() == MPI_COMBINER_DARRAY;
}

// Lists the markers in the order of the data. In MPI-1's terms a sub-array is a lower bound marker,
// its data and an upper bound marker.
void find_markers(const DatatypeObject& type, int64_t data_byte, int64_t offset,
                  std::vector<BoundMarker>* markers) {
  if (type.is_predefined() || type.size() == 0) return;
  if (is_subarray(type)) {
    markers->push_back({data_byte, offset + type.lb()});
    markers->push_back({data_byte + type.size(), offset + type.ub()});
    return;
  }
  const TypeMap& type_map = type.type_map();
  for (Count i = 0; i < type_map.count; ++i) {
    const DatatypeObject& below = type_map.block_type(i);
    for (Count k = 0; k < type_map.block_length(i); ++k) {
      find_markers(below, data_byte, offset + type_map.block_displacement(i) + k * below.extent(),
                   markers);
      data_byte += below.size();
    }
  }
}

// Divides a list of joined extents into elementary items, and inserts the markers between them.
class LiteralList {
 public:
  LiteralList(const FileView& view, int64_t first_byte) : view_(view), data_byte_(first_byte) {
    const DatatypeObject& type = *view.stored_filetype;
    find_markers(type, 0, view.displacement, &markers_);
    const int64_t copy = first_byte / type.size();
    begin_copy(copy);
    while (next_ < markers_.size() && marker_byte() < first_byte) ++next_;
    list_.push_back({static_cast<uint64_t>(byte_offset(view, first_byte / item_bytes())), 0});
  }

  void add(Extent extent) {
    while (extent.bytes > 0) {
      add_markers(true);
      const uint64_t bytes = std::min(extent.bytes, view_.stored_etype->is_contiguous()
                                                        ? static_cast<uint64_t>(item_bytes())
                                                        : extent.bytes);
      list_.push_back({extent.offset, bytes});
      extent.offset += bytes;
      extent.bytes -= bytes;
      data_byte_ += static_cast<int64_t>(bytes);
    }
  }

  std::vector<Extent> finish() {
    add_markers(false);
    return std::move(list_);
  }

 private:
  int64_t item_bytes() const { return view_.stored_etype->size(); }
  int64_t marker_byte() const {
    return copy_ * view_.stored_filetype->size() + markers_[next_].data_byte;
  }
  void begin_copy(int64_t copy) {
    copy_ = copy;
    next_ = 0;
  }
  // Adds the markers before the next byte of the data. Those at the start of the next copy of the
  // file type are added only if `has_more_data`.
  void add_markers(bool has_more_data) {
    while (!markers_.empty()) {
      if (next_ == markers_.size()) {
        if (!has_more_data || data_byte_ < (copy_ + 1) * view_.stored_filetype->size()) return;
        begin_copy(copy_ + 1);
      }
      if (marker_byte() > data_byte_) return;
      const int64_t offset =
          markers_[next_].offset + copy_ * static_cast<int64_t>(view_.stored_filetype->extent());
      list_.push_back({static_cast<uint64_t>(std::max<int64_t>(offset, 0)), 0});
      ++next_;
    }
  }

  const FileView& view_;
  int64_t data_byte_;  // of the view: the next byte of data
  std::vector<BoundMarker> markers_;
  int64_t copy_ = 0;  // of the file type: that of the next marker
  size_t next_ = 0;
  std::vector<Extent> list_;
};

std::vector<Extent> contiguous_extents(const FileView& view, int64_t first_byte, int64_t bytes) {
  const DatatypeObject& type = *view.stored_filetype;
  if (type.is_contiguous()) {
    return {{static_cast<uint64_t>(view.displacement + first_byte), static_cast<uint64_t>(bytes)}};
  }
  std::vector<Extent> list;
  ByteRangeCursor cursor(type, (first_byte + bytes - 1) / type.size() + 1);
  cursor.seek(first_byte);
  ByteRange run;
  while (bytes > 0 && cursor.next(&run, bytes)) {
    list.push_back(
        {static_cast<uint64_t>(view.displacement + run.offset), static_cast<uint64_t>(run.length)});
    bytes -= run.length;
  }
  return list;
}

}  // namespace

std::vector<Extent> make_io_list(const FileView& view, int64_t position, int64_t bytes,
                                 bool literal) {
  if (bytes == 0) return {};
  const int64_t first_byte = position * view.stored_etype->size();
  std::vector<Extent> list = contiguous_extents(view, first_byte, bytes);
  if (!literal) return list;
  LiteralList cut(view, first_byte);
  for (const Extent& extent : list) cut.add(extent);
  return cut.finish();
}

int64_t byte_offset(const FileView& view, int64_t position) {
  const DatatypeObject& type = *view.stored_filetype;
  const int64_t byte = position * view.stored_etype->size();
  if (type.is_contiguous() || type.size() == 0) return view.displacement + byte;
  const int64_t copy = byte / type.size();
  ByteRangeCursor cursor(type, 1);
  cursor.seek(byte - copy * type.size());
  ByteRange run{0, 0};
  cursor.next(&run, 1);
  return view.displacement + copy * static_cast<int64_t>(type.extent()) + run.offset;
}

int64_t items_below(const FileView& view, uint64_t file_offset) {
  const DatatypeObject& type = *view.stored_filetype;
  const int64_t item = view.stored_etype->size();
  const int64_t end = static_cast<int64_t>(file_offset) - view.displacement;
  if (end <= 0 || type.size() == 0 || item == 0) return 0;
  if (type.is_contiguous()) return (end + item - 1) / item;
  // First count the copies that are wholly before the end, then those that contain it.
  const int64_t extent = std::max<int64_t>(type.extent(), 1);
  const int64_t span = type.true_lb() + type.true_extent();
  const int64_t whole = end < span ? 0 : (end - span) / extent + 1;
  const int64_t last = (end - 1) / extent + 1;
  int64_t bytes = whole * type.size();
  ByteRangeCursor cursor(type, std::max(last, whole) + 1);
  cursor.seek(bytes);
  ByteRange run;
  while (cursor.next(&run) && run.offset < end) {
    bytes += std::min<int64_t>(run.length, end - run.offset);
  }
  return (bytes + item - 1) / item;
}

}  // namespace sesame::mpi
