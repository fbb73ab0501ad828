#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "core/replay/issue.h"

namespace sesame::replay {
namespace {

// The mode for fdopen() that agrees with the descriptor's access mode.
const char* mode_of_descriptor(int fd) {
  const int access = fcntl(fd, F_GETFL) & O_ACCMODE;
  return access == O_RDONLY ? "r" : access == O_WRONLY ? "w" : "r+";
}

const char* mode_of(int flags) {
  const int access = flags & O_ACCMODE;
  const bool both = access == O_RDWR;
  if ((flags & O_APPEND) != 0) return both ? "a+" : "a";
  if ((flags & O_TRUNC) != 0) return both ? "w+" : "w";
  return access == O_RDONLY ? "r" : both ? "r+" : "w";
}

// The file's stream. Opens one if no recorded call did: for a standard stream, or a descriptor that
// replaced it by dup2().
FILE* stream_of(OpenFile& file, OpenFiles& files) {
  if (file.stream != nullptr) return file.stream;
  const std::lock_guard guard(files.lock);
  if (file.stream == nullptr && file.fd >= 0) {
    file.stream = fdopen(file.fd, mode_of_descriptor(file.fd));
  }
  return file.stream;
}

Outcome open_stream(const PlanOperation& operation, OpenFile& file, const IssueContext& context) {
  FILE* stream = operation.call == Call::fdopen ? fdopen(file.fd, mode_of_descriptor(file.fd))
                                                : fopen(context.plan->path(operation.file),
                                                        mode_of(static_cast<int>(operation.size)));
  if (stream == nullptr) return {0, errno};
  file.stream = stream;
  return {};
}

Outcome close_stream(OpenFile& file) {
  const int status = fclose(std::exchange(file.stream, nullptr));
  const Outcome outcome = outcome_of(status);
  file.fd = -1;
  return outcome;
}

// stdio reports errors only as fewer bytes than requested, and errno.
Outcome moved(size_t bytes, size_t wanted, FILE* stream) {
  const auto done = static_cast<int64_t>(bytes);
  return bytes < wanted && ferror(stream) != 0 ? Outcome{done, errno} : Outcome{done, 0};
}

Outcome put_bytes(FILE* stream, const char* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (fputc(data[i], stream) == EOF) return {static_cast<int64_t>(i), errno};
  }
  return {static_cast<int64_t>(size), 0};
}

Outcome get_bytes(FILE* stream, size_t size) {
  size_t done = 0;
  while (done < size && fgetc(stream) != EOF) ++done;
  return moved(done, size, stream);
}

Outcome print(const PlanOperation& operation, FILE* stream, const char* text) {
  return outcome_of(std::fprintf(stream, "%.*s", static_cast<int>(operation.size), text), true);
}

Outcome set_buffer(const PlanOperation& operation, OpenFile& file) {
  const auto size = static_cast<size_t>(std::max<int64_t>(operation.size, 0));
  file.stdio_buffer = size > 0 ? std::make_unique<char[]>(size) : nullptr;
  return outcome_of(
      std::setvbuf(file.stream, file.stdio_buffer.get(), size > 0 ? _IOFBF : _IONBF, size));
}

}  // namespace

Outcome issue_stdio(const PlanOperation& operation, uint64_t number, const IssueContext& context) {
  if (operation.slot < 0) return {0, EBADF};
  OpenFile& file = (*context.files)[operation.slot];
  if (operation.call == Call::fopen || operation.call == Call::fdopen) {
    return open_stream(operation, file, context);
  }
  FILE* stream = stream_of(file, *context.files);
  if (stream == nullptr) return {0, EBADF};
  const auto size = static_cast<size_t>(std::max<int64_t>(operation.size, 0));
  switch (operation.call) {
    case Call::fclose:
      return close_stream(file);
    case Call::fread:
    case Call::fgets:
      return moved(fread(context.sink, 1, size, stream), size, stream);
    case Call::fwrite:
    case Call::fputs:
      return moved(fwrite(context.source->data(number), 1, size, stream), size, stream);
    case Call::fprintf:
      return print(operation, stream, context.source->text());
    case Call::fputc:
      return put_bytes(stream, context.source->text(), size);
    case Call::fgetc:
      return get_bytes(stream, size);
    case Call::fflush:
      return outcome_of(fflush(stream));
    case Call::fseek:
      return outcome_of(fseeko(stream, std::max<int64_t>(operation.offset, 0), SEEK_SET));
    case Call::ftell:
      return outcome_of(ftello(stream));
    default:
      return set_buffer(operation, file);
  }
}

}  // namespace sesame::replay
