// Makes rows of record type io from the records of one process. Use: begin(), on() for each record
// in the order of ends, after ThreadSet::set_thread(), then finish().
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/postprocess/descriptors.h"
#include "core/postprocess/mappings.h"
#include "core/postprocess/mpi_files.h"
#include "core/postprocess/thread_set.h"
#include "core/trace/traced_records.h"

namespace sesame::postprocess {

class IoReader {
 public:
  IoReader(ThreadSet& threads, const CallTraits& traits, const OwnCalls& calls)
      : threads_(threads), traits_(traits), calls_(calls), open_(files_) {}

  FileTable& files() { return files_; }
  std::vector<ViewRow>& views() { return views_; }
  void begin(const trace::process_record& record) { open_.set_directory(record.directory); }

  void on(const trace::data_record& record, uint64_t time) {
    move_data(record, record.file, record.bytes, time, 0);
  }
  void on(const trace::merged_record& record, uint64_t time) {
    move_data(record, record.file, record.bytes, time, kIoMerged);
  }
  void on(const trace::data_at_record& record, uint64_t time) {
    OpenFile& open_file = open_.get(record.file);
    IoRow row = row_of(record, time, open_file);
    row.size = row.bytes = static_cast<int64_t>(record.bytes);
    row.offset = record.offset;
    open_.moved(open_file, record.offset + row.bytes, traits_.has(record.call, kWrites));
    add(row);
  }
  void on(const trace::partial_record& record, uint64_t time);
  void on(const trace::position_record& record, uint64_t time);
  void on(const trace::advice_record& record, uint64_t time);
  void on(const trace::handle_record& record, uint64_t time);
  void on(const trace::open_record& record, uint64_t time);
  void on(const trace::descriptor_record& record, uint64_t time);
  void on(const trace::duplicate_record& record, uint64_t time);
  void on(const trace::path_record& record, uint64_t time);
  void on(const trace::two_paths_record& record, uint64_t time);
  void on(const trace::copy_record& record, uint64_t time);
  void on(const trace::map_record& record, uint64_t time);
  void on(const trace::region_record& record, uint64_t time);
  void on(const trace::pages_record& record, uint64_t time);
  void on(const trace::request_record& record, uint64_t time);
  void on(const trace::request_done_record& record, uint64_t time);
  void on(const trace::plain_record& record, uint64_t time);
  // Call it for a process that exited: assumes that asynchronous requests whose result was not
  // fetched have moved all their data.
  void finish();
  void on(const trace::mpi_open_record& record, uint64_t time, CommView comm);
  void on(const trace::mpi_data_record& record, uint64_t time);
  void on(const trace::mpi_data_at_record& record, uint64_t time);
  void on(const trace::mpi_view_record& record, uint64_t time);
  void on(const trace::mpi_file_record& record, uint64_t time);

 private:
  struct Started {
    uint16_t thread;
    uint64_t row;
  };

  template <typename Record>
  static IoRow row_of(const Record& record, uint64_t time) {
    return row_of_call<IoRow>(record, time);
  }
  template <typename Record>
  static IoRow row_of(const Record& record, uint64_t time, const OpenFile& open_file) {
    IoRow row = row_of(record, time);
    row.file = open_file.file;
    row.handle = open_file.handle;
    return row;
  }
  template <typename Record>
  IoRow mpi_row_of(const Record& record, uint64_t time, const MpiFile& file) const;
  template <typename Record>
  void move_data(const Record& record, int32_t file, uint64_t bytes, uint64_t time,
                 uint16_t flags) {
    OpenFile& open_file = open_.get(file);
    IoRow row = row_of(record, time, open_file);
    row.size = row.bytes = static_cast<int64_t>(bytes);
    row.offset = open_.advance(open_file, row.bytes, traits_.has(record.call, kWrites));
    row.flags = flags;
    add(row);
  }
  uint64_t add(const IoRow& row) { return threads_.current().add(row); }
  void split(MpiFile& file, uint16_t call, IoRow& row);
  static void set_place_in_view(IoRow& row, const FileView& view, int64_t data);

  ThreadSet& threads_;
  const CallTraits& traits_;
  const OwnCalls& calls_;
  FileTable files_;
  Descriptors open_;
  Mappings mappings_;
  MpiFiles mpi_files_;
  std::vector<ViewRow> views_;
  // By address of the control block, or another number that the kernel or library reuses.
  std::unordered_map<uint64_t, std::deque<Started>> requests_;
};

}  // namespace sesame::postprocess
