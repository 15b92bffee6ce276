#include "load/mps_daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

namespace tranche::load {
namespace {

constexpr const char* kProgram = "nvidia-cuda-mps-control";
// A daemon that lives answers this with a number.
constexpr std::string_view kQuestion = "get_default_active_thread_percentage";
constexpr int kPatienceMs = 10'000;
constexpr int kNotFoundCode = 127;

struct Answer {
  std::string text;
  int code = -1;  // -1: it did not end in time
};

[[noreturn]] void become_program(int input, int output) {
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execlp(kProgram, kProgram, nullptr);
  ::_exit(kNotFoundCode);
}

// Reads until the end of the output; false: the time is over.
bool read_all(int fd, std::string& out) {
  for (;;) {
    pollfd one = {fd, POLLIN, 0};
    const int ready = ::poll(&one, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    std::array<char, 512> bytes = {};
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count <= 0) return true;
    out.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

Result<Answer> ask() {
  std::array<int, 2> input = {-1, -1};
  std::array<int, 2> output = {-1, -1};
  if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "pipe"));
  }
  const pid_t child = ::fork();
  if (child < 0) return std::unexpected(errno_error(errno, "fork"));
  if (child == 0) become_program(input[0], output[1]);
  ::close(input[0]);
  ::close(output[1]);
  // If the program has ended already, the write fails, and then there is no answer either.
  [[maybe_unused]] const auto sent = ::write(input[1], kQuestion.data(), kQuestion.size());
  ::close(input[1]);
  Answer answer;
  const bool in_time = read_all(output[0], answer.text);
  ::close(output[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_time && WIFEXITED(status)) answer.code = WEXITSTATUS(status);
  return answer;
}

}  // namespace

Result<void> ask_mps_daemon() {
  ASSIGN_OR_RETURN(const Answer answer, ask());
  if (answer.code == kNotFoundCode) {
    return fail(Code::kFailedPrecondition, fmt::format("there is no {} on PATH", kProgram));
  }
  const bool is_number =
      std::ranges::any_of(answer.text, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (answer.code == 0 && is_number) return {};
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return fail(Code::kFailedPrecondition,
              fmt::format("no MPS control daemon answers in {}",
                          folder == nullptr ? "/tmp/nvidia-mps" : folder),
              fmt::format("start one ({} -d), or set CUDA_MPS_PIPE_DIRECTORY", kProgram));
}

}  // namespace tranche::load
