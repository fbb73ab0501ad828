// The options of iow. The names are those of the original program (SESAME report, Figure 6.3):
// operations, beginning offset, size of a record, stride, mapping of files to ranks.
#ifndef WORKLOADS_IO_IOW_PLAN_H_
#define WORKLOADS_IO_IOW_PLAN_H_

#include <string>

namespace sesame::workload::iow {

struct Plan {
  std::string mode = "both";        // write, read, both
  std::string sizes = "64:64MiB";   // of a record: SIZE, or FROM:TO by factors of 2
  long operations = 0;              // for each rank and size; 0: as many as fit `total`
  long total = 32 << 20;            // bytes of each rank and size
  long most = 1024;                 // operations, where `operations` is 0
  long stride = 0;                  // from record to record; 0: the size
  long offset = 0;                  // of the first record
  std::string files = "shared";     // shared, each
  std::string map = "block";        // of a shared file: block, cyclic
  int shift = 0;                    // rank r reads what rank r + shift wrote
  std::string interface = "posix";  // posix, stdio, mpi
  std::string sync = "none";        // none, end, each
  bool direct = false, clear = false;
  int repeat = 5;
  std::string directory = ".";

  long from = 0, to = 0;  // of `sizes`

  bool writes() const { return mode != "read"; }
  bool reads() const { return mode != "write"; }
  bool is_shared() const { return files == "shared"; }
  bool is_sweep() const { return from != to; }
  long count(long size) const;
  long step(long size) const { return stride == 0 ? size : stride; }
  // Where record `index` of `rank`'s part lies in its file.
  long place(long size, long index, int rank, int ranks) const;
  // Bytes in the files of all ranks.
  double extent(long size, int ranks) const;
};

// Fills in from and to. Throws UsageError, on all ranks alike.
void check(Plan& plan, int ranks);

}  // namespace sesame::workload::iow

#endif  // WORKLOADS_IO_IOW_PLAN_H_
