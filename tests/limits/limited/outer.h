#pragma once
// The outer of container.h's two programs.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "arbiter/arbiter.h"
#include "limits/limited/container.h"

namespace tranche::test {

inline bool is_inner() { return std::getenv("TRANCHE_LIMITED") != nullptr; }

inline int complain(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  return 1;
}

// ctest's code for "could not run here".
inline constexpr int kSkipped = 77;

// Makes a private /run, as root, or as root of a user namespace. Returns 0, or the exit code.
inline int make_room() {
  if (unshare(CLONE_NEWNS) != 0) {
    const auto uid = getuid();
    const auto gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      complain("skipped: no mount name space (run as root, or allow user name spaces)");
      return kSkipped;
    }
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return complain("private /");
  if (mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0) return complain("tmpfs on /run");
  std::filesystem::create_directories(std::filesystem::path(kLimitsRoot) / "tenants");
  return 0;
}

// This program again, with the library preloaded (`preload` false: without) and `environment` set.
inline int run_inner(char** arguments, bool preload = true,
                     const std::vector<std::pair<const char*, std::string>>& environment = {}) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (preload) setenv("LD_PRELOAD", TRANCHE_LIMIT_LIBRARY, 1);
    setenv("TRANCHE_LIMITED", "inner", 1);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    execv("/proc/self/exe", arguments);
    _exit(complain("exec"));
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return complain("the inner program");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// `body` with an arbiter running.
inline int with_arbiter(const std::function<int()>& body) {
  if (const int failed = make_room(); failed != 0) return failed;
  const SystemClock clock;
  const Log log(LogLevel::kWarn, [](LogLevel, std::string_view line) {
    std::fprintf(stderr, "arbiter: %.*s\n", static_cast<int>(line.size()), line.data());
  });
  const std::filesystem::path root = kLimitsRoot;
  auto arbiter = arbiter::Arbiter::open({root / "tenants", root / "state"}, clock, log);
  if (!arbiter) {
    std::fprintf(stderr, "arbiter: %s\n", arbiter.error().message().c_str());
    return 1;
  }
  const std::jthread thread([&](const std::stop_token& stop) { (*arbiter)->run(stop); });
  return body();
}

}  // namespace tranche::test
