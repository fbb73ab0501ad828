#include "core/loader/plugins.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/loader/closure.h"
#include "core/loader/exit.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/real.h"
#include "core/loader/resolve.h"
#include "core/loader/shared_libraries.h"
#include "core/loader/threads.h"

namespace sesame::loader {
namespace {

// Excludes the loader's time from the program's computation: in a real process it is far shorter.
class HostTime {
 public:
  HostTime() { hooks().now_ps(); }
  ~HostTime() { hooks().skip_host_time(); }
};

// Marks libraries opened while it exists as opened by the loader.
class OpenByLoader {
 public:
  OpenByLoader() { count_shared_libraries(OpenedBy::kSharedLibrary); }
  ~OpenByLoader() { count_shared_libraries(OpenedBy::kLoader); }
};

// Messages as in the C library.
std::unexpected<Error> cannot_open(const std::string& name, int reason) {
  return error(name + ": cannot open shared object file: " + strerror(reason));
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const Image* image_at(const RankProcess& process, uint32_t index) {
  return index < process.bases.size() && process.bases[index] != 0
             ? process.images->images[index].get()
             : nullptr;
}

std::string interpreter_of(const RankProcess& process) {
  return process.images->images[0]->file.interpreter();
}

// The rank's image of a library, by the requested name or by its file.
uint32_t find_loaded(const RankProcess& process, const std::string& name,
                     const std::string& path = {}) {
  struct stat wanted, found;
  const bool has_file = !path.empty() && REAL(stat)(path.c_str(), &wanted) == 0;
  for (uint32_t i = 0; i < process.bases.size(); ++i) {
    const Image* image = image_at(process, i);
    if (image == nullptr) continue;
    if (i != 0 && (image->file.soname() == name || image->name == name)) return i;
    if (has_file && REAL(fstat)(image->file.descriptor(), &found) == 0 &&
        found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino)
      return i;
  }
  return kNoImage;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// Where the dynamic loader finds a name for the image that asks: its run paths, LD_LIBRARY_PATH,
// the cache, the usual directories. A name with a slash is a path.
Result<std::string> locate(const RankProcess& process, std::string name, uint32_t caller) {
  const ElfFile& file = process.images->images[caller]->file;
  if (name.find('/') != std::string::npos) {
    const std::string origin = file.path().substr(0, file.path().rfind('/'));
    replace_all(name, "$ORIGIN", origin);
    replace_all(name, "${ORIGIN}", origin);
    if (REAL(access)(name.c_str(), R_OK) != 0) return cannot_open(name, errno);
    char* real = REAL(realpath)(name.c_str(), nullptr);
    const std::string path = real == nullptr ? name : real;
    free(real);
    return path;
  }
  static std::map<std::pair<const ElfFile*, std::string>, std::string> known;
  std::string& path = known[{&file, name}];
  if (!path.empty()) return path;
  const HostScope host;
  const auto listed = list_libraries(file, interpreter_of(process), name);
  if (!listed) return std::unexpected(listed.error());
  for (const auto& [asked, found] : *listed)
    if (asked == name && !found.empty()) path = found;
  if (path.empty()) return cannot_open(name, ENOENT);
  return path;
}

// The key of a plug-in's group: the file, and the images that the rank has loaded, which together
// determine how its symbols are bound.
std::string state_key(const RankProcess& process, const std::string& path, int flags) {
  struct stat status = {};
  REAL(stat)(path.c_str(), &status);
  std::string key = path;
  for (const int64_t part :
       {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino),
        static_cast<int64_t>(status.st_size), static_cast<int64_t>(status.st_mtim.tv_sec),
        static_cast<int64_t>(status.st_mtim.tv_nsec), int64_t{flags & RTLD_DEEPBIND}})
    key += "|" + std::to_string(part);
  for (uint32_t i = process.images->program.end; i < process.bases.size(); ++i)
    if (image_at(process, i) != nullptr) key += "|" + std::to_string(i);
  for (const uint32_t image : global_scope(process)) key += "," + std::to_string(image);
  return key;
}

bool is_open_for_all(const std::string& path) {
  void* handle = REAL(dlopen)(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle != nullptr) REAL(dlclose)(handle);
  return handle != nullptr;
}

// Opens the images of a plug-in and of those of its libraries that the rank needs for itself.
class GroupBuilder {
 public:
  GroupBuilder(RankProcess& process, const std::string& path, int flags)
      : process_(process), set_(*process.images), path_(path), flags_(flags) {}

  Result<ImageGroup> build() {
    group_.begin = static_cast<uint32_t>(set_.images.size());
    const uint64_t window_used = set_.thread_window_used;
    Result<> built = open_all();
    if (built) {
      group_.end = static_cast<uint32_t>(set_.images.size());
      connect(set_, group_, index_of_);
      built = place_and_resolve();
    }
    if (!built) {
      set_.images.resize(group_.begin);
      set_.thread_window_used = window_used;
      return std::unexpected(built.error());
    }
    return std::move(group_);
  }

 private:
  Result<> open_image_of(const std::string& path) {
    Result<std::unique_ptr<Image>> image = open_image(path, set_.images.size() == group_.begin);
    if (!image) return std::unexpected(image.error());
    set_.images.push_back(std::move(*image));
    return {};
  }

  Result<> open_all() {
    if (Result<> opened = open_image_of(path_); !opened) return opened;
    const ElfFile& file = set_.images.back()->file;
    if (file.header().e_type != ET_DYN || !file.interpreter().empty())
      return error(path_ + ": cannot dynamically load executable");
    auto closure = find_closure(file, interpreter_of(process_), process_.program->private_patterns);
    if (!closure) return std::unexpected(closure.error());
    if (auto same = check_same_mpi(*closure, path_, process_.program->interface); !same)
      return same;
    if (!closure->missing.empty()) return cannot_open(closure->missing.front(), ENOENT);
    std::vector<Library> shared;
    for (const Library& library : closure->libraries) {
      if (const uint32_t loaded = find_loaded(process_, library.name, library.path);
          loaded != kNoImage) {
        index_of_[library.name] = loaded;
      } else if (library.is_private && !is_open_for_all(library.path)) {
        index_of_[library.name] = static_cast<uint32_t>(set_.images.size());
        if (Result<> opened = open_image_of(library.path); !opened) return opened;
      } else {
        shared.push_back({library.name, library.path, false});
      }
    }
    for (uint32_t i = group_.begin; i < set_.images.size(); ++i)
      for (const Library& library : shared)
        if (const auto needed = set_.images[i]->file.needed();
            std::ranges::find(needed, library.name) != needed.end())
          set_.images[i]->shared.push_back(library.path);
    const OpenByLoader own;
    return open_shared_libraries(path_, shared);
  }

  Result<> place_and_resolve() {
    for (uint32_t i = group_.begin; i < group_.end; ++i) {
      Result<> placed = place_in_window(set_, *set_.images[i]);
      if (!placed) return placed;
    }
    std::vector<uint32_t> scope = global_scope(process_);
    const std::vector<uint32_t> local = reach(set_, group_.begin);
    scope.insert((flags_ & RTLD_DEEPBIND) != 0 ? scope.begin() : scope.end(), local.begin(),
                 local.end());
    return resolve(set_, *process_.program, group_, scope);
  }

 public:
  // The image and what it needs, breadth first.
  static std::vector<uint32_t> reach(const ImageSet& set, uint32_t first) {
    std::vector<uint32_t> order = {first};
    for (size_t i = 0; i < order.size(); ++i)
      for (const int next : set.images[order[i]]->needed)
        if (std::ranges::find(order, static_cast<uint32_t>(next)) == order.end())
          order.push_back(static_cast<uint32_t>(next));
    return order;
  }

 private:
  RankProcess& process_;
  ImageSet& set_;
  const std::string path_;
  const int flags_;
  ImageGroup group_;
  std::map<std::string, uint32_t> index_of_;
};

Result<const ImageGroup*> group_for(RankProcess& process, const std::string& path, int flags) {
  auto& known = process.images->plugins;
  const std::string key = state_key(process, path, flags);
  if (const auto entry = known.find(key); entry != known.end()) return entry->second.get();
  const HostScope host;
  Result<ImageGroup> group = GroupBuilder(process, path, flags).build();
  if (!group) return std::unexpected(group.error());
  return (known[key] = std::make_unique<ImageGroup>(std::move(*group))).get();
}

OpenLibrary& handle_for(RankProcess& process, uint32_t image, int flags) {
  Plugins& plugins = plugins_of(process);
  auto entry = std::ranges::find(plugins.opened, image, [](const auto& o) { return o->image; });
  if (entry == plugins.opened.end()) {
    plugins.opened.push_back(std::make_unique<OpenLibrary>());
    entry = plugins.opened.end() - 1;
    (*entry)->image = image;
  }
  OpenLibrary& library = **entry;
  ++library.count;
  library.global |= (flags & RTLD_GLOBAL) != 0;
  library.stays |= (flags & RTLD_NODELETE) != 0;
  return library;
}

// Images still referred to by a handle, by DT_NEEDED, or by a symbol that is used.
std::vector<bool> images_in_use(const RankProcess& process) {
  std::vector<bool> used(process.images->images.size());
  std::vector<uint32_t> queue;
  const auto add = [&](uint32_t image) {
    if (image < used.size() && !used[image]) queue.push_back(image);
  };
  for (const auto& library : process.plugins->opened)
    if (library->count > 0 || library->stays) add(library->image);
  for (const ExitHandler& handler : process.thread_exit_handlers) {
    const CopyLocation place = find_copy(handler.library);
    for (uint32_t i = 0; i < process.bases.size(); ++i)
      if (place.image != nullptr && image_at(process, i) == place.image) add(i);
  }
  while (!queue.empty()) {
    const uint32_t image = queue.back();
    queue.pop_back();
    if (used[image] || process.images->images[image] == nullptr) continue;
    used[image] = true;
    for (const int next : process.images->images[image]->needed) add(static_cast<uint32_t>(next));
    for (const int next : process.images->images[image]->bound) add(static_cast<uint32_t>(next));
  }
  return used;
}

// Finalizers of an image run before those of the images that it needs; otherwise the image loaded
// first ends first, as with the C library.
std::vector<uint32_t> end_order(const ImageSet& set, const std::vector<uint32_t>& loaded) {
  std::vector<bool> waits(set.images.size());
  for (const uint32_t image : loaded) waits[image] = true;
  std::vector<uint32_t> order;
  const auto visit = [&](const auto& self, uint32_t image) {
    if (!waits[image]) return;
    waits[image] = false;
    for (const int next : set.images[image]->needed) self(self, static_cast<uint32_t>(next));
    order.push_back(image);
  };
  for (size_t i = loaded.size(); i-- > 0;) visit(visit, loaded[i]);
  std::ranges::reverse(order);
  return order;
}

}  // namespace

Plugins& plugins_of(RankProcess& process) {
  if (process.plugins == nullptr) process.plugins = std::make_unique<Plugins>();
  return *process.plugins;
}

namespace {

// A handle, and the group of a plug-in that is mapped but not initialized yet; null: none.
struct OpenedPlugin {
  void* handle = nullptr;
  const ImageGroup* group = nullptr;
};

Result<OpenedPlugin> find_or_map(RankProcess& process, const char* name, int flags,
                                 uint32_t caller) {
  const HostTime time;
  uint32_t image = find_loaded(process, name);
  std::string path;
  if (image == kNoImage) {
    Result<std::string> located = locate(process, name, caller);
    if (!located) return std::unexpected(located.error());
    path = *located;
    image = find_loaded(process, base_name(name), path);
  }
  if (image == 0) return error(std::string(name) + ": cannot dynamically load executable");
  if (image != kNoImage) return OpenedPlugin{&handle_for(process, image, flags)};
  if (is_always_shared(base_name(path)) || is_open_for_all(path)) {
    const OpenByLoader own;
    return OpenedPlugin{REAL(dlopen)(path.c_str(), flags)};
  }
  if ((flags & RTLD_NOLOAD) != 0) return OpenedPlugin{};
  const Result<const ImageGroup*> group = group_for(process, path, flags);
  if (!group) return std::unexpected(group.error());
  if (Result<> copied = copy_group(process, **group); !copied)
    return std::unexpected(copied.error());
  if (process.thread_block != nullptr)
    for (uint32_t i = (*group)->begin; i < (*group)->end; ++i)
      fill_thread_window(process, i, process.thread_block->pointer());
  if ((*group)->may_cancel) hooks().may_cancel();
  Plugins& plugins = plugins_of(process);
  for (uint32_t i = (*group)->begin; i < (*group)->end; ++i) plugins.loaded.push_back(i);
  return OpenedPlugin{&handle_for(process, (*group)->begin, flags), *group};
}

}  // namespace

Result<void*> open_plugin(RankProcess& process, const char* name, int flags, uint32_t caller) {
  const Result<OpenedPlugin> opened = find_or_map(process, name, flags, caller);
  if (!opened) return std::unexpected(opened.error());
  if (opened->group != nullptr) run_initializers(process, *opened->group, true);
  return opened->handle;
}

OpenLibrary* opened_library(const RankProcess& process, const void* handle) {
  if (process.plugins == nullptr) return nullptr;
  for (const auto& library : process.plugins->opened)
    if (library.get() == handle) return library.get();
  return nullptr;
}

void close_plugin(RankProcess& process, OpenLibrary& library) {
  if (library.count == 0 || --library.count > 0) return;
  library.global = false;
  const std::vector<bool> used = images_in_use(process);
  std::vector<uint32_t>& loaded = process.plugins->loaded;
  std::vector<uint32_t> ended;
  for (const uint32_t image : loaded)
    if (!used[image]) ended.push_back(image);
  std::erase_if(loaded, [&](uint32_t image) { return !used[image]; });
  ended = end_order(*process.images, ended);
  for (const uint32_t image : ended) run_finalizer(process, image);
  for (const uint32_t image : ended) {
    remove_copy(process, image);
    if (image < process.thread_storage.size()) process.thread_storage[image].reset();
  }
}

std::vector<uint32_t> global_scope(const RankProcess& process) {
  std::vector<uint32_t> scope;
  for (uint32_t i = 0; i < process.images->program.end; ++i) scope.push_back(i);
  if (process.plugins == nullptr) return scope;
  for (const auto& library : process.plugins->opened) {
    if (!library->global || library->count == 0) continue;
    for (const uint32_t image : scope_of(process, library->image))
      if (std::ranges::find(scope, image) == scope.end()) scope.push_back(image);
  }
  return scope;
}

std::vector<uint32_t> scope_of(const RankProcess& process, uint32_t image) {
  return GroupBuilder::reach(*process.images, image);
}

void run_plugin_finalizers(RankProcess& process) {
  if (process.plugins == nullptr) return;
  const std::vector<uint32_t> loaded = std::exchange(process.plugins->loaded, {});
  for (const uint32_t image : end_order(*process.images, loaded)) run_finalizer(process, image);
}

}  // namespace sesame::loader
