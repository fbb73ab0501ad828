// Errors as values. A function whose input comes from the user or the system returns Result<T>: a
// value or an Error. Bugs of Sesame itself end the program through CHECK (check.h). The text of an
// error:
//   path:line: what is wrong, expected …, got …
//   hint: …
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace sesame {

struct Error {
  std::string message;  // what is wrong, what was expected, what was found
  std::string hint;     // what to do about it; may be empty
  std::string path;     // the file it is about; may be empty
  int line = 0;         // 1-based; 0 when no line is meant

  std::string to_string() const;
};

template <typename T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> error(std::string message, std::string hint = {}) {
  return std::unexpected(Error{std::move(message), std::move(hint), {}, 0});
}

inline std::unexpected<Error> error_at(std::string path, int line, std::string message,
                                       std::string hint = {}) {
  return std::unexpected(Error{std::move(message), std::move(hint), std::move(path), line});
}

}  // namespace sesame
