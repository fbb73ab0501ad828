// Makes rows of record type mpi from the records of one process. Use: on() for each record in the
// order of ends, after ThreadSet::set_thread().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/postprocess/communicators.h"
#include "core/postprocess/request_table.h"
#include "core/postprocess/thread_set.h"
#include "core/trace/traced_records.h"

namespace sesame::postprocess {

class MpiReader {
 public:
  MpiReader(ThreadSet& threads, ProcessRows& result, const Job& job, const JobProcess& process,
            const CallTraits& traits, const OwnCalls& calls, bool prune);

  CommView view(int32_t number) const { return view_of(comms_.instance(number)); }
  // Adds the request of a non-blocking file access: its row is of type io, but MPI_Wait completes
  // it here. `row` is the latest io row of the current thread.
  void add_file_request(uint64_t handle, uint64_t row) {
    requests_.push(
        handle,
        {.kind = RequestKind::kFile, .active = true, .thread = threads_.number(), .row = row});
  }

  void on(const trace::send_record& record, uint64_t time);
  void on(const trace::receive_record& record, uint64_t time);
  void on(const trace::start_record& record, uint64_t time);
  void on(const trace::started_record& record, uint64_t time);
  void on(const trace::completed_record& record);
  void on(const trace::wait_record& record, uint64_t time);
  void on(const trace::tests_record& record, uint64_t time);
  void on(const trace::probe_record& record, uint64_t time);
  void on(const trace::probes_record& record, uint64_t time);
  void on(const trace::collective_record& record, uint64_t time);
  void on(const trace::collective_start_record& record, uint64_t time);
  void on(const trace::communicator_record& record, uint64_t time);
  void on(const trace::named_record& record, uint64_t time);
  void on(const trace::remote_record& record, uint64_t time);
  void on(const trace::plain_record& record, uint64_t time);

 private:
  // How far a receiving channel has read the sizes of its messages.
  struct Cursor {
    size_t run = 0;
    uint64_t in_run = 0;
  };
  struct Found {
    RequestKind kind;
    uint16_t thread;
    uint64_t row;
    bool kept;
  };

  template <typename Record>
  static MpiRow row_of(const Record& record, uint64_t time) {
    return row_of_call<MpiRow>(record, time);
  }
  CommView view_of(int32_t instance) const {
    if (instance < 0 || static_cast<size_t>(instance) >= process_.comms.size()) return {};
    return process_.comms[static_cast<size_t>(instance)];
  }
  uint64_t add(const MpiRow& row) { return threads_.current().add(row); }
  void keep(MpiRow& row, const std::vector<uint64_t>& decisions, uint64_t number);
  void drop(MpiRow& row) const {
    if (prune_) row.flags |= kDropped;
  }
  template <typename Record>
  MpiRow row_of_probe(const Record& record, uint64_t time);
  void describe(MpiRow& row, Request& request);
  void complete_file(const Found& found, const trace::wait_record& record, uint64_t time);
  void describe_send(MpiRow& row, int32_t instance, int32_t peer, int32_t tag, uint64_t bytes);
  void describe_receive(MpiRow& row, int32_t instance, int32_t peer, int32_t tag,
                        uint64_t buffer_bytes);
  void describe_collective(MpiRow& row, int32_t instance);
  int64_t next_size(uint32_t channel, uint64_t buffer_bytes);
  int32_t root(CommView view, int32_t rank) const {
    return rank == -3 ? process_.number : view.peer(rank);
  }

  ThreadSet& threads_;
  ProcessRows& result_;
  const Job& job_;
  const JobProcess& process_;
  const ProcessSurvey& survey_;
  const CallTraits& traits_;
  const OwnCalls& calls_;
  const bool prune_;
  CommTable comms_;
  RequestTable requests_;
  std::vector<Cursor> cursors_;  // by channel of receives
  std::vector<Found> found_;     // requests that the wait of the next record has completed
  uint64_t sends_ = 0;
  uint64_t receives_ = 0;
  uint64_t collectives_ = 0;
};

}  // namespace sesame::postprocess
