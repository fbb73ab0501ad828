// The tables of calls, messages and calls on files that a simulation records: files
// call.parquet, message.parquet and, where there were such calls, io.parquet. Rows are in the
// order of ranks and then of time. A message may become known before or after calls that its rank
// makes at later times: records wait until all that is earlier is known. So rows do not depend on
// the order in which ranks run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/trace/parquet/record_table.h"
#include "core/trace/record.h"

namespace sesame::sim {

// A total order: records that it does not tell apart are the same.
bool completes_earlier(const sesame_message_record& a, const sesame_message_record& b);

class RecordTables {
 public:
  // A table for each name of `tables`: call, message and io. What does not fit what is recorded is
  // an Error. Files are written into the directory.
  static Result<std::unique_ptr<RecordTables>> open(
      const std::vector<trace::parquet::Table>& tables, const std::string& directory, int ranks);

  void add(uint32_t rank, const sesame_call_record& call) { calls_[rank].push_back(call); }
  void add(uint32_t rank, const sesame_message_record& message) {
    messages_[rank].records.push_back(message);
  }
  void add(uint32_t rank, const sesame_file_call_record& call) {
    files_[rank].pending.push_back(call);
    has_file_calls_ = true;
  }
  void add_ranks(int ranks);

  // Whether write_until() is to be called for the rank soon.
  bool is_full(uint32_t rank) const {
    return calls_[rank].size() >= kFull || files_[rank].pending.size() >= files_[rank].limit;
  }
  // All that happened to the rank by now is known, and it is inside no call.
  void write_until(uint32_t rank, SimTime now);

  // Writes the files; gives the number of rows by table. `call_names`: by number.
  Result<std::map<std::string, uint64_t>> close(const std::vector<std::string>& call_names);
  const std::optional<Error>& failure() const;

 private:
  // Two blocks of the encoding, and the first value, which stands in front of them.
  static constexpr size_t kFull = 257;

  struct Messages {
    std::vector<sesame_message_record> records;  // in any order
    size_t settled = 0;                          // of these in order, before which none will come
  };
  // Columns of record type io.
  struct IoRow {
    int64_t begin_ns;
    int64_t duration_ns;
    int64_t offset;
    uint64_t size;
    uint64_t bytes;
    int32_t file;
    int32_t other_file;
    int32_t handle;
    int32_t comm;
    int32_t completion;
    uint16_t thread;
    uint16_t call;
    uint16_t error;
    uint16_t flags;
  };
  struct FileCalls {
    std::vector<sesame_file_call_record> pending;  // in the order of their ends
    std::vector<IoRow> settled;                    // in their order
    size_t limit = kFull;                          // of those pending
  };
  using Table = trace::parquet::RecordTable;

  explicit RecordTables(int ranks) { add_ranks(ranks); }
  Result<> open_table(const trace::parquet::Table& table, const std::string& directory);
  void write_calls(uint32_t rank);
  void write_messages(uint32_t rank, SimTime now);
  void write_file_calls(uint32_t rank, SimTime now);

  std::string directory_;
  std::unique_ptr<Table> call_table_;
  std::unique_ptr<Table> message_table_;
  std::unique_ptr<Table> io_table_;
  // By rank.
  std::vector<std::vector<sesame_call_record>> calls_;
  std::vector<Messages> messages_;
  std::vector<FileCalls> files_;
  bool has_file_calls_ = false;
};

}  // namespace sesame::sim
