#include "core/loader/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sesame::loader {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 46;          // half of the address space
constexpr uint64_t kMostThreadLocal = uint64_t{1} << 31;  // 32-bit offsets from the thread pointer

}  // namespace

std::unexpected<Error> ElfFile::damaged(const char* what) const {
  return error("'" + path_ + "' is a damaged ELF file: " + what);
}

Result<ElfFile> ElfFile::open(const std::string& path) {
  ElfFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) return error("cannot read '" + path + "': " + strerror(errno));
  struct stat status;
  if (fstat(file.descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    return error("'" + path + "' is not a file");
  file.size_ = static_cast<uint64_t>(status.st_size);
  if (file.size_ < sizeof(Elf64_Ehdr)) return error("'" + path + "' is not an ELF executable");
  void* data = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) return error("cannot map '" + path + "': " + strerror(errno));
  file.data_ = static_cast<const char*>(data);
  if (memcmp(file.data_, ELFMAG, SELFMAG) != 0)
    return error("'" + path + "' is not an ELF executable");
  if (file.data_[EI_CLASS] != ELFCLASS64)
    return error("'" + path + "' is a 32-bit program, expected 64-bit x86-64",
                 "rebuild it for x86-64");
  if (file.data_[EI_DATA] != ELFDATA2LSB || file.header().e_machine != EM_X86_64)
    return error("'" + path + "' is built for another processor, expected x86-64",
                 "rebuild it for x86-64");
  if (Result<> tables = file.read_tables(); !tables) return std::unexpected(tables.error());
  return file;
}

ElfFile::~ElfFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  if (descriptor_ >= 0) close(descriptor_);
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      segments_(other.segments_),
      dynamic_(other.dynamic_),
      symbols_(other.symbols_),
      strings_(other.strings_),
      strings_size_(other.strings_size_),
      version_indices_(other.version_indices_),
      needed_versions_(std::move(other.needed_versions_)),
      buckets_(other.buckets_),
      chains_(other.chains_),
      first_hashed_(other.first_hashed_),
      definitions_(std::move(other.definitions_)),
      relocations_(std::move(other.relocations_)),
      full_symbols_(other.full_symbols_),
      full_strings_(other.full_strings_) {}

const char* ElfFile::at(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    if (offset < segment.p_filesz && size <= segment.p_filesz - offset)
      return data_ + segment.p_offset + offset;
  }
  return nullptr;
}

bool ElfFile::is_loaded(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    if (offset <= segment.p_memsz && size <= segment.p_memsz - offset) return true;
  }
  return false;
}

const Elf64_Phdr* ElfFile::segment(uint32_t type) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == type) return &segment;
  return nullptr;
}

std::string ElfFile::interpreter() const {
  const Elf64_Phdr* segment = this->segment(PT_INTERP);
  if (segment == nullptr || segment->p_filesz == 0) return {};
  return std::string(data_ + segment->p_offset,
                     strnlen(data_ + segment->p_offset, segment->p_filesz));
}

Result<> ElfFile::read_tables() {
  const Elf64_Ehdr& header = this->header();
  // The kernel's limit: a page of the largest kind (fs/binfmt_elf.c).
  constexpr size_t kMostSegments = 65536 / sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > size_ ||
      header.e_phoff % alignof(Elf64_Phdr) != 0 || header.e_phnum > kMostSegments ||
      header.e_phnum > (size_ - header.e_phoff) / sizeof(Elf64_Phdr))
    return damaged("its program headers lie outside the file");
  segments_ = {reinterpret_cast<const Elf64_Phdr*>(data_ + header.e_phoff), header.e_phnum};
  if (Result<> result = check_segments(); !result) return result;
  if (Result<> result = read_dynamic(); !result) return result;
  read_full_symbols();
  if (dynamic_.empty()) return check_functions();
  for (const auto read : {&ElfFile::read_relocations, &ElfFile::read_symbols,
                          &ElfFile::read_needed_versions, &ElfFile::read_definitions})
    if (Result<> result = (this->*read)(); !result) return result;
  if (Result<> result = check_names(); !result) return result;
  return check_functions();
}

Result<> ElfFile::check_segments() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_filesz > size_ || segment.p_offset > size_ - segment.p_filesz)
      return damaged("a segment lies outside the file");
    if (segment.p_type == PT_LOAD || segment.p_type == PT_TLS) {
      if (segment.p_vaddr > kLargest || segment.p_memsz > kLargest ||
          segment.p_filesz > segment.p_memsz)
        return damaged("a segment has an impossible size");
      if ((segment.p_align & (segment.p_align - 1)) != 0)
        return damaged("the alignment of a segment is not a power of two");
    }
  }
  if (Result<> checked = check_loaded_segments(); !checked) return checked;
  const Elf64_Phdr* local = segment(PT_TLS);
  if (local == nullptr) return {};
  if (local->p_memsz > kMostThreadLocal || local->p_align > kMostThreadLocal)
    return damaged("its thread-local segment has an impossible size");
  if (local->p_filesz != 0 && at(local->p_vaddr, local->p_filesz) == nullptr)
    return damaged("its thread-local segment is not part of what is loaded");
  return {};
}

// "Loadable segment entries in the program header table appear in ascending order" (the System V
// ABI, chapter 5); none may lie over another.
Result<> ElfFile::check_loaded_segments() const {
  constexpr uint64_t kPage = 4096;
  uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_vaddr % kPage != segment.p_offset % kPage)
      return damaged("a segment lies at different places of a page in file and memory");
    if (segment.p_vaddr < end) return damaged("its segments overlap or are out of order");
    end = segment.p_vaddr + segment.p_memsz;
  }
  return {};
}

Result<> ElfFile::read_dynamic() {
  const Elf64_Phdr* segment = this->segment(PT_DYNAMIC);
  if (segment == nullptr) return {};
  if (segment->p_offset % alignof(Elf64_Dyn) != 0)
    return damaged("its dynamic section is not aligned");
  const auto* entries = reinterpret_cast<const Elf64_Dyn*>(data_ + segment->p_offset);
  size_t count = 0;
  while (count < segment->p_filesz / sizeof(Elf64_Dyn) && entries[count].d_tag != DT_NULL) ++count;
  dynamic_ = {entries, count};
  return {};
}

// What is called before and after main lies inside the program.
Result<> ElfFile::check_functions() const {
  constexpr std::pair<int64_t, int64_t> kArrays[] = {{DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ},
                                                     {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                                     {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& [table, size] : kArrays)
    if (dynamic(table) && dynamic(size) && !is_loaded(*dynamic(table), *dynamic(size)))
      return damaged("the table of its constructors or destructors is not loaded");
  for (const int64_t tag : {DT_INIT, DT_FINI})
    if (dynamic(tag) && !is_loaded(*dynamic(tag), 1))
      return damaged("its first or last function is not loaded");
  if (header().e_entry != 0 && !is_loaded(header().e_entry, 1))
    return damaged("its entry point is not loaded");
  return {};
}

std::optional<uint64_t> ElfFile::dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == tag) return entry.d_un.d_val;
  return std::nullopt;
}

std::vector<std::string> ElfFile::needed() const {
  std::vector<std::string> names;
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings_size_)
      names.emplace_back(strings_ + entry.d_un.d_val);
  return names;
}

std::string ElfFile::soname() const {
  const std::optional<uint64_t> offset = dynamic(DT_SONAME);
  return offset && *offset < strings_size_ ? std::string(strings_ + *offset) : std::string();
}

std::string_view ElfFile::version_of(uint32_t symbol) const {
  if (version_indices_ == nullptr || symbol >= symbols_.size()) return {};
  const auto entry = needed_versions_.find(version_indices_[symbol] & 0x7fff);
  return entry == needed_versions_.end() ? std::string_view() : std::string_view(entry->second);
}

const Elf64_Sym* ElfFile::find(std::string_view name) const {
  if (buckets_.empty()) {
    const auto entry = definitions_.find(name);
    return entry == definitions_.end() ? nullptr : &symbols_[entry->second];
  }
  uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  const uint32_t begin = buckets_[hash % buckets_.size()];
  if (begin < first_hashed_) return nullptr;
  const Elf64_Sym* found = nullptr;
  // The lowest bit of a chain's word marks its end, the others are those of the symbol's hash.
  for (uint32_t i = begin; i - first_hashed_ < chains_.size(); ++i) {
    const uint32_t word = chains_[i - first_hashed_];
    if ((word | 1) == (hash | 1) && is_definition(i) && name == name_of(symbols_[i])) {
      if (is_default_version(i)) return &symbols_[i];
      if (found == nullptr) found = &symbols_[i];
    }
    if ((word & 1) != 0) break;
  }
  return found;
}

const char* ElfFile::nearest_function(uint64_t address, uint64_t* offset) const {
  const bool stripped = full_symbols_.empty();
  const std::span<const Elf64_Sym> symbols = stripped ? symbols_ : full_symbols_;
  const char* strings = stripped ? strings_ : full_strings_;
  for (const Elf64_Sym& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (address < symbol.st_value || address >= symbol.st_value + symbol.st_size) continue;
    *offset = address - symbol.st_value;
    return strings + symbol.st_name;
  }
  return nullptr;
}

}  // namespace sesame::loader
