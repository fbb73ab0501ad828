#include "core/mpi/messages/collective_log.h"

#include <algorithm>
#include <memory>
#include <string>

#include "core/mpi/call_ids.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

constexpr const char* kOpNames[] = {
    "MPI_MAX", "MPI_MIN",  "MPI_SUM",  "MPI_PROD",   "MPI_LAND",   "MPI_BAND",    "MPI_LOR",
    "MPI_BOR", "MPI_LXOR", "MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP"};

std::string name_of_call(uint16_t call) { return call_name(static_cast<CallId>(call)); }

bool is_user_defined(Op op) { return op != MPI_OP_NULL && (op < MPI_MAX || op > MPI_NO_OP); }

std::string name_of_op(Op op) {
  if (op == MPI_OP_NULL) return "none";
  return is_user_defined(op) ? "a user-defined operation" : kOpNames[op - MPI_MAX];
}

// Real MPI libraries accept it if ranks call different collective functions on a file, such as
// those with and without an explicit offset.
bool may_differ(uint16_t a, uint16_t b) {
  return name_of_call(a).starts_with("MPI_File_") && name_of_call(b).starts_with("MPI_File_");
}

}  // namespace

int CollectiveLog::compare(const CommObject& comm, const Entry& entry, uint16_t call,
                           const CollectiveSignature& mine) const {
  const CollectiveSignature& theirs = entry.signature;
  const auto differ = [&](int error, const char* what, const std::string& first,
                          const std::string& second) {
    return fail(error, std::string("the ranks ") + what + ": " +
                           name_of_member(*comm.local, entry.first) + " " + first + ", " +
                           name_of_member(*comm.local, comm.rank) + " " + second +
                           (comm.name.empty() ? "" : " (on " + comm.name + ")"));
  };
  if (entry.call != call && !may_differ(entry.call, call)) {
    return differ(MPI_ERR_OTHER, "are in different collectives", name_of_call(entry.call),
                  name_of_call(call));
  }
  if (theirs.root != mine.root) {
    return differ(MPI_ERR_ROOT, "name different roots", "root " + std::to_string(theirs.root),
                  "root " + std::to_string(mine.root));
  }
  if (theirs.op != mine.op && !(is_user_defined(theirs.op) && is_user_defined(mine.op))) {
    return differ(MPI_ERR_OP, "pass different operations", name_of_op(theirs.op),
                  name_of_op(mine.op));
  }
  if (theirs.bytes != mine.bytes && theirs.bytes != CollectiveSignature::kAnyBytes &&
      mine.bytes != CollectiveSignature::kAnyBytes) {
    return differ(MPI_ERR_TRUNCATE, "pass different amounts of data",
                  std::to_string(theirs.bytes) + " bytes", std::to_string(mine.bytes) + " bytes");
  }
  if (mine.bytes > 0 && theirs.bytes == mine.bytes &&
      !do_signatures_agree(theirs.type, mine.type, static_cast<uint64_t>(mine.bytes))) {
    warn_of_types_in_collective(comm, call, entry.first, theirs.type, mine.type);
  }
  return MPI_SUCCESS;
}

int CollectiveLog::enter(const CommObject& comm, uint32_t sequence, uint16_t call,
                         const CollectiveSignature& signature) {
  const size_t index = sequence - begin_;
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  int error = MPI_SUCCESS;
  if (entry.arrived == 0) {
    entry = {call, comm.rank, 0, signature};
  } else {
    error = compare(comm, entry, call, signature);
  }
  // The last rank to enter has entered all earlier collectives, even if other ranks skipped some.
  if (++entry.arrived == ranks_) {
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(index) + 1);
    begin_ = sequence + 1;
  }
  return error;
}

// In a parallel simulation each worker compares the ranks that it has.
static int members_here(const World& world, const Members& members) {
  if (world.remote == nullptr) return members.size();
  return static_cast<int>(
      std::ranges::count_if(members.world_ranks(), [&](int rank) { return world.is_here(rank); }));
}

int enter_collective_log(CommObject& comm, uint32_t sequence,
                         const CollectiveSignature& signature) {
  if (comm.is_inter || comm.size() == 1) return MPI_SUCCESS;
  Strand& strand = self();
  if (comm.collective_log == nullptr) {
    auto& logs = strand.rank->world.collective_logs;
    const std::pair key(comm.context, comm.local.get());
    comm.collective_log = logs[key].lock();
    if (comm.collective_log == nullptr) {
      comm.collective_log = {new CollectiveLog(members_here(strand.rank->world, *comm.local)),
                             [&logs, key](CollectiveLog* log) {
                               logs.erase(key);
                               delete log;
                             }};
      logs[key] = comm.collective_log;
    }
  }
  return comm.collective_log->enter(comm, sequence, strand.call, signature);
}

}  // namespace sesame::mpi
