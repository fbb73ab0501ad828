// MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI 4.1, section 11.7). On the root the simulator
// starts the ranks; parents and children then connect at a port, in the children's MPI_Init.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/connection.h"
#include "core/mpi/communicators/ports.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/objects/memory.h"

namespace sesame::mpi {
namespace {

// Adds the numbers from 0 to `most` that are in a range "begin:end:step" of the key `soft`; a
// negative step counts down.
int add_range(std::string_view text, int most, std::vector<int>* numbers) {
  int parts[3] = {0, 0, 1};
  int count = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (; count < 3; ++at) {
    const auto [stop, error] = std::from_chars(at, end, parts[count]);
    if (error != std::errc()) return MPI_ERR_INFO_VALUE;
    ++count;
    at = stop;
    if (at == end) break;
    if (*at != ':' || count == 3) return MPI_ERR_INFO_VALUE;
  }
  if (at != end || parts[2] == 0) return MPI_ERR_INFO_VALUE;
  const int64_t last = count == 1 ? parts[0] : parts[1];
  const int64_t step = parts[2];
  // The range may begin or end far outside the allowed numbers.
  int64_t number = parts[0];
  if (step > 0 && number < 0) number += (-number + step - 1) / step * step;
  if (step < 0 && number > most) number += (number - most - step - 1) / -step * step;
  while (step > 0 ? number <= std::min<int64_t>(last, most)
                  : number >= std::max<int64_t>(last, 0)) {
    numbers->push_back(static_cast<int>(number));
    number += step;
  }
  return MPI_SUCCESS;
}

int read_soft(const std::string& text, int most, std::vector<int>* numbers) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (add_range(rest.substr(0, comma), most, numbers) != MPI_SUCCESS) {
      return fail(MPI_ERR_INFO_VALUE,
                  "expected numbers and ranges begin:end:step for the key "
                  "'soft', got '" +
                      text + "'");
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::sort(numbers->rbegin(), numbers->rend());
  return MPI_SUCCESS;
}

int read_command(const char* command, char** argv, int most, Info info, ProgramStart* program) {
  if (command == nullptr) return fail(MPI_ERR_ARG, "the command is a null pointer");
  if (most < 0) return fail(MPI_ERR_ARG, "maxprocs is negative: " + std::to_string(most));
  program->command = command;
  for (; argv != nullptr && *argv != nullptr; ++argv) program->arguments.emplace_back(*argv);
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  const auto value = [hints](const char* key) {
    const std::string* found = hints != nullptr ? hints->find(key) : nullptr;
    return found != nullptr ? *found : std::string();
  };
  program->directory = value("wdir");
  program->path = value("path");
  program->host = value("host");
  const std::string soft = value("soft");
  if (!soft.empty()) MPI_TRY(read_soft(soft, most, &program->allowed));
  if (program->allowed.empty()) program->allowed = {most};
  return MPI_SUCCESS;
}

// The result that the root broadcasts: an error class, then for each command how many ranks were
// requested and how many were started.
std::vector<int> start(std::vector<ProgramStart>& programs, const std::vector<int>& asked,
                       int error, int* port) {
  Rank& rank = this_rank();
  if (error == MPI_SUCCESS) {
    yield_until_now(self());
    *port = ports_of(rank.world).open(rank.id);
    if (const auto started = rank.world.hooks.spawn(programs, *port); !started) {
      ports_of(rank.world).close(*port);
      for (ProgramStart& program : programs) program.started = 0;
      error = fail(MPI_ERR_SPAWN, started.error().message);
    }
  }
  std::vector<int> outcome = {error};
  for (size_t i = 0; i < programs.size(); ++i) {
    outcome.push_back(asked[i]);
    outcome.push_back(programs[i].started);
  }
  return outcome;
}

void set_error_codes(const std::vector<int>& outcome, int* codes) {
  if (codes == nullptr) return;
  const int not_started = callbacks().error_code(MPI_ERR_SPAWN);
  std::vector<int> values;
  for (size_t i = 1; i + 1 < outcome.size(); i += 2) {
    const auto asked = static_cast<size_t>(outcome[i]);
    const auto started = static_cast<size_t>(outcome[i + 1]);
    values.insert(values.end(), started, MPI_SUCCESS);
    values.insert(values.end(), asked - started, not_started);
  }
  if (!values.empty()) copy_bytes(codes, values.data(), sizeof(int) * values.size());
}

int check_spawn(Comm handle, int root, Comm* intercomm, CommObject** comm) {
  MPI_TRY(check_comm(handle, comm));
  MPI_TRY(check_out(intercomm, "intercomm"));
  *intercomm = MPI_COMM_NULL;
  if ((*comm)->is_inter) {
    return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  }
  return check_root(**comm, root);
}

// `programs` and `error` (of reading them) are used on the root only.
int spawn(CommObject& comm, int root, std::vector<ProgramStart> programs,
          const std::vector<int>& asked, int error, Comm* intercomm, int* codes) {
  std::vector<int> outcome;
  int port = -1;
  if (comm.rank == root) outcome = start(programs, asked, error, &port);
  MPI_TRY(run_collective(comm, [&](Transfer& transfer) {
    ControlGroup(transfer).broadcast(outcome, root);
    return MPI_SUCCESS;
  }));
  if (outcome[0] == MPI_SUCCESS || outcome[0] == MPI_ERR_SPAWN) set_error_codes(outcome, codes);
  if (outcome[0] != MPI_SUCCESS) {
    return comm.rank == root ? outcome[0] : fail(outcome[0], "the spawn failed at the root");
  }
  CommObject* joined = nullptr;
  MPI_TRY(join_at_port(comm, root, port, PortUse::kAccept, &joined));
  if (comm.rank == root) ports_of(this_rank().world).close(port);
  *intercomm = joined->handle;
  return MPI_SUCCESS;
}

}  // namespace

int Comm_spawn(const char* command, char** argv, int maxprocs, Info info, int root, Comm handle,
               Comm* intercomm, int* array_of_errcodes) {
  CommObject* comm;
  MPI_TRY(check_spawn(handle, root, intercomm, &comm));
  std::vector<ProgramStart> programs(1);
  int error = MPI_SUCCESS;
  if (comm->rank == root) error = read_command(command, argv, maxprocs, info, programs.data());
  return spawn(*comm, root, std::move(programs), {maxprocs}, error, intercomm, array_of_errcodes);
}

int Comm_spawn_multiple(int count, void* array_of_commands, void* array_of_argv,
                        const int* array_of_maxprocs, const Info* array_of_info, int root,
                        Comm handle, Comm* intercomm, int* array_of_errcodes) {
  CommObject* comm;
  MPI_TRY(check_spawn(handle, root, intercomm, &comm));
  std::vector<ProgramStart> programs;
  std::vector<int> asked;
  int error = MPI_SUCCESS;
  if (comm->rank == root) {
    if (count < 1) error = fail(MPI_ERR_COUNT, "there is no command");
    if (error == MPI_SUCCESS && (array_of_maxprocs == nullptr || array_of_info == nullptr))
      error = fail(MPI_ERR_ARG, "array_of_maxprocs or array_of_info is null");
    const auto* commands = static_cast<char**>(array_of_commands);
    auto* arguments = static_cast<char***>(array_of_argv);
    for (int i = 0; i < count && error == MPI_SUCCESS; ++i) {
      asked.push_back(array_of_maxprocs[i]);
      error = read_command(commands[i], arguments != nullptr ? arguments[i] : nullptr, asked.back(),
                           array_of_info[i], &programs.emplace_back());
    }
  }
  return spawn(*comm, root, std::move(programs), asked, error, intercomm, array_of_errcodes);
}

}  // namespace sesame::mpi
