// The Python module sesame._native. The bindings of each core module are in a file of their own.
#include <nanobind/nanobind.h>

#include "core/bindings/error_translation.h"

namespace sesame::bindings {

void register_machine(nanobind::module_& module);
void register_network(nanobind::module_& module);
void register_postprocess(nanobind::module_& module);
void register_rocc(nanobind::module_& module);
void register_tables(nanobind::module_& module);
void register_trace(nanobind::module_& module);
void register_units(nanobind::module_& module);

}  // namespace sesame::bindings

NB_MODULE(_native, module) {
  sesame::bindings::register_error_translation();
  sesame::bindings::register_machine(module);
  sesame::bindings::register_network(module);
  sesame::bindings::register_postprocess(module);
  sesame::bindings::register_rocc(module);
  sesame::bindings::register_tables(module);
  sesame::bindings::register_trace(module);
  sesame::bindings::register_units(module);
}
