#include "host/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace tranche::host {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLongestOutput = std::size_t{64} << 10U;
// From SIGKILL to the end. No signal ends a process that waits in a driver.
constexpr auto kLongestDeath = std::chrono::seconds(2);

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> open_pipe() {
  std::array<int, 2> fds = {-1, -1};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return std::unexpected(errno_error(errno, "pipe"));
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

// A pipe holds 64 KiB, so the whole input fits before the child starts to read.
Result<Pipe> pipe_with(std::string_view input) {
  ASSIGN_OR_RETURN(auto pipe, open_pipe());
  if (input.size() > kLongestOutput) {
    return fail(Code::kInvalidArgument, "more input than a pipe holds");
  }
  const ssize_t written = ::write(pipe.write.get(), input.data(), input.size());
  if (written != static_cast<ssize_t>(input.size())) {
    return std::unexpected(errno_error(errno, "write to a pipe"));
  }
  pipe.write.close();
  return pipe;
}

class SpawnSettings {
 public:
  SpawnSettings(int input, int output) {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&actions);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const Child& child, int input, int output) {
  const SpawnSettings settings(input, output);
  std::vector<std::string> arguments = {child.program.string()};
  arguments.insert(arguments.end(), child.arguments.begin(), child.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : child.environment) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, child.program.c_str(), &settings.actions, &settings.attributes,
                    pointers(arguments).data(), pointers(environment).data());
  if (error != 0) return std::unexpected(errno_error(error, child.program.string()));
  return pid;
}

// Appends what can be read now, up to one byte more than is allowed; false: no more will come.
bool read_some(int fd, std::string& out) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
  const auto room = kLongestOutput + 1 - out.size();
  out.append(bytes.data(), std::min(room, static_cast<std::size_t>(count)));
  return true;
}

// Waits until the process behind `pidfd` has ended; false: `deadline` came first.
bool wait_for_end(int pidfd, Descriptor& output, SteadyClock::time_point deadline,
                  std::string& text) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> fds = {{{.fd = pidfd, .events = POLLIN, .revents = 0},
                                  {.fd = output.get(), .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (fds[1].revents != 0 && !read_some(output.get(), text)) output.close();
    if (fds[0].revents == 0) continue;
    // Its last output may still be in the pipe.
    pollfd rest = {.fd = output.get(), .events = POLLIN, .revents = 0};
    while (output.get() >= 0 && ::poll(&rest, 1, 0) > 0 && read_some(output.get(), text)) {
    }
    return true;
  }
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ChildEnd> run_child(const Child& child) {
  const auto deadline = SteadyClock::now() + child.limit;
  ASSIGN_OR_RETURN(auto input, pipe_with(child.input));
  ASSIGN_OR_RETURN(auto output, open_pipe());
  ASSIGN_OR_RETURN(const pid_t pid, spawn(child, input.read.get(), output.write.get()));
  output.write.close();
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ChildEnd end;
  if (pidfd.get() >= 0 && wait_for_end(pidfd.get(), output.read, deadline, end.output)) {
    end.code = reap(pid);
    if (end.output.size() <= kLongestOutput) return end;
    return fail(Code::kInvalidArgument,
                fmt::format("{} wrote more than {} KiB, and ended with exit code {}",
                            child.program.string(), kLongestOutput >> 10U, end.code));
  }
  // The program itself too: it may have moved to another process group.
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
  const auto late =
      fmt::format("{} did not end within {} ms", child.program.string(), child.limit.count());
  wait_for_end(pidfd.get(), output.read, SteadyClock::now() + kLongestDeath, end.output);
  if (::waitpid(pid, nullptr, WNOHANG) == pid) return fail(Code::kTimeout, late);
  std::thread(reap, pid).detach();  // it may never end
  return fail(
      Code::kTimeout, fmt::format("{}, nor when it was killed", late),
      fmt::format("process {} hangs in the kernel (`cat /proc/{}/stack`, `dmesg`): where it "
                  "does not come back, only a reboot of this machine ends it",
                  pid, pid));
}

Result<std::filesystem::path> find_program(const std::string& name, std::string_view path,
                                           const std::filesystem::path& driver_root) {
  std::vector<std::filesystem::path> folders;
  while (!path.empty()) {
    const auto colon = path.find(':');
    if (const auto folder = path.substr(0, colon); folder.starts_with('/')) {
      folders.emplace_back(folder);
    }
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
  }
  if (!driver_root.empty()) {
    for (const char* folder : {"usr/bin", "usr/local/bin", "bin", "run/current-system/sw/bin"}) {
      folders.push_back(driver_root / folder);
    }
  }
  for (const auto& folder : folders) {
    if (::access((folder / name).c_str(), X_OK) == 0) return folder / name;
  }
  return fail(Code::kNotFound,
              fmt::format("there is no {} on PATH{}", name,
                          driver_root.empty() ? "" : " or under " + driver_root.string()));
}

}  // namespace tranche::host
