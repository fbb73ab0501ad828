#include "core/mpi/messages/request.h"

#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

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
  request.clear_position();
}

}  // namespace sesame::mpi
