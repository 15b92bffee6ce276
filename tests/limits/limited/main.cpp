// The program that the tests here are is started twice; see container.h.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "arbiter/arbiter.h"
#include "limits/limited/container.h"
#include "limits/limited/lookups.h"

namespace {

using namespace tranche;

int complain(const char* what) {
  std::fprintf(stderr, "limited_test: %s: %s\n", what, std::strerror(errno));
  return 1;
}

// A /run of our own; as root, or as root of a user name space.
int make_room() {
  if (unshare(CLONE_NEWNS) != 0) {
    const auto uid = getuid();
    const auto gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return complain("no mount name space");
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return complain("private /");
  if (mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0) return complain("tmpfs on /run");
  std::filesystem::create_directories(std::filesystem::path(test::kLimitsRoot) / "tenants");
  return 0;
}

int run_inner(char** arguments) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("LD_PRELOAD", TRANCHE_LIMIT_LIBRARY, 1);
    setenv("TRANCHE_LIMITED_TEST", "inner", 1);
    execv("/proc/self/exe", arguments);
    _exit(complain("exec"));
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return complain("the tests");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--lookups") == 0) return test::print_lookups();
  if (std::getenv("TRANCHE_LIMITED_TEST") != nullptr) {
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
  }
  if (const int failed = make_room(); failed != 0) return failed;
  const SystemClock clock;
  const Log log(LogLevel::kWarn, [](LogLevel, std::string_view line) {
    std::fprintf(stderr, "arbiter: %.*s\n", static_cast<int>(line.size()), line.data());
  });
  const std::filesystem::path root = test::kLimitsRoot;
  auto arbiter = arbiter::Arbiter::open({root / "tenants", root / "state"}, clock, log);
  if (!arbiter) {
    std::fprintf(stderr, "limited_test: %s\n", arbiter.error().message().c_str());
    return 1;
  }
  int result = 1;
  {
    const std::jthread thread([&](const std::stop_token& stop) { (*arbiter)->run(stop); });
    result = run_inner(arguments);
  }
  return result;
}
