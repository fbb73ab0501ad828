#include "core/loader/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "core/base/check.h"
#include "core/loader/bindings.h"
#include "core/loader/closure.h"

extern "C" void sesame_static_descriptor();

namespace sesame::loader {
namespace {

struct Target {
  enum class Kind { kMissing, kAbsolute, kInImage } kind = Kind::kMissing;
  uint32_t image = kNoImage;
  uint64_t value = 0;
  const Elf64_Sym* symbol = nullptr;  // null: of a library that all ranks share
};

// Variables of shared libraries that each rank must have for itself: the C++ library's streams, and
// those in which MPICH's Fortran layer stores the addresses of its ignored statuses.
constexpr const char* kClonedVariables[] = {
    "_ZSt4cout", "_ZSt3cin",   "_ZSt4cerr",  "_ZSt4clog",           "_ZSt5wcout",
    "_ZSt4wcin", "_ZSt5wcerr", "_ZSt5wclog", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE"};

[[noreturn]] void call_of_missing(const char* name) {
  const RankProcess* process = current();
  const std::string why = "rank " + std::to_string(process == nullptr ? -1 : process->rank) +
                          " called " + name + ", which no library defines";
  hooks().abort_job(1, why.c_str());
  abort();
}

// Writes the stubs to which undefined functions are bound: mov $name, %rdi; mov $handler, %rax;
// jmp *%rax. The pages live as long as the process, as does the code that refers to them.
class StubWriter {
 public:
  uint64_t write(const char* name) {
    if (used_ + kSize > kBlock) {
      void* page = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      CHECK(page != MAP_FAILED);
      block_ = static_cast<unsigned char*>(page);
      used_ = 0;
    }
    unsigned char* code = block_ + used_;
    used_ += kSize;
    const auto name_address = reinterpret_cast<uint64_t>(name);
    const auto handler = reinterpret_cast<uint64_t>(&call_of_missing);
    memcpy(code, "\x48\xbf", 2);
    memcpy(code + 2, &name_address, 8);
    memcpy(code + 10, "\x48\xb8", 2);
    memcpy(code + 12, &handler, 8);
    memcpy(code + 20, "\xff\xe0", 2);
    return reinterpret_cast<uint64_t>(code);
  }

 private:
  static constexpr size_t kSize = 32, kBlock = 64 * 1024;
  unsigned char* block_ = nullptr;
  size_t used_ = kBlock;
};

class Resolver {
 public:
  Resolver(ImageSet& set, const Program& program, ImageGroup& group,
           const std::vector<uint32_t>& scope)
      : set_(set), program_(program), group_(group), scope_(scope) {}

  Result<> run() {
    if (Result<> opened = open_host(); !opened) return opened;
    if (group_.begin == 0) place_variables();
    for (uint32_t i = group_.begin; i < group_.end; ++i) {
      image_ = i;
      group_.may_cancel |= calls_cancel(file());
      symbolic_ = file().dynamic(DT_SYMBOLIC).has_value() ||
                  (file().dynamic(DT_FLAGS).value_or(0) & DF_SYMBOLIC) != 0;
      for (const Relocation& relocation : file().relocations()) {
        if (relocation.symbol != 0 && relocation.symbol >= file().symbols().size())
          return refuse("a relocation names no symbol");
        if (Result<> done = apply(relocation); !done) return done;
      }
    }
    std::ranges::sort(set_.unresolved);
    return {};
  }

 private:
  const ElfFile& file() const { return set_.images[image_]->file; }
  Result<> refuse(const std::string& why) const {
    return error("cannot load '" + file().path() + "' for '" + program_.name + "': " + why);
  }

  Result<> open_host() {
    Result<ElfFile> host = ElfFile::open("/proc/self/exe");
    if (!host) return std::unexpected(host.error());
    host_ = std::make_unique<ElfFile>(std::move(*host));
    host_base_ = static_cast<link_map*>(dlopen(nullptr, RTLD_LAZY))->l_addr;
    return {};
  }

  void place_variables() {
    set_.block_size = kVariableCount * sizeof(uint64_t);
    for (size_t i = 0; i < kVariableCount; ++i)
      set_.variables[i] = {set_.block_image(), i * sizeof(uint64_t)};
    const ElfFile& program = set_.images[0]->file;
    for (const Elf64_Sym& symbol : program.symbols()) {
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      const Variable variable = variable_named(program.name_of(symbol));
      if (variable != Variable::kCount)
        set_.variables[static_cast<size_t>(variable)] = {0, symbol.st_value};
    }
  }

  Target clone_of(const void* original, const char* name) {
    for (const ImageGroup* group : {&set_.program, &group_})
      for (const Clone& clone : group->clones)
        if (clone.original == original)
          return {Target::Kind::kInImage, clone.image, clone.offset, nullptr};
    Dl_info info;
    void* entry = nullptr;
    if (dladdr1(original, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr)
      return {Target::Kind::kAbsolute, kNoImage, reinterpret_cast<uint64_t>(original), nullptr};
    (void)name;
    const uint64_t size = static_cast<const Elf64_Sym*>(entry)->st_size;
    const bool in_block = group_.begin == 0;
    uint64_t& end = in_block ? set_.block_size : spare_used_;
    const uint64_t offset = (end + 15) & ~uint64_t{15};
    if (!in_block && offset + size > kSpareBytes)
      return {Target::Kind::kAbsolute, kNoImage, reinterpret_cast<uint64_t>(original), nullptr};
    end = offset + size;
    const uint32_t image = in_block ? set_.block_image() : group_.begin;
    const uint64_t place = in_block ? offset : set_.images[image]->spare + offset;
    group_.clones.push_back({original, size, image, place});
    return {Target::Kind::kInImage, image, place, nullptr};
  }

  Target find_in_images(const char* name, uint32_t skipped) const {
    for (const uint32_t i : scope_) {
      if (i == skipped) continue;
      if (const Elf64_Sym* symbol = set_.images[i]->file.find(name))
        return {Target::Kind::kInImage, i, symbol->st_value, symbol};
    }
    return {};
  }

  Target find_outside(const char* name, std::string_view version) const {
    const auto absolute = [](const void* address) {
      return Target{Target::Kind::kAbsolute, kNoImage, reinterpret_cast<uint64_t>(address),
                    nullptr};
    };
    if (const auto binding = bindings_.find(name); binding != bindings_.end())
      return absolute(binding->second);
    if (const Elf64_Sym* symbol = host_->find(name))
      return {Target::Kind::kAbsolute, kNoImage, host_base_ + symbol->st_value, symbol};
    void* address = nullptr;
    if (!version.empty()) address = dlvsym(RTLD_DEFAULT, name, std::string(version).c_str());
    if (address == nullptr) address = dlsym(RTLD_DEFAULT, name);
    return address == nullptr ? Target{} : absolute(address);
  }

  // Functions of Open MPI's C++ layer that read structures of its C library have replacements here,
  // in the simulator of its interface.
  bool is_replaced(const char* name) const {
    return strncmp(name, "ompi_cxx_", 9) == 0 && host_->find(name) != nullptr;
  }

  Target find(uint32_t index) {
    const Elf64_Sym& symbol = file().symbols()[index];
    const char* name = file().name_of(symbol);
    const bool is_defined = symbol.st_shndx != SHN_UNDEF;
    const bool is_own = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
                        ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT || symbolic_;
    if (is_defined && is_own) {
      if (symbol.st_shndx == SHN_ABS)
        return {Target::Kind::kAbsolute, kNoImage, symbol.st_value, nullptr};
      return {Target::Kind::kInImage, image_, symbol.st_value, &symbol};
    }
    if (is_replaced(name)) return find_outside(name, {});
    if (Target target = find_in_images(name, kNoImage); target.kind != Target::Kind::kMissing) {
      remember_binding(target.image);
      return target;
    }
    if (const Variable variable = variable_named(name); variable != Variable::kCount) {
      const VariableLocation& place = set_.variables[static_cast<size_t>(variable)];
      return {Target::Kind::kInImage, place.image, place.offset, nullptr};
    }
    const Target target = find_outside(name, file().version_of(index));
    const bool is_stream =
        std::ranges::any_of(kClonedVariables, [&](const char* n) { return strcmp(n, name) == 0; });
    if (is_stream && target.kind == Target::Kind::kAbsolute)
      return clone_of(reinterpret_cast<const void*>(target.value), name);
    return target;
  }

  void remember_binding(uint32_t image) {
    std::vector<int>& bound = set_.images[image_]->bound;
    const int index = static_cast<int>(image);
    if (std::ranges::find(bound, index) == bound.end()) bound.push_back(index);
  }

  Result<> store(uint64_t offset, uint64_t value) {
    char* place = set_.images[image_]->template_at(offset, sizeof value);
    if (place == nullptr) return refuse("a relocation lies outside its data");
    memcpy(place, &value, sizeof value);
    return {};
  }

  Result<> apply(const Relocation& relocation) {
    switch (relocation.type) {
      case R_X86_64_NONE:
        return {};
      case R_X86_64_RELATIVE:
        return add_fixup(relocation.offset, image_, static_cast<uint64_t>(relocation.addend));
      case R_X86_64_64:
        return apply_address(relocation, static_cast<uint64_t>(relocation.addend));
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
        return apply_address(relocation, 0);
      case R_X86_64_COPY:
        return apply_copy(relocation);
      case R_X86_64_IRELATIVE:
        group_.chosen.push_back(
            {image_, image_, relocation.offset, static_cast<uint64_t>(relocation.addend)});
        return {};
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
        return apply_thread_local(relocation);
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:
        return apply_thread_offset(relocation);
      default:
        return refuse("relocations of type " + std::to_string(relocation.type) +
                      " are not supported (compile with -fPIC)");
    }
  }

  Result<> add_fixup(uint64_t offset, uint32_t target_image, uint64_t addend) {
    if (set_.images[image_]->template_at(offset, sizeof(uint64_t)) == nullptr)
      return refuse("a relocation lies outside its data");
    group_.fixups.push_back({image_, target_image, offset, addend});
    return {};
  }

  Result<> apply_address(const Relocation& relocation, uint64_t addend) {
    const Target target = find(relocation.symbol);
    switch (target.kind) {
      case Target::Kind::kAbsolute:
        remember_call_slot(relocation);
        return store(relocation.offset, target.value + addend);
      case Target::Kind::kInImage:
        if (target.symbol != nullptr && ELF64_ST_TYPE(target.symbol->st_info) == STT_GNU_IFUNC) {
          group_.chosen.push_back({image_, target.image, relocation.offset, target.value});
          return {};
        }
        return add_fixup(relocation.offset, target.image, target.value + addend);
      case Target::Kind::kMissing:
        break;
    }
    const Elf64_Sym& symbol = file().symbols()[relocation.symbol];
    if (relocation.symbol == 0) return store(relocation.offset, addend);
    if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) return store(relocation.offset, 0);
    const char* name = file().name_of(symbol);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT)
      return refuse(std::string("no library defines the variable '") + name + "'");
    return store(relocation.offset, stub_for(name));
  }

  // Remembers the cache lines in which the program holds addresses of MPI functions, if they are
  // few.
  void remember_call_slot(const Relocation& relocation) {
    constexpr uint64_t kLineBytes = 64;
    constexpr size_t kMost = 4;
    const std::string_view name = file().name_of(file().symbols()[relocation.symbol]);
    const bool is_mpi = name.starts_with("MPI_") || name.starts_with("mpi_");
    if (!is_mpi || set_.call_slots.size() == kMost) return;
    const uint64_t line = relocation.offset / kLineBytes * kLineBytes;
    const bool is_known = std::ranges::any_of(set_.call_slots, [&](const VariableLocation& place) {
      return place.image == image_ && place.offset == line;
    });
    if (!is_known) set_.call_slots.push_back({image_, line});
  }

  uint64_t stub_for(const char* name) {
    auto [entry, is_new] = stubs_.try_emplace(name, 0);
    if (is_new) {
      entry->second = stub_writer_.write(name);
      set_.unresolved.emplace_back(name);
    }
    return entry->second;
  }

  static uint64_t size_of_outside(const Target& target) {
    if (target.symbol != nullptr) return target.symbol->st_size;
    Dl_info info;
    void* entry = nullptr;
    const auto* address = reinterpret_cast<const void*>(target.value);
    if (dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return 0;
    return static_cast<const Elf64_Sym*>(entry)->st_size;
  }

  // The program's own storage for a variable of a library, with its first value.
  Result<> apply_copy(const Relocation& relocation) {
    const Elf64_Sym& symbol = file().symbols()[relocation.symbol];
    const char* name = file().name_of(symbol);
    if (variable_named(name) != Variable::kCount) return {};  // filled in by load
    const Target source = find_in_images(name, image_);
    if (source.kind == Target::Kind::kInImage) {
      const uint64_t size = std::min(symbol.st_size, source.symbol->st_size);
      if (!file().is_loaded(relocation.offset, size) ||
          !set_.images[source.image]->file.is_loaded(source.value, size))
        return refuse("a copied variable lies outside its data");
      group_.copies.push_back({image_, source.image, relocation.offset, source.value, size});
      return {};
    }
    const Target outside = find_outside(name, file().version_of(relocation.symbol));
    if (outside.kind == Target::Kind::kMissing)
      return refuse(std::string("no library defines the variable '") + name + "'");
    const uint64_t size = std::min(symbol.st_size, size_of_outside(outside));
    char* place = set_.images[image_]->template_at(relocation.offset, size);
    if (place == nullptr) return refuse("a copied variable lies outside its data");
    memcpy(place, reinterpret_cast<const void*>(outside.value), size);
    return {};
  }

  Result<> apply_thread_local(const Relocation& relocation) {
    uint32_t image = image_;
    uint64_t value = 0;
    if (relocation.symbol != 0) {
      const Target target = find(relocation.symbol);
      if (target.kind != Target::Kind::kInImage)
        return refuse(std::string("it uses the thread-local variable '") +
                      file().name_of(file().symbols()[relocation.symbol]) +
                      "' of a shared library");
      image = target.image;
      value = target.value;
    }
    if (relocation.type == R_X86_64_DTPMOD64)
      return store(relocation.offset, kThreadModule | image);
    return store(relocation.offset, value + static_cast<uint64_t>(relocation.addend));
  }

  // A variable at a fixed distance from the thread pointer: in the window, or of a shared library
  // with static thread-local storage.
  Result<> apply_thread_offset(const Relocation& relocation) {
    const char* name =
        relocation.symbol == 0 ? "" : file().name_of(file().symbols()[relocation.symbol]);
    const Target target = relocation.symbol == 0
                              ? Target{Target::Kind::kInImage, image_, 0, nullptr}
                              : find(relocation.symbol);
    uint64_t distance = static_cast<uint64_t>(relocation.addend) + target.value;
    if (target.kind == Target::Kind::kInImage && set_.images[target.image]->thread_offset != 0) {
      distance -= set_.images[target.image]->thread_offset;
    } else if (target.kind == Target::Kind::kAbsolute) {
      distance -= reinterpret_cast<uint64_t>(__builtin_thread_pointer());
    } else {
      return refuse(std::string("it uses the thread-local variable '") + name +
                    "', which no library defines");
    }
    if (relocation.type == R_X86_64_TPOFF64) return store(relocation.offset, distance);
    if (Result<> stored =
            store(relocation.offset, reinterpret_cast<uint64_t>(&sesame_static_descriptor));
        !stored)
      return stored;
    return store(relocation.offset + sizeof(uint64_t), distance);
  }

  ImageSet& set_;
  const Program& program_;
  ImageGroup& group_;
  const std::vector<uint32_t>& scope_;
  uint64_t spare_used_ = 0;
  std::unique_ptr<ElfFile> host_;
  uint64_t host_base_ = 0;
  const std::unordered_map<std::string_view, void*> bindings_ = all_bindings();
  StubWriter stub_writer_;
  std::unordered_map<std::string_view, uint64_t> stubs_;
  uint32_t image_ = 0;
  bool symbolic_ = false;
};

}  // namespace

Result<> resolve(ImageSet& set, const Program& program, ImageGroup& group,
                 const std::vector<uint32_t>& scope) {
  return Resolver(set, program, group, scope).run();
}

bool is_name_of_cancel(std::string_view name) {
  // Before it "P", behind it "_" or "_f08_": as compilers and MPIs have them, in capitals or not.
  constexpr std::string_view kPart = "mpi_cancel";
  const auto found = std::ranges::search(
      name, kPart, [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  return !found.empty();
}

bool calls_cancel(const ElfFile& file) {
  if (is_fortran_layer(file.path())) return false;
  return std::ranges::any_of(file.symbols(), [&](const Elf64_Sym& symbol) {
    return symbol.st_shndx == SHN_UNDEF && is_name_of_cancel(file.name_of(symbol));
  });
}

void* find_outside_images(const char* name) {
  if (current() != nullptr && is_name_of_cancel(name)) hooks().may_cancel();
  static const auto bindings = all_bindings();
  if (const auto binding = bindings.find(name); binding != bindings.end()) return binding->second;
  return dlsym(RTLD_DEFAULT, name);
}

}  // namespace sesame::loader
