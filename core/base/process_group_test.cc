#include "core/base/process_group.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace sesame {
namespace {

pid_t start_waiting_process(pid_t group) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  EXPECT_EQ(setpgid(child, group), 0);
  return child;
}

TEST(ProcessGroup, EndsAllProcessesAndForgetsTheGroup) {
  const pid_t first = start_waiting_process(0);
  const pid_t second = start_waiting_process(first);
  ASSERT_FALSE(HasFailure());
  std::atomic<pid_t> group = first;
  end_process_group(group);
  EXPECT_EQ(group, 0);
  for (pid_t process : {first, second}) {
    int status = 0;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
}

TEST(ProcessGroup, AnotherProcessStillFindsItWhenWhoEndsItEndsMeanwhile) {
  void* shared = mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& group = *new (shared) std::atomic<pid_t>(0);
  const pid_t child = fork();
  if (child == 0) {  // a member of the group: its own signal ends it
    setpgid(0, 0);
    group = getpid();
    end_process_group(group);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(group, child);
  munmap(shared, sizeof(std::atomic<pid_t>));
}

TEST(ProcessGroup, WithoutOneNothingIsEnded) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);  // kill(0) would end the process and its group
    std::atomic<pid_t> group = 0;
    end_process_group(group);
    _exit(group == 0 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace sesame
