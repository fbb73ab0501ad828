// One size of record at a time: write files, read them, check the data, remove the files.
#ifndef WORKLOADS_IO_IOW_EXPERIMENT_H_
#define WORKLOADS_IO_IOW_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/iow/plan.h"
#include "io/iow/target.h"
#include "kit/report.h"

namespace sesame::workload::iow {

class Experiment {
 public:
  // All members are collective.
  Experiment(const Plan& plan, const std::string& directory);

  // Writes and reads records of `size` bytes. The last repeat keeps the time of each record.
  void run(long size, int repeat);
  void report(Report& report) const;

 private:
  // This rank's times, s.
  struct Timing {
    std::vector<double> records;
    double open = 0, sync = 0, close = 0;
  };
  // Tables, column by column. Runs are of all ranks; the others are of this rank.
  struct Runs {
    std::vector<double> size, rate, time, bytes, records, repeat;
  };
  struct Records {
    std::vector<double> record, time, size, rank;
  };
  struct Files {
    std::vector<double> size, repeat, rank, reads, open, sync, close, clear, remove;
  };

  std::string path(int rank) const;
  int part_to_read() const;
  std::uint64_t seed_of(int part) const;
  Timing write(long size);
  Timing read(long size);
  double clear() const;
  double remove() const;
  void keep(const Timing& timing, long size, int repeat, Runs& runs, Records& records);
  void keep_files(const Timing& timing, long size, int repeat, bool reads, double clear,
                  double remove);
  void report_files(Report& report) const;

  const Plan& plan_;
  std::string directory_;
  int rank_ = 0, ranks_ = 1;
  std::uint64_t salt_ = 0;  // other data in each run
  std::vector<std::uint64_t> memory_;
  std::uint64_t* buffer_;  // in memory_, at the begin of a page
  std::int64_t wrong_ = 0;
  double measured_s_ = 0;
  Runs writes_, reads_;
  Records write_records_, read_records_;
  Files files_;
};

}  // namespace sesame::workload::iow

#endif  // WORKLOADS_IO_IOW_EXPERIMENT_H_
