#include "core/bindings/error_translation.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace sesame::bindings {
namespace {

void raise_input_error(const Error& error) {
  nb::object input_error = nb::module_::import_("sesame.errors").attr("InputError");
  nb::object path = error.path.empty() ? nb::none() : nb::object(nb::cast(error.path));
  nb::object line = error.line == 0 ? nb::none() : nb::object(nb::cast(error.line));
  nb::object hint = error.hint.empty() ? nb::none() : nb::object(nb::cast(error.hint));
  nb::object value = input_error(error.message, nb::arg("path") = path, nb::arg("line") = line,
                                 nb::arg("hint") = hint);
  PyErr_SetObject(input_error.ptr(), value.ptr());
}

}  // namespace

void register_error_translation() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InputException& exception) {
      raise_input_error(exception.error);
    }
  });
}

}  // namespace sesame::bindings
