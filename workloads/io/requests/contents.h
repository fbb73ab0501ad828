// Contents of blocks, so that reads can be verified. A word of 8 bytes has 48 bits that
// depend on its offset in the file and 16 bits that say which write it is from; 0 is from the
// beginning.
#ifndef WORKLOADS_IO_REQUESTS_CONTENTS_H_
#define WORKLOADS_IO_REQUESTS_CONTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/shared_file.h"
#include "kit/ranks.h"

namespace sesame::workload::requests {

using Words = std::vector<std::uint64_t>;
using Tag = std::uint16_t;

// Of a rank's write number `number`; never 0.
Tag tag_of(int rank, long number);

struct Layout {
  long blocks, block_bytes;
  long words() const { return block_bytes / 8; }  // of a block
};

// Fills `words` with blocks from `block` on.
void fill(const Layout& layout, long block, long blocks, Tag tag, Words& words);

// Tracks the expected contents of a file.
class Contents {
 public:
  // With `shared` all ranks write the file, else only this one.
  Contents(const Layout& layout, bool shared);

  // Collective when shared. Blocks as from the beginning.
  void make(SharedFile& file) const;

  void wrote(long block, long blocks, Tag tag);

  // How many of the blocks that were read are not what they should be: words of another offset, or,
  // in a file of one's own, not from the last write.
  long wrong(long block, long blocks, const Words& words) const;

  // Collective. How many blocks of all ranks' files hold what a rank wrote last, at the end.
  long right_at_the_end(SharedFile& file) const;

 private:
  // This rank's part in making and checking.
  Block part() const;
  // For each block of this rank's part, the last tags of all ranks that can write it.
  std::vector<Tag> tags_of_part() const;

  Layout layout_;
  bool shared_;
  std::vector<Tag> last_;  // of this rank's writes, by block
};

}  // namespace sesame::workload::requests

#endif  // WORKLOADS_IO_REQUESTS_CONTENTS_H_
