#include "core/remote/static/patches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/remote/program/static_switch.h"

namespace sesame::remote {
namespace {

constexpr uint64_t kStubBytes = 16;  // movabs $ours, %r11; jmp *head(%rip)
constexpr uint64_t kHeadBytes = 16;  // the address of sesame_static_enter, and as many zeros
constexpr uint64_t kJumpBytes = 5;   // jmp rel32

// Functions of libsesame-rank.so that a program must not call, since they and its C library would
// use each other's objects: streams, memory to be freed, environments, threads and what they wait
// for, functions of the program.
constexpr std::string_view kOwnOfProgram[] = {
    "_IO_fdopen",
    "_IO_fopen",
    "__realpath_chk",
    "__vfork",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execvp",
    "execvpe",
    "fclose",
    "fcloseall",
    "fdopen",
    "fileno",
    "fileno_unlocked",
    "fopen",
    "fopen64",
    "freopen",
    "freopen64",
    "ftw",
    "ftw64",
    "get_current_dir_name",
    "getwd",
    "glob",
    "glob64",
    "nftw",
    "nftw64",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_create",
    "pthread_join",
    "realpath",
    "scandir",
    "scandir64",
    "scandirat",
    "scandirat64",
    "sem_clockwait",
    "sem_timedwait",
    "system",
    "tmpfile",
    "tmpfile64",
    "vfork",
};

// What streams and other parts of the C library call instead of the function that others call
// (glibc, sysdeps/unix/sysv/linux/not-cancel.h), and ours for it.
constexpr std::pair<std::string_view, std::string_view> kInternalNames[] = {
    {"__close_nocancel", "close"},         {"__fcntl64_nocancel", "fcntl64"},
    {"__nanosleep_nocancel", "nanosleep"}, {"__open_nocancel", "open"},
    {"__open64_nocancel", "open64"},       {"__openat_nocancel", "openat"},
    {"__openat64_nocancel", "openat64"},   {"__pread64_nocancel", "pread64"},
    {"__read_nocancel", "read"},           {"__write_nocancel", "write"},
};

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE);
}

bool is_library_name(std::string_view name) { return name.starts_with("_"); }

// Whether it names something in the program's memory, or in that of a thread.
bool is_in(const loader::ElfFile& file, const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_TLS ||
         file.is_loaded(symbol.st_value, std::max<uint64_t>(symbol.st_size, 1));
}

}  // namespace

StaticSymbols::StaticSymbols(const loader::ElfFile& file) : file_(file) {
  for (const Elf64_Sym& symbol : file.full_symbols())
    if (is_function(symbol) && is_library_name(file.full_name_of(symbol)))
      of_library_.insert(symbol.st_value);
  for (const Elf64_Sym& symbol : file.full_symbols()) {
    const std::string_view name = file.full_name_of(symbol);
    const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
    const bool is_meant =
        !is_local || is_library_name(name) || of_library_.contains(symbol.st_value);
    if (symbol.st_shndx == SHN_UNDEF || !is_meant || !is_in(file, symbol)) continue;
    // A name that is seen everywhere is the one that is meant.
    const auto [entry, is_new] = by_name_.try_emplace(name, &symbol);
    if (!is_new && !is_local) entry->second = &symbol;
  }
}

const Elf64_Sym* StaticSymbols::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

// Those of the C library have another name, with an underscore or for large files (mkstemp64). A
// few have none, but make a system call themselves (glibc: fsync, msync, rename, time), and
// remove() calls two that have.
bool StaticSymbols::is_of_library(const Elf64_Sym& function) const {
  if (of_library_.contains(function.st_value)) return true;
  const Elf64_Sym* const large = find(std::string(file_.full_name_of(function)) + "64");
  if (large != nullptr && large->st_value == function.st_value) return true;
  const char* const code = file_.at(function.st_value, function.st_size);
  constexpr std::string_view kSystemCall = "\x0f\x05";
  if (code == nullptr) return false;
  const bool makes_call = std::string_view(code, function.st_size).contains(kSystemCall);
  return makes_call || (calls(function, code, "__unlink") && calls(function, code, "__rmdir"));
}

// `call` and `jmp` have the distance from the next instruction.
bool StaticSymbols::calls(const Elf64_Sym& function, const char* code, std::string_view to) const {
  const Elf64_Sym* const called = find(to);
  for (uint64_t i = 0; called != nullptr && i + kJumpBytes <= function.st_size; ++i) {
    if (code[i] != '\xe8' && code[i] != '\xe9') continue;
    int32_t distance;
    memcpy(&distance, code + i + 1, sizeof distance);
    const uint64_t next = function.st_value + i + kJumpBytes;
    if (next + static_cast<uint64_t>(int64_t{distance}) == called->st_value) return true;
  }
  return false;
}

StaticPatches::StaticPatches(const StaticSymbols& program, std::span<const OwnFunction> functions,
                             const OwnLibrary& calls, const loader::ElfFile& mpi) {
  for (const OwnFunction& own : functions)
    add_call(program, own.name, reinterpret_cast<uint64_t>(own.function));
  add_calls(program, calls);
  add_mpi(program, mpi);
}

// A function may have several names: the first one that is added counts.
void StaticPatches::add(const Elf64_Sym* symbol, uint64_t ours, bool is_mpi) {
  if (symbol == nullptr || !is_function(*symbol)) return;
  if (patched_.insert(symbol->st_value).second) patches_.push_back({symbol, ours, is_mpi});
}

// If the program has a function of that name, what the C library itself calls is another one.
void StaticPatches::add_call(const StaticSymbols& program, std::string_view name, uint64_t ours) {
  const Elf64_Sym* symbol = program.find(name);
  if (symbol != nullptr && !program.is_of_library(*symbol))
    symbol = program.find("__" + std::string(name));
  add(symbol, ours);
}

void StaticPatches::add_calls(const StaticSymbols& program, const OwnLibrary& calls) {
  for (const Elf64_Sym& ours : calls.file.symbols()) {
    const std::string_view name = calls.file.name_of(ours);
    const bool is_own = std::ranges::find(kOwnOfProgram, name) != std::end(kOwnOfProgram);
    if (is_function(ours) && !is_own && !name.starts_with("sesame_"))
      add_call(program, name, calls.base + ours.st_value);
  }
  for (const auto& [name, public_name] : kInternalNames)
    if (const Elf64_Sym* const ours = calls.file.find(public_name))
      add(program.find(name), calls.base + ours->st_value);
}

// MPI_… that is not PMPI_… is a function of the program, for instance of a tool, which calls that.
void StaticPatches::add_mpi(const StaticSymbols& program, const loader::ElfFile& mpi) {
  for (const Elf64_Sym& ours : mpi.symbols()) {
    const std::string name = mpi.name_of(ours);
    const Elf64_Sym* const theirs = program.find(name);
    if (theirs == nullptr || ours.st_shndx == SHN_UNDEF) continue;
    if (ELF64_ST_TYPE(ours.st_info) == STT_OBJECT && theirs->st_size == sizeof(void*) &&
        ours.st_size == sizeof(void*))
      constants_.push_back({theirs->st_value, ours.st_value});
    if (!is_function(ours)) continue;
    const bool has_profile = name.starts_with("MPI_") || name.starts_with("MPIX_");
    const Elf64_Sym* const profiled = has_profile ? program.find("P" + name) : theirs;
    if (profiled != nullptr && profiled->st_value == theirs->st_value)
      add(theirs, ours.st_value, true);
  }
}

uint64_t StaticPatches::space() const { return kHeadBytes + (patches_.size() + 1) * kStubBytes; }

namespace {

std::unexpected<Error> no_jump(const loader::ElfFile& program, const Elf64_Sym& symbol,
                               const char* why) {
  return error(std::string("the function ") + program.full_name_of(symbol) + " of '" +
               program.path() + "' " + why);
}

// Where functions begin, in order.
std::vector<uint64_t> function_addresses(const loader::ElfFile& program) {
  std::vector<uint64_t> addresses;
  for (const Elf64_Sym& symbol : program.full_symbols())
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) addresses.push_back(symbol.st_value);
  std::ranges::sort(addresses);
  return addresses;
}

// Writes stubs one after the other.
class Stubs {
 public:
  explicit Stubs(char* space) : head_(space), next_(space + kHeadBytes) {
    const auto enter = reinterpret_cast<uint64_t>(sesame_static_enter);
    memcpy(head_, &enter, sizeof enter);
  }
  char* add(uint64_t ours) {
    char* const stub = std::exchange(next_, next_ + kStubBytes);
    memcpy(stub, "\x49\xbb", 2);  // movabs $ours, %r11
    memcpy(stub + 2, &ours, sizeof ours);
    memcpy(stub + 10, "\xff\x25", 2);  // jmp *head(%rip)
    const auto distance = static_cast<int32_t>(head_ - (stub + kStubBytes));
    memcpy(stub + 12, &distance, sizeof distance);
    return stub;
  }

 private:
  char* head_;
  char* next_;
};

}  // namespace

Result<> StaticPatches::apply(const loader::ElfFile& program, const StaticImage& image,
                              uint64_t mpi_base, Entry* at_exit) const {
  for (const Constant& constant : constants_)
    if (!image.has(constant.theirs, sizeof(void*), PF_W))
      return error("'" + program.path() + "' has a constant of MPI that cannot be set");
  const std::vector<uint64_t> functions = function_addresses(program);
  Stubs stubs(image.space());
  at_exit->entry = stubs.add(reinterpret_cast<uint64_t>(at_exit->function));
  for (const Patch& patch : patches_) {
    const uint64_t begin = patch.symbol->st_value;
    if (!image.has(begin, kJumpBytes, PF_X))
      return no_jump(program, *patch.symbol, "is not in its code");
    const auto next = std::ranges::upper_bound(functions, begin);
    if (next != functions.end() && *next < begin + kJumpBytes)
      return no_jump(program, *patch.symbol, "is too short to be taken over");
    char* const from = image.at(begin);
    const int64_t distance =
        stubs.add(patch.ours + (patch.is_mpi ? mpi_base : 0)) - (from + kJumpBytes);
    if (distance != static_cast<int32_t>(distance))
      return no_jump(program, *patch.symbol, "is too far from the program's end to be taken over");
    *from = '\xe9';  // jmp rel32
    memcpy(from + 1, &distance, kJumpBytes - 1);
  }
  return {};
}

void StaticPatches::copy_constants(const StaticImage& image, uint64_t mpi_base) const {
  for (const Constant& constant : constants_) {
    const auto* const ours = reinterpret_cast<void* const*>(mpi_base + constant.ours);
    // Null: the program's own Fortran layer sets it.
    if (*ours != nullptr) memcpy(image.at(constant.theirs), ours, sizeof *ours);
  }
}

}  // namespace sesame::remote
