#include "core/mpi/request.h"

#include <new>

#include "core/mpi/datatype.h"

namespace sesame::mpi {
namespace {

// One list for the thread that runs the ranks; never given back while it lives.
struct FreeRequest {
  FreeRequest* next;
};
constinit thread_local FreeRequest* free_requests = nullptr;

}  // namespace

void* RequestObject::operator new(size_t size) {
  if (free_requests == nullptr) return ::operator new(size);
  FreeRequest* request = free_requests;
  free_requests = request->next;
  return request;
}

void RequestObject::operator delete(void* request) {
  auto* free = static_cast<FreeRequest*>(request);
  free->next = free_requests;
  free_requests = free;
}

void RequestObject::hold_objects() {
  holds_objects = true;
  if (type != nullptr) type->add_reference();
  retain(comm);
}

void RequestObject::release_objects() {
  if (type != nullptr) type->release();
  release(comm);
}

void describe_operation(RequestObject& request, RequestObject::Kind kind, void* buffer, Count count,
                        const DatatypeObject& type, int peer, int tag, CommObject& comm) {
  request.kind = kind;
  request.buffer = buffer;
  request.count = count;
  request.type = &type;
  request.peer = peer;
  request.tag = tag;
  request.comm = &comm;
  request.context = comm.context;
}

}  // namespace sesame::mpi
