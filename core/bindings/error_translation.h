// How an Error of the core becomes a Python exception: sesame.errors.InputError with the
// attributes message, path, line and hint. The class is defined in Python
// (python/sesame/errors.py); it is looked up when it is raised, so the binding has no state of its
// own.
#pragma once

#include "core/base/error.h"

namespace sesame::bindings {

// The C++ exception that carries an Error through nanobind. Only unwrap.h throws it.
struct InputException {
  Error error;
};

// Called once, by module.cc, before any function can throw.
void register_error_translation();

}  // namespace sesame::bindings
