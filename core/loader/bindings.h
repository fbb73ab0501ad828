// The table of C library functions that the loader replaces in ranks: name and replacement. Each
// source file adds the functions of its subject. Built once; read-only afterwards.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

namespace sesame::loader {

struct Binding {
  const char* name;
  void* function;
};
using BindingTable = std::vector<Binding>;

void bind_start(BindingTable& table);             // start.cc
void bind_threads(BindingTable& table);           // threads.cc
void bind_clocks(BindingTable& table);            // clock.cc
void bind_sleeps(BindingTable& table);            // sleep.cc
void bind_sockets(BindingTable& table);           // sockets.cc
void bind_waiting(BindingTable& table);           // waiting.cc
void bind_exits(BindingTable& table);             // exit.cc
void bind_executions(BindingTable& table);        // execute.cc
void bind_streams(BindingTable& table);           // stream.cc
void bind_descriptors(BindingTable& table);       // descriptor.cc
void bind_random(BindingTable& table);            // random.cc
void bind_text(BindingTable& table);              // text.cc
void bind_getopt(BindingTable& table);            // getopt.cc
void bind_environment(BindingTable& table);       // environment.cc
void bind_directories(BindingTable& table);       // directory.cc
void bind_file_descriptors(BindingTable& table);  // file_open.cc
void bind_file_data(BindingTable& table);         // file_data.cc
void bind_file_names(BindingTable& table);        // file_names.cc
void bind_file_async(BindingTable& table);        // file_async.cc
void bind_file_attributes(BindingTable& table);   // file_attributes.cc
void bind_file_copies(BindingTable& table);       // file_copies.cc
void bind_file_lists(BindingTable& table);        // file_lists.cc
void bind_file_streams(BindingTable& table);      // file_streams.cc
void bind_file_walks(BindingTable& table);        // file_walks.cc
void bind_signals(BindingTable& table);           // signals.cc
void bind_identity(BindingTable& table);          // identity.cc
void bind_dynamic(BindingTable& table);           // dynamic.cc

std::unordered_map<std::string_view, void*> all_bindings();

}  // namespace sesame::loader
