// TargetAccess: the common part of all calls that access a window's memory. It checks the
// arguments, finds the memory at the target and makes the request of the request-based forms.
//
// To make a call: open(), then unless is_empty() operation(), fill in its data and `result`
// (operation.h says how long that memory must live), and issue() it. Functions return an MPI error
// class and run on a strand of the origin.
#pragma once

#include "core/mpi/rma/operation.h"

namespace sesame::mpi {

// The arguments that name the memory at the target. `request` is null in the forms without request.
struct TargetArguments {
  int rank;
  Aint displacement;
  Count count;
  Datatype type;
  Win win;
  Request* request = nullptr;
};

class TargetAccess {
 public:
  // Checks the arguments, and that the current epoch allows the access.
  int open(const TargetArguments& target);
  // The call has no effect: the target is MPI_PROC_NULL, or there is no data.
  bool is_empty() const { return rank_ == MPI_PROC_NULL || target_buffer_.bytes() == 0; }

  WindowObject& window() const { return *window_; }
  const TypedBuffer& target_buffer() const { return target_buffer_; }

  // A new operation on the memory at the target.
  std::unique_ptr<RemoteOperation> operation(RemoteOperation::Kind kind) const;
  // Issues the operation and counts `bytes` in the call's record. With null, only completes the
  // request, which a call with is_empty() needs too.
  int issue(std::unique_ptr<RemoteOperation> operation, Count bytes);

 private:
  int find_target_buffer(const TargetArguments& target);
  int check_range(const TargetArguments& target, Aint displacement) const;

  WindowObject* window_ = nullptr;
  int rank_ = MPI_PROC_NULL;
  TypedBuffer target_buffer_;
  Request* request_ = nullptr;
};

}  // namespace sesame::mpi
