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

// A buffer that a function of the program uses. Its bytes begin at a distance from its address. If
// it is in the simulator, it has a copy in the process.
struct Operand {
  char* address;
  Aint begin;
  size_t bytes;
};

Operand operand_of(const void* address, Datatype datatype, Count count) {
  const DatatypeObject* const type = this_rank().datatypes.find(datatype);
  CHECK(type != nullptr);
  return {static_cast<char*>(const_cast<void*>(address)),
          type->true_lb() + std::min<Aint>(0, type->extent()) * std::max<Count>(0, count - 1),
          static_cast<size_t>(type->span(count))};
}

// The operand's address in the process; `copy` is memory for it there.
uint64_t place(const Operand& operand, uint64_t copy) {
  if (is_remote(operand.address)) return address_there(operand.address);
  copy_bytes(remote_address(this_rank().id, copy), operand.address + operand.begin, operand.bytes);
  return copy - static_cast<uint64_t>(operand.begin);
}

void fetch(const Operand& operand, uint64_t copy) {
  if (is_remote(operand.address)) return;
  copy_bytes(operand.address + operand.begin, remote_address(this_rank().id, copy), operand.bytes);
}

void invoke_op(const ProxiedFunction& function, CallbackKind kind, const void* in, void* inout,
               Count count, Datatype datatype) {
  Channel& channel = this_channel();
  await_idle(channel);  // from here on no other fiber of the rank uses the scratch memory
  const Operand operand = operand_of(in, datatype, count);
  const Operand combined = operand_of(inout, datatype, count);
  const uint64_t copy = reserve(channel, 2 * padded(operand.bytes) + 64);
  const uint64_t copy_of_combined = copy + padded(operand.bytes);
  const uint64_t first = place(operand, copy);
  const uint64_t second = place(combined, copy_of_combined);
  ask_program(channel, CallbackKindOnWire::kOperation, [&](Writer& writer) {
    put_function(writer, function);
    writer.put(kind);
    writer.put(first);
    writer.put(second);
    writer.put(count);
    writer.put(datatype);
  });
  fetch(combined, copy_of_combined);
}

// Reads a file or writes it: both buffers are copied there and back.
int convert(const Conversion& conversion) {
  Channel& channel = this_channel();
  await_idle(channel);
  const Operand user = operand_of(conversion.user_buffer, conversion.datatype, conversion.count);
  const Operand file{static_cast<char*>(conversion.file_buffer), 0,
                     static_cast<size_t>(conversion.file_bytes)};
  const uint64_t copy = reserve(channel, padded(user.bytes) + padded(file.bytes) + 64);
  const uint64_t copy_of_file = copy + padded(user.bytes);
  Conversion there = conversion;
  there.user_buffer = reinterpret_cast<void*>(place(user, copy));
  there.file_buffer = reinterpret_cast<void*>(place(file, copy_of_file));
  Reader result = ask_program(channel, CallbackKindOnWire::kConvert,
                              [&](Writer& writer) { writer.put_object(there); });
  const auto error = static_cast<int>(result.get<int64_t>());
  fetch(user, copy);
  fetch(file, copy_of_file);
  return error;
}

int find_file_extent(Function function, Datatype datatype, Aint* extent, void* extra_state) {
  Reader result = ask_program(this_channel(), CallbackKindOnWire::kFileExtent, [&](Writer& writer) {
    writer.put(function);
    writer.put(datatype);
    writer.put(extra_state);
  });
  const auto error = static_cast<int>(result.get<int64_t>());
  *extent = result.get<Aint>();
  return error;
}

template <typename PutMore>
Reader ask_for_request(CallbackKindOnWire what, Function function, CallbackKind kind,
                       void* extra_state, PutMore put_more) {
  return ask_program(this_channel(), what, [&](Writer& writer) {
    writer.put(function);
    writer.put(kind);
    writer.put(extra_state);
    put_more(writer);
  });
}

int query_request(Function function, CallbackKind kind, void* extra_state, Status* status) {
  Reader result = ask_for_request(CallbackKindOnWire::kQueryRequest, function, kind, extra_state,
                                  [&](Writer& writer) { writer.put_object(*status); });
  const auto error = static_cast<int>(result.get<int64_t>());
  *status = result.get_object<Status>();
  return error;
}

int free_request(Function function, CallbackKind kind, void* extra_state) {
  Reader result = ask_for_request(CallbackKindOnWire::kFreeRequest, function, kind, extra_state,
                                  [](Writer&) {});
  return static_cast<int>(result.get<int64_t>());
}

int cancel_request(Function function, CallbackKind kind, void* extra_state, bool complete) {
  Reader result = ask_for_request(CallbackKindOnWire::kCancelRequest, function, kind, extra_state,
                                  [&](Writer& writer) { writer.put(complete); });
  return static_cast<int>(result.get<int64_t>());
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

constexpr Callbacks kCallbacks = {
    .error_code = error_code,
    .invoke_op = invoke_op,
    .copy_attribute = copy_attribute,
    .delete_attribute = delete_attribute,
    .comm_errhandler = call_errhandler<Comm, CallbackKindOnWire::kCommErrhandler>,
    .win_errhandler = call_errhandler<Win, CallbackKindOnWire::kWinErrhandler>,
    .file_errhandler = call_errhandler<File, CallbackKindOnWire::kFileErrhandler>,
    .session_errhandler = call_errhandler<Session, CallbackKindOnWire::kSessionErrhandler>,
    .datarep_convert = convert,
    .datarep_extent = find_file_extent,
    .grequest_query = query_request,
    .grequest_free = free_request,
    .grequest_cancel = cancel_request,
};

}  // namespace
}  // namespace sesame::remote

const sesame::mpi::Callbacks& sesame::mpi::callbacks() { return sesame::remote::kCallbacks; }
