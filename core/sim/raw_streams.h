// The raw streams of a simulation (--keep-raw), one for each rank. Records of a stream must be
// sorted by time, so each is kept until all earlier ones are known. Use it like RecordTables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/trace/writer.h"

namespace sesame::sim {

class RawStreams {
 public:
  // Streams for `ranks` ranks in the directory, which must exist.
  static Result<std::unique_ptr<RawStreams>> open(const std::string& directory, int ranks,
                                                  const std::string& machine);

  void add(uint32_t rank, const sesame_call_record& call) {
    streams_[rank].calls.emplace_back(call);
  }
  void add(uint32_t rank, const sesame_file_call_record& call) {
    streams_[rank].calls.emplace_back(call);
  }
  void add(uint32_t rank, const sesame_message_record& message) {
    streams_[rank].messages.push_back(message);
  }
  // Adds streams for `ranks` more ranks.
  void add_ranks(int ranks);
  // Adds the name of a call that is not an MPI call. Names get consecutive numbers.
  void add_call_name(const std::string& name) { writer_->add_call_name(name); }
  // Writes the rank's records before `now`. REQUIRES: they are all known.
  void write_until(uint32_t rank, SimTime now);
  Result<> close();

  const std::optional<Error>& failure() const { return writer_->failure(); }

 private:
  using Call = std::variant<sesame_call_record, sesame_file_call_record>;
  struct Stream {
    std::vector<sesame_message_record> messages;  // in any order
    std::vector<Call> calls;                      // in order
  };

  RawStreams(std::unique_ptr<trace::Writer> writer, int ranks)
      : writer_(std::move(writer)), streams_(static_cast<size_t>(ranks)) {}

  std::unique_ptr<trace::Writer> writer_;
  std::vector<Stream> streams_;
};

}  // namespace sesame::sim
