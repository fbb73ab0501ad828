#include "core/remote/server.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/calls/charge.h"
#include "core/mpi/calls/environment.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/remote/computing.h"
#include "core/remote/deferred.h"
#include "core/remote/files.h"
#include "core/remote/incoming.h"
#include "core/remote/progress.h"
#include "core/remote/request_checks.h"
#include "core/remote/threads.h"

namespace sesame::remote {
namespace {

Processes* all = nullptr;
SlotsHead* head = nullptr;
void (*on_connected)(const std::string& interface) = nullptr;
Channel* latest = nullptr;  // to which a reply went; null: none yet

// Messages up to this size are copied to the fiber's stack, others to the heap.
constexpr size_t kOnStack = 4096;

// A thread that resumes may let others of its process compute, and its clock and waits are now
// known.
void settle_threads(Process& process, Strand& strand) {
  process.main.is_idle = false;
  for (auto& channel : process.threads) channel->is_idle = false;
  if (&strand != &strand.rank->main)
    strand.rank->main.waited += std::exchange(strand.waited, SimTime::zero());
}

void reply(Channel& channel, const Writer& writer, ReplyKind kind) {
  Strand& strand = self();
  if (channel.process.has_threads()) settle_threads(channel.process, strand);
  Header& header = channel.slot.header;
  header = {};
  header.kind = static_cast<uint16_t>(kind);
  header.bytes = static_cast<uint32_t>(writer.bytes());
  header.write_bytes = channel.process.memory.hand_over_writes();
  header.received = channel.process.memory.hand_over_received(channel.slot);
  header.clock_ps = strand.now.ps();
  channel.slot.must_sleep = 0;
  if (channel.slot.may_defer != 0 && channel.slot.deferred_bytes == 0) reserve_requests(channel);
  give_turn_to_program(channel.slot, *head);
  // The thread that ran before waits: it must not keep a processor from this one.
  if (latest != nullptr && latest != &channel) latest->slot.must_sleep = 1;
  latest = &channel;
}

// Waits for the next request; false if the program has ended.
bool await_request(Channel& channel, void (*wait)(Channel&)) {
  if (channel.file_call) wait = await_alone;
  // Computation that the last call has not charged is this thread's.
  channel.uncharged = this_rank().world.meter.measure();
  const std::atomic<bool>& has_ended = channel.process.has_ended;
  if (has_ended.load()) return false;
  wait(channel);
  if (channel.has_left) return false;
  if (channel.slot.turn.load() == Turn::kSimulator) return true;
  expect(has_ended.load(), "it is no side's turn");
  return false;
}

Writer writer_of(Channel& channel) { return {channel.slot.message, kMessageBytes}; }

void finish_with(Channel& channel, int64_t value) {
  Writer writer = writer_of(channel);
  writer.put(value);
  reply(channel, writer, ReplyKind::kReturn);
}

CallId call_of(uint16_t number) { return static_cast<CallId>(number); }

Serve find_serve(uint16_t function) {
  const Serve special = serve_special(static_cast<SpecialCall>(function));
  return special != nullptr ? special : serve_function(call_of(function));
}

void serve_call(Channel& channel, const Header& header, Reader values) {
  const Serve serve = find_serve(header.function);
  expect(serve != nullptr, "there is no such function");
  const size_t windows = channel.process.memory.windows();
  const auto* const caller = reinterpret_cast<const void*>(header.caller);
  const bool opens = (header.flags & kOpensScope) != 0;
  const bool closes = (header.flags & kClosesScope) != 0;
  Writer writer = writer_of(channel);
  if (opens && closes) {
    CallScope scope(call_of(header.scope), caller);
    Incoming call(channel.process, values, writer, &scope);
    serve(call);
  } else {
    if (opens) channel.scope.emplace(call_of(header.scope), caller);
    Incoming call(channel.process, values, writer, nullptr);
    serve(call);
  }
  channel.process.memory.leave_windows(windows);
  const Rank& rank = this_rank();
  channel.process.main.slot.thread_level = rank.initialized ? rank.thread_level : kNotInitialized;
  reply(channel, writer, ReplyKind::kReturn);
}

void serve_raise(Channel& channel, const Header& header, Reader reader) {
  if ((header.flags & kOpensScope) != 0)
    channel.scope.emplace(call_of(header.scope), reinterpret_cast<const void*>(header.caller));
  const auto owner = reader.get<HandlerOwner>();
  const auto object = reader.get<int64_t>();
  auto error = reader.get<int>();
  if (const char* const detail = reader.get_text()) fail(error, detail);
  // An error in a function of the program may belong to a call without a scope of its own.
  std::optional<CallScope> own;
  if (!channel.scope) own.emplace(call_of(header.scope));
  CallScope& scope = channel.scope ? *channel.scope : *own;
  switch (owner) {
    case HandlerOwner::kComm:
      error = scope.finish_comm(error, static_cast<Comm>(object));
      break;
    case HandlerOwner::kWin:
      error = scope.finish_win(error, static_cast<Win>(object));
      break;
    case HandlerOwner::kSession:
      error = scope.finish_session(error, static_cast<Session>(object));
      break;
    case HandlerOwner::kFile:
      error = scope.finish_file(error, reinterpret_cast<File>(object));
      break;
    case HandlerOwner::kNone:
      error = scope.finish(error);
  }
  finish_with(channel, error);
}

void serve_sleep(int64_t duration_ps) {
  expect(is_time(duration_ps), "a time is out of range");
  sleep_for(SimTime::from_ps(duration_ps));
}

// Another process of the rank's script, or its first, becomes the rank: nothing is left of the one
// before. The calls of its threads have ended with it.
void begin_process(Process& process) {
  process.caller = process.main.slot.owner.load();
  process.memory.set_process(process.caller);
  process.main.scope.reset();
  process.main.scratch = process.main.scratch_bytes = 0;
  for (const auto& thread : process.threads) {
    thread->has_left = true;
    thread->slot.turn = Turn::kProgram;  // it has no call that could be served
  }
  process.mapped.clear();
  process.ends_by_exit = false;
  begin_files(process);
}

[[noreturn]] void refuse(const std::string& what) {
  const Rank& rank = this_rank();
  rank.world.hooks.abort_job(2, rank.name() + " " + what);
  __builtin_unreachable();
}

void serve_hello(Channel& channel, Reader values) {
  expect(&channel == &channel.process.main, "a further thread begins a process");
  const char* const interface = values.get_text();
  expect(interface != nullptr, "its MPI has no name");
  begin_process(channel.process);
  // Whether its program has MPI_Cancel is not known here; a call costs far more than an event.
  this_rank().matching.allow_cancels();
  on_connected(interface);
  Writer writer = writer_of(channel);
  describe_files(writer);
  reply(channel, writer, ReplyKind::kReturn);
}

void serve(Channel& channel, const Header& header, Reader values) {
  Rank& rank = this_rank();
  rank.world.meter.give(
      end_progress(channel, channel.uncharged + SimTime::from_ps(header.computed_ps)));
  if (header.clock_ps > 0) self().wait_until(SimTime::from_ps(header.clock_ps));
  const auto* const caller = reinterpret_cast<const void*>(header.caller);
  switch (static_cast<RequestKind>(header.kind)) {
    case RequestKind::kHello:
      return serve_hello(channel, values);
    case RequestKind::kCall:
      return serve_call(channel, header, values);
    case RequestKind::kEmptyScope: {
      {
        const CallScope scope(call_of(header.scope), caller);
      }
      return finish_with(channel, 0);
    }
    case RequestKind::kCloseScope:
      channel.scope.reset();
      return finish_with(channel, 0);
    case RequestKind::kRaise:
      return serve_raise(channel, header, values);
    case RequestKind::kNotImplemented:
      CallScope(call_of(header.scope), caller).not_implemented();
    case RequestKind::kReadClock:
      return finish_with(channel, read_clock().ps());
    case RequestKind::kReadProcessorClock:
      read_clock();
      return finish_with(channel, rank.computed.ps());
    case RequestKind::kSleep:
      serve_sleep(values.get<int64_t>());
      return finish_with(channel, 0);
    case RequestKind::kJoin:
    case RequestKind::kFlush:
      return finish_with(channel, 0);
    case RequestKind::kThreadEnd:
      expect(&channel != &channel.process.main, "the first thread ends as a further one");
      if (self().call_depth == 0) charge_compute(self(), ComputeEnd::kClock);
      channel.strand = nullptr;
      return finish_with(channel, 0);
    case RequestKind::kGoodbye:
      channel.process.ends_by_exit = true;
      if (self().call_depth == 0) charge_compute(self(), ComputeEnd::kExit);
      return finish_with(channel, 0);
    case RequestKind::kFiles: {
      Writer writer = writer_of(channel);
      serve_files(channel, header, values, writer);
      return reply(channel, writer, ReplyKind::kReturn);
    }
    case RequestKind::kCallbackDone:
      fail_damaged("a function has ended that was not called");
  }
}

// Serves the request in the slot, whose values it copies: functions of the program that calls run
// may use the slot.
void serve_request(Channel& channel) {
  const Header header = checked_header(channel.slot);
  if (header.bytes <= kOnStack) {
    alignas(16) char values[kOnStack];
    std::memcpy(values, channel.slot.message, header.bytes);
    serve_deferred(channel);
    return serve(channel, header, Reader(values, header.bytes));
  }
  const auto values = std::make_unique_for_overwrite<char[]>(header.bytes);
  std::memcpy(values.get(), channel.slot.message, header.bytes);
  serve_deferred(channel);
  serve(channel, header, Reader(values.get(), header.bytes));
}

ProcessMemory& memory_of(const RemoteRange& range) {
  Process* const process = all->find(rank_of_address(range.address));
  expect(process != nullptr, "an address is of no rank");
  return process->memory;
}

void read_memory(const RemoteRange* ranges, size_t count, void* packed) {
  memory_of(*ranges).read(ranges, count, static_cast<char*>(packed));
}

void write_memory(const RemoteRange* ranges, size_t count, const void* packed) {
  memory_of(*ranges).write(ranges, count, static_cast<const char*>(packed));
}

}  // namespace

void start_serving(const ServingStart& start) {
  all = &start.processes;
  head = &start.head;
  on_connected = start.connected;
  latest = nullptr;
  RemoteMemory memory = remote_memory();
  memory.read = read_memory;
  memory.write = write_memory;
  set_remote_memory(memory);
  allow_thread_level(MPI_THREAD_MULTIPLE);
}

Process& this_process() { return *all->find(this_rank().id); }

Channel& this_channel() {
  Process& process = this_process();
  if (Channel* const own = channel_of(process, self())) return *own;
  if (process.main.computing == nullptr) return process.main;
  const auto waits = [](const auto& thread) {
    return thread->strand != nullptr && thread->computing == nullptr;
  };
  const auto found = std::ranges::find_if(process.threads, waits);
  return found == process.threads.end() ? process.main : **found;
}

void serve_rank(Process& process) {
  process.memory.set_world(this_rank().world);
  process.main.strand = &self();
  this_rank().world.meter.give(SimTime::zero());
  while (await_request(process.main, await)) serve_request(process.main);
  process.memory.discard_writes();
  serve_deferred(process.main);
  if (process.ends_by_exit) close_files(process);
}

void serve_thread(Channel& channel) {
  while (channel.strand != nullptr && await_request(channel, await)) serve_request(channel);
}

Writer begin_callback(Channel& channel, CallbackKindOnWire what) {
  await_idle(channel);
  Writer writer(channel.slot.message, kCallbackBytes);
  writer.put(what);
  return writer;
}

Reader finish_callback(Channel& channel, const Writer& writer) {
  if (++channel.callbacks > kMostCallbacks) {
    refuse(
        "is in " + std::to_string(kMostCallbacks) +
        " functions that MPI has called, none of which has returned: deeper nesting, and functions "
        "left by longjmp() or an exception, are not simulated with ranks as processes");
  }
  // The function may need a lock that another thread of the process holds in a call.
  const bool is_own = channel.process.has_threads() && channel.strand == &self();
  reply(channel, writer, ReplyKind::kCallback);
  for (;;) {
    if (!await_request(channel, is_own ? await : await_alone))
      refuse(
          "ended in a function that MPI had called, or that was left by longjmp() or an exception");
    const Header header = checked_header(channel.slot);
    if (static_cast<RequestKind>(header.kind) == RequestKind::kCallbackDone) {
      --channel.callbacks;
      return Reader(channel.slot.message, header.bytes);
    }
    serve_request(channel);
  }
}

// ---- Arguments ----

void Incoming::window(const void* buffer) {
  const auto bytes = reader_.get<size_t>();
  const char* const data = reader_.get_bytes(bytes);
  if (bytes > 0) process_.memory.add_window(address_there(buffer), bytes, data);
}

// An address that no process can have stays one: its upper bits would name another rank.
void* Incoming::remote(uint64_t address) const {
  constexpr uint64_t kMost = uint64_t{1} << kAddressBits;
  constexpr uint64_t kNever =
      kMost - 4096;  // the page that Linux leaves free below the kernel's half
  return remote_address(process_.rank, address < kMost ? address : kNever);
}

template <typename Pointer>
Pointer Incoming::buffer() {
  const auto address = reader_.get<uint64_t>();
  const auto* const constant = reinterpret_cast<const void*>(address);
  if (constant == MPI_IN_PLACE || constant == MPI_BUFFER_AUTOMATIC)
    return reinterpret_cast<Pointer>(address);
  return static_cast<Pointer>(remote(address));
}
template void* Incoming::buffer<void*>();
template const void* Incoming::buffer<const void*>();

template <typename Pointer>
Pointer Incoming::address() {
  const auto address = reader_.get<uint64_t>();
  return address == 0 ? nullptr : static_cast<Pointer>(remote(address));
}
template int* Incoming::address<int*>();

TextLists::TextLists(Incoming& call) : packed_(call) {
  auto* text = const_cast<char*>(packed_.get());
  const char* const end = text + packed_.bytes();
  expect(text == end || end[-1] == kListEnds, "a list of texts has no end");
  std::vector<char*> list;
  while (text < end) {
    if (*text++ == kListEnds) {
      list.push_back(nullptr);
      lists_.push_back(std::exchange(list, {}));
    } else {
      list.push_back(text);
      text += std::strlen(text) + 1;
    }
  }
  for (auto& texts : lists_) pointers_.push_back(texts.data());
}

ArrayBytes::ArrayBytes(Incoming& call)
    : call_(call),
      address_(call.value<uint64_t>()),
      bytes_(call.value<size_t>()),
      is_inline_(call.value<bool>()) {
  if (is_inline_) {
    data_ = const_cast<char*>(call.reader().get_bytes(bytes_));
  } else {
    const bool may_be = bytes_ >> kAddressBits == 0;
    copy_.reset(may_be ? new (std::nothrow) char[bytes_] : nullptr);
    expect(copy_ != nullptr, "an array is longer than all memory");
    copy_bytes(copy_.get(), call.remote(address_), bytes_);
    data_ = copy_.get();
  }
  if (address_ >= kFirstAddress) return;
  expect(bytes_ == 0, "a constant has the bytes of an array");
  data_ = reinterpret_cast<void*>(address_);
}

void ArrayBytes::store_bytes() {
  const bool is_sent = is_inline_ && bytes_ > 0;
  call_.reply().put(is_sent ? bytes_ : 0);
  if (is_sent) {
    call_.reply().put_bytes(data_, bytes_);
  } else if (bytes_ > 0) {
    copy_bytes(call_.remote(address_), data_, bytes_);
  }
}

}  // namespace sesame::remote
