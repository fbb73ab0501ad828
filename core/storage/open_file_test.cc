#include "core/storage/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCapacity = 10'000;

// During its lifetime the host refuses to write beyond this size of a file (EFBIG).
class HostFileLimit {
 public:
  explicit HostFileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~HostFileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  HostFileLimit(const HostFileLimit&) = delete;
  HostFileLimit& operator=(const HostFileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// How many descriptors the process has open.
std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

// Mounts with one file system of kCapacity bytes on /pfs.
class OpenFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/open-file-XXXXXX";
    root_ = mkdtemp(pattern);
    make(false);
  }
  void TearDown() override { fs::remove_all(root_); }

  void make(bool discard) {
    const machine::Machine machine = small_machine(1);
    network_ = std::make_unique<network::Network>(*network::Network::create(machine, 1, "cyclic"));
    machine::StorageParameters parameters = plain();
    parameters.capacity = kCapacity;
    mounts_ = std::move(*Mounts::create({root_ / "backing", root_, discard}));
    ASSERT_TRUE(mounts_->add({"/pfs"}, make_file_system(parameters, *network_, events_, 1)));
  }
  ResolvedPath at(const std::string& name, PathIntent intent = PathIntent::kWrite) {
    return mounts_->locate("/pfs/" + name, 0, intent);
  }
  std::shared_ptr<PositionalFile> open(const std::string& name,
                                       OpenMode mode = {.writes = true, .create = true}) {
    std::shared_ptr<PositionalFile> file;
    EXPECT_EQ(PositionalFile::open(mounts_.get(), at(name), mode, &file), 0) << name;
    return file;
  }
  static int write(const PositionalFile& file, uint64_t offset, uint64_t bytes) {
    const std::vector<std::byte> data(bytes, std::byte{'x'});
    const Extent extent{offset, bytes};
    return file.write({&extent, 1}, data.data());
  }
  static uint64_t size(const PositionalFile& file) {
    uint64_t bytes = 0;
    EXPECT_EQ(file.size(&bytes), 0);
    return bytes;
  }
  void unlink(const std::string& name) {
    const ResolvedPath path = at(name, PathIntent::kUnlink);
    ASSERT_EQ(remove_file(mounts_.get(), path), 0);
  }
  // Whether another file of this size fits.
  bool has_space(uint64_t bytes) {
    const ResolvedPath path = at("probe");
    const bool fits = path.system->resize(path.file, bytes);
    path.system->resize(path.file, 0);
    return fits;
  }
  bool uses_exactly(uint64_t bytes) {
    return has_space(kCapacity - bytes) && !has_space(kCapacity - bytes + 1);
  }

  fs::path root_;
  pdes::EventQueue events_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<Mounts> mounts_;
};

TEST_F(OpenFileTest, AWriteReservesSpaceForAllOfItOrNone) {
  const auto file = open("a");
  EXPECT_EQ(write(*file, 0, 6000), 0);
  EXPECT_TRUE(uses_exactly(6000));
  EXPECT_EQ(write(*file, 6000, 4001), ENOSPC);
  EXPECT_EQ(size(*file), 6000u);
  EXPECT_TRUE(uses_exactly(6000));
  EXPECT_EQ(write(*file, 100, 100), 0) << "overwriting needs no space";
  EXPECT_FALSE(mounts_->failure());
}

TEST_F(OpenFileTest, AFileThatIsOpenReadOnlyCannotBeWritten) {
  for (const bool discard : {false, true}) {
    make(discard);
    ASSERT_EQ(write(*open("a"), 0, 10), 0);
    const auto reader = open("a", {});
    EXPECT_EQ(write(*reader, 0, 5), EBADF);
    EXPECT_EQ(write(*reader, 5, 10), EBADF);
    EXPECT_EQ(size(*reader), 10u);
    EXPECT_TRUE(uses_exactly(10));
    unlink("a");
  }
}

TEST_F(OpenFileTest, AWriteThatTheHostRefusesKeepsNoSpace) {
  const auto file = open("a");
  ASSERT_EQ(write(*file, 0, 1000), 0);
  {
    const HostFileLimit limit(4096);
    EXPECT_EQ(write(*file, 5000, 3000), EFBIG);
    EXPECT_TRUE(uses_exactly(1000));
    EXPECT_EQ(write(*file, 1000, 7000), EFBIG) << "the host writes only a part";
  }
  EXPECT_TRUE(uses_exactly(size(*file)));
  ASSERT_TRUE(mounts_->failure()) << "the prediction is not what the target machine does";
  EXPECT_NE(mounts_->failure()->to_string().find("--files"), std::string::npos);
}

TEST_F(OpenFileTest, ASizeThatTheHostRefusesKeepsNoSpace) {
  const auto file = open("a");
  ASSERT_EQ(write(*file, 0, 1000), 0);
  const HostFileLimit limit(4096);
  EXPECT_EQ(file->resize(5000), EFBIG);
  EXPECT_TRUE(uses_exactly(1000));
  EXPECT_EQ(file->resize(500), 0);
  EXPECT_TRUE(uses_exactly(500));
  EXPECT_EQ(file->resize(kCapacity + 1), ENOSPC);
  EXPECT_EQ(size(*file), 500u);
}

TEST_F(OpenFileTest, ARemovedFileKeepsItsSpaceUntilItsLastClose) {
  auto first = open("a");
  auto reader = open("a", {});
  ASSERT_EQ(write(*first, 0, 6000), 0);
  unlink("a");
  EXPECT_TRUE(uses_exactly(6000));
  first = nullptr;
  EXPECT_TRUE(uses_exactly(6000));
  uint64_t moved = 0;
  std::byte data[10];
  const Extent extent{5995, 10};
  EXPECT_EQ(reader->read({&extent, 1}, data, &moved), 0);
  EXPECT_EQ(moved, 5u);
  reader = nullptr;
  EXPECT_TRUE(uses_exactly(0));
}

TEST_F(OpenFileTest, RemovingAFileThatIsNotOpenFreesItsSpaceAtOnce) {
  ASSERT_EQ(write(*open("a"), 0, 6000), 0);
  EXPECT_TRUE(uses_exactly(6000));
  unlink("a");
  EXPECT_TRUE(uses_exactly(0));
}

TEST_F(OpenFileTest, ANewFileOfARemovedFilesNameHasItsOwnSpace) {
  auto old = open("a");
  ASSERT_EQ(write(*old, 0, 3000), 0);
  unlink("a");
  const auto fresh = open("a");
  EXPECT_NE(fresh->path().file, old->path().file);
  ASSERT_EQ(write(*fresh, 0, 2000), 0);
  EXPECT_TRUE(uses_exactly(5000));
  old = nullptr;
  EXPECT_TRUE(uses_exactly(2000));
}

TEST_F(OpenFileTest, DiscardedDataKeepsTheSizeAndReadsAsZeros) {
  make(true);
  const auto file = open("a");
  ASSERT_TRUE(file->discards_data());
  ASSERT_EQ(write(*file, 1000, 2000), 0);
  EXPECT_EQ(size(*file), 3000u);
  EXPECT_TRUE(uses_exactly(3000));
  std::byte data[100] = {std::byte{1}};
  const Extent extent{2950, 100};
  uint64_t moved = 0;
  EXPECT_EQ(file->read({&extent, 1}, data, &moved), 0);
  EXPECT_EQ(moved, 50u);
  EXPECT_EQ(data[0], std::byte{0});
  const HostFileLimit limit(4096);
  EXPECT_EQ(write(*file, 5000, 1000), EFBIG);
  EXPECT_TRUE(uses_exactly(3000));
}

TEST_F(OpenFileTest, ExtentsAreReadUpToTheEndOfTheFile) {
  const auto file = open("a");
  const Extent written[] = {{10, 3}, {13, 2}, {0, 1}};
  const char text[] = "abcdef";
  ASSERT_EQ(file->write(written, reinterpret_cast<const std::byte*>(text)), 0);
  const Extent wanted[] = {{0, 1}, {11, 2}, {14, 5}, {0, 1}};
  char found[10] = "";
  uint64_t moved = 0;
  ASSERT_EQ(file->read(wanted, reinterpret_cast<std::byte*>(found), &moved), 0);
  EXPECT_EQ(moved, 4u);
  EXPECT_STREQ(found, "fbce");
}

TEST_F(OpenFileTest, AFileOfTheHostNeedsNoSpace) {
  ResolvedPath path;
  path.host_path = root_ / "host";
  std::shared_ptr<PositionalFile> file;
  ASSERT_EQ(PositionalFile::open(nullptr, path, {.writes = true, .create = true}, &file), 0);
  EXPECT_EQ(write(*file, 0, 2 * kCapacity), 0);
  EXPECT_EQ(size(*file), 2 * kCapacity);
  EXPECT_FALSE(file->discards_data());
}

// A host's file in the working directory, seen through the mounts.
class OriginalTest : public OpenFileTest {
 protected:
  void SetUp() override {
    OpenFileTest::SetUp();
    fs::create_directories(root_ / "work");
    std::ofstream(root_ / "work/data") << "original";
    mounts_ = std::move(*Mounts::create({root_ / "copies", root_ / "work"}));
    ASSERT_TRUE(mounts_->add({"."}, make_file_system(plain(), *network_, events_, 1)));
  }
  ResolvedPath data(PathIntent intent) {
    return mounts_->locate((root_ / "work/data").string(), 0, intent);
  }
  std::shared_ptr<PositionalFile> open_data(bool writes) {
    std::shared_ptr<PositionalFile> file;
    const ResolvedPath path = data(writes ? PathIntent::kWrite : PathIntent::kRead);
    EXPECT_EQ(PositionalFile::open(mounts_.get(), path, {.writes = writes}, &file), 0);
    return file;
  }
  static std::string text(const PositionalFile& file) {
    char found[20] = "";
    const Extent extent{0, sizeof found - 1};
    uint64_t moved = 0;
    EXPECT_EQ(file.read({&extent, 1}, reinterpret_cast<std::byte*>(found), &moved), 0);
    return {found, moved};
  }
};

TEST_F(OriginalTest, AReaderOfAnOriginalSeesWhatOthersWriteToItsCopy) {
  const auto before = open_descriptors();
  auto reader = open_data(false);
  EXPECT_TRUE(reader->path().is_original);
  auto writer = open_data(true);
  EXPECT_EQ(text(*reader), "original");
  ASSERT_EQ(write(*writer, 0, 3), 0);
  EXPECT_EQ(text(*reader), "xxxginal");
  ASSERT_EQ(writer->resize(2), 0);
  EXPECT_EQ(size(*reader), 2u);
  EXPECT_EQ(open_data(false), reader) << "they share a descriptor";
  EXPECT_EQ(open_descriptors(), before + 2);
  reader = writer = nullptr;
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(OriginalTest, AReaderOfACopiedOriginalKeepsTheFileThatIsRenamedOrRemoved) {
  const auto reader = open_data(false);
  ASSERT_EQ(write(*open_data(true), 0, 1), 0);
  const ResolvedPath path = data(PathIntent::kUnlink);
  ASSERT_EQ(remove_file(mounts_.get(), path), 0);
  EXPECT_EQ(text(*reader), "xriginal");
  std::shared_ptr<PositionalFile> fresh;
  ASSERT_EQ(PositionalFile::open(mounts_.get(), data(PathIntent::kWrite),
                                 {.writes = true, .create = true}, &fresh),
            0);
  ASSERT_EQ(write(*fresh, 0, 2), 0);
  EXPECT_EQ(text(*open_data(false)), "xx");
  EXPECT_EQ(text(*reader), "xriginal");
}

TEST_F(OriginalTest, ARemovedOriginalIsHiddenAndStaysOnTheHost) {
  const ResolvedPath path = data(PathIntent::kUnlink);
  ASSERT_TRUE(path.is_original);
  ASSERT_EQ(remove_file(mounts_.get(), path), 0);
  EXPECT_TRUE(fs::exists(path.name));
  EXPECT_FALSE(host_file_exists(data(PathIntent::kRead).host_path));
  EXPECT_EQ(remove_file(mounts_.get(), data(PathIntent::kUnlink)), ENOENT);
}

TEST_F(OriginalTest, AReaderFollowsAnOriginalThatARenameCopies) {
  const auto reader = open_data(false);
  const ResolvedPath path = data(PathIntent::kUnlink);
  bool copied = false;
  ASSERT_EQ(mounts_->copy_originals(path, &copied), 0);
  EXPECT_TRUE(copied);
  EXPECT_FALSE(reader->path().is_original);
  std::ofstream(path.backing) << "changed";
  EXPECT_EQ(text(*reader), "changed");
}

TEST_F(OriginalTest, AClosedReaderIsNotNotifiedOfACopy) {
  open_data(false).reset();
  ASSERT_EQ(write(*open_data(true), 0, 1), 0);
  EXPECT_EQ(text(*open_data(false)), "xriginal");
}

TEST_F(OpenFileTest, AFileMayBeClosedAfterTheMountsAreGone) {
  const auto before = open_descriptors();
  auto file = open("a");
  unlink("a");
  mounts_ = nullptr;
  file = nullptr;
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(OpenFileTest, ClosedFilesLeaveNothingOpen) {
  const auto before = open_descriptors();
  for (const char* name : {"a", "b", "c"}) {
    auto first = open(name);
    auto second = open(name, {.writes = true});
    EXPECT_EQ(first, second) << "they share a descriptor";
    EXPECT_EQ(open_descriptors(), before + 1);
    first = nullptr;
    EXPECT_EQ(open_descriptors(), before + 1);
    unlink(name);
    // A new file by the same name: closing the first one must not forget it.
    first = open(name);
    EXPECT_NE(first, second);
    second = nullptr;
    EXPECT_EQ(open_descriptors(), before + 1);
    unlink(name);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace sesame::storage
