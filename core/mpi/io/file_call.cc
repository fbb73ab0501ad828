#include "core/mpi/io/file_call.h"

#include <algorithm>
#include <new>

#include "core/mpi/call_ids.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/io_list.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/io/transfer_file.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"

namespace sesame::mpi {
namespace {

const char* name_of(uint16_t call) { return call_name(static_cast<CallId>(call)); }

int check_mode(const FileObject& file, storage::Direction direction, Pointer pointer) {
  if (direction == storage::Direction::kRead && (file.amode & MPI_MODE_WRONLY) != 0) {
    return fail(MPI_ERR_ACCESS, "the file was opened for writing only");
  }
  if (direction == storage::Direction::kWrite && (file.amode & MPI_MODE_RDONLY) != 0) {
    return fail(MPI_ERR_READ_ONLY, "the file was opened for reading only");
  }
  if (pointer != Pointer::kShared && (file.amode & MPI_MODE_SEQUENTIAL) != 0) {
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "a file opened with MPI_MODE_SEQUENTIAL has its shared pointer only");
  }
  return MPI_SUCCESS;
}

// The data of a call as stored in the file. It is the program's buffer itself if that has the same
// layout and is in this process, otherwise a copy.
class PackedData {
 public:
  int prepare(const FileCall& call) {
    const Representation& representation = *call.view.representation;
    MPI_TRY(stored_bytes(representation, *call.type, call.count, &bytes_));
    if (representation.kind == Representation::Kind::kNative && call.type->is_contiguous() &&
        !is_remote(call.buffer)) {
      data_ = static_cast<std::byte*>(call.buffer);
      return MPI_SUCCESS;
    }
    if (bytes_ > 0 && call.view.stored_filetype->size() == 0)
      return fail(MPI_ERR_CONVERSION, "the view's file type has no data in the file");
    copy_.reset(new (std::nothrow) std::byte[static_cast<size_t>(bytes_)]);
    if (copy_ == nullptr) {
      return fail(MPI_ERR_NO_MEM,
                  "there is no memory for " + std::to_string(bytes_) + " bytes of the file");
    }
    data_ = copy_.get();
    if (call.direction == storage::Direction::kRead) return MPI_SUCCESS;
    return encode(representation, call.buffer, call.count, *call.type, data_, bytes_);
  }
  int deliver(const FileCall& call, Count moved, Count* native_bytes) {
    *native_bytes = moved;
    if (copy_ == nullptr || call.direction == storage::Direction::kWrite) return MPI_SUCCESS;
    return decode(*call.view.representation, data_, bytes_, moved, call.buffer, call.count,
                  *call.type, native_bytes);
  }
  std::byte* data() const { return data_; }
  Count bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  std::byte* data_ = nullptr;
  Count bytes_ = 0;
};

// Atomic mode: locks the range from the first to the last byte during the access. Ranks access the
// file independently, even in collective calls, because ranks that hold locks must not wait for
// each other.
int access_locked(Strand& strand, FileObject& file, FileRequest& request) {
  storage::Extent range{UINT64_MAX, 0};
  uint64_t end = 0;
  for (const storage::Extent& extent : request.extents) {
    range.offset = std::min(range.offset, extent.offset);
    end = std::max(end, extent.offset + extent.bytes);
  }
  range.bytes = end - range.offset;
  RangeLocks& locks = locks_of(file);
  locks.lock(strand, range);
  const int error = access_by_element(strand, file, request);
  locks.unlock(strand, range);
  return error;
}

int access(Strand& strand, Transfer* transfer, FileObject& file, FileRequest& request) {
  if (file.atomic) {
    return request.extents.empty() ? MPI_SUCCESS : access_locked(strand, file, request);
  }
  return transfer != nullptr ? access_collective(strand, *transfer, file, request)
                             : access_independent(strand, file, request);
}

RequestObject* new_file_request(FileObject& file) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kCollective;
  request->comm = file.comm;
  request->status = Status{0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};
  request->extra = std::make_unique<RequestExtra>();
  request->extra->file = file.handle;
  request->hold_objects();
  return request;
}

void start_strand(RequestObject& request, FileObject& file, FileTask task) {
  Strand& caller = self();
  retain(&file);
  ++file.pending;
  caller.rank->world.start_strand(*caller.rank, caller.now,
                                  [&request, &file, task = std::move(task)] {
                                    request.error = task(&request.status);
                                    --file.pending;
                                    release(&file);
                                    complete(request, self().now);
                                  });
}

[[noreturn]] void end_job_over_mismatch(const FileObject& file, const CollectiveCall& first,
                                        uint16_t mine) {
  const Rank& rank = this_rank();
  rank.world.hooks.abort_job(
      1, "collective calls on the file " + file.shared->name + " do not match: as number " +
             std::to_string(file.collective_calls) + " since the file was opened, rank " +
             std::to_string(first.rank) + " called " + name_of(first.call) + " and rank " +
             std::to_string(rank.id) + " called " + name_of(mine));
  __builtin_unreachable();
}

int count_ranks_here(const CommObject& comm) {
  const World& world = this_rank().world;
  return static_cast<int>(std::ranges::count_if(comm.local->world_ranks(),
                                                [&](int rank) { return world.is_here(rank); }));
}

}  // namespace

int prepare_file_call(File handle, storage::Direction direction, Pointer pointer,
                      const void* buffer, Count count, Datatype datatype, FileCall* call) {
  MPI_TRY(check_file(handle, &call->file));
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_buffer(buffer, count, datatype, &type));
  MPI_TRY(check_mode(*call->file, direction, pointer));
  const FileView& view = call->file->view;
  const Count bytes = count * type->size();
  const Count item = view.etype->size();
  if (item == 0 ? bytes > 0 : bytes % item != 0) {
    return fail(MPI_ERR_IO, "the data are " + std::to_string(bytes) +
                                " bytes, no multiple of the view's elementary type of " +
                                std::to_string(item) + " bytes");
  }
  if (bytes > 0 && view.filetype->size() == 0) {
    return fail(MPI_ERR_IO, "the view's file type has no data");
  }
  call->view = view;
  call->direction = direction;
  call->buffer = const_cast<void*>(buffer);
  call->count = count;
  call->type = DatatypeRef(type);
  call->items = item == 0 ? 0 : bytes / item;
  if (storage::FileCallRecord* record = begin_file_record(*call->file))
    record->size = static_cast<uint64_t>(bytes);
  this_rank().call_bytes += static_cast<uint64_t>(bytes);
  this_rank().call_context = call->file->comm->context;
  return MPI_SUCCESS;
}

int use_explicit_offset(FileCall& call, Offset offset) {
  if (offset < 0) {
    return fail(MPI_ERR_ARG, "the offset is negative: " + std::to_string(offset));
  }
  call.position = offset;
  return MPI_SUCCESS;
}

void use_individual_pointer(FileCall& call) {
  call.position = call.file->position;
  call.file->position += call.items;
}

int run_file_call(const FileCall& call, Transfer* transfer, Status* status) {
  FileObject& file = *call.file;
  Strand& strand = self();
  PackedData data;
  MPI_TRY(data.prepare(call));
  FileRequest request;
  request.direction = call.direction;
  request.extents =
      make_io_list(call.view, call.position, data.bytes(), file.collective.literal_io_list);
  request.data = data.data();
  MPI_TRY(access(strand, transfer, file, request));
  const Count moved = call.direction == storage::Direction::kWrite
                          ? data.bytes()
                          : static_cast<Count>(request.moved);
  Count native_bytes = 0;
  MPI_TRY(data.deliver(call, moved, &native_bytes));
  set_bytes(status, call.direction == storage::Direction::kWrite ? call.count * call.type->size()
                                                                 : native_bytes);
  return MPI_SUCCESS;
}

int start_file_task(FileObject& file, FileTask task, Request* handle) {
  RequestObject* request = new_file_request(file);
  *handle = this_rank().requests.add(request);
  start_strand(*request, file, std::move(task));
  return MPI_SUCCESS;
}

std::unique_ptr<RequestObject> start_split_task(FileObject& file, FileTask task) {
  std::unique_ptr<RequestObject> request(new_file_request(file));
  start_strand(*request, file, std::move(task));
  return request;
}

int record_moved(const FileCall& call, int error, const Status& moved, Status* status) {
  if (error != MPI_SUCCESS) return error;
  set_bytes(status, moved.byte_count());
  if (storage::FileCallRecord* record = current_file_record()) {
    record->offset = byte_offset(call.file->view, call.position);
    record->bytes = static_cast<uint64_t>(moved.byte_count());
  }
  return MPI_SUCCESS;
}

void record_started(const FileCall& call) {
  storage::FileCallRecord* record = current_file_record();
  if (record == nullptr) return;
  if (call.position >= 0) record->offset = byte_offset(call.file->view, call.position);
  record->flags |= SESAME_FILE_CALL_ASYNCHRONOUS;
}

int run_independent_call(const FileCall& call, Status* status) {
  Status moved{};
  return record_moved(call, run_file_call(call, nullptr, &moved), moved, status);
}

int run_collective_call(const FileCall& call, Status* status) {
  MPI_TRY(enter_collective(*call.file));
  Status moved{};
  const int error = run_collective(
      *call.file->comm, [&](Transfer& transfer) { return run_file_call(call, &transfer, &moved); });
  return record_moved(call, error, moved, status);
}

int start_independent_call(const FileCall& call, Request* request) {
  record_started(call);
  return start_file_task(
      *call.file, [call](Status* status) { return run_file_call(call, nullptr, status); }, request);
}

int start_collective_call(const FileCall& call, Request* request) {
  MPI_TRY(enter_collective(*call.file));
  record_started(call);
  CommObject& comm = *call.file->comm;
  const int tag = static_cast<int>(comm.next_collective++);
  return start_file_task(
      *call.file,
      [call, &comm, tag](Status* status) {
        Transfer transfer(comm, tag);
        return run_file_call(call, &transfer, status);
      },
      request);
}

int enter_collective(FileObject& file) {
  if (file.split.started != 0) {
    return fail(MPI_ERR_IO, std::string("a split collective call is in progress on the file: ") +
                                name_of(file.split.started));
  }
  if (storage::FileCallRecord* record = current_file_record())
    record->flags |= SESAME_FILE_CALL_COLLECTIVE;
  SharedFile& shared = *file.shared;
  const Strand& strand = self();
  const uint64_t number = file.collective_calls++;
  const size_t index = static_cast<size_t>(number - shared.first_call);
  if (index == shared.calls.size()) shared.calls.push_back({strand.call, strand.rank->id, 0});
  CollectiveCall& first = shared.calls[index];
  if (first.call != strand.call) end_job_over_mismatch(file, first, strand.call);
  ++first.arrived;
  if (shared.ranks_here == 0) shared.ranks_here = count_ranks_here(*file.comm);
  while (!shared.calls.empty() && shared.calls.front().arrived == shared.ranks_here) {
    shared.calls.pop_front();
    ++shared.first_call;
  }
  return MPI_SUCCESS;
}

void set_bytes(Status* status, Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->count_hi_and_cancelled = 0;
  status->set_byte_count(bytes);
}

}  // namespace sesame::mpi
