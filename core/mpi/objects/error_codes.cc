// The MPI functions about error codes.
#include <algorithm>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/objects/error_state.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

bool is_known(const ErrorState& state, int code) {
  return is_error_class(code) || (state.codes != nullptr && state.codes->text_of(code) != nullptr);
}

int no_such_code(int code) {
  return fail(MPI_ERR_ARG, std::to_string(code) + " is no error code that the program added");
}

}  // namespace

int Add_error_class(int* errorclass) {
  MPI_TRY(check_out(errorclass, "errorclass"));
  ErrorState& state = this_error_state();
  *errorclass = state.last_used_code = state.added_codes().add_class();
  return MPI_SUCCESS;
}

int Add_error_code(int errorclass, int* errorcode) {
  MPI_TRY(check_out(errorcode, "errorcode"));
  ErrorState& state = this_error_state();
  if (!is_error_class(errorclass) && state.added_codes().class_of(errorclass) != errorclass) {
    return fail(MPI_ERR_ARG, std::to_string(errorclass) + " is no error class");
  }
  *errorcode = state.last_used_code = state.added_codes().add_code(errorclass);
  return MPI_SUCCESS;
}

int Add_error_string(int errorcode, const char* string) {
  if (string == nullptr) return fail(MPI_ERR_ARG, "the text is a null pointer");
  if (std::strlen(string) >= MPI_MAX_ERROR_STRING) {
    return fail(MPI_ERR_ARG, "the text is longer than MPI_MAX_ERROR_STRING");
  }
  const int error = this_error_state().added_codes().set_text(errorcode, string);
  return error == MPI_SUCCESS ? error : no_such_code(errorcode);
}

int Remove_error_class(int errorclass) {
  const int error = this_error_state().added_codes().remove_class(errorclass);
  if (error == MPI_SUCCESS) return error;
  return fail(MPI_ERR_ARG, std::to_string(errorclass) +
                               " is no error class that the program added, or has error codes");
}

int Remove_error_code(int errorcode) {
  const int error = this_error_state().added_codes().remove_code(errorcode);
  return error == MPI_SUCCESS ? error : no_such_code(errorcode);
}

int Remove_error_string(int errorcode) {
  const int error = this_error_state().added_codes().remove_text(errorcode);
  if (error == MPI_SUCCESS) return error;
  return fail(MPI_ERR_ARG, "the program added no text for " + std::to_string(errorcode));
}

int Error_class(int errorcode, int* errorclass) {
  MPI_TRY(check_out(errorclass, "errorclass"));
  const ErrorState& state = this_error_state();
  if (is_error_class(errorcode)) {
    *errorclass = errorcode;
  } else if (state.codes != nullptr) {
    *errorclass = state.codes->class_of(errorcode);
  } else {
    *errorclass = MPI_ERR_UNKNOWN;
  }
  return MPI_SUCCESS;
}

int Error_string(int errorcode, char* string, int* resultlen) {
  MPI_TRY(check_out(string, "string"));
  MPI_TRY(check_out(resultlen, "resultlen"));
  ErrorState& state = this_error_state();
  if (!is_known(state, errorcode)) {
    return fail(MPI_ERR_ARG, std::to_string(errorcode) + " is no error code");
  }
  std::string text = error_text(state, errorcode);
  if (const ErrorCodes* codes = state.codes.get()) {
    const std::string reason = codes->reason_of(errorcode);
    if (!reason.empty()) text += ": " + reason;
  }
  text.resize(std::min<size_t>(text.size(), MPI_MAX_ERROR_STRING - 1));
  std::strcpy(string, text.c_str());
  *resultlen = static_cast<int>(text.size());
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
