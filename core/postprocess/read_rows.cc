#include "core/postprocess/read_rows.h"

#include "core/postprocess/io_reader.h"
#include "core/postprocess/mpi_reader.h"
#include "core/postprocess/walk.h"

namespace sesame::postprocess {
namespace {

using namespace trace;

// Gives each record to the reader of its kind.
class Reader {
 public:
  Reader(ThreadSet& threads, IoReader& io, MpiReader& mpi, const CallTraits& traits)
      : threads_(threads), io_(io), mpi_(mpi), traits_(traits) {}

  void set_thread(uint32_t number) { threads_.set_thread(number); }

  void on(const process_record& record, uint64_t) { io_.begin(record); }
  void on(const joined_record&, uint64_t) {}
  void on(const ended_record&, uint64_t) {}
  void on(const counted_record&, uint64_t) {}
  void on(const preempted_record& record, uint64_t time) {
    threads_.current().preempted.push_back({static_cast<int64_t>(time - record.duration),
                                            static_cast<int64_t>(record.duration),
                                            static_cast<int64_t>(record.lost)});
  }
  void on(const completed_record& record, uint64_t) { mpi_.on(record); }
  void on(const plain_record& record, uint64_t time) {
    if (traits_.has(record.call, kMpi)) {
      mpi_.on(record, time);
    } else {
      io_.on(record, time);
    }
  }
  void on(const mpi_open_record& record, uint64_t time) {
    io_.on(record, time, mpi_.view(record.comm));
  }
  void on(const mpi_data_record& record, uint64_t time) { file_data(record, time); }
  void on(const mpi_data_at_record& record, uint64_t time) { file_data(record, time); }
  template <typename Record>
  void on(const Record& record, uint64_t time) {
    if constexpr (requires { io_.on(record, time); }) {
      io_.on(record, time);
    } else {
      mpi_.on(record, time);
    }
  }

 private:
  template <typename Record>
  void file_data(const Record& record, uint64_t time) {
    io_.on(record, time);
    const uint64_t row = threads_.current().io.size() - 1;
    if (record.request != 0) mpi_.add_file_request(record.request, row);
  }

  ThreadSet& threads_;
  IoReader& io_;
  MpiReader& mpi_;
  const CallTraits& traits_;
};

}  // namespace

ProcessRows read_rows(const TracedFiles& files, const Job& job, const JobProcess& process,
                      const CallTraits& traits, const OwnCalls& calls, bool prune,
                      const std::string& directory) {
  ProcessRows result;
  result.pruned = prune;
  ThreadSet threads(result, directory);
  IoReader io(threads, traits, calls);
  MpiReader mpi(threads, result, job, process, traits, calls, prune);
  Reader reader(threads, io, mpi, traits);
  walk(files, reader);
  if (job.survey_of(process).identity.ended != 0) io.finish();
  result.files = io.files().take();
  result.views = std::move(io.views());
  return result;
}

}  // namespace sesame::postprocess
