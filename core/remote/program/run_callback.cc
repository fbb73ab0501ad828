// Runs functions of the program that the simulator asks for, and connects the process as soon as
// the MPI library is loaded.
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>

#include "core/mpi/objects/callbacks.h"
#include "core/remote/program/requests.h"

namespace sesame::remote {
namespace {

ProxiedFunction read_function(Reader& reader) {
  const auto function = reader.get<Function>();
  return {function, reader.get<Function>()};
}

void run_operation(Reader& reader) {
  const ProxiedFunction function = read_function(reader);
  const auto kind = reader.get<CallbackKind>();
  const auto* const in = reader.get<const void*>();
  auto* const inout = reader.get<void*>();
  const auto count = reader.get<Count>();
  callbacks().invoke_op(function, kind, in, inout, count, reader.get<Datatype>());
}

struct Attribute {
  explicit Attribute(Reader& reader)
      : function(read_function(reader)),
        owner(reader.get<AttributeOwner>()),
        object(reader.get<int>()),
        keyval(reader.get<int>()),
        extra_state(reader.get<void*>()),
        type(reader.get<AttributeType>()),
        value(reader.get<void*>()) {}

  ProxiedFunction function;
  AttributeOwner owner;
  int object;
  int keyval;
  void* extra_state;
  AttributeType type;
  void* value;
};

void copy_attribute(Reader& reader, Writer& result) {
  const Attribute of(reader);
  void* copy = nullptr;
  bool keep = false;
  result.put<int64_t>(callbacks().copy_attribute(of.function, of.owner, of.object, of.keyval,
                                                 of.extra_state, of.type, of.value, &copy, &keep));
  result.put(copy);
  result.put(keep);
}

void delete_attribute(Reader& reader, Writer& result) {
  const Attribute of(reader);
  result.put<int64_t>(callbacks().delete_attribute(of.function, of.owner, of.object, of.keyval,
                                                   of.extra_state, of.type, of.value));
}

template <typename Handle>
void run_errhandler(int (*handler)(const ProxiedFunction&, Handle, int), Reader& reader,
                    Writer& result) {
  const ProxiedFunction function = read_function(reader);
  const auto object = reader.get<Handle>();
  result.put<int64_t>(handler(function, object, reader.get<int>()));
}

void convert(Reader& reader, Writer& result) {
  result.put<int64_t>(callbacks().datarep_convert(reader.get_object<Conversion>()));
}

void find_file_extent(Reader& reader, Writer& result) {
  const auto function = reader.get<Function>();
  const auto datatype = reader.get<Datatype>();
  Aint extent = 0;
  result.put<int64_t>(callbacks().datarep_extent(function, datatype, &extent, reader.get<void*>()));
  result.put(extent);
}

void run_for_request(CallbackKindOnWire what, Reader& reader, Writer& result) {
  const auto function = reader.get<Function>();
  const auto kind = reader.get<CallbackKind>();
  auto* const extra_state = reader.get<void*>();
  if (what == CallbackKindOnWire::kFreeRequest)
    return result.put<int64_t>(callbacks().grequest_free(function, kind, extra_state));
  if (what == CallbackKindOnWire::kCancelRequest) {
    const auto complete = reader.get<bool>();
    return result.put<int64_t>(callbacks().grequest_cancel(function, kind, extra_state, complete));
  }
  auto status = reader.get_object<Status>();
  result.put<int64_t>(callbacks().grequest_query(function, kind, extra_state, &status));
  result.put_object(status);
}

// Memory for operands that are not in the process, until the thread's next request for it.
void reserve(Reader& reader, Writer& result) {
  thread_local void* memory = nullptr;
  thread_local size_t size = 0;
  const auto bytes = reader.get<size_t>();
  if (bytes > size) {
    std::free(memory);
    memory = std::malloc(bytes);
    size = bytes;
  }
  result.put(memory);
}

// Maps a part of a file that the simulator has open; null, and the reason: it cannot be mapped.
void map(Reader& reader, Writer& result) {
  const auto simulator = reader.get<int>();
  const auto descriptor = reader.get<int>();
  const auto offset = reader.get<off_t>();
  const auto bytes = reader.get<size_t>();
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", simulator, descriptor);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const memory = file < 0
                           ? MAP_FAILED
                           : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  const int error = errno;
  if (file >= 0) close(file);
  result.put(memory == MAP_FAILED ? nullptr : memory);
  result.put(error);
}

void unmap(Reader& reader, Writer& result) {
  auto* const memory = reader.get<void*>();
  result.put<int64_t>(munmap(memory, reader.get<size_t>()));
}

void run(Reader& reader, Writer& result) {
  const auto what = reader.get<CallbackKindOnWire>();
  switch (what) {
    case CallbackKindOnWire::kOperation:
      return run_operation(reader);
    case CallbackKindOnWire::kCopyAttribute:
      return copy_attribute(reader, result);
    case CallbackKindOnWire::kDeleteAttribute:
      return delete_attribute(reader, result);
    case CallbackKindOnWire::kCommErrhandler:
      return run_errhandler(callbacks().comm_errhandler, reader, result);
    case CallbackKindOnWire::kWinErrhandler:
      return run_errhandler(callbacks().win_errhandler, reader, result);
    case CallbackKindOnWire::kFileErrhandler:
      return run_errhandler(callbacks().file_errhandler, reader, result);
    case CallbackKindOnWire::kSessionErrhandler:
      return run_errhandler(callbacks().session_errhandler, reader, result);
    case CallbackKindOnWire::kErrorCode:
      return result.put<int64_t>(callbacks().error_code(reader.get<int>()));
    case CallbackKindOnWire::kConvert:
      return convert(reader, result);
    case CallbackKindOnWire::kFileExtent:
      return find_file_extent(reader, result);
    case CallbackKindOnWire::kQueryRequest:
    case CallbackKindOnWire::kFreeRequest:
    case CallbackKindOnWire::kCancelRequest:
      return run_for_request(what, reader, result);
    case CallbackKindOnWire::kReserve:
      return reserve(reader, result);
    case CallbackKindOnWire::kMap:
      return map(reader, result);
    case CallbackKindOnWire::kUnmap:
      return unmap(reader, result);
  }
}

__attribute__((constructor)) void connect() { sesame_rank_connect(SESAME_INTERFACE, run); }

}  // namespace
}  // namespace sesame::remote
