#include "core/postprocess/collation.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "core/postprocess/read_rows.h"

namespace sesame::postprocess {
namespace {

// The name of a process is HOST.PID.N. Clocks are compared only if there are several hosts.
bool has_several_hosts(const std::vector<trace::TracedFiles>& processes) {
  std::set<std::string> hosts;
  for (const trace::TracedFiles& process : processes) {
    std::string host = process.name;
    for (int i = 0; i < 2; ++i) host.resize(std::min(host.rfind('.'), host.size()));
    hosts.insert(host);
  }
  return hosts.size() > 1;
}

}  // namespace

Collation::Collation(trace::TracedDirectory directory, const CollationOptions& options)
    : options_(options),
      directory_(std::move(directory)),
      traits_(directory_.call_names),
      calls_(traits_) {}

Result<std::unique_ptr<Collation>> Collation::open(const std::string& path,
                                                   const CollationOptions& options) {
  auto directory = trace::read_traced_directory(path);
  if (!directory) return std::unexpected(directory.error());
  if (directory->processes.empty()) {
    return error_at(path, 0, "no process left records",
                    "is the program linked statically, or did it start no traced process?");
  }
  std::unique_ptr<Collation> collation(new Collation(*std::move(directory), options));
  collation->survey_all();
  return collation;
}

void Collation::survey_all() {
  const auto& processes = directory_.processes;
  SurveyOptions wanted;
  wanted.operations = options_.pruning != Pruning::kNone;
  wanted.times = has_several_hosts(processes);
  std::vector<ProcessSurvey> surveys(processes.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < processes.size(); i = next++) {
      surveys[i] = survey(processes[i], traits_, wanted);
    }
  };
  std::vector<std::jthread> workers;
  for (size_t i = 1; i < std::min(options_.threads, processes.size()); ++i) {
    workers.emplace_back(work);
  }
  work();
  workers.clear();
  job_ = make_job(std::move(surveys));
  prune(job_, options_.pruning);
  name_calls();
}

// Lists the calls that occur in the rows: those that processes made, those that their persistent
// requests repeat, and those that post-processing adds. The trace names many more.
void Collation::name_calls() {
  std::vector<uint8_t> called(size_t{UINT16_MAX} + 1, 0);
  for (ProcessSurvey& survey : job_.surveys) {
    for (size_t call = 0; call < survey.calls.size(); ++call) called[call] |= survey.calls[call];
    survey.calls = {};
  }
  for (size_t call = 0; call < called.size(); ++call) {
    if (called[call] != 0) called[traits_.started(static_cast<uint16_t>(call))] = 1;
  }
  for (uint16_t own : calls_.all()) called[own] = 1;
  call_numbers_.assign(called.size(), 0);
  for (size_t call = 0; call < called.size(); ++call) {
    if (called[call] == 0) continue;
    call_numbers_[call] = static_cast<int32_t>(call_names_.size());
    call_names_.emplace_back(call < traits_.names().size() ? traits_.names()[call]
                                                           : "unknown " + std::to_string(call));
  }
}

void Collation::start_readings() {
  const bool prune = options_.pruning != Pruning::kNone;
  while (started_ < job_.processes.size() && readings_.size() < options_.threads) {
    const JobProcess& process = job_.processes[started_++];
    readings_.push_back(std::async(std::launch::async, [this, &process, prune] {
      return read_rows(directory_.processes[process.survey], job_, process, traits_, calls_, prune,
                       options_.spill_directory);
    }));
  }
}

bool Collation::next_process() {
  start_readings();
  if (readings_.empty()) return false;
  current_ = std::make_unique<Current>();
  current_->rows = readings_.front().get();
  readings_.pop_front();
  start_readings();
  const JobProcess& process = job_.processes[taken_++];
  ProcessRows& rows = current_->rows;
  current_->origin.rank = static_cast<uint32_t>(process.number);
  current_->origin.clock = job_.clocks[process.host];
  current_->files = add_files(rows.files, current_->origin.clock);
  current_->origin.files = &current_->files;
  current_->origin.calls = &call_numbers_;
  views_.append(current_->origin, rows.views);
  for (auto& thread : rows.threads) {
    current_->io_orders.push_back(order_rows(thread->io, false));
    current_->mpi_orders.push_back(order_rows(thread->mpi, rows.pruned));
    current_->origin.thread = thread->thread;
    preempted_.append(current_->origin, thread->preempted);
  }
  link_threads(rows, &ThreadRows::io, current_->io_orders, rows.io_links);
  link_threads(rows, &ThreadRows::mpi, current_->mpi_orders, rows.mpi_links);
  kept_ += rows.kept;
  dropped_ += rows.dropped;
  return true;
}

// If several processes report a file, the earliest report says what it was before the run.
std::vector<int32_t> Collation::add_files(const std::vector<FileFacts>& files,
                                          const HostClock& clock) {
  std::vector<int32_t> numbers;
  for (FileFacts file : files) {
    if (file.known_at != INT64_MAX) file.known_at = clock.at(file.known_at);
    auto [entry, added] = file_numbers_.try_emplace(file.path, static_cast<int32_t>(files_.size()));
    if (added) {
      files_.push_back(std::move(file));
    } else if (file.known_at < files_[static_cast<size_t>(entry->second)].known_at) {
      files_[static_cast<size_t>(entry->second)] = std::move(file);
    }
    numbers.push_back(entry->second);
  }
  return numbers;
}

template <typename Columns, typename Row>
bool Collation::append_rows(Columns& columns, RowList<Row> ThreadRows::*list,
                            const std::vector<RowOrder>& orders, size_t& thread, size_t& row) {
  auto& threads = current_->rows.threads;
  for (; thread < threads.size(); ++thread, row = 0) {
    const RowOrder& order = orders[thread];
    size_t count = std::min(columns.capacity - columns.rows, order.size - row);
    current_->origin.thread = threads[thread]->thread;
    columns.append(current_->origin, ((*threads[thread]).*list).rows(),
                   order.order.empty() ? nullptr : order.order.data(), row, count);
    row += count;
    if (columns.rows == columns.capacity) return true;
  }
  return false;
}

Collation::Batch Collation::next() {
  while (current_ != nullptr || next_process()) {
    Current& now = *current_;
    if (io_ == nullptr) io_ = std::make_unique<IoColumns>(options_.batch_rows);
    if (mpi_ == nullptr) mpi_ = std::make_unique<MpiColumns>(options_.batch_rows);
    if (append_rows(*io_, &ThreadRows::io, now.io_orders, now.io_thread, now.io_row)) {
      return std::move(io_);
    }
    if (append_rows(*mpi_, &ThreadRows::mpi, now.mpi_orders, now.mpi_thread, now.mpi_row)) {
      return std::move(mpi_);
    }
    current_.reset();
  }
  if (io_ != nullptr && io_->rows > 0) return std::move(io_);
  if (mpi_ != nullptr && mpi_->rows > 0) return std::move(mpi_);
  return {};
}

}  // namespace sesame::postprocess
