// The environment. Ranks start with shared strings; a rank gets its own copy of a string when it
// asks for it, as programs write into what getenv returns. It gets its own list when it changes a
// variable.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

bool is_name(const char* entry, const char* name, size_t length) {
  return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

bool is_shared(const RankProcess& process, const char* entry) {
  for (const std::string& variable : process.arguments->environment)
    if (variable.c_str() == entry) return true;
  return false;
}

char** environment_of(const RankProcess& process) {
  return process.variable<char**>(Variable::kEnviron);
}

// A modifiable copy of the list, without its terminating null.
std::vector<char*>& own_list(RankProcess& process) {
  std::vector<char*>& list = process.own_environment;
  char** now = environment_of(process);
  if (list.empty() || now != list.data()) {
    list.clear();
    for (char** entry = now; entry != nullptr && *entry != nullptr; ++entry) list.push_back(*entry);
  } else {
    list.pop_back();
  }
  return list;
}

void publish(RankProcess& process) {
  process.own_environment.push_back(nullptr);
  set_environment(process, process.own_environment.data());
}

char** find_entry(RankProcess& process, const char* name) {
  const size_t length = strlen(name);
  for (char** entry = environment_of(process); entry != nullptr && *entry != nullptr; ++entry)
    if (is_name(*entry, name, length)) return entry;
  return nullptr;
}

// Replaces or appends; `entry` is "NAME=value" and is not copied.
void put_entry(RankProcess& process, char* entry) {
  const size_t length = static_cast<size_t>(strchr(entry, '=') - entry);
  std::vector<char*>& list = own_list(process);
  bool found = false;
  for (char*& known : list)
    if (is_name(known, entry, length)) {
      known = entry;
      found = true;
      break;
    }
  if (!found) list.push_back(entry);
  publish(process);
}

bool is_valid_name(const char* name) {
  return name != nullptr && *name != '\0' && strchr(name, '=') == nullptr;
}

}  // namespace

char* keep_string(RankProcess& process, const char* text) {
  const size_t size = strlen(text) + 1;
  process.own_strings.push_back(std::make_unique<char[]>(size));
  return static_cast<char*>(memcpy(process.own_strings.back().get(), text, size));
}

extern "C" {

char* rank_getenv(const char* name) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(getenv)(name);
  char** entry = find_entry(*process, name);
  if (entry == nullptr) return nullptr;
  if (is_shared(*process, *entry)) *entry = keep_string(*process, *entry);
  return *entry + strlen(name) + 1;
}
GLOBAL_NAME(getenv);

char* rank_secure_getenv(const char* name) { return rank_getenv(name); }

int rank_setenv(const char* name, const char* value, int overwrite) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(setenv)(name, value, overwrite);
  if (!is_valid_name(name)) {
    errno = EINVAL;
    return -1;
  }
  if (overwrite == 0 && find_entry(*process, name) != nullptr) return 0;
  put_entry(*process, keep_string(*process, (std::string(name) + "=" + value).c_str()));
  return 0;
}

int rank_unsetenv(const char* name) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(unsetenv)(name);
  if (!is_valid_name(name)) {
    errno = EINVAL;
    return -1;
  }
  const size_t length = strlen(name);
  std::erase_if(own_list(*process), [&](char* entry) { return is_name(entry, name, length); });
  publish(*process);
  return 0;
}

int rank_putenv(char* entry) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(putenv)(entry);
  if (strchr(entry, '=') == nullptr) return rank_unsetenv(entry);
  put_entry(*process, entry);
  return 0;
}

int rank_clearenv() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(clearenv)();
  set_environment(*process, nullptr);
  return 0;
}

}  // extern "C"

void bind_environment(BindingTable& table) {
  BIND(table, getenv);
  BIND(table, secure_getenv);
  BIND_AS(table, "__secure_getenv", secure_getenv);
  BIND(table, setenv);
  BIND(table, unsetenv);
  BIND(table, putenv);
  BIND(table, clearenv);
}

}  // namespace sesame::loader
