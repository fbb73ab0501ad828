#include "core/postprocess/io_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace sesame::postprocess {
namespace {

using namespace trace;

bool has_position(uint32_t mode) {
  return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFBLK || (mode & S_IFMT) == S_IFDIR;
}

// The size of a file before an open whose result is a file of `size` bytes. It is unknown (-1) if
// the call may have created the file. It is 0 if the call emptied a file that must have existed.
int64_t size_before(uint32_t flags, int64_t size) {
  if ((flags & O_TRUNC) != 0) return (flags & O_CREAT) != 0 ? -1 : 0;
  return (flags & O_CREAT) != 0 && size == 0 ? -1 : size;
}

// MPI libraries take a prefix that names the kind of file system, as in ufs:/scratch/data.
std::string_view without_prefix(std::string_view path) {
  for (std::string_view prefix : {"ufs:", "nfs:", "lustre:", "gpfs:", "pvfs2:", "testfs:"}) {
    if (path.starts_with(prefix)) return path.substr(prefix.size());
  }
  return path;
}

}  // namespace

void IoReader::on(const partial_record& record, uint64_t time) {
  OpenFile& open_file = open_.get(record.file);
  IoRow row = row_of(record, time, open_file);
  row.size = static_cast<int64_t>(record.size);
  row.bytes = static_cast<int64_t>(record.bytes);
  const bool writes = traits_.has(record.call, kWrites);
  if (record.offset >= 0) {
    row.offset = record.offset;
    open_.moved(open_file, record.offset + row.bytes, writes && row.bytes > 0);
  } else {
    row.offset = open_.advance(open_file, row.bytes, writes);
  }
  add(row);
}

void IoReader::on(const position_record& record, uint64_t time) {
  OpenFile& open_file = open_.get(record.file);
  IoRow row = row_of(record, time, open_file);
  row.offset = record.offset;
  row.size = static_cast<int64_t>(record.size);
  if (record.error == 0 && record.offset >= 0) {
    if (traits_.has(record.call, kSeeks)) {
      open_file.position = record.offset;
    } else if (traits_.has(record.call, kTruncates)) {
      files_[open_file.file].length = record.offset;
    } else if (traits_.has(record.call, kAllocates)) {
      open_.moved(open_file, record.offset + row.size, true);
    }
  }
  add(row);
}

void IoReader::on(const advice_record& record, uint64_t time) {
  IoRow row = row_of(record, time, open_.get(record.file));
  row.offset = record.offset;
  row.size = static_cast<int64_t>(record.size);
  if (record.advice == POSIX_FADV_WILLNEED) row.flags |= kIoWillNeed;
  if (record.advice == POSIX_FADV_DONTNEED) row.flags |= kIoDontNeed;
  add(row);
}

void IoReader::on(const handle_record& record, uint64_t time) {
  if (record.error == EBADF) {
    add(row_of(record, time));
    return;
  }
  const auto begin = static_cast<int64_t>(time - record.duration);
  IoRow row = traits_.has(record.call, kCloses)
                  ? row_of(record, time, open_.close(record.file, begin))
                  : row_of(record, time, open_.get(record.file));
  if (traits_.has(record.call, kChangesDirectory) && record.error == 0) {
    open_.change_directory_to(record.file);
  }
  add(row);
}

void IoReader::on(const open_record& record, uint64_t time) {
  IoRow row = row_of(record, time);
  row.file = open_.file_of(record.directory, record.path);
  row.size = record.flags;
  if (record.file >= 0) {
    files_.learn(row.file, record.mode, record.block_size, size_before(record.flags, record.size),
                 static_cast<int64_t>(time));
    files_[row.file].length = has_position(record.mode) ? record.size : -1;
    row.handle = open_
                     .open(record.file, row.file, (record.flags & O_APPEND) != 0,
                           has_position(record.mode) ? 0 : -1, static_cast<int64_t>(time))
                     .handle;
  }
  add(row);
}

void IoReader::on(const descriptor_record& record, uint64_t time) {
  int32_t file = files_.find(record.path);
  files_.learn(file, record.mode, record.block_size, has_position(record.mode) ? record.size : -1,
               static_cast<int64_t>(time));
  if (has_position(record.mode)) files_[file].length = record.size;
  open_.open(record.file, file, (record.flags & O_APPEND) != 0,
             has_position(record.mode) ? record.offset : -1, static_cast<int64_t>(time));
}

void IoReader::on(const duplicate_record& record, uint64_t time) {
  if (record.error == EBADF) {
    add(row_of(record, time));
    return;
  }
  add(row_of(record, time, open_.get(record.file)));
  open_.duplicate(record.file, record.other_file, static_cast<int64_t>(time));
}

void IoReader::on(const path_record& record, uint64_t time) {
  IoRow row = row_of(record, time);
  std::string path = open_.path_of(record.directory, record.path);
  row.file = files_.find(path);
  if (traits_.has(record.call, kTruncates)) {
    row.offset = record.size;
    if (record.error == 0) files_[row.file].length = record.size;
  }
  if (traits_.has(record.call, kChangesDirectory) && record.error == 0) {
    open_.change_directory(std::move(path));
  }
  add(row);
}

void IoReader::on(const two_paths_record& record, uint64_t time) {
  IoRow row = row_of(record, time);
  row.file = open_.file_of(record.directory, record.path);
  row.other_file = open_.file_of(record.other_directory, record.other_path);
  add(row);
}

void IoReader::on(const copy_record& record, uint64_t time) {
  // Adds unknown descriptors first: adding one later would invalidate the references below.
  open_.get(record.other_file);
  open_.get(record.file);
  OpenFile& from = open_.get(record.file);
  OpenFile& to = open_.get(record.other_file);
  IoRow row = row_of(record, time, from);
  row.other_file = to.file;
  row.size = static_cast<int64_t>(record.size);
  row.bytes = static_cast<int64_t>(record.bytes);
  row.offset = record.offset >= 0 ? record.offset : open_.advance(from, row.bytes, false);
  if (record.other_offset >= 0) {
    open_.moved(to, record.other_offset + row.bytes, row.bytes > 0);
  } else {
    open_.advance(to, row.bytes, true);
  }
  add(row);
}

void IoReader::on(const map_record& record, uint64_t time) {
  IoRow row = row_of(record, time);
  row.size = static_cast<int64_t>(record.size);
  row.offset = record.offset;
  if (record.old_address != 0) {
    if (record.error == 0) mappings_.move(record.old_address, record.address, record.size);
    Mapping mapping = mappings_.find(record.address);
    row.file = mapping.file;
    row.handle = mapping.handle;
  } else if (record.file >= 0) {
    const OpenFile& open_file = open_.get(record.file);
    row.file = open_file.file;
    row.handle = open_file.handle;
    if (record.error == 0) {
      mappings_.add(record.address, {record.size, record.offset, row.file, row.handle});
    }
  }
  add(row);
}

void IoReader::on(const region_record& record, uint64_t time) {
  Mapping mapping = mappings_.find(record.address);
  IoRow row = row_of(record, time);
  row.file = mapping.file;
  row.handle = mapping.handle;
  row.offset = mapping.file >= 0 ? mapping.offset : -1;
  row.size = static_cast<int64_t>(record.size);
  if (traits_.has(record.call, kUnmaps) && record.error == 0) {
    mappings_.remove(record.address, record.size);
  }
  add(row);
}

void IoReader::on(const pages_record& record, uint64_t time) {
  Mapping mapping = mappings_.find(record.address);
  IoRow row;
  row.begin = static_cast<int64_t>(time);
  row.call = record.written == 0   ? calls_.mapped_read
             : record.written == 1 ? calls_.mapped_write
                                   : calls_.mapped_access;
  row.file = mapping.file;
  row.handle = mapping.handle;
  row.offset = mapping.file >= 0 ? mapping.offset : -1;
  row.size = row.bytes = static_cast<int64_t>(record.size);
  row.flags = kIoImplied;
  add(row);
}

void IoReader::on(const request_record& record, uint64_t time) {
  IoRow row = row_of(record, time, open_.get(record.file));
  row.size = static_cast<int64_t>(record.size);
  row.offset = record.offset;
  row.flags = kIoAsynchronous;
  uint64_t at = add(row);
  if (record.error == 0) requests_[record.block].push_back({threads_.number(), at});
}

void IoReader::on(const request_done_record& record, uint64_t time) {
  IoRow row = row_of(record, time);
  auto found = requests_.find(record.block);
  if (found == requests_.end()) {
    add(row);
    return;
  }
  Started started = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) requests_.erase(found);
  IoRow& start = threads_.find(started.thread).io[started.row];
  start.bytes = static_cast<int64_t>(record.bytes);
  start.error = record.error;
  copy_target(row, start);
  uint64_t at = add(row);
  threads_.link_io(started.thread, started.row, at);
}

void IoReader::finish() {
  for (const auto& [block, waiting] : requests_) {
    for (const Started& started : waiting) {
      IoRow& row = threads_.find(started.thread).io[started.row];
      row.bytes = row.size;
    }
  }
}

void IoReader::on(const plain_record& record, uint64_t time) { add(row_of(record, time)); }

// --- Files of MPI ---

template <typename Record>
IoRow IoReader::mpi_row_of(const Record& record, uint64_t time, const MpiFile& file) const {
  IoRow row = row_of(record, time);
  row.file = file.file;
  row.handle = file.handle;
  if (traits_.has(record.call, kFileCollective)) {
    row.flags |= kIoCollective;
    row.comm = file.comm;
  }
  if constexpr (requires { record.request; }) {
    if (record.request != 0) row.flags |= kIoAsynchronous;
  }
  return row;
}

void IoReader::set_place_in_view(IoRow& row, const FileView& view, int64_t data) {
  row.offset = view.file_offset(data);
  if (!view.is_contiguous(data, row.bytes)) row.flags |= kIoScattered;
}

// A split collective access is two calls: the begin call has the data, the end call completes it.
void IoReader::split(MpiFile& file, uint16_t call, IoRow& row) {
  if (traits_.has(call, kSplitBegin)) {
    row.flags |= kIoAsynchronous;
    file.split_thread = threads_.number();
    file.split_row = static_cast<int64_t>(add(row));
  } else if (traits_.has(call, kSplitEnd) && file.split_row >= 0) {
    row.bytes = row.size = 0;
    row.offset = threads_.find(file.split_thread).io[static_cast<size_t>(file.split_row)].offset;
    uint64_t at = add(row);
    threads_.link_io(file.split_thread, static_cast<uint64_t>(file.split_row), at);
    file.split_row = -1;
  } else {
    add(row);
  }
}

void IoReader::on(const mpi_open_record& record, uint64_t time, CommView comm) {
  IoRow row = row_of(record, time);
  row.file = open_.file_of(AT_FDCWD, without_prefix(record.path));
  row.size = record.flags;
  row.flags = kIoCollective;
  row.comm = comm.index;
  if (record.file >= 0) {
    MpiFile& file = mpi_files_.open(record.file, row.file, open_.next_handle(), comm.index);
    if ((record.flags & O_APPEND) != 0) file.position = -1;  // the end of the file
    row.handle = file.handle;
  }
  add(row);
}

void IoReader::on(const mpi_data_record& record, uint64_t time) {
  MpiFile& file = mpi_files_.get(record.file);
  IoRow row = mpi_row_of(record, time, file);
  row.size = row.bytes = static_cast<int64_t>(record.bytes);
  if (!traits_.has(record.call, kSharedPosition) && !traits_.has(record.call, kSplitEnd)) {
    set_place_in_view(row, file.view, file.position);
    if (file.position >= 0) file.position += row.bytes;
  } else if (file.view.has_holes()) {
    row.flags |= kIoScattered;
  }
  split(file, record.call, row);
}

void IoReader::on(const mpi_data_at_record& record, uint64_t time) {
  MpiFile& file = mpi_files_.get(record.file);
  IoRow row = mpi_row_of(record, time, file);
  row.size = row.bytes = static_cast<int64_t>(record.bytes);
  set_place_in_view(row, file.view, record.offset * file.view.etype_size());
  split(file, record.call, row);
}

void IoReader::on(const mpi_view_record& record, uint64_t time) {
  const FileView& view = mpi_files_.set_view(record);
  IoRow row = mpi_row_of(record, time, mpi_files_.get(record.file));
  row.offset = record.displacement;
  views_.push_back({row.begin, row.handle, row.file, view.displacement(), view.size(),
                    view.extent(), view.text()});
  add(row);
}

void IoReader::on(const mpi_file_record& record, uint64_t time) {
  MpiFile& file = mpi_files_.get(record.file);
  IoRow row = mpi_row_of(record, time, file);
  if (traits_.has(record.call, kTruncates)) row.offset = record.value;
  if (traits_.has(record.call, kSeeks)) {
    const int64_t data = record.value < 0 ? -1 : record.value * file.view.etype_size();
    if (!traits_.has(record.call, kSharedPosition)) file.position = data;
    row.offset = file.view.file_offset(data);
  }
  int32_t number = record.file;
  const bool closes = traits_.has(record.call, kCloses);
  split(file, record.call, row);
  if (closes) mpi_files_.close(number);
}

}  // namespace sesame::postprocess
