// Calls functions of programs whose ranks are processes: each runs in the rank's process, through
// the callbacks of the process's own binary interface.
#include "core/base/check.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/memory.h"
#include "core/remote/computing.h"
#include "core/remote/request_checks.h"
#include "core/remote/server.h"

namespace sesame::remote {
namespace {

using namespace sesame::mpi;

void put_function(Writer& writer, const ProxiedFunction& function) {
  writer.put(function.function);
  writer.put(function.proxy);
}

// Memory in the process for `bytes` bytes, until the next call.
uint64_t reserve(Channel& channel, size_t bytes) {
  if (bytes > channel.scratch_bytes) {
    channel.scratch = ask_program(channel, CallbackKindOnWire::kReserve, [&](Writer& writer) {
                        writer.put(bytes);
                      }).get<uint64_t>();
    channel.scratch_bytes = bytes;
    expect(channel.scratch < uint64_t{1} << kAddressBits, "memory has no address");
  }
  return channel.scratch;
}

// Operands that are in the simulator are copied to the process, and the result back.
void invoke_op(const ProxiedFunction& function, CallbackKind kind, const void* in, void* inout,
               Count count, Datatype datatype) {
  Channel& channel = this_channel();
  await_idle(channel);  // from here on no other fiber of the rank uses the scratch memory
  const DatatypeObject* const type = this_rank().datatypes.find(datatype);
  CHECK(type != nullptr);
  // The memory that the elements occupy begins at this distance from the buffer's address.
  const Aint begin =
      type->true_lb() + std::min<Aint>(0, type->extent()) * std::max<Count>(0, count - 1);
  const auto bytes = static_cast<size_t>(type->span(count));
  const uint64_t scratch = reserve(channel, 2 * padded(bytes) + 64);
  const auto place = [&](const void* operand, uint64_t copy) {
    if (is_remote(operand)) return address_there(operand);
    copy_bytes(remote_address(this_rank().id, copy), static_cast<const char*>(operand) + begin,
               bytes);
    return copy - static_cast<uint64_t>(begin);
  };
  const uint64_t first = place(in, scratch);
  const uint64_t second = place(inout, scratch + padded(bytes));
  ask_program(channel, CallbackKindOnWire::kOperation, [&](Writer& writer) {
    put_function(writer, function);
    writer.put(kind);
    writer.put(first);
    writer.put(second);
    writer.put(count);
    writer.put(datatype);
  });
  if (is_remote(inout)) return;
  copy_bytes(static_cast<char*>(inout) + begin,
             remote_address(this_rank().id, scratch + padded(bytes)), bytes);
}

Reader call_for_attribute(CallbackKindOnWire what, const ProxiedFunction& function,
                          AttributeOwner owner, int object, int keyval, void* extra_state,
                          AttributeType type, void* value) {
  return ask_program(this_channel(), what, [&](Writer& writer) {
    put_function(writer, function);
    writer.put(owner);
    writer.put(object);
    writer.put(keyval);
    writer.put(extra_state);
    writer.put(type);
    writer.put(value);
  });
}

int copy_attribute(const ProxiedFunction& function, AttributeOwner owner, int object, int keyval,
                   void* extra_state, AttributeType type, void* value, void** copy, bool* keep) {
  Reader result = call_for_attribute(CallbackKindOnWire::kCopyAttribute, function, owner, object,
                                     keyval, extra_state, type, value);
  const auto error = static_cast<int>(result.get<int64_t>());
  *copy = result.get<void*>();
  *keep = result.get<bool>();
  return error;
}

int delete_attribute(const ProxiedFunction& function, AttributeOwner owner, int object, int keyval,
                     void* extra_state, AttributeType type, void* value) {
  Reader result = call_for_attribute(CallbackKindOnWire::kDeleteAttribute, function, owner, object,
                                     keyval, extra_state, type, value);
  return static_cast<int>(result.get<int64_t>());
}

template <typename Handle, CallbackKindOnWire what>
int call_errhandler(const ProxiedFunction& function, Handle object, int error) {
  Reader result = ask_program(this_channel(), what, [&](Writer& writer) {
    put_function(writer, function);
    writer.put(object);
    writer.put(error);
  });
  return static_cast<int>(result.get<int64_t>());
}

int error_code(int error) {
  Reader result = ask_program(this_channel(), CallbackKindOnWire::kErrorCode,
                              [&](Writer& writer) { writer.put(error); });
  return static_cast<int>(result.get<int64_t>());
}

// Those of data representations and generalised requests are missing: processes do not have these
// calls.
constexpr Callbacks kCallbacks = {
    .error_code = error_code,
    .invoke_op = invoke_op,
    .copy_attribute = copy_attribute,
    .delete_attribute = delete_attribute,
    .comm_errhandler = call_errhandler<Comm, CallbackKindOnWire::kCommErrhandler>,
    .win_errhandler = call_errhandler<Win, CallbackKindOnWire::kWinErrhandler>,
    .file_errhandler = call_errhandler<File, CallbackKindOnWire::kFileErrhandler>,
    .session_errhandler = call_errhandler<Session, CallbackKindOnWire::kSessionErrhandler>,
    .datarep_convert = nullptr,
    .datarep_extent = nullptr,
    .grequest_query = nullptr,
    .grequest_free = nullptr,
    .grequest_cancel = nullptr,
};

}  // namespace
}  // namespace sesame::remote

const sesame::mpi::Callbacks& sesame::mpi::callbacks() { return sesame::remote::kCallbacks; }
