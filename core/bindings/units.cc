// The units that users write, in Python: the same parsers as for machine files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "core/base/units.h"
#include "core/bindings/unwrap.h"

namespace nb = nanobind;

namespace sesame::bindings {

void register_units(nb::module_& module) {
  module.def("parse_duration_ps",
             [](const std::string& text) { return unwrap(parse_duration(text)).ps(); });
  module.def("parse_size_bytes", [](const std::string& text) { return unwrap(parse_size(text)); });
}

}  // namespace sesame::bindings
