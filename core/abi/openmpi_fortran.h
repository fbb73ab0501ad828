// What the Fortran entry points of Open MPI's interface need in addition to translate.h, and their
// names. Programs and Open MPI's modules mpi and mpi_f08 (libmpi_usempi_ignore_tkr.so.40,
// libmpi_usempif08.so.40, the application's files) call them; they stand in for libmpi_mpifh.so.40.
//
// Arguments are addresses. A handle is an integer: a small number if it is predefined
// (openmpi_handles.def), otherwise our own handle. A LOGICAL is an integer, with gfortran's values
// 1 and 0. A text has its length after all other arguments; in calls from gfortran it has eight
// bytes, of which four are read. The error code's address may be null. A status has the layout that
// it has in C, but is aligned to four bytes only.
//
// Call everything here on the strand of a rank.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/abi/translate.h"
#include "core/mpi/io/file_handle.h"
#include "core/mpi/messages/program_tables.h"

// ---- Names ----

// The other names of ompi_LOWER_f: those of each way in which compilers form them, with and
// without P for profiling tools, those for debuggers.
#define SESAME_FORTRAN_NAME(target, name) \
  extern "C"                              \
      __attribute__((visibility("default"), copy(target), alias(#target))) decltype(target) name;
#define SESAME_FORTRAN_NAMES(target, Mixed, lower, UPPER) \
  SESAME_FORTRAN_NAME(target, lower)                      \
  SESAME_FORTRAN_NAME(target, lower##_)                   \
  SESAME_FORTRAN_NAME(target, lower##__)                  \
  SESAME_FORTRAN_NAME(target, UPPER)                      \
  SESAME_FORTRAN_NAME(target, Mixed##_f)                  \
  SESAME_FORTRAN_NAME(target, Mixed##_f08)
#define SESAME_FORTRAN(Mixed, lower, UPPER)                                     \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, MPI_##Mixed, mpi_##lower, MPI_##UPPER) \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, PMPI_##Mixed, pmpi_##lower, PMPI_##UPPER)
// Those of a function that the module mpi has also with a C pointer in place of an address.
#define SESAME_FORTRAN_POINTER(Mixed, lower, UPPER)                                \
  SESAME_FORTRAN_NAME(ompi_##lower##_f, ompi_##lower##_cptr_f)                     \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, MPI_##Mixed##_cptr, mpi_##lower##_cptr,   \
                       MPI_##UPPER##_CPTR)                                         \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, PMPI_##Mixed##_cptr, pmpi_##lower##_cptr, \
                       PMPI_##UPPER##_CPTR)
// Those of a persistent collective in Open MPI 4, which has them as an extension.
#define SESAME_FORTRAN_EXTENSION(Mixed, lower, UPPER)                              \
  SESAME_FORTRAN_NAME(ompi_##lower##_f, ompix_##lower##_f)                         \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, MPIX_##Mixed, mpix_##lower, MPIX_##UPPER) \
  SESAME_FORTRAN_NAMES(ompi_##lower##_f, PMPIX_##Mixed, pmpix_##lower, PMPIX_##UPPER)
// MPI_SIZEOF of one type: the size in bytes of what it is called with.
#define SESAME_FORTRAN_SIZEOF(type, bytes)                                        \
  SESAME_ENTRY void mpi_sizeof_##type##_(const void*, Fint* size, Fint* ierror) { \
    *size = bytes;                                                                \
    set_error(ierror, MPI_SUCCESS);                                               \
  }                                                                               \
  SESAME_FORTRAN_NAME(mpi_sizeof_##type##_, pmpi_sizeof_##type##_)

namespace sesame::abi {

// ---- Handles ----

// The number of a predefined handle of ours; other handles are their own numbers.
template <ConstantKind kind>
Fint fortran_number(int inside) {
  if (!is_predefined(inside)) return inside;
  const size_t index = predefined_index<kind>(inside);
  const bool has_number = index < kPredefinedCount && kPredefined[index].fortran != kNoFortran;
  return has_number ? kPredefined[index].fortran : inside;
}

inline constexpr int kFortranNumbers = 128;  // predefined handles have smaller numbers

template <ConstantKind kind>
inline constexpr auto kByFortranNumber = [] {
  std::array<int, kFortranNumbers> handles{};  // 0: no handle
  for (const PredefinedConstant& constant : kPredefined) {
    if (constant.kind != kind || constant.fortran == kNoFortran) continue;
    int& handle = handles[static_cast<size_t>(constant.fortran)];
    if (handle == 0) handle = constant.inside;
  }
  return handles;
}();

template <ConstantKind kind>
int from_fortran_number(Fint number) {
  if (number < 0 || number >= kFortranNumbers) return number;
  return kByFortranNumber<kind>[static_cast<size_t>(number)];
}

template <ConstantKind kind>
struct FortranHandle {
  using Inside = int;

  static int in(FortranHandle handle) { return from_fortran_number<kind>(handle.number); }
  static FortranHandle out(int inside) { return {fortran_number<kind>(inside)}; }

  Fint number;
};

struct FortranFile {
  using Inside = File;

  static File in(FortranFile file) { return file_handle(file.number); }
  static FortranFile out(File file) { return {file_number(file)}; }

  Fint number;  // 0: MPI_FILE_NULL
};

using FortranComm = FortranHandle<ConstantKind::comm>;
using FortranDatatype = FortranHandle<ConstantKind::datatype>;
using FortranErrhandler = FortranHandle<ConstantKind::errhandler>;
using FortranGroup = FortranHandle<ConstantKind::group>;
using FortranInfo = FortranHandle<ConstantKind::info>;
using FortranMessage = FortranHandle<ConstantKind::message>;
using FortranOp = FortranHandle<ConstantKind::op>;
using FortranRequest = FortranHandle<ConstantKind::request>;
using FortranSession = FortranHandle<ConstantKind::session>;
using FortranWin = FortranHandle<ConstantKind::win>;

template <typename Handle>
typename Handle::Inside handle_of(Handle handle) {
  return Handle::in(handle);
}

// ---- Constants that are addresses ----

// Where a rank has the variables of Fortran's common blocks whose addresses are constants.
struct FortranConstants {
  const void* argv_null;
  const void* argvs_null;
  const void* bottom;
  const void* errcodes_ignore;
  const void* in_place;
  const void* status_ignore;
  const void* statuses_ignore;
  const void* unweighted;
  const void* weights_empty;
};

// Those of the running rank. The rank's first call looks them up.
const FortranConstants& look_up_fortran_constants();
inline const FortranConstants& fortran_constants() {
  const void* constants = program_tables().fortran_constants.get();
  return constants != nullptr ? *static_cast<const FortranConstants*>(constants)
                              : look_up_fortran_constants();
}

template <typename Pointer>
Pointer fortran_buffer(Pointer buffer) {
  const FortranConstants& constants = fortran_constants();
  if (buffer == constants.bottom) [[unlikely]]
    return nullptr;
  if (buffer == constants.in_place) [[unlikely]]
    return MPI_IN_PLACE;
  return buffer;
}

template <typename Pointer>
Pointer fortran_weights(Pointer weights) {
  const FortranConstants& constants = fortran_constants();
  if (weights == constants.unweighted) return reinterpret_cast<Pointer>(kUnweightedAddress);
  if (weights == constants.weights_empty) return reinterpret_cast<Pointer>(kWeightsEmptyAddress);
  return weights;
}

inline AbiStatus* fortran_status(Fint* status) {
  const FortranConstants& constants = fortran_constants();
  const bool is_ignored = status == constants.status_ignore || status == constants.statuses_ignore;
  return is_ignored ? nullptr : reinterpret_cast<AbiStatus*>(status);
}
inline const AbiStatus* fortran_status(const Fint* status) {
  return fortran_status(const_cast<Fint*>(status));
}

// ---- Values ----

// Takes an error class or code of ours.
inline void set_error(Fint* ierror, int error) {
  if (ierror != nullptr) *ierror = error_out(error);
}

// Positions in arrays start at 1; MPI_UNDEFINED is negative.
constexpr int fortran_index(int index) { return index >= 0 ? index + 1 : index; }

// Positions of which the call gives `*count`, `most` at most.
class FortranIndices {
 public:
  FortranIndices(int* indices, const int* count, int most)
      : indices_(indices), count_(count), most_(most) {}
  int* get() { return indices_; }
  void store() {
    for (int i = 0; i < std::min(*count_, most_); ++i) indices_[i] = fortran_index(indices_[i]);
  }

 private:
  int* indices_;
  const int* count_;
  int most_;
};

// ---- Texts ----

// Without the blanks around it.
std::string fortran_text(const char* text, int length);

class FortranTextIn {
 public:
  FortranTextIn(const char* text, int length) : text_(fortran_text(text, length)) {}
  const char* get() { return text_.c_str(); }

 private:
  std::string text_;
};

// A variable of `length` characters for a text, padded with blanks or cut. `most` is the length of
// the longest text that the call gives.
class FortranTextOut {
 public:
  FortranTextOut(char* target, int length, int most)
      : target_(target), length_(length), text_(static_cast<size_t>(most) + 1, kUnset) {}
  char* get() { return text_.data(); }
  void store();

 private:
  static constexpr char kUnset = 1;  // no text of ours begins with it
  char* target_;
  int length_;
  std::vector<char> text_;
};

// The length of such a text, at most that of the variable.
class FortranLength {
 public:
  FortranLength(int* target, int most) : target_(target), most_(most) {}
  int* get() { return target_; }
  void store() { *target_ = std::min(*target_, most_); }

 private:
  int* target_;
  int most_;
};

// The length of a text that the program gives and gets; in C it includes the null byte.
class FortranTextLength {
 public:
  explicit FortranTextLength(int* target) : target_(target), with_null_(*target + 1) {}
  int* get() { return &with_null_; }
  void store() { *target_ = with_null_ - 1; }

 private:
  int* target_;
  int with_null_;
};

}  // namespace sesame::abi
