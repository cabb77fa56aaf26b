// In child processes, since a limit that was lowered cannot be raised again.
#include "group/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/error.h"

namespace dure {
namespace {

// The exit status of a child that runs `check` under these limits; 100: they could not be set.
int status_under(rlim_t soft, rlim_t hard, const std::function<int()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    _exit(setrlimit(RLIMIT_NOFILE, &limit) == 0 ? check() : 100);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

rlim_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(DescriptorLimit, RefusesRanksThatCouldNotBeStarted) {
  EXPECT_EQ(status_under(24, 24,
                         [] {
                           try {
                             ensure_descriptors_for(2);
                           } catch (const Error& error) {
                             const std::string& text = error.message();
                             return text.find(" 24 ") != text.npos && !error.hint().empty() ? 7 : 8;
                           }
                           return 9;
                         }),
            7);
}

TEST(DescriptorLimit, RaisesASoftLimitThatIsTooLowAndNoOther) {
  EXPECT_EQ(status_under(24, 200,
                         [] {
                           ensure_descriptors_for(2);
                           return static_cast<int>(soft_limit());
                         }),
            40);
  EXPECT_EQ(status_under(150, 200,
                         [] {
                           ensure_descriptors_for(2);
                           return static_cast<int>(soft_limit());
                         }),
            150);
}

}  // namespace
}  // namespace dure
