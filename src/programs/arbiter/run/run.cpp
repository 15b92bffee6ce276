#include "arbiter/run/run.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "arbiter/arbiter.h"
#include "arbiter/run/extensions.h"
#include "arbiter/run/syscall_filter.h"
#include "base/exit_code.h"
#include "base/fs.h"
#include "config/programs/arbiter_options.h"
#include "fmt/format.h"
#include "limit/wire.h"
#include "nvml/process_reader.h"
#include "process/process_lock.h"
#include "process/signals.h"

namespace tranche::arbiter {
namespace {

Result<void> check_tenants(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) {
    const int error = errno;
    if (error != ENOENT) return std::unexpected(errno_error(error, folder));
    return fail(Code::kNotFound, fmt::format("the tenants' folder {} is not there", folder),
                "the agent makes it, in its state folder: start the agent first, mount the folder "
                "here, or name it with --tenants");
  }
  if (!S_ISDIR(status.st_mode)) {
    return fail(Code::kInvalidArgument, fmt::format("{} is no folder", folder),
                "name the tenants' folder with --tenants");
  }
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(
        Code::kPermission,
        fmt::format("{}: the sockets of tenants are made there, and it may not be written", folder),
        "run the arbiter as root, and mount the folder for writing");
  }
  return {};
}

// In a container the folder is a mount, which still leads to a folder that was removed on the node
// (`tranche cleanup`), while the agent uses its successor. Only a restarted container finds that
// one.
Result<void> check_still_there(const std::string& tenants) {
  struct stat status{};
  if (::stat(tenants.c_str(), &status) != 0 || status.st_nlink > 0) return {};
  return fail(Code::kNotFound,
              fmt::format("the tenants' folder {} was removed under the arbiter", tenants),
              "start its container anew");
}

Result<void> make_state_dir(const std::string& folder) {
  auto made = FsRoot().make_directories(folder);
  if (made && ::access(folder.c_str(), R_OK | W_OK | X_OK) == 0) return {};
  if (made) made = std::unexpected(errno_error(errno, folder));
  auto error = std::move(made).error();
  if (error.hint.empty()) error.hint = "run the arbiter as root, or name a folder with --state-dir";
  return std::unexpected(std::move(error));
}

// nullptr: a signal asked to end before the lock was free.
Result<std::unique_ptr<process::ProcessLock>> take_lock(const std::string& state_dir, int signals,
                                                        const Log& log) {
  return process::ProcessLock::take(state_dir + "/arbiter.lock", signals, [&](bool first) {
    if (first) {
      log.info(fmt::format("another arbiter serves with the state folder {}: waiting for its end",
                           state_dir));
    }
    return true;
  });
}

// A registered process needs two descriptors. One container may register as many processes as there
// are slots, so the limit leaves room for the other containers.
void raise_descriptor_limit(const Log& log) {
  constexpr rlim_t kEnough = rlim_t{8} * limit::wire::kMaxProcesses;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);  // raising it to the hard limit needs no privilege
  if (files.rlim_max >= kEnough) return;
  log.warn(fmt::format(
      "the arbiter may open {} files, two for each process that uses a GPU: one container's could "
      "keep others from registering; raise its hard limit (LimitNOFILE) to {}",
      files.rlim_max, kEnough));
}

// If the kernel has no filters, tenants still get limits.
void give_up_unused_syscalls(const Log& log) {
  const auto refused = refuse_unused_syscalls();
  if (refused) return;
  log.warn(fmt::format(
      "{}: the arbiter keeps system calls that it has no use for, such as signals to others",
      refused.error().message()));
}

Result<void> run(const config::ArbiterOptions& options, int signals, const Log& log) {
  give_up_unused_syscalls(log);
  TRY(check_tenants(options.tenants));
  TRY(make_state_dir(options.state_dir));
  ASSIGN_OR_RETURN(const auto lock, take_lock(options.state_dir, signals, log));
  if (lock == nullptr) return {};
  raise_descriptor_limit(log);
  const SystemClock clock;
  const FsRoot host(options.host_root);
  const auto connection = nvml::Connection::make(
      {.driver_root = options.container_driver_root, .host = host, .log = &log});
  nvml::ProcessReader processes(connection);
  ASSIGN_OR_RETURN(const auto arbiter,
                   Arbiter::open({options.tenants, options.state_dir, host, options.cgroup_root,
                                  options.mps_dir, options.stall_after},
                                 clock, log, &processes, extensions_of_node(connection)));
  std::stop_source stop;
  TRY(arbiter->on_readable(signals, [&] {
    if (process::ends_process(process::next_signal(signals))) stop.request_stop();
  }));
  log.info(fmt::format("serving {} tenants of {}", arbiter->tenants(), options.tenants));
  arbiter->run(stop.get_token());
  log.info("ending: limits of memory hold as they stand, compute opens until the next arbiter");
  return {};
}

int check(const config::ArbiterOptions& options) {
  auto lives = process::LivenessFile::check(
      std::filesystem::path(options.state_dir) / process::LivenessFile::kArbiters, SystemClock(),
      "arbiter");
  if (lives) lives = check_still_there(options.tenants);
  fmt::print(lives ? stdout : stderr, "{}\n", lives ? "alive" : lives.error().message());
  return lives ? 0 : 1;
}

}  // namespace

int run_arbiter(const config::Sources& sources) {
  const auto options = config::load_arbiter_options(sources);
  if (!options) {
    Log().error(options.error());
    return kExitUsage;
  }
  if (options->check) return check(*options);
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const auto ended = run(*options, signals, log);
    if (!ended) log.error(ended.error());
    return ended ? 0 : 1;
  });
}

}  // namespace tranche::arbiter
