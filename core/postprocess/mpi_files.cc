#include "core/postprocess/mpi_files.h"

namespace sesame::postprocess {
namespace {

constexpr int32_t kMostFiles = 1 << 20;  // a damaged number must not make us reserve memory

}  // namespace

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

const FileView& MpiFiles::set_view(const trace::mpi_view_record& record) {
  MpiFile& file = get(record.file);
  file.view = FileView(record);
  file.position = 0;
  return file.view;
}

}  // namespace sesame::postprocess
