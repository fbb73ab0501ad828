#include "core/remote/program/requests.h"

#include <dlfcn.h>

#include <string>

#include "core/abi/handles.h"
#include "core/mpi/messages/program_tables.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/remote/program/static_switch.h"

namespace sesame::mpi {

using remote::HandlerOwner;

// CallScope of a rank that is a process tells the simulator which call of the program a request
// belongs to. The simulator opens its own CallScope at the first request of a call. It closes it,
// and calls the error handler, after that request where a call needs only one; otherwise
// (needs_many_requests()) CallScope does both. What it calls a strand is a thread, of which this is
// the running call of the program.
struct Strand {
  int depth = 0;
  CallId id = CallId::None;
  const void* caller = nullptr;
  bool is_open = false;    // at the simulator
  bool many = false;       // see needs_many_requests()
  bool is_raised = false;  // the simulator has called the error handler
  std::string detail;      // of an error that was found here
};

namespace {

// Some bytes of each thread's remain, since calls may come from exit handlers.
Strand& scope() {
  thread_local auto* const instance = new Strand;
  return *instance;
}

// The header of a request that belongs to the call.
remote::Header header_in_call(remote::RequestKind kind, size_t bytes = 0) {
  Strand& current = scope();
  remote::Header header = remote::header_of(kind, bytes);
  header.scope = static_cast<uint16_t>(current.id);
  header.caller = reinterpret_cast<uint64_t>(current.caller);
  return header;
}

void send_empty(remote::RequestKind kind, uint8_t flags) {
  remote::own_slot();
  remote::Header header = header_in_call(kind);
  header.flags = flags;
  remote::sesame_rank_exchange(header);
}

}  // namespace

Strand& CallScope::enter(CallId id, const void* caller) {
  Strand& current = scope();
  if (current.depth++ > 0) return current;
  current.id = id;
  current.caller = remote::sesame_rank_call_site(caller);
  current.is_open = false;
  current.is_raised = false;
  current.many = needs_many_requests(id);
  return current;
}

void CallScope::leave() {
  const Strand& current = strand_;
  if (--strand_.depth > 0) return;
  if (!current.is_open) {
    send_empty(remote::RequestKind::kEmptyScope, remote::kOpensScope | remote::kClosesScope);
  } else if (current.many) {
    send_empty(remote::RequestKind::kCloseScope, remote::kClosesScope);
  }
}

static int raise_at_simulator(HandlerOwner kind, int64_t object, int error) {
  Strand& current = scope();
  if (current.is_raised) return error;
  remote::Slot& slot = remote::own_slot();
  remote::Writer writer(slot.message, remote::kMessageBytes);
  writer.put(kind);
  writer.put(object);
  writer.put(error);
  writer.put_text(current.detail.empty() ? nullptr : current.detail.c_str());
  remote::Header header = header_in_call(remote::RequestKind::kRaise, writer.bytes());
  if (!current.is_open) header.flags = remote::kOpensScope;
  if (!current.is_open) current.is_open = current.many = true;
  current.detail.clear();
  remote::sesame_rank_exchange(header);
  return static_cast<int>(remote::Reader(slot.message, remote::kMessageBytes).get<int64_t>());
}

int CallScope::raise(int error, CommObject*) {
  return raise_at_simulator(HandlerOwner::kNone, 0, error);
}
int CallScope::raise_on_comm(int error, Comm comm) {
  return raise_at_simulator(HandlerOwner::kComm, comm, error);
}
int CallScope::raise_on_win(int error, Win win) {
  return raise_at_simulator(HandlerOwner::kWin, win, error);
}
int CallScope::raise_on_file(int error, File file) {
  return raise_at_simulator(HandlerOwner::kFile, reinterpret_cast<int64_t>(file), error);
}
int CallScope::raise_on_session(int error, Session session) {
  return raise_at_simulator(HandlerOwner::kSession, session, error);
}

void CallScope::not_implemented() {
  send_empty(remote::RequestKind::kNotImplemented, remote::kOpensScope);
  __builtin_unreachable();
}

int fail(int error_class, std::string detail) {
  scope().detail = std::move(detail);
  return error_class;
}

namespace {

const void* find_symbol(const Rank&, const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace

Rank& this_rank() {
  static World world{{.program_function = find_symbol, .private_variable = find_symbol}};
  static auto* const rank = [] {
    auto* const made = new Rank(world);
    made->tables.handles = abi::handles_of_program(*made);
    return made;
  }();
  return *rank;
}

// All threads of the process have the same.
ProgramTables& tables_of_thread() {
  static pdes::Fiber fiber;
  fiber.owner = &this_rank().tables;
  pdes::current_fiber = &fiber;
  return this_rank().tables;
}

}  // namespace sesame::mpi

namespace sesame::pdes {
constinit thread_local Fiber* current_fiber = nullptr;
}

namespace sesame::remote {

Slot& own_slot() {
  if (Slot* const slot = sesame_rank_join()) return *slot;
  std::fputs(
      "sesame: a process that is no rank of the simulation called MPI, expected a rank's process\n"
      "hint: run the program under sesame simulate, and call MPI in no child that it forks\n",
      stderr);
  _exit(2);
}

CallRequest::CallRequest(uint16_t function)
    : slot_(own_slot()),
      function_(function),
      writer_(slot_.message, kMessageBytes),
      reader_(slot_.message, kMessageBytes) {}

void CallRequest::put_window(const void* buffer, Count count, Datatype datatype) {
  const Count size = predefined_size(datatype);
  const bool is_small = buffer != nullptr && reinterpret_cast<intptr_t>(buffer) > 0 && size > 0 &&
                        count > 0 && count <= kMostWindow / size;
  const auto bytes = static_cast<size_t>(is_small ? count * size : 0);
  writer_.put(bytes);
  writer_.put_bytes(buffer, bytes);
}

void CallRequest::put_array(IntArray values, Count count) {
  if (values.is_null() || count < 0) {
    put_array(static_cast<const Count*>(nullptr), 0);
    return;
  }
  auto wide = std::make_unique_for_overwrite<Count[]>(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) wide[static_cast<size_t>(i)] = values[static_cast<size_t>(i)];
  put_array(wide.get(), count);
  wide_.push_back(std::move(wide));
}

void CallRequest::put_texts(const char* const* const* lists, Count count) {
  std::string& packed = *packed_.emplace_back(std::make_unique<std::string>());
  for (Count i = 0; i < count; ++i) {
    for (auto text = lists[i]; text != nullptr && *text != nullptr; ++text)
      packed.append(1, kTextFollows).append(*text).append(1, '\0');
    packed.append(1, kListEnds);
  }
  put_array(packed.data(), static_cast<Count>(packed.size()));
}

void CallRequest::put_argv(char** argv, Count count) { put_texts(&argv, count); }

void CallRequest::put_argv_array(void* lists, Count count) {
  put_texts(static_cast<char***>(lists), lists == nullptr ? 0 : count);
}

void CallRequest::put_commands(void* commands, Count count) {
  auto* const given = static_cast<char**>(commands);
  std::vector<const char*> texts;
  for (Count i = 0; given != nullptr && i < count; ++i) texts.push_back(given[i]);
  texts.push_back(nullptr);
  const char* const* const list = texts.data();
  put_texts(&list, 1);
}

void CallRequest::send() {
  Strand& current = scope();
  Header header = header_in_call(RequestKind::kCall, writer_.bytes());
  header.function = function_;
  const bool opens = current.depth > 0 && !current.is_open;
  if (opens) header.flags = static_cast<uint8_t>(kOpensScope | (current.many ? 0 : kClosesScope));
  if (opens) current.is_open = true;
  sesame_rank_exchange(header);
  // Set last: a function of the program that this request runs may make requests, too.
  current.is_raised = opens && !current.many;
}

bool may_defer() {
  const Strand& current = scope();
  return current.depth == 1 && !current.is_open && !current.many && sesame_rank_may_defer();
}

bool defer_scope() {
  own_slot();
  return scope().is_open = sesame_rank_defer(header_in_call(RequestKind::kEmptyScope), nullptr);
}

bool CallRequest::defer(Request* handle) {
  if (handle != nullptr && slot_.reserved_taken == kReservedRequests) return false;
  Header header = header_in_call(RequestKind::kCall, writer_.bytes());
  header.function = function_;
  header.flags = handle == nullptr ? 0 : kTakesRequest;
  if (!sesame_rank_defer(header, slot_.message)) return false;
  if (handle != nullptr) *handle = slot_.reserved[slot_.reserved_taken++];
  scope().is_open = true;
  return true;
}

int CallRequest::call() {
  send();
  return static_cast<int>(reader_.get<int64_t>());
}

double CallRequest::call_for_double() {
  send();
  return reader_.get<double>();
}

int64_t CallRequest::query() {
  Header header = header_of(RequestKind::kCall, writer_.bytes());
  header.function = function_;
  sesame_rank_exchange(header);
  return reader_.get<int64_t>();
}

void CallRequest::get_text(char* text) {
  if (const char* const given = reader_.get_text()) std::strcpy(text, given);
}

Count last_of(const int* values, int count) {
  return values != nullptr && count > 0 ? values[count - 1] : 0;
}

Count sum_of(const int* values, int count) {
  Count sum = 0;
  for (int i = 0; values != nullptr && i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace sesame::remote
