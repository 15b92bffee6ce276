#include "lab/demo/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>
#include <utility>

namespace tranche::demo {
namespace {

constexpr int kCannotRun = 127;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kLookAgain = std::chrono::milliseconds(2);

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

// Between fork and exec only async-signal-safe calls are allowed: gRPC's threads are running.
[[noreturn]] void become(const char* program, char** argv, char** envp, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotRun);
  ::setpgid(0, 0);  // Ctrl-C is ours to handle
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &normal, nullptr);
  const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (empty >= 0) ::dup2(empty, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execve(program, argv, envp);
  ::_exit(kCannotRun);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<Process> Process::start(const Command& command) {
  const int log =
      ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (log < 0) return std::unexpected(errno_error(errno, "open " + command.log.string()));
  std::vector<std::string> arguments = {command.program.string()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = command.environment;
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0)
    become(argv[0], const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), log, self);
  const int problem = errno;
  ::close(log);
  if (pid < 0) return std::unexpected(errno_error(problem, "fork"));
  return Process(pid);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

Process::~Process() {
  if (pid_ > 0) stop();
}

std::optional<int> Process::exit_code() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) ended_ = exit_code_of(status);
  return ended_;
}

int Process::wait() {
  int status = 0;
  while (!ended_) {
    if (::waitpid(pid_, &status, 0) == pid_) ended_ = exit_code_of(status);
  }
  return *ended_;
}

int Process::stop() {
  if (exit_code()) return *ended_;
  ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!exit_code() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLookAgain);
  }
  if (!ended_) ::kill(pid_, SIGKILL);
  return wait();
}

std::vector<std::string> clean_environment() {
  static constexpr std::array<std::string_view, 5> kKept = {
      "PATH=", "ASAN_OPTIONS=", "LSAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS="};
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    for (const auto prefix : kKept) {
      if (text.starts_with(prefix)) out.emplace_back(text);
    }
  }
  return out;
}

}  // namespace tranche::demo
