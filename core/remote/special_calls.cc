// Requests that are no function of MPI (SpecialCall): attributes, proxies of other languages, and
// the lengths of arrays that a program gives without them.
#include "core/mpi/api.h"
#include "core/mpi/calls/array_lengths.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/remote/incoming.h"

namespace sesame::remote {
namespace {

int get_attribute(AttributeOwner owner, int object, int keyval, AttributeType asked, void* value,
                  int* flag) {
  switch (owner) {
    case AttributeOwner::kComm:
      return Comm_get_attribute(object, keyval, asked, value, flag);
    case AttributeOwner::kDatatype:
      return Type_get_attribute(object, keyval, asked, value, flag);
    case AttributeOwner::kWin:
      return Win_get_attribute(object, keyval, asked, value, flag);
  }
  return MPI_ERR_INTERN;
}

int set_attribute(AttributeOwner owner, int object, int keyval, AttributeType type, void* value) {
  switch (owner) {
    case AttributeOwner::kComm:
      return Comm_set_attribute(object, keyval, type, value);
    case AttributeOwner::kDatatype:
      return Type_set_attribute(object, keyval, type, value);
    case AttributeOwner::kWin:
      return Win_set_attribute(object, keyval, type, value);
  }
  return MPI_ERR_INTERN;
}

void finish(Incoming& call, AttributeOwner owner, int object, int outcome) {
  if (owner == AttributeOwner::kComm) return call.finish_comm(outcome, object);
  if (owner == AttributeOwner::kWin) return call.finish_win(outcome, object);
  call.finish(outcome);
}

// C gets some integers by their address, which would be one of the simulator's: the process makes
// its own of the integer.
void serve_get_attribute(Incoming& call) {
  const auto owner = call.value<AttributeOwner>();
  const auto object = call.value<int>();
  const auto keyval = call.value<int>();
  const auto asked = call.value<AttributeType>();
  const bool has_no_result = call.value<bool>();
  Aint given = 0, integer = 0;
  int flag = 0;
  int outcome =
      get_attribute(owner, object, keyval, asked, has_no_result ? nullptr : &given, &flag);
  bool by_address = false;
  if (outcome == MPI_SUCCESS && flag != 0 && asked == AttributeType::kPointer) {
    outcome = get_attribute(owner, object, keyval, AttributeType::kAddressInteger, &integer, &flag);
    by_address = given != integer;
  }
  finish(call, owner, object, outcome);
  call.reply().put(flag != 0);
  call.reply().put(by_address);
  call.reply().put(by_address ? integer : given);
}

void serve_set_attribute(Incoming& call) {
  const auto owner = call.value<AttributeOwner>();
  const auto object = call.value<int>();
  const auto keyval = call.value<int>();
  const auto type = call.value<AttributeType>();
  finish(call, owner, object, set_attribute(owner, object, keyval, type, call.value<void*>()));
}

void serve_keyval_proxies(Incoming& call) {
  const auto keyval = call.value<int>();
  const auto copy = call.value<Function>();
  Keyval_set_proxies(keyval, copy, call.value<Function>());
  call.returns(0);
}

void serve_op_proxy(Incoming& call) {
  const auto op = call.value<Op>();
  Op_set_proxy(op, call.value<Function>());
  call.returns(0);
}

void serve_errhandler_proxy(Incoming& call) {
  const auto errhandler = call.value<Errhandler>();
  Errhandler_set_proxy(errhandler, call.value<Function>());
  call.returns(0);
}

void serve_throw_by(Incoming& call) {
  Errhandler_throw_by(call.value<Function>());
  call.returns(0);
}

void serve_request_fortran(Incoming& call) {
  Grequest_set_fortran(call.value<Request>());
  call.returns(0);
}

template <Count (*length)(Comm)>
void serve_length(Incoming& call) {
  call.reply().put<int64_t>(length(call.value<Comm>()));
}

// Size and rank, as CommFacts (program/comm_facts.h) has them.
void serve_describe_comm(Incoming& call) {
  const CommObject* const comm = find_comm(this_rank(), call.value<Comm>());
  call.reply().put<int64_t>(comm == nullptr ? -1 : comm->is_inter ? 0 : comm->size());
  call.reply().put<int64_t>(comm == nullptr ? -1 : comm->rank);
}

void serve_has_type(Incoming& call) {
  call.reply().put<int64_t>(this_rank().datatypes.find(call.value<Datatype>()) != nullptr);
}

void serve_root_peers(Incoming& call) {
  const auto comm = call.value<Comm>();
  call.reply().put<int64_t>(root_peers(call.value<int>(), comm));
}

}  // namespace

Serve serve_special(SpecialCall what) {
  switch (what) {
    case SpecialCall::kGetAttribute:
      return serve_get_attribute;
    case SpecialCall::kSetAttribute:
      return serve_set_attribute;
    case SpecialCall::kSetKeyvalProxies:
      return serve_keyval_proxies;
    case SpecialCall::kSetOpProxy:
      return serve_op_proxy;
    case SpecialCall::kSetErrhandlerProxy:
      return serve_errhandler_proxy;
    case SpecialCall::kThrowBy:
      return serve_throw_by;
    case SpecialCall::kSetRequestFortran:
      return serve_request_fortran;
    case SpecialCall::kPeers:
      return serve_length<peers>;
    case SpecialCall::kRootPeers:
      return serve_root_peers;
    case SpecialCall::kLocalPeers:
      return serve_length<local_peers>;
    case SpecialCall::kInNeighbors:
      return serve_length<in_neighbors>;
    case SpecialCall::kOutNeighbors:
      return serve_length<out_neighbors>;
    case SpecialCall::kDimensions:
      return serve_length<dimensions>;
    case SpecialCall::kDescribeComm:
      return serve_describe_comm;
    case SpecialCall::kHasType:
      return serve_has_type;
  }
  return nullptr;
}

}  // namespace sesame::remote
