#include "core/loader/bindings.h"

namespace sesame::loader {

std::unordered_map<std::string_view, void*> all_bindings() {
  BindingTable table;
  for (auto* bind : {bind_start,
                     bind_threads,
                     bind_clocks,
                     bind_sleeps,
                     bind_exits,
                     bind_executions,
                     bind_streams,
                     bind_descriptors,
                     bind_random,
                     bind_text,
                     bind_getopt,
                     bind_environment,
                     bind_directories,
                     bind_signals,
                     bind_identity,
                     bind_dynamic,
                     bind_file_descriptors,
                     bind_file_data,
                     bind_file_names,
                     bind_file_streams,
                     bind_file_lists,
                     bind_file_copies,
                     bind_file_async,
                     bind_file_attributes,
                     bind_file_walks,
                     bind_sockets,
                     bind_waiting})
    bind(table);
  std::unordered_map<std::string_view, void*> by_name;
  for (const Binding& binding : table) by_name.emplace(binding.name, binding.function);
  return by_name;
}

}  // namespace sesame::loader
