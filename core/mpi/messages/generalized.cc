#include "core/mpi/messages/generalized.h"

#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

int query_generalized(RequestObject& request) {
  const RequestExtra& extra = *request.extra;
  if (extra.query == nullptr) return MPI_SUCCESS;
  return callbacks().grequest_query(extra.query, extra.callback_kind, extra.extra_state,
                                    &request.status);
}

int free_generalized(RequestObject& request) {
  const RequestExtra& extra = *request.extra;
  if (extra.free == nullptr) return MPI_SUCCESS;
  return callbacks().grequest_free(extra.free, extra.callback_kind, extra.extra_state);
}

int cancel_generalized(RequestObject& request) {
  const RequestExtra& extra = *request.extra;
  if (extra.cancel == nullptr) return MPI_SUCCESS;
  return callbacks().grequest_cancel(extra.cancel, extra.callback_kind, extra.extra_state,
                                     request.complete);
}

int Grequest_start(Function query_fn, Function free_fn, Function cancel_fn, void* extra_state,
                   Request* handle) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kGeneralized;
  request->extra = std::make_unique<RequestExtra>();
  request->extra->query = query_fn;
  request->extra->free = free_fn;
  request->extra->cancel = cancel_fn;
  request->extra->extra_state = extra_state;
  *handle = this_rank().requests.add(request);
  return MPI_SUCCESS;
}

int Grequest_complete(Request handle) {
  RequestObject* request = nullptr;
  MPI_TRY(check_request(handle, &request));
  if (request->kind != RequestObject::Kind::kGeneralized) {
    return fail(MPI_ERR_REQUEST, "the request is not a generalized one");
  }
  if (request->freed) {
    const std::unique_ptr<RequestObject> last(this_rank().requests.remove(handle));
    return free_generalized(*last);
  }
  complete(*request, self().now);
  return MPI_SUCCESS;
}

void Grequest_set_fortran(Request handle) {
  RequestObject* request = this_rank().requests.find(handle);
  if (request != nullptr && request->extra != nullptr) {
    request->extra->callback_kind = CallbackKind::kFortran;
  }
}

}  // namespace sesame::mpi
