#include "load/worker_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/json_fields.h"

namespace tranche::load {
namespace {

constexpr const char* kTenants = "/run/tranche";
// Programs like timeout(1) send a signal to a process and to its group: that is one interrupt.
constexpr std::chrono::seconds kSecondInterrupt{1};

sigset_t ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

void close_pipe(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// In the child: what went wrong, as a worker would say it.
[[noreturn]] void give_up(std::string_view action) {
  const json::Value said = {{"failed", fmt::format("{}: {}", action, std::strerror(errno))}};
  fmt::print("{}\n", said.text());
  std::fflush(stdout);
  ::_exit(0);
}

// A mount namespace of its own, in which it finds its tenant where a container would.
void enter_tenant(const std::string& folder) {
  const std::string place = kTenants + ("/" + folder.substr(folder.find_last_of('/') + 1));
  if (::unshare(CLONE_NEWNS) != 0) give_up("a mount namespace for " + folder + " (needs root)");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) give_up("private mounts");
  const int source = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (source < 0) give_up("open " + folder);
  if (::mkdir(kTenants, 0755) != 0 && errno != EEXIST) give_up(std::string("make ") + kTenants);
  if (::mount("none", kTenants, "tmpfs", 0, "mode=755") != 0 || ::mkdir(place.c_str(), 0755) != 0) {
    give_up(std::string("a file system at ") + kTenants);
  }
  // By its descriptor: its path may lie below what was just mounted over.
  const std::string from = fmt::format("/proc/self/fd/{}", source);
  if (::mount(from.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    give_up(fmt::format("bind {} at {}", folder, place));
  }
}

// In the child, after the fork of a process with one thread.
[[noreturn]] void become_worker(const std::string& load, const Surroundings& surroundings,
                                int input, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  const sigset_t signals = ending_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  if (!surroundings.tenant.empty()) enter_tenant(surroundings.tenant);
  for (const std::string& name : surroundings.unset) ::unsetenv(name.c_str());
  for (const std::string& setting : surroundings.set) {
    const auto equals = setting.find('=');
    ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  ::execl("/proc/self/exe", "tranche-load", "worker", load.c_str(), nullptr);
  give_up("start /proc/self/exe");
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with exit code {} without a report", WEXITSTATUS(status));
}

bool is_object(const std::string& line) {
  const auto said = json::parse_strict(line);
  return said && said->kind() == json::Kind::kObject;
}

Result<Report> read_report(const std::string& line) {
  ASSIGN_OR_RETURN(const auto said, json::parse_strict(line));
  return report_from_json(said.find("report").value_or(json::View()));
}

// What a worker says when it is ready; kNotFound, kUnavailable: why it is not.
Result<Ready> read_ready(const std::string& line) {
  ASSIGN_OR_RETURN(const auto said, json::parse_strict(line));
  const auto failed = json::read_fields(said, [](const json::Fields& fields) {
    const auto code = fields.need_or("noDevice", false) ? Code::kNotFound : Code::kUnavailable;
    return std::pair(code, fields.need_or("failed", std::string()));
  });
  if (!failed) return std::unexpected(failed.error());
  if (said.find("failed")) return fail(failed->first, failed->second);
  const auto ready = said.find("ready");
  if (!ready) return fail(Code::kInternal, "a worker that says neither");
  ASSIGN_OR_RETURN(auto device, device_from_json(*ready));
  ASSIGN_OR_RETURN(const auto held, json::read_fields(*ready, [](const json::Fields& fields) {
                     return fields.need_or<std::uint64_t>("memoryHeld", 0);
                   }));
  return Ready{.device = std::move(device), .memory = {held}};
}

}  // namespace

Result<std::unique_ptr<WorkerGroup>> WorkerGroup::make() {
  const sigset_t signals = ending_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC);
  if (fd < 0) return std::unexpected(errno_error(errno, "signalfd"));
  return std::unique_ptr<WorkerGroup>(new WorkerGroup(fd));
}

WorkerGroup::~WorkerGroup() {
  for (const auto& worker : workers_) {
    if (worker->pid > 0) ::kill(worker->pid, SIGKILL);
    reap(*worker);
  }
  ::close(signals_);
}

Result<WorkerGroup::Id> WorkerGroup::start(const Load& load, const Surroundings& surroundings) {
  std::array<int, 2> input = {-1, -1};
  std::array<int, 2> output = {-1, -1};
  if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "pipe"));
  }
  const std::string text = to_json(load).text();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return std::unexpected(errno_error(errno, "fork"));
  if (pid == 0) become_worker(text, surroundings, input[0], output[1]);
  close_pipe(input[0]);
  close_pipe(output[1]);
  workers_.push_back(std::make_unique<Worker>(
      Worker{.name = load.name, .pid = pid, .input = input[1], .output = output[0]}));
  return workers_.size() - 1;
}

bool WorkerGroup::wait(int fd, nanoseconds time) {
  std::array<pollfd, 2> both = {pollfd{signals_, POLLIN, 0}, pollfd{fd, POLLIN, 0}};
  const timespec limit = {time.count() / 1'000'000'000, time.count() % 1'000'000'000};
  const int ready = ::ppoll(both.data(), both.size(), time.count() < 0 ? nullptr : &limit, nullptr);
  if (ready > 0 && both[0].revents != 0) {
    take_interrupt();
    return false;
  }
  return ready > 0;
}

void WorkerGroup::take_interrupt() {
  signalfd_siginfo info = {};
  if (::read(signals_, &info, sizeof info) <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  const bool again = interrupted_ && now - *interrupted_ >= kSecondInterrupt;
  if (!interrupted_) interrupted_ = now;
  for (Id worker = 0; worker < workers_.size(); ++worker) {
    again ? kill(worker) : tell_to_stop(worker);
  }
}

Result<std::string> WorkerGroup::listen(Worker& worker) {
  for (;;) {
    if (const auto line = worker.buffer.find('\n'); line != std::string::npos) {
      std::string said = worker.buffer.substr(0, line);
      worker.buffer.erase(0, line + 1);
      if (is_object(said)) return said;
      continue;  // something that a library printed
    }
    if (worker.output < 0) return fail(Code::kUnavailable, worker.end);
    if (!wait(worker.output, nanoseconds(-1))) continue;
    std::array<char, 4096> bytes = {};
    const ssize_t count = ::read(worker.output, bytes.data(), bytes.size());
    if (count > 0) {
      worker.buffer.append(bytes.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      reap(worker);
    }
  }
}

void WorkerGroup::reap(Worker& worker) {
  close_pipe(worker.input);
  close_pipe(worker.output);
  if (worker.pid < 0) return;
  int status = 0;
  while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  worker.end = describe_end(status);
  worker.pid = -1;
}

Result<Ready> WorkerGroup::ready(Id id) {
  Worker& worker = *workers_[id];
  ASSIGN_OR_RETURN(const auto said, listen(worker));
  return read_ready(said);
}

void WorkerGroup::go(Id id) {
  // One that has died says so when its report is asked for.
  if (workers_[id]->input >= 0) [[maybe_unused]]
    const auto sent = ::write(workers_[id]->input, "\n", 1);
}

void WorkerGroup::tell_to_stop(Id id) { close_pipe(workers_[id]->input); }

void WorkerGroup::kill(Id id) {
  if (workers_[id]->pid > 0) ::kill(workers_[id]->pid, SIGKILL);
}

Report WorkerGroup::report(Id id) {
  Worker& worker = *workers_[id];
  Report report{.name = worker.name, .pid = worker.pid};
  const auto said = listen(worker);
  if (!said) {
    report.error = said.error().what;
  } else if (auto read = read_report(*said); read) {
    report = *std::move(read);
  } else {
    report.error = read.error().message();
  }
  reap(worker);
  return report;
}

void WorkerGroup::sleep(nanoseconds time) {
  if (is_interrupted()) return;
  // -1 is passed over by ppoll: interrupts only.
  wait(-1, time);
}

}  // namespace tranche::load
