// Starts a rank: initial stack, constructors, main.
#include <elf.h>
#include <sys/auxv.h>

#include <cstring>

#include "core/base/check.h"
#include "core/loader/bindings.h"
#include "core/loader/exit.h"
#include "core/loader/images.h"
#include "core/loader/plugins.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

using InitFunction = void (*)(int, char**, char**);
using FiniFunction = void (*)();

struct FunctionArray {
  const uint64_t* functions = nullptr;  // in the copy, relocated
  uint64_t count = 0;
};

FunctionArray array_of(const ElfFile& file, uint64_t base, int64_t table_tag, int64_t size_tag) {
  const auto table = file.dynamic(table_tag), size = file.dynamic(size_tag);
  if (!table || !size) return {};
  return {reinterpret_cast<const uint64_t*>(base + *table), *size / sizeof(uint64_t)};
}

void run_array(const FunctionArray& array, int argc, char** argv) {
  for (uint64_t i = 0; i < array.count; ++i) {
    const uint64_t function = array.functions[i];
    if (function == 0 || function == ~uint64_t{0}) continue;
    reinterpret_cast<InitFunction>(function)(argc, argv, environ);
  }
}

// Resolves IFUNC relocations: their resolvers are code of the program, so they run on the rank's
// stack.
void choose_functions(RankProcess& process, const ImageGroup& group) {
  for (const ChosenFixup& chosen : group.chosen) {
    const auto resolver =
        reinterpret_cast<uint64_t (*)()>(process.bases[chosen.resolver_image] + chosen.resolver);
    *reinterpret_cast<uint64_t*>(process.bases[chosen.image] + chosen.offset) = resolver();
  }
}

// Writes the initial stack of a program as the kernel does. At the top are strings and random
// bytes. Below them, from the new stack pointer up: argc, argv, 0, envp, 0, the auxiliary vector.
class StackWriter {
 public:
  explicit StackWriter(char* top) : top_(top) {}

  char* push(const void* data, size_t size) {
    top_ -= size;
    return static_cast<char*>(memcpy(top_, data, size));
  }

  uint64_t* push_words(const std::vector<uint64_t>& words) {
    top_ = reinterpret_cast<char*>(reinterpret_cast<uint64_t>(top_) & ~uint64_t{15});
    if (words.size() % 2 != 0) top_ -= sizeof(uint64_t);
    return reinterpret_cast<uint64_t*>(push(words.data(), words.size() * sizeof(uint64_t)));
  }

 private:
  char* top_;
};

void append_auxiliary_vector(std::vector<uint64_t>& words, const RankProcess& process,
                             const char* random_bytes, const char* name) {
  const ElfFile& file = process.images->images[0]->file;
  const uint64_t base = process.bases[0];
  const std::pair<uint64_t, uint64_t> entries[] = {
      {AT_PHDR, base + process.images->images[0]->begin + file.header().e_phoff},
      {AT_PHENT, sizeof(Elf64_Phdr)},
      {AT_PHNUM, file.segments().size()},
      {AT_PAGESZ, getauxval(AT_PAGESZ)},
      {AT_ENTRY, base + file.header().e_entry},
      {AT_RANDOM, reinterpret_cast<uint64_t>(random_bytes)},
      {AT_EXECFN, reinterpret_cast<uint64_t>(name)},
      {AT_HWCAP, getauxval(AT_HWCAP)},
      {AT_HWCAP2, getauxval(AT_HWCAP2)},
      {AT_CLKTCK, getauxval(AT_CLKTCK)},
      {AT_UID, getauxval(AT_UID)},
      {AT_EUID, getauxval(AT_EUID)},
      {AT_GID, getauxval(AT_GID)},
      {AT_EGID, getauxval(AT_EGID)},
      {AT_SECURE, 0},
      {AT_NULL, 0}};
  for (const auto& [type, value] : entries) {
    words.push_back(type);
    words.push_back(value);
  }
}

// Calls visit(variable) for each "NAME=value" that the rank does not share with others.
template <typename Visit>
void visit_own_variables(const RankProcess& process, const Visit& visit) {
  char* const end = process.start_variables.get() + process.start_variable_bytes;
  for (char* entry = process.start_variables.get(); entry < end; entry += strlen(entry) + 1)
    visit(entry);
}

size_t count_own_variables(const RankProcess& process) {
  size_t count = 0;
  visit_own_variables(process, [&](char*) { ++count; });
  return count;
}

// An upper bound of the bytes that lay_out_stack() writes.
size_t start_size(const RankProcess& process) {
  const LaunchArguments& arguments = *process.arguments;
  size_t size = 1024 + process.images->images[0]->file.path().size();
  for (const std::string& argument : arguments.arguments) size += argument.size() + 1;
  return size + sizeof(uint64_t) * (arguments.arguments.size() + arguments.environment.size() +
                                    count_own_variables(process));
}

// Lays out the start of the program below `top`; returns the stack pointer for its entry point.
// Arguments are copied, as programs write into them; environment strings are shared by all ranks
// until environment.cc gives a rank its own.
uint64_t* lay_out_stack(RankProcess& process, char* top) {
  StackWriter stack(top);
  const std::string& path = process.images->images[0]->file.path();
  const char* name = stack.push(path.c_str(), path.size() + 1);
  // The same in every run, so that results are reproducible.
  uint64_t random[2] = {0x9e3779b97f4a7c15u * static_cast<uint64_t>(process.rank + 1),
                        0xbf58476d1ce4e5b9u};
  const char* random_bytes = stack.push(random, sizeof random);
  std::vector<uint64_t> words;
  const LaunchArguments& arguments = *process.arguments;
  words.reserve(arguments.arguments.size() + arguments.environment.size() +
                count_own_variables(process) + 40);
  words.push_back(arguments.arguments.size());
  for (const std::string& argument : arguments.arguments)
    words.push_back(reinterpret_cast<uint64_t>(stack.push(argument.c_str(), argument.size() + 1)));
  words.push_back(0);
  for (const std::string& variable : arguments.environment)
    words.push_back(reinterpret_cast<uint64_t>(variable.c_str()));
  visit_own_variables(
      process, [&](char* variable) { words.push_back(reinterpret_cast<uint64_t>(variable)); });
  words.push_back(0);
  append_auxiliary_vector(words, process, random_bytes, name);
  uint64_t* start = stack.push_words(words);
  set_environment(process, reinterpret_cast<char**>(start + 1 + arguments.arguments.size() + 1));
  return start;
}

// Programs linked with glibc before 2.34 bring `init`, which runs their own constructors; later
// ones pass null and expect the C library to do it.
extern "C" int rank___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                                      InitFunction init, FiniFunction, FiniFunction, void*) {
  RankProcess& process = *current();
  process.variable<char*>(Variable::kProgramName) = argv[0];
  char* slash = strrchr(argv[0], '/');
  process.variable<char*>(Variable::kProgramShortName) = slash == nullptr ? argv[0] : slash + 1;
  process.argument_count = argc;
  process.argument_values = argv;
  process.libraries_initialized = true;
  run_initializers(process, process.images->program, init == nullptr);
  if (init != nullptr) init(argc, argv, environ);
  exit_process(process, main(argc, argv, environ));
}

}  // namespace

void run_initializers(RankProcess& process, const ImageGroup& group, bool include_program) {
  choose_functions(process, group);
  const int argc = process.argument_count;
  char** argv = process.argument_values;
  for (uint32_t index : group.start_order) {
    if (index == 0 && !include_program) continue;
    const ElfFile& file = process.images->images[index]->file;
    const uint64_t base = process.bases[index];
    if (index == 0)
      run_array(array_of(file, base, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ), argc, argv);
    if (const auto init = file.dynamic(DT_INIT))
      reinterpret_cast<InitFunction>(base + *init)(argc, argv, environ);
    run_array(array_of(file, base, DT_INIT_ARRAY, DT_INIT_ARRAYSZ), argc, argv);
  }
}

void run_finalizers(RankProcess& process) {
  if (!process.libraries_initialized) return;
  process.libraries_initialized = false;
  const std::vector<uint32_t>& order = process.images->program.start_order;
  run_finalizer(process, order.back());
  run_plugin_finalizers(process);
  for (auto index = order.rbegin() + 1; index != order.rend(); ++index)
    run_finalizer(process, *index);
}

void run_finalizer(RankProcess& process, uint32_t index) {
  const ElfFile& file = process.images->images[index]->file;
  const uint64_t base = process.bases[index];
  const FunctionArray array = array_of(file, base, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
  for (uint64_t i = array.count; i-- > 0;)
    if (array.functions[i] != 0 && array.functions[i] != ~uint64_t{0})
      reinterpret_cast<FiniFunction>(array.functions[i])();
  if (const auto fini = file.dynamic(DT_FINI)) reinterpret_cast<FiniFunction>(base + *fini)();
}

void run_program(RankProcess& process) {
  CHECK(current() == &process);
  // In this frame, so that no callee's frame lies over it; the frame is never returned to.
  const size_t size = start_size(process);
  uint64_t* start = lay_out_stack(process, static_cast<char*>(__builtin_alloca(size)) + size);
  const uint64_t entry = process.bases[0] + process.images->images[0]->file.header().e_entry;
  // rdx = 0: there is no exit handler of the dynamic loader. exit_process() runs the finalizers.
  asm volatile(
      "mov %0, %%rsp\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%ebp, %%ebp\n\t"
      "jmp *%1"
      :
      : "r"(start), "r"(entry)
      : "rdx", "memory");
  __builtin_unreachable();
}

void bind_start(BindingTable& table) { BIND(table, __libc_start_main); }

}  // namespace sesame::loader
