#include "core/storage/mounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/storage/paths.h"
#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

class MountsTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/mounts-XXXXXX";
    root_ = mkdtemp(pattern);
    work_ = root_ / "work";
    backing_ = root_ / "backing";
    fs::create_directories(work_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void make(const fs::path& backing, bool discard = false, uint64_t capacity = 0) {
    const machine::Machine machine = small_machine(2);
    network_ = std::make_unique<network::Network>(*network::Network::create(machine, 2, "cyclic"));
    machine::StorageParameters parameters = plain();
    parameters.capacity = capacity;
    mounts_ = std::move(*Mounts::create({backing, work_, discard}));
    ASSERT_TRUE(mounts_->add({"/pfs", "."}, system(parameters), 65536));
    std::vector<std::unique_ptr<FileSystem>> local;
    for (int node = 0; node < 2; ++node) local.push_back(system(parameters));
    ASSERT_TRUE(mounts_->add_local({"/pfs/local"}, std::move(local)));
  }
  std::unique_ptr<FileSystem> system(const machine::StorageParameters& parameters) {
    return make_file_system(parameters, *network_, events_, 1);
  }
  std::string work(const std::string& name) const { return (work_ / name).string(); }
  ResolvedPath at(const std::string& path, PathIntent intent, int node = 0) {
    return mounts_->locate(path, node, intent);
  }

  fs::path root_;
  fs::path work_;
  fs::path backing_;
  pdes::EventQueue events_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<Mounts> mounts_;
};

TEST(Normalise, RemovesDotsAndEmptyComponents) {
  EXPECT_EQ(normalise("/a//b/./c/../d/"), "/a/b/d");
  EXPECT_EQ(normalise("/../.."), "/");
  EXPECT_EQ(normalise("/a/.."), "/");
}

TEST_F(MountsTest, TheLongestMountPointWins) {
  make(backing_);
  EXPECT_EQ(at("/pfs/a", PathIntent::kWrite).host_path, backing_ / "pfs/a");
  EXPECT_EQ(at("/pfs/local/a", PathIntent::kWrite).host_path, backing_ / "pfs/local/node-0/a");
  EXPECT_EQ(at(work("a"), PathIntent::kWrite).host_path, backing_ / "a");
  EXPECT_EQ(at("/pfs/a", PathIntent::kWrite).block, 65536u);
  EXPECT_FALSE(at("/pfsother/a", PathIntent::kWrite).is_simulated());
  EXPECT_FALSE(at("/etc/hosts", PathIntent::kWrite).is_simulated());
  EXPECT_TRUE(fs::is_directory(backing_ / "pfs"));
}

TEST_F(MountsTest, ALocalMountIsDifferentOnEachNode) {
  make(backing_);
  const ResolvedPath zero = at("/pfs/local/a", PathIntent::kWrite, 0);
  const ResolvedPath one = at("/pfs/local/a", PathIntent::kWrite, 1);
  EXPECT_NE(zero.system, one.system);
  EXPECT_NE(zero.host_path, one.host_path);
  EXPECT_EQ(at("/pfs/a", PathIntent::kWrite, 0).host_path,
            at("/pfs/a", PathIntent::kWrite, 1).host_path);
}

TEST_F(MountsTest, AnOriginalIsReadInPlaceAndCopiedBeforeItIsChanged) {
  put(work_ / "input/data", "original");
  make(backing_);
  const ResolvedPath look = at(work("input/data"), PathIntent::kRead);
  EXPECT_TRUE(look.is_original);
  EXPECT_EQ(look.host_path, work("input/data"));
  EXPECT_FALSE(fs::exists(backing_ / "input"));

  const ResolvedPath change = at(work("input/data"), PathIntent::kWrite);
  EXPECT_FALSE(change.is_original);
  EXPECT_EQ(change.host_path, backing_ / "input/data");
  EXPECT_EQ(change.file, look.file);
  EXPECT_EQ(contents(change.host_path), "original");
  put(change.host_path, "changed");
  EXPECT_EQ(contents(work_ / "input/data"), "original");
  EXPECT_EQ(at(work("input/data"), PathIntent::kRead).host_path, backing_ / "input/data");
}

TEST_F(MountsTest, AListShowsOriginalsAndNewFilesButNotRemovedOnes) {
  put(work_ / "d/real", "1");
  put(work_ / "d/gone", "2");
  make(backing_);
  put(at(work("d/made"), PathIntent::kWrite).host_path, "3");
  const ResolvedPath gone = at(work("d/gone"), PathIntent::kUnlink);
  mounts_->removed(gone);
  std::vector<std::string> names = mounts_->list(at(work("d"), PathIntent::kRead));
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"made", "real"}));
  EXPECT_FALSE(at(work("d/gone"), PathIntent::kRead).is_original);
  EXPECT_TRUE(fs::exists(work_ / "d/gone"));
}

TEST_F(MountsTest, ARemovedDirectoryDoesNotComeBackWithItsContents) {
  put(work_ / "d/a", "1");
  make(backing_);
  mounts_->removed(at(work("d/a"), PathIntent::kUnlink));
  mounts_->removed(at(work("d"), PathIntent::kUnlink));
  fs::create_directory(at(work("d"), PathIntent::kUnlink).backing);
  EXPECT_TRUE(mounts_->list(at(work("d"), PathIntent::kRead)).empty());
}

TEST_F(MountsTest, ARenamedDirectoryKeepsItsOriginals) {
  put(work_ / "d/sub/a", "text");
  make(backing_);
  const FileId file = at(work("d/sub/a"), PathIntent::kRead).file;
  bool copied = false;
  ASSERT_EQ(mounts_->copy_originals(at(work("d"), PathIntent::kUnlink), &copied), 0);
  EXPECT_TRUE(copied);
  const ResolvedPath from = at(work("d"), PathIntent::kUnlink);
  const ResolvedPath to = at(work("e"), PathIntent::kUnlink);
  fs::rename(from.backing, to.backing);
  mounts_->renamed(from, to);
  EXPECT_EQ(contents(at(work("e/sub/a"), PathIntent::kRead).host_path), "text");
  EXPECT_EQ(at(work("e/sub/a"), PathIntent::kRead).file, file);
  EXPECT_FALSE(fs::exists(at(work("d/sub/a"), PathIntent::kRead).host_path));
}

TEST_F(MountsTest, ANewFileOfARenamedFilesOldNameIsAnotherFile) {
  make(backing_);
  const ResolvedPath from = at("/pfs/checkpoint.tmp", PathIntent::kWrite);
  put(from.host_path, "first");
  from.system->resize(from.file, 5);
  const ResolvedPath to = at("/pfs/checkpoint", PathIntent::kUnlink);
  fs::rename(from.backing, to.backing);
  mounts_->renamed(from, to);
  EXPECT_EQ(at("/pfs/checkpoint", PathIntent::kRead).file, from.file);
  EXPECT_NE(at("/pfs/checkpoint.tmp", PathIntent::kWrite).file, from.file);
}

TEST_F(MountsTest, ANewFileOfALinkedFilesRemovedNameIsAnotherFile) {
  make(backing_);
  const ResolvedPath file = at("/pfs/a", PathIntent::kWrite);
  put(file.host_path, "text");
  const ResolvedPath name = at("/pfs/b", PathIntent::kUnlink);
  fs::create_hard_link(file.backing, name.backing);
  mounts_->linked(file, name);
  fs::remove(file.backing);
  mounts_->removed(file);
  EXPECT_EQ(at("/pfs/b", PathIntent::kRead).file, file.file);
  EXPECT_NE(at("/pfs/a", PathIntent::kWrite).file, file.file);
}

TEST_F(MountsTest, ExchangedNamesExchangeTheirFiles) {
  put(work_ / "d/original", "o");
  make(backing_);
  const ResolvedPath one = at("/pfs/one", PathIntent::kWrite);
  const ResolvedPath inside = at(work("d/inside"), PathIntent::kWrite);
  put(one.host_path, "1");
  put(inside.host_path, "2");
  bool copied = false;
  ASSERT_EQ(mounts_->copy_originals(at(work("d"), PathIntent::kUnlink), &copied), 0);
  const ResolvedPath directory = at(work("d"), PathIntent::kUnlink);
  ASSERT_EQ(renameat2(AT_FDCWD, one.backing.c_str(), AT_FDCWD, directory.backing.c_str(),
                      RENAME_EXCHANGE),
            0);
  mounts_->exchanged(one, directory);
  EXPECT_EQ(at(work("d"), PathIntent::kRead).file, one.file);
  EXPECT_EQ(at("/pfs/one/inside", PathIntent::kRead).file, inside.file);
  EXPECT_FALSE(fs::exists(at(work("d/original"), PathIntent::kRead).host_path));
}

TEST_F(MountsTest, NothingIsCopiedIfTheBackingStoreIsTheWorkingDirectory) {
  put(work_ / "data", "original");
  make(work_);
  const ResolvedPath path = at(work("data"), PathIntent::kWrite);
  EXPECT_FALSE(path.is_original);
  EXPECT_EQ(path.host_path, work("data"));
  EXPECT_TRUE(fs::is_directory(work_ / "pfs"));
}

TEST_F(MountsTest, LinksAreFollowedAsTheProgramSeesThem) {
  make(backing_);
  fs::create_symlink("/pfs/target", backing_ / "link");
  fs::create_symlink("loop", backing_ / "loop");
  EXPECT_EQ(at(work("link"), PathIntent::kWrite).host_path, backing_ / "pfs/target");
  EXPECT_EQ(at(work("link"), PathIntent::kReadLink).host_path, backing_ / "link");
  EXPECT_EQ(at(work("loop"), PathIntent::kRead).error, ELOOP);
  // The working directory by another name is the working directory.
  fs::create_directory_symlink(work_, root_ / "alias");
  EXPECT_EQ(at((root_ / "alias/x").string(), PathIntent::kWrite).host_path, backing_ / "x");
}

TEST_F(MountsTest, DiscardedDataKeepsTheSizeOfACopiedFile) {
  put(work_ / "data", "original");
  make(backing_, true);
  const ResolvedPath path = at(work("data"), PathIntent::kWrite);
  EXPECT_EQ(contents(path.host_path), std::string(8, '\0'));
}

TEST_F(MountsTest, AnExistingFileTakesSpace) {
  put(work_ / "data", std::string(600, 'x'));
  make(backing_, false, 1000);
  const ResolvedPath path = at(work("data"), PathIntent::kRead);
  const ResolvedPath other = at("/pfs/other", PathIntent::kWrite);
  EXPECT_FALSE(other.system->resize(other.file, 500));
  EXPECT_TRUE(path.system->resize(path.file, 400));
  EXPECT_TRUE(other.system->resize(other.file, 500));
}

TEST_F(MountsTest, AnUnusableBackingStoreIsAnError) {
  put(root_ / "file", "");
  const auto made = Mounts::create({root_ / "file/inside", work_, false});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().to_string().find("file/inside"), std::string::npos);
  EXPECT_NE(made.error().to_string().find("--files"), std::string::npos);
}

TEST_F(MountsTest, FilesArePreparedOnEveryNodeBeforeTheRun) {
  make(backing_);
  ASSERT_TRUE(mounts_->prepare("/pfs/deep/a", 1000));
  ASSERT_TRUE(mounts_->prepare("/pfs/local/b", 5000));
  ASSERT_TRUE(mounts_->prepare(work("out/c"), -1));
  ASSERT_TRUE(mounts_->prepare("/etc/elsewhere", 10));
  EXPECT_EQ(fs::file_size(backing_ / "pfs/deep/a"), 1000u);
  for (const char* node : {"node-0", "node-1"})
    EXPECT_EQ(fs::file_size(backing_ / "pfs/local" / node / "b"), 5000u);
  EXPECT_TRUE(fs::is_directory(backing_ / "out"));
  EXPECT_FALSE(fs::exists(backing_ / "out/c"));
}

TEST_F(MountsTest, OriginalsCanBeHidden) {
  put(work_ / "data", "original");
  make(backing_);
  EXPECT_TRUE(at(work("data"), PathIntent::kRead).is_original);
  auto mounts = Mounts::create({backing_, work_, false, false});
  ASSERT_TRUE((*mounts)->add({"."}, system(plain())));
  EXPECT_EQ((*mounts)->locate(work("data"), 0, PathIntent::kRead).host_path, backing_ / "data");
}

}  // namespace
}  // namespace sesame::storage
