#include "io/sparse/access.h"

#include <mpi.h>

#include "kit/arguments.h"
#include "kit/ranks.h"

namespace sesame::workload::sparse {
namespace {

struct Named {
  const char* name;
  Mode mode;
};

constexpr Named kModes[] = {{"unix", Mode::kUnix},     {"log", Mode::kLog},
                            {"sync", Mode::kSync},     {"record", Mode::kRecord},
                            {"global", Mode::kGlobal}, {"async", Mode::kAsync}};

}  // namespace

Mode mode_of(const std::string& name) {
  std::string names;
  for (const Named& known : kModes) {
    if (name == known.name) return known.mode;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw UsageError("--mode " + name + ": expected one of " + names);
}

bool is_collective(Mode mode) {
  return mode == Mode::kSync || mode == Mode::kRecord || mode == Mode::kGlobal;
}

bool is_independent(Mode mode) { return mode == Mode::kUnix || mode == Mode::kAsync; }

Access::Access(const ExtendedFile& file, const RowChunks& chunks, long buffer_chunks)
    : file_(file), chunks_(chunks) {
  const long bytes = chunks.rows_each * file.row_bytes() * buffer_chunks;
  for (std::vector<char>& buffer : buffers_) buffer.resize(bytes);
}

void Access::post(long chunk) {
  const Block rows = chunks_.rows(chunk);
  buffer_ = 1 - buffer_;
  request_ = {chunk, file_.offset_of(rows.begin), rows.size() * file_.row_bytes(),
              buffers_[buffer_].data()};
  const double began = MPI_Wtime();
  seek(request_);
  const double found = MPI_Wtime();
  begin(request_);
  seek_s_ += found - began;
  read_s_ += MPI_Wtime() - found;
}

std::span<const char> Access::wait() {
  const double began = MPI_Wtime();
  const std::span<const char> rows = finish(request_);
  read_s_ += MPI_Wtime() - began;
  if (!rows.empty()) ++reads_;
  return rows;
}

Access::Request Access::request_of_all(const Request& request) const {
  const long first = request.chunk - this_rank();
  const long offset = offset_of(first);
  return {first, offset, offset_of(first + number_of_ranks()) - offset, request.buffer};
}

std::span<const char> Access::part_of_all(const Request& request) const {
  const Request all = request_of_all(request);
  MPI_Bcast(all.buffer, static_cast<int>(all.bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  const char* mine = request.buffer + (request.offset - all.offset);
  return {mine, static_cast<std::size_t>(request.bytes)};
}

std::unique_ptr<Access> open_access(const std::string& interface, Mode mode,
                                    const ExtendedFile& file, const RowChunks& chunks) {
  return interface == "mpi" ? open_mpi(mode, file, chunks) : open_posix(mode, file, chunks);
}

}  // namespace sesame::workload::sparse
