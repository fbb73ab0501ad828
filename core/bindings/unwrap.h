// From Result<T> to a plain T for a bound function: the value, or a Python InputError.
#pragma once

#include <utility>

#include "core/base/error.h"
#include "core/bindings/error_translation.h"

namespace sesame::bindings {

template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw InputException{std::move(result.error())};
  return std::move(*result);
}

inline void unwrap(Result<void> result) {
  if (!result) throw InputException{std::move(result.error())};
}

}  // namespace sesame::bindings
