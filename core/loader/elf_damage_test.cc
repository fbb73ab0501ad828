// Damaged files: thousands of mutants of real programs and libraries, made from a seed. Each is
// refused or accepted, and whatever is asked of it then stays within memory and time. A child
// process does the work, so that a crash, an endless loop or a huge allocation is a failed test.
// By hand, for a long campaign: SESAME_MUTANTS=200000 loader_test --gtest_filter='ElfDamage.*'
#include <elf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "core/loader/elf_file.h"
#include "core/loader/prepare_images.h"
#include "core/loader/testing/probe_runner.h"

namespace sesame::loader {
namespace {

constexpr uint64_t kExtremes[] = {0,          1,          7,          0x7fffffff, 0x80000000,
                                  0xffffffff, 1ull << 40, 1ull << 46, 1ull << 63, ~0ull};

std::string content_of(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// One mutant of a file: bits, fields, or its end.
class Mutator {
 public:
  Mutator(std::string original, uint64_t seed) : original_(std::move(original)), random_(seed) {
    memcpy(&header_, original_.data(), sizeof header_);
    for (int i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr segment;
      memcpy(&segment, original_.data() + header_.e_phoff + sizeof segment * static_cast<size_t>(i),
             sizeof segment);
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
    }
  }

  std::string next() {
    std::string mutant = original_;
    for (uint64_t change = 1 + below(3); change > 0; --change) {
      switch (below(6)) {
        case 0:
          mutant.resize(std::max<size_t>(below(mutant.size()), sizeof(Elf64_Ehdr)));
          break;
        case 1:
          flip_bits(mutant, 0, mutant.size());
          break;
        case 2:
          flip_bits(mutant, 0, header_.e_phoff + header_.e_phnum * sizeof(Elf64_Phdr));
          break;
        case 3:
          put_extreme(mutant, header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr));
          break;
        case 4:  // the value of an entry of the dynamic section
          put_extreme(mutant, dynamic_.p_offset, dynamic_.p_filesz);
          break;
        default:  // hashes, symbols, versions and relocations lie near the beginning
          put_extreme(mutant, 0, std::min<size_t>(mutant.size(), 8192));
      }
    }
    return mutant;
  }

 private:
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void flip_bits(std::string& mutant, size_t begin, size_t size) {
    for (uint64_t i = 1 + below(16); i > 0; --i) {
      const size_t at = begin + below(size);
      if (at < mutant.size()) mutant[at] = static_cast<char>(mutant[at] ^ (1 << below(8)));
    }
  }

  void put_extreme(std::string& mutant, size_t begin, size_t size) {
    const size_t width = size_t{1} << below(4);
    const size_t at = begin + below(size) / width * width;
    const uint64_t value = below(3) == 0 ? below(mutant.size()) : kExtremes[below(10)];
    if (at + width <= mutant.size()) memcpy(mutant.data() + at, &value, width);
  }

  std::string original_;
  std::mt19937_64 random_;
  Elf64_Ehdr header_ = {};
  Elf64_Phdr dynamic_ = {};
};

// The program alone, with all symbols that it needs missing: resolved, and mapped once.
void load_alone(const std::string& path) {
  Program program;
  program.name = program.path = path;
  const Result<std::unique_ptr<ImageSet>> set = prepare_images(program);
  if (!set) return;
  const Image& image = *(*set)->images[0];
  if (const Result<uint64_t> base = map_image(image))
    munmap(reinterpret_cast<void*>(*base + image.begin), image.size);
}

// Makes all queries that precede the loading of a file. The result depends on every answer, so no
// query is optimized away.
uint64_t ask_everything(const std::string& path) {
  const Result<ElfFile> file = ElfFile::open(path);
  if (!file) return file.error().to_string().size();
  uint64_t sum = file->needed().size() + file->soname().size() + file->interpreter().size();
  for (uint32_t i = 0; i < file->symbols().size(); ++i) {
    const Elf64_Sym& symbol = file->symbols()[i];
    sum += symbol.st_value + file->version_of(i).size();
    if (i % 16 == 0) sum += file->find(file->name_of(symbol)) != nullptr;
  }
  uint64_t offset = 0;
  sum += file->nearest_function(file->header().e_entry, &offset) != nullptr;
  const std::vector<ImageMapping> mappings = plan_mappings(*file, find_writable_segments(*file));
  for (const ImageMapping& mapping : mappings) sum += mapping.size;
  return sum;
}

constexpr rlim_t kMostMemory = rlim_t{4} << 30;  // address space in which a small file is loaded
constexpr rlim_t kMostSeconds = 600;             // of processor time: a guard against endless loops

void expect_survival(const std::function<void()>& work) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
#ifndef __SANITIZE_ADDRESS__
    const rlimit memory = {kMostMemory, kMostMemory};
    setrlimit(RLIMIT_AS, &memory);
#endif
    const rlimit seconds = {kMostSeconds, kMostSeconds};
    setrlimit(RLIMIT_CPU, &seconds);
    work();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Loading reads the test program's own symbols, which takes far longer than the mutant's.
constexpr uint64_t kLoadedEach = 8;

uint64_t mutants_of_each() {
  const char* wanted = getenv("SESAME_MUTANTS");
  return wanted == nullptr ? 700 : strtoull(wanted, nullptr, 10);
}

void survive_mutants(const std::string& original) {
  const std::string content = content_of(original);
  ASSERT_GT(content.size(), sizeof(Elf64_Ehdr)) << original;
  const int descriptor = memfd_create("mutant", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const uint64_t seed = std::hash<std::string>()(original.substr(original.rfind('/') + 1));
  expect_survival([&] {
    Mutator mutator(content, seed);
    for (uint64_t i = 0; i < mutants_of_each(); ++i) {
      const std::string mutant = mutator.next();
      if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, mutant.data(), mutant.size(), 0) !=
                                               static_cast<ssize_t>(mutant.size()))
        _exit(1);
      ask_everything(path);
      if (i % kLoadedEach == 0) load_alone(path);
    }
  });
  if (testing::Test::HasFailure()) {
    std::ofstream("/tmp/elf-damage", std::ios::binary) << content_of(path);
    printf("the mutant of '%s' at fault is in /tmp/elf-damage\n", original.c_str());
  }
  close(descriptor);
}

TEST(ElfDamage, OfAProgramIsAnErrorOrHarmless) { survive_mutants(program_path("plain")); }

TEST(ElfDamage, OfProgramsOfMpiIsAnErrorOrHarmless) {
  REQUIRE_PROGRAMS();
  for (const char* name : {"globals_gold", "globals_packed", "classes", "fortran"})
    survive_mutants(program_path(name));
}

TEST(ElfDamage, OfALibraryIsAnErrorOrHarmless) {
  REQUIRE_PROGRAMS();
  survive_mutants(program_path("liblibrary.so"));
}

// A small program with one word changed: the value of a tag of the dynamic section.
Result<> open_with_tag(int64_t tag, uint64_t value) {
  std::string content = content_of(program_path("plain"));
  const Result<ElfFile> original = ElfFile::open(program_path("plain"));
  const Elf64_Phdr* segment = original->segment(PT_DYNAMIC);
  for (uint64_t at = segment->p_offset; at < segment->p_offset + segment->p_filesz;
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, content.data() + at, sizeof entry);
    if (entry.d_tag != tag) continue;
    entry.d_un.d_val = value;
    memcpy(content.data() + at, &entry, sizeof entry);
  }
  char path[] = "/tmp/elf-damage-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << content;
  const Result<ElfFile> file = ElfFile::open(path);
  unlink(path);
  if (!file) return std::unexpected(file.error());
  return {};
}

TEST(ElfDamage, InTheNumberOfNeededVersionsChangesNothing) {
  expect_survival([] {  // the dynamic loader does not read it either
    if (!open_with_tag(DT_VERNEEDNUM, uint64_t{1} << 40)) _exit(1);
  });
}

TEST(ElfDamage, IsNamed) {
  const struct {
    int64_t tag;
    const char* words;
  } cases[] = {{DT_VERNEED, "a needed version lies outside the file"},
               {DT_STRTAB, "its string table lies outside the file"},
               {DT_SYMTAB, "its symbol table lies outside the file"},
               {DT_RELA, "its relocations lie outside the file"},
               {DT_INIT_ARRAY, "constructors or destructors is not loaded"},
               {DT_NEEDED, "the name of a library lies outside its string table"}};
  for (const auto& [tag, words] : cases) {
    const Result<> opened = open_with_tag(tag, uint64_t{1} << 40);
    ASSERT_FALSE(opened) << words;
    EXPECT_NE(opened.error().to_string().find(words), std::string::npos)
        << opened.error().to_string();
  }
}

}  // namespace
}  // namespace sesame::loader
