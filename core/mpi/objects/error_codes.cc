// Error classes and codes that a program adds, and the MPI functions about error codes.
#include <algorithm>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {
namespace {

ErrorCodes& error_codes(ObjectOwner& owner) {
  if (owner.objects.error_codes == nullptr) {
    owner.objects.error_codes = std::make_unique<ErrorCodes>();
  }
  return *owner.objects.error_codes;
}

bool is_known(ObjectOwner& owner, int code) {
  if (is_error_class(code)) return true;
  return owner.objects.error_codes != nullptr &&
         owner.objects.error_codes->text_of(code) != nullptr;
}

int no_such_code(int code) {
  return fail(MPI_ERR_ARG, std::to_string(code) + " is no error code that the program added");
}

}  // namespace

int ErrorCodes::add_class() {
  entries_[next_].error_class = next_;
  return next_++;
}

int ErrorCodes::add_code(int error_class) {
  entries_[next_].error_class = error_class;
  return next_++;
}

int ErrorCodes::set_text(int code, std::string text) {
  auto entry = entries_.find(code);
  if (entry == entries_.end()) return MPI_ERR_ARG;
  entry->second.text = std::move(text);
  entry->second.has_text = true;
  return MPI_SUCCESS;
}

int ErrorCodes::remove_text(int code) {
  auto entry = entries_.find(code);
  if (entry == entries_.end() || !entry->second.has_text) return MPI_ERR_ARG;
  entry->second.text.clear();
  entry->second.has_text = false;
  return MPI_SUCCESS;
}

int ErrorCodes::remove_class(int error_class) {
  auto entry = entries_.find(error_class);
  if (entry == entries_.end() || entry->second.error_class != error_class) return MPI_ERR_ARG;
  for (const auto& [code, entry] : entries_) {
    if (code != error_class && entry.error_class == error_class) return MPI_ERR_ARG;
  }
  entries_.erase(entry);
  return MPI_SUCCESS;
}

int ErrorCodes::remove_code(int code) {
  auto entry = entries_.find(code);
  if (entry == entries_.end() || entry->second.error_class == code) return MPI_ERR_ARG;
  entries_.erase(entry);
  return MPI_SUCCESS;
}

int ErrorCodes::class_of(int code) const {
  auto entry = entries_.find(code);
  return entry != entries_.end() ? entry->second.error_class : MPI_ERR_UNKNOWN;
}

const char* ErrorCodes::text_of(int code) const {
  auto entry = entries_.find(code);
  return entry != entries_.end() ? entry->second.text.c_str() : nullptr;
}

void record_reason(ObjectOwner& owner, int error, std::string reason) {
  error_codes(owner).record_reason(error, std::move(reason));
}

std::string error_text(ObjectOwner& owner, int code) {
  if (!is_error_class(code) && owner.objects.error_codes != nullptr) {
    if (const char* text = owner.objects.error_codes->text_of(code); text != nullptr) return text;
  }
  return error_class_text(code);
}

int Add_error_class(int* errorclass) {
  MPI_TRY(check_out(errorclass, "errorclass"));
  ObjectOwner& owner = this_owner();
  *errorclass = owner.objects.last_used_code = error_codes(owner).add_class();
  return MPI_SUCCESS;
}

int Add_error_code(int errorclass, int* errorcode) {
  MPI_TRY(check_out(errorcode, "errorcode"));
  ObjectOwner& owner = this_owner();
  if (!is_error_class(errorclass) && error_codes(owner).class_of(errorclass) != errorclass) {
    return fail(MPI_ERR_ARG, std::to_string(errorclass) + " is no error class");
  }
  *errorcode = owner.objects.last_used_code = error_codes(owner).add_code(errorclass);
  return MPI_SUCCESS;
}

int Add_error_string(int errorcode, const char* string) {
  if (string == nullptr) return fail(MPI_ERR_ARG, "the text is a null pointer");
  if (std::strlen(string) >= MPI_MAX_ERROR_STRING) {
    return fail(MPI_ERR_ARG, "the text is longer than MPI_MAX_ERROR_STRING");
  }
  const int error = error_codes(this_owner()).set_text(errorcode, string);
  return error == MPI_SUCCESS ? error : no_such_code(errorcode);
}

int Remove_error_class(int errorclass) {
  const int error = error_codes(this_owner()).remove_class(errorclass);
  if (error == MPI_SUCCESS) return error;
  return fail(MPI_ERR_ARG, std::to_string(errorclass) +
                               " is no error class that the program added, or has error codes");
}

int Remove_error_code(int errorcode) {
  const int error = error_codes(this_owner()).remove_code(errorcode);
  return error == MPI_SUCCESS ? error : no_such_code(errorcode);
}

int Remove_error_string(int errorcode) {
  const int error = error_codes(this_owner()).remove_text(errorcode);
  if (error == MPI_SUCCESS) return error;
  return fail(MPI_ERR_ARG, "the program added no text for " + std::to_string(errorcode));
}

int Error_class(int errorcode, int* errorclass) {
  MPI_TRY(check_out(errorclass, "errorclass"));
  const ObjectOwner& owner = this_owner();
  if (is_error_class(errorcode)) {
    *errorclass = errorcode;
  } else if (owner.objects.error_codes != nullptr) {
    *errorclass = owner.objects.error_codes->class_of(errorcode);
  } else {
    *errorclass = MPI_ERR_UNKNOWN;
  }
  return MPI_SUCCESS;
}

int Error_string(int errorcode, char* string, int* resultlen) {
  MPI_TRY(check_out(string, "string"));
  MPI_TRY(check_out(resultlen, "resultlen"));
  ObjectOwner& owner = this_owner();
  if (!is_known(owner, errorcode)) {
    return fail(MPI_ERR_ARG, std::to_string(errorcode) + " is no error code");
  }
  std::string text = error_text(owner, errorcode);
  if (const ErrorCodes* codes = owner.objects.error_codes.get()) {
    const std::string reason = codes->reason_of(errorcode);
    if (!reason.empty()) text += ": " + reason;
  }
  text.resize(std::min<size_t>(text.size(), MPI_MAX_ERROR_STRING - 1));
  std::strcpy(string, text.c_str());
  *resultlen = static_cast<int>(text.size());
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
