// Properties of the traced functions, derived from their names once for each trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sesame::postprocess {

enum Trait : uint32_t {
  kWrites = 1 << 0,     // moves data to the file
  kSeeks = 1 << 1,      // sets the position
  kTruncates = 1 << 2,  // sets the length
  kCloses = 1 << 3,
  kSyncs = 1 << 4,
  kChangesDirectory = 1 << 5,
  kUnmaps = 1 << 6,
  kReceives = 1 << 7,    // among the calls that start a message: it receives
  kPersistent = 1 << 8,  // prepares a request that is started later
  kSynchronous = 1 << 9,
  kFileCollective = 1 << 10,  // a collective call on an MPI file
  kSharedPosition = 1 << 11,  // uses the shared file pointer of an MPI file
  kSplitBegin = 1 << 12,
  kSplitEnd = 1 << 13,
  kMpi = 1 << 14,           // belongs to record type mpi
  kOverGroup = 1 << 15,     // makes a communicator without its whole parent
  kAllocates = 1 << 16,     // extends the file to the end of the range it names
  kKernelReads = 1 << 17,   // its bytes are in the kernel's count of bytes read
  kKernelWrites = 1 << 18,  // likewise written
};

class CallTraits {
 public:
  explicit CallTraits(std::vector<std::string> names);

  bool has(uint16_t call, uint32_t traits) const {
    return call < traits_.size() && (traits_[call] & traits) != 0;
  }
  // The names of the trace, then those that post-processing added.
  const std::vector<std::string>& names() const { return names_; }
  // Returns the number of a name; adds the name if it is new.
  uint16_t number(std::string_view name);
  std::string_view name(uint16_t call) const;
  // The call that a persistent request repeats: MPI_Isend for MPI_Send_init.
  uint16_t started(uint16_t call) const { return call < started_.size() ? started_[call] : call; }

 private:
  std::vector<std::string> names_;
  std::vector<uint32_t> traits_;
  std::vector<uint16_t> started_;
};

}  // namespace sesame::postprocess
