// Simulation::open: find, make, check and map the state file.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "base/fs.h"
#include "fmt/format.h"
#include "sim/machine/machine.h"
#include "sim/state/build_state.h"
#include "sim/state/clock.h"
#include "sim/state/liveness.h"
#include "sim/state/owned_fd.h"
#include "sim/state/simulation.h"

namespace tranche::sim {
namespace {

std::uint64_t hash(std::string_view text, std::uint64_t value = 0xCBF29CE484222325U) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return value;
}

std::int64_t mtime_ns(const struct stat& info) {
  return info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
}

Result<std::string> read_machine(const std::string& path) {
  return FsRoot().read(std::filesystem::absolute(path));
}

void make_locks(State& state) {
  make_shared_lock(state.lock);
  make_shared_lock(state.clock_lock);
}

Result<State*> map_state(int fd, const std::string& path) {
  void* memory = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return std::unexpected(errno_error(errno, "map " + path));
  return std::launder(static_cast<State*>(memory));
}

// Fills an empty file. The caller holds the file's flock.
Result<void> make_state(int fd, const OpenOptions& options) {
  const std::string& path = options.state;
  const std::string& machine = options.machine;
  if (machine.empty()) {
    return fail(Code::kFailedPrecondition, path + ": there is no such simulated machine",
                "set TRANCHE_SIM to a machine file (sim/machines/*.yaml)");
  }
  struct stat info = {};
  if (::stat(machine.c_str(), &info) != 0) {
    return std::unexpected(errno_error(errno, "open machine " + machine));
  }
  ASSIGN_OR_RETURN(const std::string text, read_machine(machine));
  ASSIGN_OR_RETURN(const MachineSpec spec, parse_machine(text, machine));
  if (::ftruncate(fd, 0) != 0 || ::ftruncate(fd, sizeof(State)) != 0) {
    return std::unexpected(errno_error(errno, "extend " + path));
  }
  std::ignore = ::fchmod(fd, 0666);
  ASSIGN_OR_RETURN(State* const state, map_state(fd, path));
  make_locks(*state);
  start_clock(*state, options.clock == "virtual" ? ClockKind::kVirtual : ClockKind::kWall);
  const auto built = build_state(spec, *state);
  if (built) {
    state->version = kVersion;
    state->state_size = sizeof(State);
    state->machine_hash = hash(text);
    state->machine_mtime_ns = mtime_ns(info);
    state->machine_size = static_cast<std::uint64_t>(info.st_size);
    state->magic.store(kMagic, std::memory_order_release);
  }
  ::munmap(state, sizeof(State));
  if (!built) {
    Error error = built.error();
    return std::unexpected(std::move(error).with_context(machine));
  }
  return {};
}

bool is_made(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(std::uint64_t))) {
    return false;
  }
  std::uint64_t magic = 0;
  return ::pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == kMagic;
}

// The state wins over a machine file that cannot be read (a container may have only the state).
Result<void> check_machine(State& state, const OpenOptions& options) {
  struct stat info = {};
  if (options.machine.empty() || ::stat(options.machine.c_str(), &info) != 0) return {};
  if (mtime_ns(info) == state.machine_mtime_ns &&
      static_cast<std::uint64_t>(info.st_size) == state.machine_size) {
    return {};
  }
  const auto text = read_machine(options.machine);
  if (!text || hash(*text) == state.machine_hash) return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format("{}: made from another machine file than {}", options.state, options.machine),
      "remove the state file, or name another one in TRANCHE_SIM_STATE");
}

Result<void> check_clock(const State& state, const OpenOptions& options) {
  const std::string_view kind =
      state.clock_kind == static_cast<std::uint32_t>(ClockKind::kVirtual) ? "virtual" : "wall";
  if (options.clock.empty() || options.clock == kind) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: its clock is {}, not {}", options.state, kind, options.clock),
              "remove the state file, or name another one in TRANCHE_SIM_STATE");
}

Result<State*> open_made(int fd, const OpenOptions& options) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return std::unexpected(errno_error(errno, "stat " + options.state));
  const auto other = [&] {
    return fail(Code::kInvalidArgument,
                options.state + ": state of another release of the simulated machine",
                "remove it, it is made anew");
  };
  if (info.st_size != static_cast<off_t>(sizeof(State))) return other();
  ASSIGN_OR_RETURN(State* const state, map_state(fd, options.state));
  if (state->version != kVersion || state->state_size != sizeof(State)) {
    ::munmap(state, sizeof(State));
    return other();
  }
  auto same = check_machine(*state, options);
  if (same) same = check_clock(*state, options);
  if (!same) {
    ::munmap(state, sizeof(State));
    return std::unexpected(same.error());
  }
  return state;
}

// For a whole node, or a container of it, that plays a machine: programs started there later
// (kubectl exec) find it without the environment.
constexpr const char* kOwnState = "/run/tranche-sim/state";

}  // namespace

OpenOptions options_from_environment() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  OpenOptions options = {.machine = value("TRANCHE_SIM"),
                         .state = value("TRANCHE_SIM_STATE"),
                         .clock = value("TRANCHE_SIM_CLOCK")};
  if (options.machine.empty() && options.state.empty() && ::access(kOwnState, F_OK) == 0) {
    options.state = kOwnState;
  }
  return options;
}

Result<std::string> default_state_path(const std::string& machine) {
  struct stat info = {};
  if (::stat(machine.c_str(), &info) != 0) {
    return std::unexpected(errno_error(errno, "open machine " + machine));
  }
  std::error_code ignored;
  const auto real = std::filesystem::canonical(machine, ignored);
  std::string base = "/tmp";
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    base = text;
    break;
  }
  const std::string folder = fmt::format("{}/tranche-sim-{}", base, ::getuid());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(errno_error(errno, "make " + folder));
  }
  const std::string words = fmt::format("{}\n{}\n{}", real.string(), mtime_ns(info), info.st_size);
  return fmt::format("{}/{}-{:016x}.state", folder, real.stem().string(), hash(words));
}

Result<std::shared_ptr<Simulation>> Simulation::open(const OpenOptions& wanted) {
  OpenOptions options = wanted;
  if (!options.clock.empty() && options.clock != "wall" && options.clock != "virtual") {
    return fail(Code::kInvalidArgument,
                fmt::format("TRANCHE_SIM_CLOCK: unknown clock '{}'", options.clock),
                "write wall or virtual");
  }
  if (options.state.empty()) {
    if (options.machine.empty()) {
      return fail(Code::kFailedPrecondition, "no simulated machine is named",
                  "set TRANCHE_SIM to a machine file (sim/machines/*.yaml)");
    }
    ASSIGN_OR_RETURN(options.state, default_state_path(options.machine));
  }
  OwnedFd file(::open(options.state.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT && !options.machine.empty()) {
    file = OwnedFd(::open(options.state.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  }
  if (!file.is_open()) return std::unexpected(errno_error(errno, "open " + options.state));
  if (!is_made(file.get())) {
    // Released by close, and by the kernel when the maker dies: then the next one makes it.
    while (::flock(file.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return std::unexpected(errno_error(errno, "lock " + options.state));
    }
    if (!is_made(file.get())) TRY(make_state(file.get(), options));
    ::flock(file.get(), LOCK_UN);
  }
  ASSIGN_OR_RETURN(State* const state, open_made(file.get(), options));
  const auto lock_fd = open_lock_file(options.state);
  if (!lock_fd) {
    ::munmap(state, sizeof(State));
    return std::unexpected(lock_fd.error());
  }
  return std::make_shared<Simulation>(state, options.state, *lock_fd);
}

}  // namespace tranche::sim
