#include "core/mpi/io/shared_pointer.h"

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using enum storage::Direction;

// 64-bit numbers in the lists of integers that ranks exchange.
constexpr int64_t joined(int high, int low) {
  return static_cast<int64_t>(high) << 32 | static_cast<uint32_t>(low);
}
constexpr int high_half(int64_t value) { return static_cast<int>(value >> 32); }
constexpr int low_half(int64_t value) { return static_cast<int>(value & 0xffffffff); }

// Returns the shared pointer and advances it by `items`.
int64_t advance_shared_pointer(FileObject& file, int64_t items) {
  Strand& strand = self();
  yield_for_files(strand);
  const int64_t position = shared_files(strand.rank->world).advance_pointer(*file.shared, items);
  yield_for_files(strand);
  charge_metadata(strand, file.path(), storage::MetadataCall::kStat);
  return position;
}

int run_shared(FileCall call, Status* status) {
  call.position = advance_shared_pointer(*call.file, call.items);
  return run_file_call(call, nullptr, status);
}

int prepare(File fh, storage::Direction direction, const void* buf, Count count, Datatype datatype,
            FileCall* call) {
  return prepare_file_call(fh, direction, Pointer::kShared, buf, count, datatype, call);
}

int run_call(File fh, storage::Direction direction, const void* buf, Count count, Datatype datatype,
             Status* status) {
  FileCall call;
  MPI_TRY(prepare(fh, direction, buf, count, datatype, &call));
  call.position = advance_shared_pointer(*call.file, call.items);
  return run_independent_call(call, status);
}

int start_call(File fh, storage::Direction direction, const void* buf, Count count,
               Datatype datatype, Request* request) {
  FileCall call;
  MPI_TRY(prepare(fh, direction, buf, count, datatype, &call));
  record_started(call);
  return start_file_task(
      *call.file, [call](Status* status) { return run_shared(call, status); }, request);
}

// The shared pointer plus the items of all lower ranks. Collective; advances the shared pointer.
int64_t ordered_position(const FileCall& call, Transfer& transfer) {
  ControlGroup control(transfer);
  const int mine[2] = {high_half(call.items), low_half(call.items)};
  // The sum of the items of all lower ranks, for each rank; then the sum of all ranks.
  const SharedListRef all = control.gather_to_all(mine);
  const auto& sums = all->derive<std::vector<int64_t>>([](const std::vector<int>& items) {
    std::vector<int64_t> result{0};
    for (size_t i = 0; i < items.size(); i += 2) {
      result.push_back(result.back() + joined(items[i], items[i + 1]));
    }
    return result;
  });
  const int64_t before = sums[static_cast<size_t>(control.me())];
  const int64_t total = sums.back();
  std::vector<int> base(2);
  if (control.me() == 0) {
    const int64_t position = advance_shared_pointer(*call.file, total);
    base = {high_half(position), low_half(position)};
  }
  control.broadcast(base, 0);
  return joined(base[0], base[1]) + before;
}

int run_ordered_call(File fh, storage::Direction direction, const void* buf, Count count,
                     Datatype datatype, Status* status) {
  FileCall call;
  MPI_TRY(prepare(fh, direction, buf, count, datatype, &call));
  MPI_TRY(enter_collective(*call.file));
  Status moved{};
  const int error = run_collective(*call.file->comm, [&](Transfer& transfer) {
    call.position = ordered_position(call, transfer);
    return run_file_call(call, &transfer, &moved);
  });
  return record_moved(call, error, moved, status);
}

}  // namespace

int run_ordered(const FileCall& call, Transfer& transfer, Status* status) {
  FileCall placed = call;
  placed.position = ordered_position(call, transfer);
  return run_file_call(placed, &transfer, status);
}

int File_read_shared(File fh, void* buf, Count count, Datatype datatype, Status* status) {
  return run_call(fh, kRead, buf, count, datatype, status);
}
int File_write_shared(File fh, const void* buf, Count count, Datatype datatype, Status* status) {
  return run_call(fh, kWrite, buf, count, datatype, status);
}
int File_iread_shared(File fh, void* buf, Count count, Datatype datatype, Request* request) {
  return start_call(fh, kRead, buf, count, datatype, request);
}
int File_iwrite_shared(File fh, const void* buf, Count count, Datatype datatype, Request* request) {
  return start_call(fh, kWrite, buf, count, datatype, request);
}
int File_read_ordered(File fh, void* buf, Count count, Datatype datatype, Status* status) {
  return run_ordered_call(fh, kRead, buf, count, datatype, status);
}
int File_write_ordered(File fh, const void* buf, Count count, Datatype datatype, Status* status) {
  return run_ordered_call(fh, kWrite, buf, count, datatype, status);
}

// Collective: no rank returns before the pointer is set.
int File_seek_shared(File fh, Offset offset, int whence) {
  FileObject* file = nullptr;
  MPI_TRY(check_file(fh, &file));
  begin_file_record(*file);
  MPI_TRY(enter_collective(*file));
  return run_collective(*file->comm, [&](Transfer& transfer) {
    ControlGroup control(transfer);
    int arguments[6] = {high_half(offset),  low_half(offset),  whence,
                        ~high_half(offset), ~low_half(offset), ~whence};
    control.maximum(arguments);
    for (int i = 0; i < 3; ++i) {
      if (arguments[i] != ~arguments[i + 3]) {
        return fail(MPI_ERR_NOT_SAME, "not all ranks give the same offset and whence");
      }
    }
    std::vector<int> outcome{MPI_SUCCESS};
    if (control.me() == 0) {
      int64_t target = 0;
      outcome[0] = seek_target(*file, file->shared->shared_position, offset, whence, &target);
      if (outcome[0] == MPI_SUCCESS)
        advance_shared_pointer(*file, target - file->shared->shared_position);
    }
    control.broadcast(outcome, 0);
    return outcome[0];
  });
}

int File_get_position_shared(File fh, Offset* offset) {
  FileObject* file = nullptr;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(offset, "offset"));
  begin_file_record(*file);
  *offset = advance_shared_pointer(*file, 0);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
