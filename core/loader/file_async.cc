// POSIX asynchronous I/O (aio_*). The bytes are moved when the request is made; its simulated time
// passes in parallel with the rank, which can test or wait for its end. Notification by signal or
// thread (sigev_notify) is not supported.
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/undestroyed.h"
#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

struct Pending {
  std::atomic<void*> ticket = nullptr;  // null: it has ended
  ssize_t result = 0;
  int error = 0;
};
// Shared by the threads that wait for it, of which one may take its result before others return.
using SharedPending = std::shared_ptr<Pending>;
Undestroyed<std::unordered_map<const aiocb*, SharedPending>> g_pending;

SharedPending find_pending(const aiocb* request) {
  const TableLock lock;
  const auto found = g_pending->find(request);
  return found == g_pending->end() ? nullptr : found->second;
}

// A new one in the place of an earlier one.
SharedPending add_pending(const aiocb* request) {
  const TableLock lock;
  return (*g_pending)[request] = std::make_shared<Pending>();
}

int start_request(const aiocb* request, Direction direction) {
  const iovec part{const_cast<void*>(request->aio_buf), request->aio_nbytes};
  const SharedPending pending = add_pending(request);
  const IoVector data{&part, 1, request->aio_offset, 0};
  void* ticket = nullptr;
  pending->result = start_transfer(request->aio_fildes, direction, data, &ticket);
  if (pending->result < 0) pending->error = errno;
  pending->ticket = ticket;
  return 0;
}

// Waits for its end. `ticket` is that of the transfer.
void finish(Pending& pending, void* ticket) {
  file_hooks()->wait_for(ticket);
  if (pending.ticket.exchange(nullptr) != nullptr) file_hooks()->release(ticket);
}

bool has_ended(Pending& pending) {
  void* const ticket = pending.ticket;
  if (ticket == nullptr) return true;
  if (!file_hooks()->is_done(ticket)) return false;
  finish(pending, ticket);
  return true;
}

void await(Pending& pending) {
  void* const ticket = pending.ticket;
  if (ticket == nullptr) return;
  FileOperation operation("aio_suspend");
  finish(pending, ticket);
}

// -1 without limit.
int64_t limit_ns(const timespec* limit) {
  if (limit == nullptr) return -1;
  constexpr int64_t kLongestSeconds = int64_t{1} << 32;
  return std::min<int64_t>(limit->tv_sec, kLongestSeconds) * 1'000'000'000 + limit->tv_nsec;
}

}  // namespace

extern "C" {

int rank_aio_read(aiocb* request) {
  if (open_file(request->aio_fildes) == nullptr) return REAL(aio_read)(request);
  return start_request(request, Direction::kRead);
}

int rank_aio_write(aiocb* request) {
  if (open_file(request->aio_fildes) == nullptr) return REAL(aio_write)(request);
  return start_request(request, Direction::kWrite);
}

// Waits until all written data is on the devices.
int rank_aio_fsync(int operation, aiocb* request) {
  if (open_file(request->aio_fildes) == nullptr) return REAL(aio_fsync)(operation, request);
  add_pending(request);
  return flush_file("aio_fsync", request->aio_fildes);
}

int rank_aio_error(const aiocb* request) {
  const SharedPending pending = find_pending(request);
  if (pending == nullptr) return REAL(aio_error)(request);
  return has_ended(*pending) ? pending->error : EINPROGRESS;
}

ssize_t rank_aio_return(aiocb* request) {
  const SharedPending pending = find_pending(request);
  if (pending == nullptr) return REAL(aio_return)(request);
  await(*pending);
  {
    const TableLock lock;
    g_pending->erase(request);
  }
  if (pending->error != 0) errno = pending->error;
  return pending->result;
}

// Waits for the first request in the list to end. Requests for files of the host are not waited for
// if there are simulated ones.
int rank_aio_suspend(const aiocb* const requests[], int count, const timespec* limit) {
  std::vector<SharedPending> waiting;
  std::vector<void*> tickets;
  for (int i = 0; i < count; ++i) {
    SharedPending pending = requests[i] == nullptr ? nullptr : find_pending(requests[i]);
    if (pending == nullptr) continue;
    void* const ticket = pending->ticket;
    if (ticket == nullptr) return 0;
    waiting.push_back(std::move(pending));
    tickets.push_back(ticket);
  }
  if (tickets.empty()) return REAL(aio_suspend)(requests, count, limit);
  FileOperation operation("aio_suspend");
  const size_t first = file_hooks()->wait_for_any(tickets, limit_ns(limit));
  if (first == tickets.size()) return operation.fail(EAGAIN);
  finish(*waiting[first], tickets[first]);
  return 0;
}

int rank_aio_cancel(int fd, aiocb* request) {
  if (open_file(fd) == nullptr) return REAL(aio_cancel)(fd, request);
  const SharedPending pending = request == nullptr ? nullptr : find_pending(request);
  return pending != nullptr && pending->ticket != nullptr ? AIO_NOTCANCELED : AIO_ALLDONE;
}

int rank_lio_listio(int mode, aiocb* const requests[], int count, sigevent* event) {
  bool is_ours = false;
  for (int i = 0; i < count; ++i)
    is_ours |= requests[i] != nullptr && open_file(requests[i]->aio_fildes) != nullptr;
  if (!is_ours) return REAL(lio_listio)(mode, requests, count, event);
  for (int i = 0; i < count; ++i) {
    if (requests[i] == nullptr || requests[i]->aio_lio_opcode == LIO_NOP) continue;
    const bool is_write = requests[i]->aio_lio_opcode == LIO_WRITE;
    const int status = is_write ? rank_aio_write(requests[i]) : rank_aio_read(requests[i]);
    if (status != 0) return status;
  }
  bool failed = false;
  for (int i = 0; mode == LIO_WAIT && i < count; ++i) {
    const SharedPending pending = requests[i] == nullptr ? nullptr : find_pending(requests[i]);
    if (pending == nullptr) continue;
    await(*pending);
    failed |= pending->error != 0;
  }
  if (failed) errno = EIO;
  return failed ? -1 : 0;
}

}  // extern "C"

void bind_file_async(BindingTable& table) {
  BIND(table, aio_read);
  BIND_AS(table, "aio_read64", aio_read);
  BIND(table, aio_write);
  BIND_AS(table, "aio_write64", aio_write);
  BIND(table, aio_fsync);
  BIND_AS(table, "aio_fsync64", aio_fsync);
  BIND(table, aio_error);
  BIND_AS(table, "aio_error64", aio_error);
  BIND(table, aio_return);
  BIND_AS(table, "aio_return64", aio_return);
  BIND(table, aio_suspend);
  BIND_AS(table, "aio_suspend64", aio_suspend);
  BIND(table, aio_cancel);
  BIND_AS(table, "aio_cancel64", aio_cancel);
  BIND(table, lio_listio);
  BIND_AS(table, "lio_listio64", lio_listio);
}

}  // namespace sesame::loader
