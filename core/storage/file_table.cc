#include "core/storage/file_table.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace sesame::storage {
namespace {

constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max();  // no offset

void add(const FileStatistics& from, FileStatistics& to) {
  to.opens += from.opens;
  to.read_seeks += from.read_seeks;
  to.write_seeks += from.write_seeks;
  to.reads += from.reads;
  to.writes += from.writes;
  to.bytes_read += from.bytes_read;
  to.bytes_written += from.bytes_written;
  to.read_time += from.read_time;
  to.write_time += from.write_time;
  to.metadata_time += from.metadata_time;
}

}  // namespace

FileId FileTable::find(const std::string& name) {
  const auto [found, is_new] = by_name_.try_emplace(name, static_cast<FileId>(files_.size()));
  if (is_new) files_.emplace_back().totals.name = name;
  return found->second;
}

void FileTable::count(const Access& access) {
  Entry& file = files_[index(access.file)];
  const auto rank = static_cast<size_t>(access.client.rank);
  if (rank >= file.ends.size()) file.ends.resize(rank + 1, kNowhere);
  uint64_t& end = file.ends[rank];
  uint64_t bytes = 0;
  uint64_t elements = 0;
  uint64_t seeks = 0;
  for (const Extent& extent : access.extents) {
    if (access.seeks_each || extent.offset != end) ++seeks;
    end = extent.offset + extent.bytes;
    bytes += extent.bytes;
    elements += extent.bytes > 0 ? 1 : 0;
  }
  const bool reads = access.direction == Direction::kRead;
  (reads ? file.totals.reads : file.totals.writes) += elements;
  (reads ? file.totals.read_seeks : file.totals.write_seeks) += seeks;
  (reads ? file.totals.bytes_read : file.totals.bytes_written) += bytes;
}

void FileTable::set_size(FileId file, uint64_t bytes) {
  Entry& known = files_[index(file)];
  used_ += bytes - known.size;
  known.size = bytes;
  known.had_data |= bytes > 0;
  known.contents_end = std::min(known.contents_end, bytes);
}

void FileTable::extend_contents(FileId file, uint64_t end) {
  uint64_t& known = files_[index(file)].contents_end;
  known = std::max(known, end);
}

void FileTable::extend_contents(const Access& write) {
  for (const Extent& extent : write.extents)
    extend_contents(write.file, extent.offset + extent.bytes);
}

std::vector<FileStatistics> FileTable::statistics() const {
  std::vector<FileStatistics> all;
  std::unordered_map<std::string_view, size_t> by_name;
  for (const Entry& file : files_) {
    const auto [found, is_new] = by_name.try_emplace(file.totals.name, all.size());
    if (is_new) {
      all.push_back(file.totals);
    } else {
      add(file.totals, all[found->second]);
    }
  }
  return all;
}

int FileTable::open_on(FileId file, int node) {
  std::vector<NodeOpens>& open = files_[index(file)].open;
  const auto found = std::ranges::find(open, node, &NodeOpens::node);
  if (found != open.end()) {
    ++found->count;
    return 0;
  }
  open.push_back({node, 1});
  return open.size() == 1 ? 0 : open.size() == 2 ? 2 : 1;
}

void FileTable::close_on(FileId file, int node) {
  std::vector<NodeOpens>& open = files_[index(file)].open;
  const auto found = std::ranges::find(open, node, &NodeOpens::node);
  if (found != open.end() && --found->count == 0) open.erase(found);
}

}  // namespace sesame::storage
