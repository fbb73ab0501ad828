// Post-processing of traced runs in Python: batches of columns as numpy arrays, which own their
// memory, and other facts of the run as plain dicts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "core/bindings/unwrap.h"
#include "core/postprocess/collation.h"
#include "core/postprocess/ranges_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sesame::bindings {
namespace {

using postprocess::CallColumns;
using postprocess::Collation;
using postprocess::FileFacts;
using postprocess::IoColumns;
using postprocess::JobProcess;
using postprocess::MpiColumns;

constexpr const char* kOutcomes[] = {"cut off", "exited", "replaced"};
constexpr const char* kInterfaces[] = {"none", "MPICH", "MPI 5 standard", "Open MPI"};

std::unique_ptr<Collation> open_collation(const std::string& path, const std::string& prune,
                                          size_t threads, size_t batch_rows,
                                          const std::string& spill_directory) {
  postprocess::CollationOptions options;
  if (prune == "thesis") options.pruning = postprocess::Pruning::kThesis;
  if (prune == "causal") options.pruning = postprocess::Pruning::kCausal;
  options.threads = threads;
  options.batch_rows = batch_rows;
  options.spill_directory = spill_directory;
  nb::gil_scoped_release released;
  return unwrap(Collation::open(path, options));
}

template <typename Columns>
class BatchDict {
 public:
  explicit BatchDict(std::unique_ptr<Columns> columns)
      : rows_(columns->rows),
        columns_(columns.release()),
        owner_(columns_, [](void* p) noexcept { delete static_cast<Columns*>(p); }) {
    add("rank", &CallColumns::rank);
    add("thread", &CallColumns::thread);
    add("begin_ns", &CallColumns::begin_ns);
    add("duration_ns", &CallColumns::duration_ns);
    add("call", &CallColumns::call);
    add("comm", &CallColumns::comm);
    add("completion", &CallColumns::completion);
    add("bytes", &CallColumns::bytes);
    add("flags", &CallColumns::flags);
  }

  // `Owner` is the batch's type or a base of it.
  template <typename T, typename Owner>
  BatchDict& add(const char* name, postprocess::Column<T> Owner::*column) {
    dict_[name] =
        nb::ndarray<nb::numpy, T, nb::ndim<1>>((columns_->*column).data(), {rows_}, owner_);
    return *this;
  }
  nb::dict take() { return std::move(dict_); }

 private:
  size_t rows_;
  Columns* columns_;
  nb::capsule owner_;
  nb::dict dict_;
};

nb::dict io_dict(std::unique_ptr<IoColumns> columns) {
  return BatchDict<IoColumns>(std::move(columns))
      .add("file", &IoColumns::file)
      .add("other_file", &IoColumns::other_file)
      .add("handle", &IoColumns::handle)
      .add("offset", &IoColumns::offset)
      .add("size", &IoColumns::size)
      .add("error", &IoColumns::error)
      .take();
}

nb::dict mpi_dict(std::unique_ptr<MpiColumns> columns) {
  return BatchDict<MpiColumns>(std::move(columns))
      .add("peer", &MpiColumns::peer)
      .add("tag", &MpiColumns::tag)
      .add("made", &MpiColumns::made)
      .add("calls", &MpiColumns::calls)
      .take();
}

// (record type, columns), or None at the end.
nb::object next_batch(Collation& collation) {
  Collation::Batch batch;
  {
    nb::gil_scoped_release released;
    batch = collation.next();
  }
  if (auto* io = std::get_if<std::unique_ptr<IoColumns>>(&batch)) {
    return nb::make_tuple("io", io_dict(std::move(*io)));
  }
  if (auto* mpi = std::get_if<std::unique_ptr<MpiColumns>>(&batch)) {
    return nb::make_tuple("mpi", mpi_dict(std::move(*mpi)));
  }
  return nb::none();
}

// Texts of a trace may be any bytes.
nb::object text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::dict process_dict(const postprocess::Job& job, const JobProcess& process) {
  const postprocess::ProcessSurvey& survey = job.survey_of(process);
  const postprocess::Identity& who = survey.identity;
  const postprocess::HostClock& clock = job.clocks[process.host];
  nb::dict dict;
  dict["rank"] = process.number;
  dict["mpi_rank"] = who.rank;
  dict["parent"] = process.parent;
  dict["host"] = text(who.host);
  dict["pid"] = who.pid;
  dict["command"] = text(who.command);
  dict["interface"] = kInterfaces[who.interface < 4 ? who.interface : 0];
  dict["begin_ns"] = survey.has_times() ? clock.at(who.begin) : 0;
  dict["end_ns"] = survey.has_times() ? clock.at(who.end) : 0;
  dict["processor_ns"] = who.processor;
  dict["threads"] = survey.walked.threads;
  dict["records"] = survey.walked.records;
  dict["discarded"] = survey.lost();
  dict["read_bytes"] = survey.recorded.read;
  dict["written_bytes"] = survey.recorded.written;
  dict["unseen_operations"] = survey.unseen_operations;
  dict["unknown_mapped_bytes"] = survey.unknown_mapped;
  dict["unseen_read_bytes"] = survey.unseen().read;
  dict["unseen_written_bytes"] = survey.unseen().written;
  dict["outcome"] = kOutcomes[who.ended < 3 ? who.ended : 0];
  return dict;
}

nb::list process_list(const Collation& collation) {
  nb::list list;
  for (const JobProcess& process : collation.job().processes) {
    list.append(process_dict(collation.job(), process));
  }
  return list;
}

nb::list communicator_list(const Collation& collation) {
  nb::list list;
  for (const auto& communicator : collation.job().communicators) {
    nb::dict dict;
    dict["parent"] = communicator->parent;
    dict["remote_parent"] = communicator->remote_parent;
    dict["size"] = communicator->members.size();
    dict["members"] = postprocess::ranges_text(communicator->members);
    dict["remote"] = postprocess::ranges_text(communicator->remote);
    dict["name"] = text(communicator->name);
    list.append(dict);
  }
  return list;
}

nb::list file_list(const Collation& collation) {
  nb::list list;
  for (const FileFacts& file : collation.files()) {
    nb::dict dict;
    dict["path"] = text(file.path);
    dict["kind"] = postprocess::file_kind_names()[static_cast<size_t>(file.kind)];
    dict["size_before"] = file.size_before;
    dict["block_size"] = file.block_size;
    list.append(dict);
  }
  return list;
}

nb::list unmatched_list(const Collation& collation) {
  nb::list list;
  for (const postprocess::Unmatched& found : collation.job().unmatched) {
    nb::dict dict;
    dict["rank"] = found.rank;
    dict["peer"] = found.peer;
    dict["tag"] = found.tag;
    dict["comm"] = found.comm;
    dict["messages"] = found.messages;
    dict["side"] = found.sent ? "sent" : "received";
    list.append(dict);
  }
  return list;
}

// The arrays are views of the collation's memory and keep the collation alive.
nb::dict preempted_dict(nb::handle self) {
  const postprocess::PreemptedColumns& columns = nb::cast<const Collation&>(self).preempted();
  nb::dict dict;
  auto add = [&]<typename T>(const char* name, const std::vector<T>& column) {
    dict[name] = nb::ndarray<nb::numpy, const T, nb::ndim<1>>(column.data(), {column.size()}, self);
  };
  add("rank", columns.rank);
  add("thread", columns.thread);
  add("begin_ns", columns.begin_ns);
  add("duration_ns", columns.duration_ns);
  add("lost_ns", columns.lost_ns);
  return dict;
}

nb::dict views_dict(nb::handle self) {
  const postprocess::ViewColumns& columns = nb::cast<const Collation&>(self).views();
  nb::dict dict;
  auto add = [&]<typename T>(const char* name, const std::vector<T>& column) {
    dict[name] = nb::ndarray<nb::numpy, const T, nb::ndim<1>>(column.data(), {column.size()}, self);
  };
  add("rank", columns.rank);
  add("begin_ns", columns.begin_ns);
  add("handle", columns.handle);
  add("file", columns.file);
  add("displacement", columns.displacement);
  add("data_bytes", columns.data_bytes);
  add("extent", columns.extent);
  dict["runs"] = columns.runs;
  return dict;
}

std::vector<std::string> damage_list(const Collation& collation) {
  std::vector<std::string> damage;
  for (const postprocess::ProcessSurvey& survey : collation.job().surveys) {
    damage.insert(damage.end(), survey.walked.damage.begin(), survey.walked.damage.end());
  }
  const auto& of_job = collation.job().damage;
  damage.insert(damage.end(), of_job.begin(), of_job.end());
  return damage;
}

}  // namespace

void register_postprocess(nb::module_& module) {
  nb::class_<Collation>(module, "Collation")
      .def_static("open", &open_collation, "path"_a, "prune"_a = "none", "threads"_a = 1,
                  "batch_rows"_a = size_t{1} << 19, "spill_directory"_a = "")
      .def("next", &next_batch, "(record type, columns by name) or None at the end.")
      .def_prop_ro("call_names", &Collation::call_names)
      .def_prop_ro("mpi_programs", [](const Collation& c) { return c.job().worlds; })
      .def_prop_ro("ranks", [](const Collation& c) { return c.job().ranks; })
      .def_prop_ro(
          "begin_ns", [](const Collation& c) { return c.job().first_realtime; },
          "The first record, in ns since 1970.")
      .def_prop_ro("duration_ns", [](const Collation& c) { return c.job().end; })
      .def_prop_ro("kept", &Collation::kept)
      .def_prop_ro("dropped", &Collation::dropped)
      .def_prop_ro("processes", &process_list)
      .def_prop_ro("communicators", &communicator_list)
      .def_prop_ro("files", &file_list, "Complete once next() has returned None.")
      .def_prop_ro("preempted", &preempted_dict,
                   "Columns by name, complete once next() has returned None.")
      .def_prop_ro("views", &views_dict, "Columns by name, complete once next() has returned None.")
      .def_prop_ro("unmatched", &unmatched_list)
      .def_prop_ro("damage", &damage_list);
}

}  // namespace sesame::bindings
