#pragma once
// A process that the demo started: its output goes to a file, and it never outlives its owner (it
// is asked to end by the destructor, and by the kernel should the demo be killed). Start and end it
// from one thread: the kernel's promise is tied to the thread that started it.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::demo {

struct Command {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // all of it, "NAME=value"
  std::filesystem::path log;             // stdout and stderr are added to it
};

class Process {
 public:
  static Result<Process> start(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  // The exit code (128 + n: ended by signal n) once it has ended by itself or by stop().
  std::optional<int> exit_code();
  // Waits for the end.
  int wait();
  // SIGTERM, after five seconds SIGKILL; returns the exit code.
  int stop();

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> ended_;
};

// The environment of a child process: enough to run, nothing that would change what it does
// (NVIDIA's programs, and so the agent, read many variables).
std::vector<std::string> clean_environment();

}  // namespace tranche::demo
