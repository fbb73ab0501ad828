#include "core/postprocess/mpi_files.h"

namespace sesame::postprocess {
namespace {

constexpr int32_t kMostFiles = 1 << 20;  // a damaged number must not make us reserve memory

}  // namespace

int64_t MpiFile::place(int64_t data) const {
  if (data < 0 || filetype_size <= 0) return -1;
  return displacement + data / filetype_size * filetype_extent + data % filetype_size;
}

MpiFile& MpiFiles::open(int32_t number, int32_t file, int32_t handle, int32_t comm) {
  MpiFile& opened = get(number);
  opened = {};
  opened.file = file;
  opened.comm = comm;
  opened.handle = handle;
  return opened;
}

void MpiFiles::close(int32_t number) { get(number) = {}; }

MpiFile& MpiFiles::get(int32_t number) {
  if (number < 0 || number >= kMostFiles) return outside_ = {};
  auto at = static_cast<size_t>(number);
  if (at >= files_.size()) files_.resize(at + 1);
  return files_[at];
}

void MpiFiles::set_view(const trace::mpi_view_record& record) {
  MpiFile& file = get(record.file);
  file.displacement = record.displacement;
  file.etype_size = record.etype_size;
  file.filetype_size = record.filetype_size;
  file.filetype_extent = record.filetype_extent;
  file.position = 0;
}

}  // namespace sesame::postprocess
