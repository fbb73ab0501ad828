#include "core/mpi/rma/access.h"

#include <algorithm>

#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/rma/epoch.h"

namespace sesame::mpi {
namespace {

// Bytes from `first` to `end`, relative to the buffer's address.
struct Range {
  Aint first;
  Aint end;
};

Range range_of(const TypedBuffer& buffer) {
  const DatatypeObject& type = *buffer.type;
  const Aint first = type.true_lb() + std::min<Aint>(0, (buffer.count - 1) * type.extent());
  return {first, first + static_cast<Aint>(type.span(buffer.count))};
}

// Whether all bytes are attached, perhaps as several adjacent regions.
bool is_attached(const Exposure& exposure, Aint first, Aint end) {
  bool advanced = true;
  while (first < end && advanced) {
    advanced = false;
    for (const Region& region : exposure.attached) {
      if (first < region.base || first >= region.base + region.size) continue;
      first = region.base + region.size;
      advanced = true;
    }
  }
  return first >= end;
}

RequestObject* new_request(WindowObject& window, int target) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kRemote;
  request->comm = window.comm;
  request->context = window.comm->context;
  request->peer = target;
  request->status = Status{0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};
  request->hold_objects();
  return request;
}

}  // namespace

int TargetAccess::open(const TargetArguments& target) {
  MPI_TRY(check_window(target.win, &window_));
  rank_ = target.rank;
  request_ = target.request;
  const DatatypeObject* type;
  MPI_TRY(check_buffer(MPI_IN_PLACE, target.count, target.type, &type));
  target_buffer_.count = target.count;
  target_buffer_.type = DatatypeRef(type);
  MPI_TRY(check_target(*window_, rank_));
  if (request_ != nullptr) {
    MPI_TRY(check_passive(*window_, rank_));
  } else {
    MPI_TRY(check_access(*window_, rank_));
  }
  window_->used_since_fence = true;
  return rank_ == MPI_PROC_NULL ? MPI_SUCCESS : find_target_buffer(target);
}

int TargetAccess::find_target_buffer(const TargetArguments& target) {
  const Exposure& exposure = window_->exposure(rank_);
  if (window_->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    if (RemoteRanks* remote = window_->rank.world.remote)
      remote->catch_up();  // with MPI_Win_attach
    target_buffer_.address = address_of_program(window_->world_rank(rank_),
                                                reinterpret_cast<void*>(target.displacement));
    return check_range(target, target.displacement);
  }
  if (target.displacement < 0) {
    return fail(MPI_ERR_DISP,
                "the displacement is negative: " + std::to_string(target.displacement));
  }
  const Aint displacement = target.displacement * exposure.displacement_unit;
  target_buffer_.address = exposure.base + displacement;
  return check_range(target, displacement);
}

int TargetAccess::check_range(const TargetArguments& target, Aint displacement) const {
  if (target_buffer_.bytes() == 0) return MPI_SUCCESS;
  const Exposure& exposure = window_->exposure(rank_);
  const Range range = range_of(target_buffer_);
  const Aint first = displacement + range.first;
  const Aint end = displacement + range.end;
  if (window_->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    if (is_attached(exposure, first, end)) return MPI_SUCCESS;
    return fail(MPI_ERR_RMA_RANGE, "rank " + std::to_string(target.rank) +
                                       " has not attached the " + std::to_string(end - first) +
                                       " bytes at address " + std::to_string(first));
  }
  if (first >= 0 && end <= exposure.size) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_RANGE, "bytes " + std::to_string(first) + " to " +
                                     std::to_string(end - 1) + " of a window that has " +
                                     std::to_string(exposure.size) + " bytes at rank " +
                                     std::to_string(target.rank));
}

std::unique_ptr<RemoteOperation> TargetAccess::operation(RemoteOperation::Kind kind) const {
  auto operation = std::make_unique<RemoteOperation>(*window_, kind, rank_);
  operation->target_buffer = target_buffer_;
  return operation;
}

int TargetAccess::issue(std::unique_ptr<RemoteOperation> operation, Count bytes) {
  Strand& strand = self();
  RequestObject* request = nullptr;
  if (request_ != nullptr) {
    MPI_TRY(check_out(request_, "request"));
    request = new_request(*window_, rank_);
    *request_ = strand.rank->requests.add(request);
  }
  if (operation == nullptr) {
    if (request != nullptr) complete(*request, strand.now);
    return MPI_SUCCESS;
  }
  record_target(*window_, rank_);
  strand.rank->call_bytes = static_cast<uint64_t>(bytes);
  RemoteOperation::issue(strand, std::move(operation), request);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
