// The program and its private libraries, prepared so that a copy for each rank can be mapped
// cheaply. Internal to the loader; built and used by the simulator thread.
//
// An image is one ELF file. Its read-only pages are mapped from the file and shared by all ranks.
// Its data pages are mapped copy-on-write from a template: a memfd with the initial data.
// Relocations with the same value for all ranks (absolute addresses of the simulator, of shared
// libraries, of stubs) are applied to the template once. Relocations that depend on the addresses
// of a rank's copy are kept as a list of fix-ups, which copy_group() applies for each rank. So a
// rank takes memory only for the pages that its fix-ups and its own writes touch.
//
// A COPY relocation gives the program its own storage for a variable of a library. Three cases:
// - A variable of the C library that each rank has for itself (enum Variable) uses that storage.
// - A variable of a private library is copied from the rank's copy of the library after the fix-ups
//   (CopyFixup).
// - A variable of a shared library is copied into the template.
// C++ streams (std::cout, …) of a shared libstdc++ are cloned bitwise for each rank (Clone),
// because their state is the process's.
//
// Thread-local variables: code addresses those of the program at fixed distances below the thread
// pointer, so they are placed in a window there (thread_block.h); Image::thread_offset is that
// distance. Those of private libraries outside the window are allocated on first use by
// __tls_get_addr.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/loader/elf_file.h"
#include "core/loader/loader.h"
#include "core/loader/variables.h"

namespace sesame::loader {

// One mapping of a copy.
struct ImageMapping {
  enum class Source : uint8_t { kFile, kTemplate, kZero } source;
  int protection;
  uint64_t address;      // page-aligned, the image's own numbering
  uint64_t size;         // whole pages
  uint64_t file_offset;  // in the file or in the template
};

// The mappings of one copy of a file. `writable` says for each PT_LOAD whether its pages may differ
// between ranks.
std::vector<ImageMapping> plan_mappings(const ElfFile& file, const std::vector<bool>& writable);

// For each PT_LOAD in order: writable, or relocated although read-only (DT_TEXTREL).
std::vector<bool> find_writable_segments(const ElfFile& file);

// How many mappings one copy of the program and its private libraries takes.
Result<int> count_mappings(const Program& program);

struct Image {
  explicit Image(ElfFile opened) : file(std::move(opened)) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  ElfFile file;
  std::string name;  // file name, for messages
  std::vector<ImageMapping> mappings;
  uint64_t begin = 0, size = 0;  // the span of addresses
  int template_descriptor = -1;
  char* template_data = nullptr;  // all template mappings, contiguous
  uint64_t template_size = 0;
  uint64_t eh_frame_header = 0;     // address of PT_GNU_EH_FRAME, 0 when there is none
  std::vector<int> needed;          // indices of the images that it needs
  std::vector<std::string> shared;  // libraries that it needs and that all ranks share: paths
  std::vector<int> bound;      // images whose symbols it uses: a plug-in that may not be unloaded
  uint64_t thread_offset = 0;  // of its thread-local variables below the thread pointer; 0: none
  uint64_t spare = 0;          // address of kSpareBytes after its data, for clones; 0: none

  // The template's bytes for an address; null outside.
  char* template_at(uint64_t address, uint64_t bytes);
};

inline constexpr uint32_t kNoImage = ~uint32_t{0};

// *(image + offset) = base of target_image + addend
struct Fixup {
  uint32_t image;
  uint32_t target_image;  // an image, or ImageSet::block_image()
  uint64_t offset;
  uint64_t addend;
};

// An R_X86_64_COPY between private images, done after the fix-ups.
struct CopyFixup {
  uint32_t image, source_image;
  uint64_t offset, source_offset, size;
};

// A function that chooses the address (IFUNC), called when the rank starts.
struct ChosenFixup {
  uint32_t image, resolver_image;
  uint64_t offset, resolver;
};

// An object of a shared library of which each rank has a bitwise copy (std::cout): in its block, or
// after the data of a plug-in.
struct Clone {
  const void* original;
  uint64_t size;
  uint32_t image;
  uint64_t offset;
};

// Files that are loaded together: the program with its private libraries, or a plug-in that a rank
// opens, with those of its libraries that the rank does not have yet.
struct ImageGroup {
  uint32_t begin = 0, end = 0;  // images [begin, end); the first is the program or the plug-in
  std::vector<Fixup> fixups;
  std::vector<CopyFixup> copies;
  std::vector<ChosenFixup> chosen;
  std::vector<Clone> clones;
  std::vector<uint32_t> start_order;  // images, dependencies first, the first image last
  bool may_cancel = false;            // one of them refers to MPI_Cancel
};

// The location of a variable: an offset in an image (or in the block).
struct VariableLocation {
  uint32_t image = kNoImage;
  uint64_t offset = 0;
};

inline constexpr uint64_t kSpareBytes = 4096;

Result<std::unique_ptr<Image>> open_image(const std::string& path, bool with_spare = false);

// Sets, for each image of the group, the images that it needs, and the group's start order.
// `index_of` has all of them by name.
void connect(ImageSet& set, ImageGroup& group, const std::map<std::string, uint32_t>& index_of);

// Opens those of `libraries` that all ranks share, for the file `name`.
Result<> open_shared_libraries(const std::string& name, const std::vector<Library>& libraries);

class ImageSet {
 public:
  // The program; its private libraries, breadth first; a null entry, whose index stands for the
  // rank's block; plug-ins, in the order in which they were first opened. Only grows.
  std::vector<std::unique_ptr<Image>> images;
  ImageGroup program;
  // By the file and the images that determine how its symbols are bound (plugins.cc, state_key()).
  std::map<std::string, std::unique_ptr<ImageGroup>> plugins;
  std::array<VariableLocation, kVariableCount> variables;
  uint64_t block_size = 0;
  bool executable_stack = false;
  bool thread_blocks = false;  // whether each rank has a thread pointer of its own
  uint64_t thread_window_used = 0;
  std::vector<VariableLocation> call_slots;  // cache lines with addresses of MPI functions
  std::vector<std::string> unresolved;       // symbols that abort the rank when called

  uint32_t block_image() const { return program.end; }
};

// Whether `file`, the program or one of its private libraries, requires that each rank has a thread
// pointer of its own.
bool needs_thread_block(const Program& program, const ElfFile& file);

// Allocates space in the window below the thread pointer for images with thread-local variables, if
// any of them requires it or the program's threads keep state there (OpenMP). An Error when it is
// full.
Result<> place_thread_variables(ImageSet& set, const Program& program);
Result<> place_in_window(ImageSet& set, Image& image);

// Maps a copy of an image at a free address; returns the difference to the image's own addresses.
Result<uint64_t> map_image(const Image& image);

}  // namespace sesame::loader
