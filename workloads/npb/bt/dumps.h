// BTIO: BT that writes its solution to a file again and again (NASA, NPB report NAS-03-002). A dump
// is the whole grid, cells of five doubles, xi fastest; dumps follow each other. A rank's points
// come from many subdomains, so that neighbouring rows of the file are of different ranks.
//
//   posix   as simple, without MPI-IO
//   full    one collective write a dump; the file view tells each rank where its points go
//   simple  a write for each row of each subdomain, independent calls
//   epio    a file for each rank, its points one after the other
#ifndef WORKLOADS_NPB_BT_DUMPS_H_
#define WORKLOADS_NPB_BT_DUMPS_H_

#include <mpi.h>

#include <string>
#include <vector>

#include "kit/files.h"
#include "kit/report.h"
#include "npb/cfd/domain.h"

namespace sesame::workload::cfd {

// An MPI datatype that is freed with its owner.
class Datatype {
 public:
  explicit Datatype(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  ~Datatype() { MPI_Type_free(&type_); }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

// All members are collective over MPI_COMM_WORLD. All ranks throw UsageError when the file cannot
// be created or opened, and Failure when it cannot be written or read.
class Dumps {
 public:
  static constexpr int kInterval = 5;  // steps from dump to dump

  // Throws UsageError unless `mode` is one of the four above.
  static void check_mode(const std::string& mode);

  // Creates the file, or the files FILE.0, FILE.1, …; there must be
  // none of that name. They are removed at the end unless `keep`.
  Dumps(const std::string& mode, const std::string& file, bool keep, const Domain& domain);
  ~Dumps();
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;

  // Writes one dump of the domain's state.
  void write();

  // Closes the file; the end of writing.
  void finish();

  // Reads all dumps back and compares their errors against the exact solution with those of the
  // states that were written.
  void verify(Report& report);

  // This rank's time for the comparison that is prepared at each dump, s.
  double other_time() const { return other_s_; }

 private:
  bool one_each() const { return mode_ == "epio"; }
  std::string name() const;  // of this rank's file
  void open(bool writing);
  void open_mpi(bool writing);
  void open_posix(bool writing);
  void close();
  void remove();
  // These return the error, or an empty string.
  std::string write_state(long dump);
  std::string write_rows(long dump);
  std::string write_row(const double* row, int cells, MPI_Offset at);
  std::string read(MPI_Offset at, std::vector<double>& cells);
  State read_errors(long dump);
  std::string read_planes(long dump, State& sums);
  std::string read_subdomains(long dump, State& sums);
  // Throws on all ranks when `text` of any is not empty.
  void agree(const std::string& text, const std::string& action, long dump) const;

  std::string mode_, file_;
  bool keep_;
  const Domain& domain_;
  Datatype cell_, in_memory_, in_file_;
  MPI_File handle_ = MPI_FILE_NULL;
  File posix_;
  bool created_ = false, complete_ = false;
  long cells_;                 // of this rank, in a dump
  std::vector<State> errors_;  // of the state that each dump holds
  double write_s_ = 0, other_s_ = 0;
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_BT_DUMPS_H_
