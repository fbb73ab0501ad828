// How ranks read one file of rows: the file access modes of the Intel Paragon's parallel file
// system, in POSIX and in MPI-IO. post() starts a read and wait() completes it; a read can
// be in progress while the caller uses the result of the one before.
//
//   mode    whose file pointer        POSIX                        MPI-IO
//   unix    each rank's own, atomic   lseek, read under flock      seek, iread, atomic
//   log     one, first come           -                            iread_shared
//   sync    one, in order of ranks    pread when one's turn comes  read_ordered
//   record  offsets by rank           pread after a barrier        read_at_all
//   global  one, the same data        rank 0 reads and broadcasts  the same
//   async   each rank's own           pread                        iread_at
//
// POSIX reads are announced to the kernel by posix_fadvise when they are posted.
#ifndef WORKLOADS_IO_SPARSE_ACCESS_H_
#define WORKLOADS_IO_SPARSE_ACCESS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/sparse/extended.h"
#include "kit/ranks.h"

namespace sesame::workload::sparse {

enum class Mode { kUnix, kLog, kSync, kRecord, kGlobal, kAsync };

// Throws UsageError.
Mode mode_of(const std::string& name);
// All ranks post the same number of reads, of the chunks cycle * ranks + rank.
bool is_collective(Mode mode);
// A rank reads the chunks that it wants when it wants.
bool is_independent(Mode mode);

class Access {
 public:
  Access(const ExtendedFile& file, const RowChunks& chunks, long buffer_chunks);
  virtual ~Access() = default;
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  // Begins to read a chunk. With Mode::kLog it is the next that no rank has, whatever is asked for.
  void post(long chunk);
  // The rows that were posted last, as they are in the file; none behind the last chunk. They stay
  // until the second post() from now.
  std::span<const char> wait();

  double seek_s() const { return seek_s_; }
  double read_s() const { return read_s_; }  // in post() and wait(), without seeking
  long reads() const { return reads_; }

 protected:
  struct Request {
    long chunk, offset, bytes;
    char* buffer;
  };
  virtual void seek(const Request&) {}
  virtual void begin(const Request& request) = 0;
  virtual std::span<const char> finish(const Request& request) = 0;
  long offset_of(long chunk) const { return file_.offset_of(chunks_.rows(chunk).begin); }
  const std::string& path() const { return file_.path; }
  // With Mode::kGlobal: rank 0's request, the chunks of all ranks in this cycle; and this rank's
  // rows of what rank 0 has read, which all get. The second is collective.
  Request request_of_all(const Request& request) const;
  std::span<const char> part_of_all(const Request& request) const;

 private:
  ExtendedFile file_;
  RowChunks chunks_;
  std::vector<char> buffers_[2];
  Request request_{};
  int buffer_ = 0;
  double seek_s_ = 0, read_s_ = 0;
  long reads_ = 0;
};

// Mode::kGlobal by an interface's `Async`: rank 0 reads the chunks of all.
template <typename Async>
class Global : public Async {
 public:
  Global(const ExtendedFile& file, const RowChunks& chunks)
      : Async(file, chunks, number_of_ranks()) {}

 protected:
  using Request = Access::Request;
  void begin(const Request& request) override {
    if (this_rank() == 0) Async::begin(this->request_of_all(request));
  }
  std::span<const char> finish(const Request& request) override {
    if (this_rank() == 0) Async::finish(this->request_of_all(request));
    return this->part_of_all(request);
  }
};

// Collective. Throws UsageError for a mode that the interface does not have.
std::unique_ptr<Access> open_access(const std::string& interface, Mode mode,
                                    const ExtendedFile& file, const RowChunks& chunks);

// For open_access().
std::unique_ptr<Access> open_posix(Mode mode, const ExtendedFile& file, const RowChunks& chunks);
std::unique_ptr<Access> open_mpi(Mode mode, const ExtendedFile& file, const RowChunks& chunks);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_ACCESS_H_
