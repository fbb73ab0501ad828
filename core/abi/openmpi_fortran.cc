// Fortran's constants of Open MPI's interface, and its entry points for the environment and for
// spawning, which take other arguments than C's functions.
#include "core/abi/openmpi_fortran.h"

#include <cstring>
#include <memory>

#include "core/abi/version.h"
#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/messages/world.h"

// Variables of common blocks, of Open MPI's sizes. A program that names one has it itself, and so
// have Open MPI's modules; these are for programs without.
extern "C" {
#define SESAME_FORTRAN_CONSTANT(Type, name)                                 \
  extern __attribute__((visibility("default"))) Type mpi_fortran_##name##_; \
  Type mpi_fortran_##name##_ = {};
SESAME_FORTRAN_CONSTANT(char, argv_null)
SESAME_FORTRAN_CONSTANT(char, argvs_null)
SESAME_FORTRAN_CONSTANT(int, bottom)
SESAME_FORTRAN_CONSTANT(int, errcodes_ignore)
SESAME_FORTRAN_CONSTANT(int, in_place)
SESAME_FORTRAN_CONSTANT(sesame::abi::AbiStatus, status_ignore)
SESAME_FORTRAN_CONSTANT(sesame::abi::AbiStatus, statuses_ignore)
SESAME_FORTRAN_CONSTANT(int, unweighted)
SESAME_FORTRAN_CONSTANT(int, weights_empty)
#undef SESAME_FORTRAN_CONSTANT
}

namespace sesame::abi {

const FortranConstants& look_up_fortran_constants() {
  mpi::Rank& rank = this_rank();
  const auto find = [&rank](const char* name, const void* ours) {
    const auto* variable = rank.world.hooks.private_variable == nullptr
                               ? nullptr
                               : rank.world.hooks.private_variable(rank, name);
    return variable == nullptr ? ours : variable;
  };
#define SESAME_FORTRAN_CONSTANT(name) .name = find("mpi_fortran_" #name "_", &mpi_fortran_##name##_)
  auto constants = std::make_shared<const FortranConstants>(FortranConstants{
      SESAME_FORTRAN_CONSTANT(argv_null), SESAME_FORTRAN_CONSTANT(argvs_null),
      SESAME_FORTRAN_CONSTANT(bottom), SESAME_FORTRAN_CONSTANT(errcodes_ignore),
      SESAME_FORTRAN_CONSTANT(in_place), SESAME_FORTRAN_CONSTANT(status_ignore),
      SESAME_FORTRAN_CONSTANT(statuses_ignore), SESAME_FORTRAN_CONSTANT(unweighted),
      SESAME_FORTRAN_CONSTANT(weights_empty)});
#undef SESAME_FORTRAN_CONSTANT
  rank.tables.fortran_constants = constants;
  return *constants;
}

// ---- Texts ----

std::string fortran_text(const char* text, int length) {
  const char* end = text + std::max(length, 0);
  while (text != end && *text == ' ') ++text;
  while (text != end && end[-1] == ' ') --end;
  return {text, end};
}

void FortranTextOut::store() {
  if (text_[0] == kUnset || length_ <= 0) return;
  text_.back() = 0;
  const size_t size = std::min(std::strlen(text_.data()), static_cast<size_t>(length_));
  std::memcpy(target_, text_.data(), size);
  std::memset(target_ + size, ' ', static_cast<size_t>(length_) - size);
}

// ---- Environment ----

SESAME_ENTRY void ompi_init_f(Fint* ierror) {
  CallScope call(CallId::Init);
  set_error(ierror, call.finish(mpi::Init(nullptr, nullptr)));
}
SESAME_FORTRAN(Init, init, INIT)

SESAME_ENTRY void ompi_init_thread_f(const Fint* required, Fint* provided, Fint* ierror) {
  CallScope call(CallId::Init_thread);
  IntOut<thread_level_out> provided_box(provided);
  const int outcome =
      mpi::Init_thread(nullptr, nullptr, thread_level_in(*required), provided_box.get());
  provided_box.store();
  set_error(ierror, call.finish(outcome));
}
SESAME_FORTRAN(Init_thread, init_thread, INIT_THREAD)

SESAME_ENTRY void ompi_info_create_env_f(FortranInfo* info, Fint* ierror) {
  CallScope call(CallId::Info_create_env);
  HandleOut<FortranInfo> info_box(info);
  const int outcome = mpi::Info_create_env(0, nullptr, info_box.get());
  info_box.store();
  set_error(ierror, call.finish(outcome));
}
SESAME_FORTRAN(Info_create_env, info_create_env, INFO_CREATE_ENV)

SESAME_ENTRY int MPI_Get_version(int* version, int* subversion);
SESAME_ENTRY void ompi_get_version_f(Fint* version, Fint* subversion, Fint* ierror) {
  set_error(ierror, MPI_Get_version(version, subversion));
}
SESAME_FORTRAN(Get_version, get_version, GET_VERSION)

SESAME_ENTRY int MPI_Get_library_version(char* version, int* length);
SESAME_ENTRY void ompi_get_library_version_f(char* version, Fint* length, Fint* ierror,
                                             int version_length) {
  FortranTextOut version_box(version, version_length, MPI_MAX_LIBRARY_VERSION_STRING);
  FortranLength length_box(length, version_length);
  MPI_Get_library_version(version_box.get(), length_box.get());
  version_box.store();
  length_box.store();
  set_error(ierror, MPI_SUCCESS);
}
SESAME_FORTRAN(Get_library_version, get_library_version, GET_LIBRARY_VERSION)

SESAME_ENTRY void ompi_pcontrol_f(const Fint*) {}
SESAME_FORTRAN(Pcontrol, pcontrol, PCONTROL)

SESAME_ENTRY Aint ompi_aint_add_f(const Aint* base, const Aint* displacement) {
  return *base + *displacement;
}
SESAME_FORTRAN(Aint_add, aint_add, AINT_ADD)

SESAME_ENTRY Aint ompi_aint_diff_f(const Aint* address, const Aint* base) {
  return *address - *base;
}
SESAME_FORTRAN(Aint_diff, aint_diff, AINT_DIFF)

// Only keeps compilers from moving accesses to the buffer across the call.
SESAME_ENTRY void ompi_f_sync_reg_f(void*) {}
SESAME_FORTRAN(F_sync_reg, f_sync_reg, F_SYNC_REG)

// A status of the module mpi_f08 has the layout of an array of integers.
static void copy_fortran_status(const Fint* from, Fint* to, Fint* ierror) {
  std::memcpy(to, from, sizeof(AbiStatus));
  set_error(ierror, MPI_SUCCESS);
}
SESAME_ENTRY void ompi_status_f082f_f(const Fint* from, Fint* to, Fint* ierror) {
  copy_fortran_status(from, to, ierror);
}
SESAME_FORTRAN(Status_f082f, status_f082f, STATUS_F082F)
SESAME_ENTRY void ompi_status_f2f08_f(const Fint* from, Fint* to, Fint* ierror) {
  copy_fortran_status(from, to, ierror);
}
SESAME_FORTRAN(Status_f2f08, status_f2f08, STATUS_F2F08)

// ---- Dynamic processes ----

namespace {

// Pointers to texts, with a null at the end, as C takes them.
class TextArray {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  char** get() {
    pointers_.clear();
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Texts of `length` characters, `step` apart, up to a blank one.
TextArray arguments_at(const char* text, int length, size_t step) {
  TextArray arguments;
  for (;; text += step) {
    std::string argument = fortran_text(text, length);
    if (argument.empty()) return arguments;
    arguments.add(std::move(argument));
  }
}

int* error_codes_of(Fint* codes) {
  return codes == fortran_constants().errcodes_ignore ? nullptr : codes;
}

}  // namespace

SESAME_ENTRY void ompi_comm_spawn_f(const char* command, const char* argv, const Fint* maxprocs,
                                    const FortranInfo* info, const Fint* root,
                                    const FortranComm* comm, FortranComm* intercomm, Fint* codes,
                                    Fint* ierror, int command_length, int argv_length) {
  CallScope call(CallId::Comm_spawn);
  const bool has_arguments = argv != fortran_constants().argv_null;
  TextArray arguments;
  if (has_arguments) arguments = arguments_at(argv, argv_length, static_cast<size_t>(argv_length));
  HandleOut<FortranComm> intercomm_box(intercomm);
  const Comm parents = handle_of(*comm);
  const int outcome =
      mpi::Comm_spawn(fortran_text(command, command_length).c_str(),
                      has_arguments ? arguments.get() : nullptr, *maxprocs, handle_of(*info),
                      rank_in(*root), parents, intercomm_box.get(), error_codes_of(codes));
  intercomm_box.store();
  set_error(ierror, call.finish_comm(outcome, parents));
}
SESAME_FORTRAN(Comm_spawn, comm_spawn, COMM_SPAWN)

// `argv` is an array of two dimensions, the command first.
SESAME_ENTRY void ompi_comm_spawn_multiple_f(const Fint* count, const char* names, const char* argv,
                                             const Fint* maxprocs, const FortranInfo* infos,
                                             const Fint* root, const FortranComm* comm,
                                             FortranComm* intercomm, Fint* codes, Fint* ierror,
                                             int command_length, int argv_length) {
  CallScope call(CallId::Comm_spawn_multiple);
  const Comm parents = handle_of(*comm);
  const Count number = mpi::at_root(*count, *root, parents);
  const bool has_arguments = argv != fortran_constants().argvs_null;
  TextArray commands_given;
  std::vector<TextArray> arguments;
  std::vector<char**> argument_lists;
  const auto step = static_cast<size_t>(argv_length) * static_cast<size_t>(*count);
  for (Count i = 0; i < number; ++i) {
    commands_given.add(fortran_text(names + i * command_length, command_length));
    if (has_arguments) arguments.push_back(arguments_at(argv + i * argv_length, argv_length, step));
  }
  for (TextArray& list : arguments) argument_lists.push_back(list.get());
  HandleArrayIn<FortranInfo> infos_box(infos, number);
  HandleOut<FortranComm> intercomm_box(intercomm);
  const int outcome = mpi::Comm_spawn_multiple(
      *count, commands_given.get(), has_arguments ? argument_lists.data() : nullptr, maxprocs,
      infos_box.get(), rank_in(*root), parents, intercomm_box.get(), error_codes_of(codes));
  intercomm_box.store();
  set_error(ierror, call.finish_comm(outcome, parents));
}
SESAME_FORTRAN(Comm_spawn_multiple, comm_spawn_multiple, COMM_SPAWN_MULTIPLE)

}  // namespace sesame::abi
