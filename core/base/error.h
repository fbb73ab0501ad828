// Wrong input as a value. A function that reads what a user wrote returns Result<T>; our own
// bugs end the program through CHECK (check.h). The text form is the one the whole house uses:
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
