// The recorder of a simulation: converts what the simulated MPI reports to records, and adds them
// to the tables of the data set and, if asked, to raw streams. Gives numbers to call names and file
// paths. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/mpi/messages/recorder.h"
#include "core/network/network.h"
#include "core/sim/raw_streams.h"
#include "core/sim/record_tables.h"

namespace sesame::sim {

class Recording : public mpi::Recorder {
 public:
  // `raw`: null when no raw streams are to be kept.
  Recording(std::unique_ptr<RecordTables> tables, std::unique_ptr<RawStreams> raw,
            const network::Network& network);

  void record(const mpi::CallRecord& call) override;
  void record(const mpi::MessageRecord& message) override;
  void record(int rank, const storage::FileCallRecord& call) override;
  // File and call get the next numbers, unless they have some. record() does so, too.
  void give_numbers(std::string_view path, const char* call);
  void add_ranks(int ranks);
  bool is_full(int rank) const override { return tables_->is_full(static_cast<uint32_t>(rank)); }
  void write_until(int rank, SimTime now) override;
  // Writes all that is not written yet. The first error of all writes.
  Result<> close();

  const std::optional<Error>& failure() const;
  // The files that records name by number, in the order of their numbers.
  const std::vector<std::string>& files() const { return files_; }
  // By table, once closed.
  const std::map<std::string, uint64_t>& rows() const { return rows_; }

 private:
  template <typename Record>
  void add(int rank, const Record& record);
  uint16_t number_of_call(const char* name);
  int32_t number_of_file(std::string_view path);

  std::unique_ptr<RecordTables> tables_;
  std::unique_ptr<RawStreams> raw_;
  const network::Network& network_;
  std::vector<std::string> call_names_;
  std::map<std::string, uint16_t, std::less<>> call_numbers_;
  std::map<std::string, int32_t, std::less<>> file_numbers_;
  std::vector<std::string> files_;
  std::map<std::string, uint64_t> rows_;
};

}  // namespace sesame::sim
