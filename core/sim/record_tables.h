// The tables of calls, messages and file calls of a simulation, written while it runs:
// call.parquet, message.parquet and, if there were file calls, io.parquet.
//
// Use: add() each record when it is known. When is_full(rank), let the rank yield until all events
// up to its simulated time are processed, then call write_until(rank, now). close() writes the
// files.
//
// Rows are sorted by rank, then by time: calls by end, messages by completion of the receive, file
// calls by begin. A message may become known before or after later calls of its rank, depending on
// the order in which ranks run. write_until() therefore sorts messages, and writes only those
// before `now`: these are all known. Neither rows nor bytes of the files depend on the order of
// execution or on when write_until() is called.
//
// Memory: about kFull calls and kFullMessages messages of each rank, more only while a rank is
// inside a single call that receives more. One thread.
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

// The order of messages in the table. It is total: if neither of two records is earlier, they are
// equal.
bool completes_earlier(const sesame_message_record& a, const sesame_message_record& b);

class RecordTables {
 public:
  // `tables` describes the tables call, message and io; a column that is not recorded, or of
  // another type, is an Error. The directory must exist and gets the files.
  static Result<std::unique_ptr<RecordTables>> open(
      const std::vector<trace::parquet::Table>& tables, const std::string& directory, int ranks);

  void add(uint32_t rank, const sesame_call_record& call) { ranks_[rank].calls.push_back(call); }
  void add(uint32_t rank, const sesame_message_record& message) {
    ranks_[rank].messages.push_back(message);
  }
  void add(uint32_t rank, const sesame_file_call_record& call);
  void add_ranks(int ranks);

  // Whether write_until() should be called for the rank soon.
  bool is_full(uint32_t rank) const {
    const RankRecords& records = ranks_[rank];
    return records.calls.size() >= kFull || records.messages.size() >= records.message_limit ||
           (records.files != nullptr && records.files->pending.size() >= records.files->limit);
  }
  // Encodes the rank's records before `now`. REQUIRES: all messages that the rank has received
  // before `now` are known, and it is inside no call.
  void write_until(uint32_t rank, SimTime now);

  // Writes the files; returns the number of rows by table. `call_names`: by number in the records.
  Result<std::map<std::string, uint64_t>> close(const std::vector<std::string>& call_names);
  const std::optional<Error>& failure() const;

 private:
  // Calls from which a rank is full: the first chunk of a page.
  static constexpr size_t kFull = trace::parquet::RecordTable::kChunkRows + 1;
  // More than calls: a rank yields to write, and collective calls receive many messages each.
  static constexpr size_t kFullMessages = 4 * trace::parquet::RecordTable::kChunkRows;

  // A row of table io.
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
    std::vector<sesame_file_call_record> pending;  // sorted by end
    std::vector<IoRow> settled;                    // in the order of the table
    size_t limit = kFull;                          // number of pending ones from which it is full
  };
  // The records of a rank that are not encoded yet. One cache line: with thousands of ranks it has
  // left the cache by the rank's next record. It is full: records of a further type, which are
  // rarer, go into a vector by rank of their own beside ranks_.
  struct alignas(64) RankRecords {
    std::vector<sesame_call_record> calls;
    std::vector<sesame_message_record> messages;
    uint32_t settled_messages = 0;  // the first ones are sorted, and no earlier one can follow
    uint32_t message_limit = kFullMessages;  // number of messages from which the rank is full
    std::unique_ptr<FileCalls> files;        // made at the first one
  };
  static_assert(sizeof(RankRecords) == 64);
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
  std::vector<RankRecords> ranks_;
  bool has_file_calls_ = false;
};

}  // namespace sesame::sim
