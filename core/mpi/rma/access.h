// What all calls that access a window's memory have in common: checks of their arguments, the place
// at the target, the request of the request-based forms.
#pragma once

#include "core/mpi/rma/operation.h"

namespace sesame::mpi {

// The arguments that name the memory at the target. `request` is null in the plain forms.
struct TargetArguments {
  int rank;
  Aint displacement;
  Count count;
  Datatype type;
  Win win;
  Request* request = nullptr;
};

class Access {
 public:
  // Checks the arguments and that the epoch allows the access.
  int open(const TargetArguments& target);
  // There is nothing to do: no process, or no data.
  bool is_empty() const { return rank_ == MPI_PROC_NULL || there_.bytes() == 0; }

  WindowObject& window() const { return *window_; }
  const TypedBuffer& there() const { return there_; }

  // A new operation on the memory at the target.
  std::unique_ptr<RemoteOperation> operation(RemoteOperation::Kind kind) const;
  // Sends it off and notes `bytes` in the call's record. With null there was nothing to do.
  int issue(std::unique_ptr<RemoteOperation> operation, Count bytes);

 private:
  int find_there(const TargetArguments& target);
  int check_range(const TargetArguments& target, Aint displacement) const;

  WindowObject* window_ = nullptr;
  int rank_ = MPI_PROC_NULL;
  TypedBuffer there_;
  Request* request_ = nullptr;
};

}  // namespace sesame::mpi
