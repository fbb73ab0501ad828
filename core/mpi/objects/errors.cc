#include "core/mpi/objects/errors.h"

#include "core/mpi/objects/error_state.h"

namespace sesame::mpi {

int fail(int error_class, std::string detail) {
  this_error_state().detail = std::move(detail);
  return error_class;
}

int check_out(const void* address, const char* what) {
  if (address != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, std::string("the address for ") + what + " is a null pointer");
}

std::string error_text(const ErrorState& state, int code) {
  if (!is_error_class(code) && state.codes != nullptr) {
    if (const char* text = state.codes->text_of(code); text != nullptr) return text;
  }
  return error_class_text(code);
}

}  // namespace sesame::mpi
