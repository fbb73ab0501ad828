// What a rank keeps of errors: the detail of the last one, and the error classes and codes that its
// program added (MPI 4.1, section 9.5). The rank owns it. One thread.
//
// Use: errors.h stores the detail; the error handler takes it for its message.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// Error classes and codes added at run time. Codes of MPI itself equal their classes.
class ErrorCodes {
 public:
  static constexpr int kFirst = MPI_ERR_LASTCODE + 1;

  int add_class();
  int add_code(int error_class);
  // Each returns MPI_SUCCESS or MPI_ERR_ARG. remove_class() needs a class without codes,
  // remove_code() a code that is not a class, remove_text() one that has a text.
  int set_text(int code, std::string text);
  int remove_text(int code);
  int remove_class(int error_class);
  int remove_code(int code);

  // MPI_ERR_UNKNOWN if the code is unknown.
  int class_of(int code) const;
  // Null if the code is unknown; empty if no text was added.
  const char* text_of(int code) const;

  // Why a call returned this code; only the last reason is kept.
  void record_reason(int code, std::string reason) { reason_ = {code, std::move(reason)}; }
  std::string reason_of(int code) const { return code == reason_.first ? reason_.second : ""; }

 private:
  struct Entry {
    int error_class = 0;  // itself, for a class
    bool has_text = false;
    std::string text;
  };
  std::map<int, Entry> entries_;
  int next_ = kFirst;
  std::pair<int, std::string> reason_;
};

struct ErrorState {
  std::string detail;                     // of the last error
  std::unique_ptr<ErrorCodes> codes;      // null until added_codes() makes it
  int last_used_code = MPI_ERR_LASTCODE;  // the attribute MPI_LASTUSEDCODE is its address

  ErrorCodes& added_codes() {
    if (codes == nullptr) codes = std::make_unique<ErrorCodes>();
    return *codes;
  }
};

// That of the rank that runs on this thread; defined where ranks are.
ErrorState& this_error_state();

}  // namespace sesame::mpi
