// Collation: turns a raw trace into the rows of a data set. Use: open(), then next() until it
// returns std::monostate; the other functions are complete from then on.
//
// The trace is read twice. The first reading (survey) finds what processes have in common: matching
// messages, communicators, clocks. The second makes rows, a few processes at a time on as many
// threads, and returns them by process number, so memory is bounded by the largest processes.
//
// next() is called from one thread. open() fails if the directory is no trace or has no processes.
// A damaged stream gives the rows before the damage. What is damaged is in `walked.damage` of the
// surveys; what concerns the whole run is in Job::damage.
#pragma once

#include <deque>
#include <future>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/postprocess/columns.h"
#include "core/postprocess/job.h"
#include "core/postprocess/process_rows.h"
#include "core/postprocess/pruning.h"
#include "core/postprocess/row_order.h"

namespace sesame::postprocess {

struct CollationOptions {
  Pruning pruning = Pruning::kNone;
  size_t threads = 1;
  size_t batch_rows = 1 << 19;
  std::string spill_directory;  // for the rows of very large processes; empty: memory only
};

class Collation {
 public:
  static Result<std::unique_ptr<Collation>> open(const std::string& path,
                                                 const CollationOptions& options);

  // A batch of rows, in the order of the data set for each record type; monostate at the end.
  using Batch =
      std::variant<std::monostate, std::unique_ptr<IoColumns>, std::unique_ptr<MpiColumns>>;
  Batch next();

  const Job& job() const { return job_; }
  // Names of the functions that were called, by their number in the column `call`.
  const std::vector<std::string>& call_names() const { return call_names_; }
  // The following are complete once next() has returned std::monostate.
  const std::vector<FileFacts>& files() const { return files_; }
  const PreemptedColumns& preempted() const { return preempted_; }
  const ViewColumns& views() const { return views_; }
  // Communication calls that pruning kept and dropped.
  uint64_t kept() const { return kept_; }
  uint64_t dropped() const { return dropped_; }

 private:
  // A process whose rows go into batches.
  struct Current {
    ProcessRows rows;
    std::vector<int32_t> files;
    std::vector<RowOrder> io_orders;
    std::vector<RowOrder> mpi_orders;
    size_t io_thread = 0, io_row = 0;
    size_t mpi_thread = 0, mpi_row = 0;
    RowOrigin origin;
  };

  Collation(trace::TracedDirectory directory, const CollationOptions& options);
  void survey_all();
  void name_calls();
  bool next_process();
  void start_readings();
  std::vector<int32_t> add_files(const std::vector<FileFacts>& files, const HostClock& clock);
  // Appends rows of the current process to a batch; true when the batch is full.
  template <typename Columns, typename Row>
  bool append_rows(Columns& columns, RowList<Row> ThreadRows::*list,
                   const std::vector<RowOrder>& orders, size_t& thread, size_t& row);

  CollationOptions options_;
  trace::TracedDirectory directory_;
  CallTraits traits_;
  OwnCalls calls_;
  Job job_;
  std::deque<std::future<ProcessRows>> readings_;  // of the processes after the current one
  size_t started_ = 0;
  size_t taken_ = 0;
  std::unique_ptr<Current> current_;
  std::vector<std::string> call_names_;
  std::vector<int32_t> call_numbers_;  // in call_names_, by number in the trace
  std::unique_ptr<IoColumns> io_;
  std::unique_ptr<MpiColumns> mpi_;
  std::vector<FileFacts> files_;
  PreemptedColumns preempted_;
  ViewColumns views_;
  std::unordered_map<std::string, int32_t> file_numbers_;
  uint64_t kept_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace sesame::postprocess
