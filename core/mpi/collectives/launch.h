// The three forms in which MPI offers every collective: blocking, non-blocking and persistent.
//
// Use: one function checks the arguments of a collective, captures them in a body and passes it to
// a Launch; the three entry points call this function with Launch::now(), start() or prepare().
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/int_array.h"

namespace sesame::mpi::collectives {

class Launch {
 public:
  static Launch now() { return Launch(Form::kBlocking, nullptr); }
  static Launch start(Request* request) { return Launch(Form::kNonBlocking, request); }
  static Launch prepare(Request* request) { return Launch(Form::kPersistent, request); }

  // Whether the body runs after the call has returned and must own its arguments.
  bool outlives_call() const { return form_ != Form::kBlocking; }

  // Runs `body`, an int(Transfer&) that owns its arguments, in this form. The signature must
  // agree on all ranks (collective_log.h). Returns an MPI error class.
  template <typename Body>
  int operator()(CommObject& comm, const CollectiveSignature& signature, Body body) const {
    switch (form_) {
      case Form::kBlocking:
        return run_collective(comm, std::ref(body), signature);
      case Form::kNonBlocking:
        return start_collective(comm, std::move(body), request_, signature);
      case Form::kPersistent:
        return prepare_collective(comm, std::move(body), request_, signature);
    }
    __builtin_unreachable();
  }

 private:
  enum class Form { kBlocking, kNonBlocking, kPersistent };
  Launch(Form form, Request* request) : form_(form), request_(request) {}

  Form form_;
  Request* request_;
};

// Counts or displacements by rank: a view of the program's array for blocking calls, a copy for
// forms that outlive the call.
class RankArray {
 public:
  RankArray() = default;
  RankArray(IntArray array, int length, const Launch& launch) : view_(array) {
    if (!launch.outlives_call() || array.is_null()) return;
    owned_ = std::make_shared<const std::vector<Count>>(array.copy(static_cast<size_t>(length)));
    view_ = IntArray(owned_->data());
  }

  Count operator[](int rank) const { return view_[static_cast<size_t>(rank)]; }
  bool is_null() const { return view_.is_null(); }

 private:
  IntArray view_;
  std::shared_ptr<const std::vector<Count>> owned_;
};

}  // namespace sesame::mpi::collectives
