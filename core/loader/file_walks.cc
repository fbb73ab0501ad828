// ftw() and nftw() on simulated file systems. The C library's own functions would see the host's
// files. A stat is charged for each name, an open for each directory.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {

extern "C" int rank_chdir(const char* path);

namespace {

using OldVisitor = int (*)(const char*, const struct stat*, int);
using Visitor = int (*)(const char*, const struct stat*, int, FTW*);

// Functions return what a visitor returns: FTW_CONTINUE, which is 0, or the value that ends the
// walk.
class Walk {
 public:
  Walk(int flags, Visitor visitor) : flags_(flags), visitor_(visitor) {}
  Walk(int flags, OldVisitor visitor) : flags_(flags), old_visitor_(visitor) {}

  int run(const char* root) {
    std::string path = root;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const size_t slash = path.rfind('/');
    const int outcome = visit(path, slash == std::string::npos ? 0 : slash + 1, 0);
    if ((flags_ & FTW_CHDIR) != 0) rank_chdir(start_.c_str());
    return acts(outcome, FTW_SKIP_SIBLINGS) ? FTW_CONTINUE : outcome;
  }

 private:
  int visit(const std::string& path, size_t base, int level) {
    struct stat status {};
    const int kind = look(path, &status);
    if (level == 0) {
      if (kind == FTW_NS) return -1;
      device_ = status.st_dev;
    }
    if ((flags_ & FTW_MOUNT) != 0 && status.st_dev != device_) return FTW_CONTINUE;
    if (kind != FTW_D) return call_visitor(path, status, kind, base, level);
    const bool is_followed = (flags_ & FTW_PHYS) == 0;
    if (is_followed && !seen_.emplace(status.st_dev, status.st_ino).second) return FTW_CONTINUE;
    return visit_directory(path, status, base, level);
  }

  int visit_directory(const std::string& path, const struct stat& status, size_t base, int level) {
    const bool is_last = (flags_ & FTW_DEPTH) != 0;
    std::vector<std::string> names;
    if (!read_names(path, &names)) return call_visitor(path, status, FTW_DNR, base, level);
    if (!is_last) {
      const int outcome = call_visitor(path, status, FTW_D, base, level);
      if (acts(outcome, FTW_SKIP_SUBTREE)) return FTW_CONTINUE;
      if (outcome != FTW_CONTINUE) return outcome;
    }
    const std::string front = path == "/" ? path : path + "/";
    for (const std::string& name : names) {
      const int outcome = visit(front + name, front.size(), level + 1);
      if (acts(outcome, FTW_SKIP_SIBLINGS)) break;
      if (outcome != FTW_CONTINUE) return outcome;
    }
    return is_last
               ? call_visitor(path, status, old_visitor_ != nullptr ? FTW_D : FTW_DP, base, level)
               : FTW_CONTINUE;
  }

  // The kind of file of this name.
  int look(const std::string& path, struct stat* status) const {
    const std::string whole = absolute(path);
    const auto ask = [&](int flags) {
      return stat_path("nftw", AT_FDCWD, whole.c_str(), status, flags) == 0;
    };
    if ((flags_ & FTW_PHYS) == 0 && ask(0)) return kind_of(*status);
    if (!ask(AT_SYMLINK_NOFOLLOW)) return FTW_NS;
    if (!S_ISLNK(status->st_mode)) return kind_of(*status);
    return (flags_ & FTW_PHYS) != 0 ? FTW_SL : old_visitor_ != nullptr ? FTW_NS : FTW_SLN;
  }
  static int kind_of(const struct stat& status) { return S_ISDIR(status.st_mode) ? FTW_D : FTW_F; }

  // While the walk changes directories, names are still relative to where it began.
  std::string absolute(const std::string& path) const {
    return path[0] == '/' ? path : start_ + "/" + path;
  }

  bool read_names(const std::string& path, std::vector<std::string>* names) const {
    const std::string whole = absolute(path);
    const int fd = open_path("opendir", AT_FDCWD, whole.c_str(), O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return false;
    if (const OpenFile* open = open_file(fd)) {
      const HostScope host;
      *names = mounts().list(open->path());
    } else {  // a link has led to the host's files
      const HostScope host;
      std::error_code problem;
      const std::string opened = "/proc/self/fd/" + std::to_string(fd);  // links are simulated
      for (const auto& entry : std::filesystem::directory_iterator(opened, problem))
        names->push_back(entry.path().filename());
    }
    if (open_file(fd) != nullptr) {
      close_descriptor(fd);
    } else {
      REAL(close)(fd);
    }
    return true;
  }

  int call_visitor(const std::string& path, const struct stat& status, int kind, size_t base,
                   int level) {
    if (old_visitor_ != nullptr) return old_visitor_(path.c_str(), &status, kind);
    if ((flags_ & FTW_CHDIR) != 0) {
      // As in the C library: for a directory that is reported after its contents, the working
      // directory is that directory itself, else the one that contains the file.
      std::string directory = absolute(path);
      if (kind != FTW_DP) directory.resize(std::max<size_t>(directory.rfind('/'), 1));
      if (rank_chdir(directory.c_str()) != 0) return -1;
    }
    FTW where{static_cast<int>(base), level};
    return visitor_(path.c_str(), &status, kind, &where);
  }

  bool acts(int outcome, int action) const {
    return (flags_ & FTW_ACTIONRETVAL) != 0 && outcome == action;
  }

  int flags_;
  Visitor visitor_ = nullptr;
  OldVisitor old_visitor_ = nullptr;
  dev_t device_ = 0;
  const std::string start_ = working_directory(*current());
  std::set<std::pair<dev_t, ino_t>> seen_;  // directories, where links are followed
};

bool is_simulated(const char* path, bool follows_last) {
  return resolve(AT_FDCWD, path, follows_last).is_simulated();
}

// Whether the C library would not find the files: those on simulated file systems, those to which
// a link there leads, and those named relative to a directory there.
bool needs_walk(const char* root) {
  return is_simulated(root, false) || is_simulated(root, true) ||
         (root[0] != '/' && is_simulated(".", true));
}

}  // namespace

extern "C" {

int rank_ftw(const char* root, OldVisitor visitor, int descriptors) {
  if (!SERVES_RANK() || !needs_walk(root)) return REAL(ftw)(root, visitor, descriptors);
  return Walk(0, visitor).run(root);
}

int rank_nftw(const char* root, Visitor visitor, int descriptors, int flags) {
  if (!SERVES_RANK() || !needs_walk(root)) return REAL(nftw)(root, visitor, descriptors, flags);
  return Walk(flags, visitor).run(root);
}

}  // extern "C"

void bind_file_walks(BindingTable& table) {
  BIND(table, ftw);
  BIND_AS(table, "ftw64", ftw);
  BIND(table, nftw);
  BIND_AS(table, "nftw64", nftw);
}

}  // namespace sesame::loader
