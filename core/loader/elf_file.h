// An ELF file of this machine's kind, mapped read-only: segments, dynamic section, symbols with
// their versions, relocations. Every offset, count and chain is checked once, on opening, so a
// damaged file is an Error and never a fault. The time and memory of every function are bounded by
// the file's size, whatever its tables claim. Views stay valid while the object lives, also after
// it was moved. Immutable after open(): any thread may read it. Errors name the file in their
// message; Error::path is empty.
//
// symbols(), find() and relocations() see the dynamic symbols (.dynsym) only; nearest_function()
// and full_symbols() see .symtab. Of an executable, find() therefore sees what it exports
// (-rdynamic) only.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"

namespace sesame::loader {

// A relocation of any of the file's tables: DT_RELR entries appear as R_X86_64_RELATIVE.
struct Relocation {
  uint64_t offset;  // address in the image's own numbering
  uint32_t type;    // R_X86_64_…
  uint32_t symbol;  // index in symbols(), 0 for none
  int64_t addend;
};

class ElfFile {
 public:
  static Result<ElfFile> open(const std::string& path);
  ~ElfFile();
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // stays open for mapping
  const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(data_); }
  std::span<const Elf64_Phdr> segments() const { return segments_; }
  const Elf64_Phdr* segment(uint32_t type) const;  // the first of its type, or null
  std::string interpreter() const;                 // PT_INTERP, empty when there is none

  std::optional<uint64_t> dynamic(int64_t tag) const;
  bool has_dynamic_section() const { return !dynamic_.empty(); }
  std::vector<std::string> needed() const;  // DT_NEEDED, in order
  std::string soname() const;

  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  const char* name_of(const Elf64_Sym& symbol) const { return strings_ + symbol.st_name; }
  // The version that a reference asks for; empty when it asks for none.
  std::string_view version_of(uint32_t symbol) const;
  // A global or weak definition by name; the default version where there are several.
  const Elf64_Sym* find(std::string_view name) const;
  std::span<const Relocation> relocations() const { return relocations_; }

  // Bytes of the file by address; null when [address, address + size) is not file-backed.
  const char* at(uint64_t address, uint64_t size) const;
  // Whether [address, address + size) lies within one segment in memory, zeros at its end included.
  bool is_loaded(uint64_t address, uint64_t size) const;

  // Those of .symtab; empty: the file is stripped.
  std::span<const Elf64_Sym> full_symbols() const { return full_symbols_; }
  const char* full_name_of(const Elf64_Sym& symbol) const { return full_strings_ + symbol.st_name; }

  // The function that contains the address, from .symtab or .dynsym; allocates nothing. Null when
  // the file knows none; *offset is the distance from its start.
  const char* nearest_function(uint64_t address, uint64_t* offset) const;

 private:
  ElfFile() = default;
  std::unexpected<Error> damaged(const char* what) const;
  Result<> read_tables();
  Result<> check_segments() const;
  Result<> check_loaded_segments() const;
  Result<> read_dynamic();
  Result<> check_names() const;
  Result<> check_functions() const;
  Result<> read_symbols();
  Result<> read_needed_versions();
  Result<> read_definitions();
  Result<> read_relocations();
  void read_full_symbols();
  uint32_t count_symbols() const;
  bool read_hash_table();
  bool is_definition(uint32_t symbol) const;
  bool is_default_version(uint32_t symbol) const;
  bool append_table(int64_t table_tag, int64_t size_tag);
  bool append_relative_table();

  // `count` objects by address; null when they are not file-backed or not aligned.
  template <typename T>
  const T* table_at(uint64_t address, uint64_t count) const {
    if (count > size_ / sizeof(T)) return nullptr;
    const char* bytes = at(address, count * sizeof(T));
    return reinterpret_cast<uintptr_t>(bytes) % alignof(T) == 0 ? reinterpret_cast<const T*>(bytes)
                                                                : nullptr;
  }

  std::string path_;
  int descriptor_ = -1;
  const char* data_ = nullptr;
  uint64_t size_ = 0;
  std::span<const Elf64_Phdr> segments_;
  std::span<const Elf64_Dyn> dynamic_;
  std::span<const Elf64_Sym> symbols_;
  const char* strings_ = nullptr;
  uint64_t strings_size_ = 0;
  const uint16_t* version_indices_ = nullptr;
  std::unordered_map<uint16_t, const char*> needed_versions_;
  // DT_GNU_HASH: symbols from first_hashed_ on, by bucket. Files without it have definitions_.
  std::span<const uint32_t> buckets_;
  std::span<const uint32_t> chains_;
  uint32_t first_hashed_ = 0;
  std::unordered_map<std::string_view, uint32_t> definitions_;
  std::vector<Relocation> relocations_;
  std::span<const Elf64_Sym> full_symbols_;  // .symtab, empty when stripped
  const char* full_strings_ = nullptr;
};

}  // namespace sesame::loader
