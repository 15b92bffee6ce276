// nvidia-cuda-mps-control, and, under that name, nvidia-cuda-mps-server.

#include <fcntl.h>
#include <getopt.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "fmt/format.h"
#include "sim/mps/daemon.h"
#include "sim/mps/ui.h"

namespace tranche::sim::mps {
namespace {

constexpr unsigned kDriverOfProtocol3 = 615;
constexpr unsigned kCudaOfPartitions = 13010;

struct CommandLine {
  DaemonOptions daemon;
  bool is_daemon = false;
  bool quits = false;
  bool shows_version = false;
  bool shows_help = false;
  std::string command;  // module, verb, arguments
  std::string config;
};

void print_help() {
  std::puts(
      "Usage: nvidia-cuda-mps-control [options]\n"
      "  -h, --help                 this text\n"
      "  -d, --daemon               start the control daemon in the background\n"
      "  -f, --foreground           start the control daemon in the foreground\n"
      "  -m, --multiuser            one server for all users\n"
      "  -p, --protocol <2|3>       2 (default), or 3: named servers and namespaces\n"
      "  -a, --apply <file>         configuration of protocol 3, in TOML\n"
      "  -S, --static-partitioning  SM partitions (protocol 2)\n"
      "  -q, --quit                 end the daemon\n"
      "  -v, --version              version of this program\n"
      "Without options: commands are read from standard input; `help` lists them. With protocol 3\n"
      "also as arguments: <module> <verb> [arguments].\n"
      "(Part of a simulated driver.)");
}

std::optional<CommandLine> read_command_line(int argc, char** argv) {
  constexpr std::array kOptions = {option{"help", no_argument, nullptr, 'h'},
                                   option{"daemon", no_argument, nullptr, 'd'},
                                   option{"foreground", no_argument, nullptr, 'f'},
                                   option{"multiuser", no_argument, nullptr, 'm'},
                                   option{"protocol", required_argument, nullptr, 'p'},
                                   option{"apply", required_argument, nullptr, 'a'},
                                   option{"static-partitioning", no_argument, nullptr, 'S'},
                                   option{"quit", no_argument, nullptr, 'q'},
                                   option{"version", no_argument, nullptr, 'v'},
                                   option{nullptr, 0, nullptr, 0}};
  CommandLine line;
  std::string protocol = "2";
  for (int one = 0;
       (one = ::getopt_long_only(argc, argv, "+hdfmp:a:Sqv", kOptions.data(), nullptr)) != -1;) {
    if (one == 'h') line.shows_help = true;
    if (one == 'd' || one == 'f') line.is_daemon = true;
    if (one == 'f') line.daemon.foreground = true;
    if (one == 'm') line.daemon.multiuser = true;
    if (one == 'p') protocol = ::optarg;
    if (one == 'a') line.config = ::optarg;
    if (one == 'S') line.daemon.static_partitions = true;
    if (one == 'q') line.quits = true;
    if (one == 'v') line.shows_version = true;
    if (one == '?') return std::nullopt;
  }
  const char* const named = std::getenv("CUDA_MPS_PROTOCOL_VERSION");
  if (named != nullptr && *named != '\0') protocol = named;
  for (int i = ::optind; i < argc; ++i) {
    line.command += fmt::format("{}{}", line.command.empty() ? "" : " ", argv[i]);
  }
  if ((line.is_daemon && ::optind != argc) || (protocol != "2" && protocol != "3")) {
    std::fputs("Invalid arguments; -h shows how it is used\n", stderr);
    return std::nullopt;
  }
  line.daemon.protocol = protocol == "3" ? 3 : 2;
  return line;
}

int give_up(std::string_view why) {
  std::fputs(fmt::format("{}\n", why).c_str(), stderr);
  return 1;
}

// All checks before there is a daemon.
Result<void> read_settings(CommandLine& line, const State& state) {
  const auto release = static_cast<unsigned>(std::strtoul(state.driver_version, nullptr, 10));
  if (line.daemon.protocol == 3 && release < kDriverOfProtocol3) {
    return fail(Code::kUnsupported,
                fmt::format("MPS protocol 3 needs driver {} or newer; this is {}",
                            kDriverOfProtocol3, state.driver_version));
  }
  if (line.daemon.static_partitions && state.cuda_version < kCudaOfPartitions) {
    return fail(Code::kUnsupported, "Invalid arguments; -h shows how it is used");
  }
  if (line.config.empty()) return {};
  if (line.daemon.protocol != 3) {
    return fail(Code::kInvalidArgument, "-a needs protocol 3 (-p 3)");
  }
  ASSIGN_OR_RETURN(line.daemon.servers, read_config(line.config));
  return {};
}

// The lock of the pipe folder. Open: another daemon has it.
Result<OwnedFd> lock_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/control_lock";
  OwnedFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.is_open()) return std::unexpected(errno_error(errno, "open " + path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kAlreadyExists, "An instance of this daemon is already running");
  }
  return lock;
}

Result<Log> open_log(bool echo) {
  const std::string folder = log_folder();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/control.log";
  OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open()) return std::unexpected(errno_error(errno, "open " + path));
  return Log(std::move(file), echo);
}

void leave_terminal() {
  ::setsid();
  std::ignore = ::chdir("/");
  const OwnedFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
}

// In the daemon's own process. `tell` receives "0" once it answers, else the error.
int be_daemon(const CommandLine& line, const std::shared_ptr<Simulation>& sim, OwnedFd lock,
              const std::function<void(std::string_view)>& tell) {
  auto log = open_log(line.daemon.foreground);
  if (!log) {
    tell(log.error().message());
    return 1;
  }
  Daemon daemon(line.daemon, sim, std::move(lock), *std::move(log));
  if (const auto opened = daemon.open(); !opened) {
    tell(opened.error().message());
    return 1;
  }
  tell("0");
  daemon.run();
  return 0;
}

int start_in_background(const CommandLine& line, const std::shared_ptr<Simulation>& sim,
                        OwnedFd lock) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return give_up("pipe: no more descriptors");
  const OwnedFd from(ends[0]);
  OwnedFd to(ends[1]);
  // Folders named relative to the current one stay valid.
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", mps_pipe_folder().c_str(), 1);
  ::setenv("CUDA_MPS_LOG_DIRECTORY", log_folder().c_str(), 1);
  const pid_t child = ::fork();
  if (child < 0) return give_up("fork: no more processes");
  if (child == 0) {
    leave_terminal();
    const int code = be_daemon(line, sim, std::move(lock), [&](std::string_view text) {
      std::ignore = ::write(to.get(), text.data(), text.size());
      to.close();
    });
    std::_Exit(code);
  }
  to.close();
  std::array<char, 1024> said = {};
  const ssize_t length = ::read(from.get(), said.data(), said.size());
  const std::string_view text(said.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (text == "0") return 0;
  // Its lock ends with it, so the next one finds the folder free.
  ::waitpid(child, nullptr, 0);
  return give_up(text.empty() ? "the daemon ended at once" : text);
}

int start_daemon(CommandLine& line) {
  auto options = options_from_environment();
  if (!options.machine.empty()) {
    options.machine = std::filesystem::absolute(options.machine).string();
    ::setenv("TRANCHE_SIM", options.machine.c_str(), 1);
  }
  if (!options.state.empty()) {
    options.state = std::filesystem::absolute(options.state).string();
    ::setenv("TRANCHE_SIM_STATE", options.state.c_str(), 1);
  }
  const auto sim = Simulation::open(options);
  if (!sim) return give_up(sim.error().message());
  if (const auto read = read_settings(line, (*sim)->state()); !read) {
    return give_up(read.error().message());
  }
  auto lock = lock_folder(mps_pipe_folder());
  if (!lock) return give_up(lock.error().message());
  if (!line.daemon.foreground) return start_in_background(line, *sim, *std::move(lock));
  return be_daemon(line, *sim, *std::move(lock), [](std::string_view text) {
    if (text != "0") give_up(text);
  });
}

int control(int argc, char** argv) {
  auto line = read_command_line(argc, argv);
  if (!line) return 1;
  if (line->shows_help) {
    print_help();
    return 0;
  }
  if (line->shows_version) {
    const auto sim = Simulation::open(options_from_environment());
    if (!sim) return give_up(sim.error().message());
    std::puts(
        fmt::format("CUDA MPS Control binary version: {}", (*sim)->state().cuda_version).c_str());
    return 0;
  }
  if (line->quits) return run_command("quit");
  if (line->is_daemon) return start_daemon(*line);
  return line->command.empty() ? run_commands() : run_command(line->command);
}

}  // namespace
}  // namespace tranche::sim::mps

int main(int argc, char** argv) {
  namespace mps = tranche::sim::mps;
  if (argc > 0 && std::strcmp(argv[0], mps::kServerName) == 0) return mps::Server().run();
  return mps::control(argc, argv);
}
