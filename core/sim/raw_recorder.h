// Writes what the simulated MPI reports into a data set's raw streams, one per rank. A stream's
// records must rise in time, but a message may become known before or after calls that its rank
// makes at later times: records wait until all that is earlier is known. So they do not depend on
// the order in which ranks run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/mpi/messages/recorder.h"
#include "core/network/network.h"
#include "core/trace/writer.h"

namespace sesame::sim {

class RawRecorder : public mpi::Recorder {
 public:
  // Streams for `ranks` ranks in the directory, which must exist; all in one file, or a file for
  // each, as other tools read them.
  static Result<std::unique_ptr<RawRecorder>> open(const std::string& directory, int ranks,
                                                   bool one_file, const std::string& machine,
                                                   const network::Network& network);

  void record(const mpi::CallRecord& call) override;
  void record(const mpi::MessageRecord& message) override;
  void record(int rank, const storage::FileCallRecord& call) override;
  // Streams for so many more ranks.
  void add_ranks(int ranks);
  bool is_full(int rank) const override;
  void write_until(int rank, SimTime now) override;
  Result<> close();

  const std::optional<Error>& failure() const { return writer_->failure(); }
  uint64_t discarded() const { return writer_->discarded(); }
  // The files that records name by number, in the order of their numbers.
  const std::vector<std::string>& files() const { return files_; }

 private:
  using Call = std::variant<sesame_call_record, sesame_file_call_record>;
  struct Stream {
    std::vector<sesame_message_record> messages;  // in any order
    std::vector<Call> calls;                      // in order
  };

  RawRecorder(std::unique_ptr<trace::Writer> writer, int ranks, const network::Network& network);
  uint16_t number_of_call(const char* name);
  int32_t number_of_file(std::string_view path);

  std::unique_ptr<trace::Writer> writer_;
  std::vector<Stream> streams_;
  const network::Network& network_;
  std::map<std::string, uint16_t, std::less<>> call_numbers_;
  std::map<std::string, int32_t, std::less<>> file_numbers_;
  std::vector<std::string> files_;
};

}  // namespace sesame::sim
