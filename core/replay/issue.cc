#include "core/replay/issue.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sesame::replay {
namespace {

// One transfer, as the recorded call made it.
int64_t transfer(const PlanOperation& operation, int fd, char* data, size_t size) {
  iovec vector[2] = {{data, size / 2}, {data + size / 2, size - size / 2}};
  switch (operation.call) {
    case Call::read:
      return read(fd, data, size);
    case Call::write:
      return write(fd, data, size);
    case Call::pread:
      return pread(fd, data, size, operation.offset);
    case Call::pwrite:
      return pwrite(fd, data, size, operation.offset);
    case Call::readv:
      return readv(fd, vector, 2);
    case Call::writev:
      return writev(fd, vector, 2);
    case Call::preadv:
      return preadv(fd, vector, 2, operation.offset);
    default:
      return pwritev(fd, vector, 2, operation.offset);
  }
}

int64_t repeated_if_interrupted(const PlanOperation& operation, int fd, char* data, size_t size) {
  int64_t done;
  do {
    done = transfer(operation, fd, data, size);
  } while (done < 0 && errno == EINTR && operation.expected_error != EINTR);
  return done;
}

// Direct I/O needs aligned data; other accesses go through the page cache.
int64_t through_page_cache(const PlanOperation& operation, int fd, char* data, size_t size) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags & ~O_DIRECT);
  const int64_t done = repeated_if_interrupted(operation, fd, data, size);
  const int error = errno;
  fcntl(fd, F_SETFL, flags);
  errno = error;
  return done;
}

bool takes_data(Call call) {
  return call == Call::read || call == Call::pread || call == Call::readv || call == Call::preadv;
}

bool is_cut_short(const PlanOperation& operation, int64_t done) {
  return !takes_data(operation.call) && done >= 0 && done < operation.expected_bytes;
}

// A full file system reports its error only to the next call; this call writes fewer bytes.
Outcome rest_of_write(const PlanOperation& operation, int fd, const char* data, int64_t done) {
  const auto rest = static_cast<size_t>(operation.expected_bytes - done);
  const bool at_offset = operation.call == Call::pwrite || operation.call == Call::pwritev;
  const int64_t more = at_offset ? pwrite(fd, data + done, rest, operation.offset + done)
                                 : write(fd, data + done, rest);
  return more < 0 ? Outcome{done, errno} : Outcome{done + more, 0};
}

int open_inherited(const PlanOpened& opened, const IssueContext& context) {
  return open(context.plan->path(opened.file), static_cast<int>(opened.flags) | O_CLOEXEC, 0644);
}

void open_if_late(int32_t slot, const IssueContext& context) {
  if (slot < 0) return;
  OpenFile& file = (*context.files)[slot];
  if (file.late.load(std::memory_order_acquire) == nullptr) return;
  const std::lock_guard guard(context.files->lock);
  if (const PlanOpened* late = file.late.load()) {
    file.fd = open_inherited(*late, context);
    file.late.store(nullptr, std::memory_order_release);
  }
}

}  // namespace

Outcome outcome_of(int64_t returned, bool moves_data) {
  if (returned < 0) return {0, errno};
  return {moves_data ? returned : 0, 0};
}

Outcome issue_data(const PlanOperation& operation, OpenFile& file, char* data, bool direct,
                   std::atomic<uint64_t>* not_aligned) {
  const auto size = static_cast<size_t>(operation.size);
  const int fd = file.stream != nullptr ? fileno(file.stream) : file.fd;
  if ((operation.flags & kMerged) != 0) {
    Outcome all;
    for (size_t i = 0; i < size && all.error == 0; ++i) {
      const Outcome one = outcome_of(repeated_if_interrupted(operation, fd, data, 1), true);
      all = {all.bytes + one.bytes, one.error};
    }
    return all;
  }
  int64_t done = repeated_if_interrupted(operation, fd, data, size);
  if (done < 0 && errno == EINVAL && direct && operation.expected_error != EINVAL) {
    done = through_page_cache(operation, fd, data, size);
    not_aligned->fetch_add(1, std::memory_order_relaxed);
  }
  return is_cut_short(operation, done) ? rest_of_write(operation, fd, data, done)
                                       : outcome_of(done, true);
}

Outcome issue(const PlanOperation& operation, uint64_t number, const IssueContext& context) {
  const Call call = operation.call;
  if (call == Call::none) return {};
  open_if_late(operation.slot, context);
  open_if_late(operation.other_slot, context);
  if (call >= Call::read && call <= Call::pwritev) {
    OpenFile& file = (*context.files)[operation.slot];
    char* data = takes_data(call) ? context.sink : const_cast<char*>(context.source->data(number));
    return issue_data(operation, file, data, file.direct, context.not_aligned);
  }
  if (call >= Call::aio_read && call <= Call::aio_wait) {
    char* data =
        call == Call::aio_write ? const_cast<char*>(context.source->data(number)) : context.sink;
    return issue_asynchronous(operation, data, context);
  }
  if (call < Call::aio_read) return issue_on_descriptor(operation, context);
  if (call <= Call::setvbuf) return issue_stdio(operation, number, context);
  return issue_on_names(operation, context);
}

Outcome issue_asynchronous(const PlanOperation& operation, char* data,
                           const IssueContext& context) {
  const std::lock_guard guard(context.files->lock);
  OpenFile& file = (*context.files)[operation.slot];
  if (operation.call != Call::aio_wait) {
    auto block = std::make_unique<aiocb>();
    block->aio_fildes = file.fd;
    block->aio_buf = data;
    block->aio_nbytes = static_cast<size_t>(std::max<int64_t>(operation.size, 0));
    block->aio_offset = std::max<int64_t>(operation.offset, 0);
    const int status = operation.call == Call::aio_read    ? aio_read(block.get())
                       : operation.call == Call::aio_write ? aio_write(block.get())
                                                           : aio_fsync(O_SYNC, block.get());
    if (status == 0) file.asynchronous.push_back(std::move(block));
    return outcome_of(status);
  }
  if (file.asynchronous.empty()) return {0, 0};
  // The oldest request at this offset of the file, or the oldest of all if the record has no
  // offset.
  auto found = std::ranges::find(file.asynchronous, operation.offset,
                                 [](const auto& block) { return block->aio_offset; });
  if (found == file.asynchronous.end()) found = file.asynchronous.begin();
  const aiocb* waited_for = found->get();
  while (aio_error(waited_for) == EINPROGRESS) aio_suspend(&waited_for, 1, nullptr);
  const int error = aio_error(waited_for);
  const int64_t done = aio_return(found->get());
  file.asynchronous.erase(found);
  return error != 0 ? Outcome{0, error} : Outcome{done, 0};
}

int open_before(const PlanOpened& opened, const IssueContext& context) {
  OpenFile& file = (*context.files)[static_cast<int32_t>(opened.slot)];
  if (opened.late != 0) {
    file.late.store(&opened);
    return 0;
  }
  file.fd = open_inherited(opened, context);
  return file.fd < 0 ? errno : 0;
}

}  // namespace sesame::replay
