#include "agent/mps/mps_daemon.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "mps/partitions.h"

namespace tranche::agent {
namespace {

constexpr const char* kPidFile = "nvidia-cuda-mps-control.pid";
constexpr const char* kControlLog = "control.log";
// In the log folder, for protocols with such a file.
constexpr const char* kConfigFile = "config.toml";
// How often a starting daemon is asked whether its server is ready (every MpsTools::ready_pause).
constexpr int kReadyQuestions = 50;
// The SELinux label of files that containers may use.
constexpr std::string_view kSelinuxLabel = "system_u:object_r:container_file_t:s0";
// Of daemon and server, in /proc/<pid>/comm, which the kernel cuts to 15 characters.
constexpr std::string_view kProcessName = "nvidia-cuda-mps";
constexpr std::uintmax_t kLongestPiece = std::uintmax_t{256} << 10U;

Result<void> make_folder(const std::filesystem::path& path) {
  TRY(FsRoot().make_directories(path));
  // Regardless of the umask, because clients of any user come here.
  if (::chmod(path.c_str(), 0755) != 0) {
    return std::unexpected(errno_error(errno, "chmod " + path.string()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MpsDaemon>> MpsDaemon::start(const MpsTools& tools, mps::Daemon daemon) {
  std::unique_ptr<MpsDaemon> made(new MpsDaemon(tools, std::move(daemon)));
  TRY(made->begin());
  return made;
}

void MpsDaemon::end_left_behind(const MpsTools& tools, const config::ResourceName& resource) {
  const auto mark = mps::paths_of(tools.root, resource).started;
  const auto gpus = mps::left_behind(mark);
  if (gpus.empty()) return;
  tools.log.warn(fmt::format(
      "the MPS control daemon of {} was left by a supervisor that was killed; it is ended",
      resource.value));
  mps::Daemon daemon{
      .resource = resource, .devices = {}, .protocol = mps::service_of(mark).protocol};
  for (const auto& uuid : gpus) daemon.devices.push_back({.uuid = uuid});
  MpsDaemon left(tools, std::move(daemon));
  left.runs_ = true;
  if (const auto removed = FsRoot().remove(mark); !removed) tools.log.warn(removed.error());
}

MpsDaemon::MpsDaemon(const MpsTools& tools, mps::Daemon daemon)
    : tools_(tools),
      daemon_(std::move(daemon)),
      protocol_(mps::protocol_of(daemon_.protocol)),
      paths_(mps::paths_of(tools.root, daemon_.resource)),
      environment_(mps::environment_of(tools.root, daemon_)) {
  service_.protocol = protocol_.number();
  service_.namespaces = protocol_.has_namespaces();
  service_.open = daemon_.open;
}

Result<void> MpsDaemon::begin() {
  TRY(end_leftover());
  runs_ = true;  // from here on the destructor has something to undo
  TRY(claim_gpus());
  TRY(make_folders());
  TRY(launch());
  if (mps::has_partitions(daemon_)) TRY(make_partitions());
  ASSIGN_OR_RETURN(auto mark, mps::ReadyFile::put(paths_.started, gpus(), service_));
  started_.emplace(std::move(mark));
  return {};
}

std::vector<std::string> MpsDaemon::gpus() const {
  std::vector<std::string> gpus;
  gpus.reserve(daemon_.devices.size());
  for (const auto& device : daemon_.devices) gpus.push_back(device.uuid);
  return gpus;
}

Result<void> MpsDaemon::claim_gpus() const {
  for (const auto& device : daemon_.devices) {
    TRY(tools_.gpus.set_compute_mode(device.uuid, gpu::ComputeMode::kExclusiveProcess));
  }
  return {};
}

// Starts the program and sets its limits before a client can connect.
Result<void> MpsDaemon::launch() const {
  const auto file = paths_.log / kConfigFile;
  const auto start = protocol_.start(daemon_, file);
  if (!start.configuration.empty()) TRY(FsRoot().write_atomic(file, start.configuration));
  for (const auto& one : start.orders) TRY(order(one));
  return start.ready ? await(*start.ready) : Result<void>();
}

Result<void> MpsDaemon::await(const mps::Question& question) const {
  Result<void> well;
  for (int i = 0; i < kReadyQuestions && (i == 0 || !well); ++i) {
    if (i > 0) std::this_thread::sleep_for(tools_.ready_pause);
    ASSIGN_OR_RETURN(const auto answer, order(question.order));
    well = question.judge(answer, paths_.log);
  }
  return well;
}

// Makes a partition for each tranche, numbered as in its id.
Result<void> MpsDaemon::make_partitions() {
  ASSIGN_OR_RETURN(const auto listed, order(protocol_.chunks_question()));
  for (const auto& device : daemon_.devices) {
    const auto total = protocol_.chunks_of(listed, device.uuid);
    if (!total) {
      return fail(Code::kUnavailable,
                  fmt::format("{} does not tell how many chunks of multiprocessors {} has: {}",
                              mps::kControlProgram, device.uuid, mps::words(listed)),
                  "without tranche.mps.smPartitions it need not");
    }
    ASSIGN_OR_RETURN(const int each, mps::chunks_each(daemon_, device, *total));
    for (int replica = 0; replica < device.replicas; ++replica) {
      ASSIGN_OR_RETURN(const auto said, order(protocol_.add_partition(device, replica, each)));
      auto partition = mps::partition_of(said, device.uuid);
      if (!partition) {
        return fail(Code::kUnavailable,
                    fmt::format("{} tells no SM partition of {}: {}", mps::kControlProgram,
                                device.uuid, mps::words(said)));
      }
      service_.partitions[offer::replica_id(device.uuid, replica)] = *std::move(partition);
    }
  }
  return {};
}

// Ends a daemon of this resource without a supervisor, whose limits are unknown.
Result<void> MpsDaemon::end_leftover() {
  TRY(FsRoot().remove(paths_.started));
  if (!FsRoot().exists(paths_.pipe / kPidFile)) return {};
  if (!ask()) {
    kill_remaining();
    return {};
  }
  tools_.log.warn(fmt::format(
      "an MPS control daemon of {} is running already; it is ended, and its clients with it",
      daemon_.resource.value));
  quit();
  return {};
}

Result<void> MpsDaemon::make_folders() const {
  TRY(make_folder(paths_.pipe));
  TRY(make_folder(paths_.log));
  if (!tools_.host.exists("/sys/fs/selinux")) return {};
  if (::setxattr(paths_.pipe.c_str(), "security.selinux", kSelinuxLabel.data(),
                 kSelinuxLabel.size(), 0) == 0) {
    return {};
  }
  const int number = errno;
  // SELinux is mounted but off, or the file system has no labels.
  if (number == ENOTSUP) return {};
  auto error = errno_error(number, fmt::format("label {} for SELinux", paths_.pipe.string()));
  error.hint = "run the container privileged";
  return std::unexpected(std::move(error));
}

Result<std::string> MpsDaemon::order(const mps::Order& order) const {
  ASSIGN_OR_RETURN(const auto end, tools_.control(order.arguments, environment_, order.input));
  if (end.code == 0) return end.output;
  return fail(Code::kUnavailable,
              fmt::format("{} {}: exit code {}: {}", mps::kControlProgram, mps::shown(order),
                          end.code, mps::words(end.output)),
              fmt::format("see {}", (paths_.log / kControlLog).string()));
}

Result<void> MpsDaemon::ask() const {
  const auto question = protocol_.alive();
  ASSIGN_OR_RETURN(const auto answer, order(question.order));
  return question.judge(answer, paths_.log);
}

Result<void> MpsDaemon::retune(mps::Daemon wanted) {
  for (const auto& one : protocol_.change(daemon_, wanted)) TRY(order(one));
  if (const auto question = protocol_.servers_question()) {
    ASSIGN_OR_RETURN(const auto servers, order(*question));
    for (const auto& one : protocol_.change_servers(daemon_, wanted, servers)) {
      // Only a warning: a server ends with its last client, and the next one has the new defaults.
      if (const auto told = order(one); !told) tools_.log.warn(told.error());
    }
  }
  const bool news = wanted.open != daemon_.open;
  daemon_ = std::move(wanted);
  service_.open = daemon_.open;
  return news && started_ ? started_->renew(gpus(), service_) : Result<void>();
}

void MpsDaemon::pass_on_log() {
  std::ifstream file(paths_.log / kControlLog, std::ios::binary | std::ios::ate);
  if (!file) return;
  const auto size = static_cast<std::uintmax_t>(file.tellg());
  if (size < log_read_) log_read_ = 0;  // a new log file
  std::string text(std::min(size - log_read_, kLongestPiece), '\0');
  file.seekg(static_cast<std::streamoff>(log_read_));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  log_read_ += text.size();
  if (!text.empty()) tools_.daemon_log(text);
}

MpsDaemon::~MpsDaemon() {
  started_.reset();
  if (!runs_) return;
  quit();
  pass_on_log();
  for (const auto& device : daemon_.devices) {
    const auto set = tools_.gpus.set_compute_mode(device.uuid, gpu::ComputeMode::kDefault);
    if (!set) tools_.log.warn(set.error());
  }
  std::error_code ignored;
  std::filesystem::remove_all(paths_.log, ignored);
}

void MpsDaemon::quit() {
  if (!FsRoot().exists(paths_.pipe)) return;
  const auto done = order(protocol_.quit());
  if (done) return;
  tools_.log.warn(done.error());
  kill_remaining();
}

// Kills a daemon that did not end when asked, and servers that outlived theirs: they would keep the
// GPUs from other servers.
void MpsDaemon::kill_remaining() const {
  const FsRoot fs;
  const auto names = fs.list("/proc");
  if (!names) {
    tools_.log.error(Error(names.error())
                         .with_context("processes of an MPS control daemon may be left and hold "
                                       "the GPUs"));
    return;
  }
  for (const auto& name : *names) {
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 1 || !is_ours(fs, name)) continue;
    tools_.log.warn(fmt::format("process {} of the MPS control daemon of {} is killed", pid,
                                daemon_.resource.value));
    ::kill(pid, SIGKILL);
  }
}

bool MpsDaemon::is_ours(const FsRoot& fs, const std::string& pid) const {
  const auto name = fs.read("/proc/" + pid + "/comm");
  if (!name || !name->starts_with(kProcessName)) return false;
  const auto environment = fs.read("/proc/" + pid + "/environ");
  if (!environment) return false;
  const std::string wanted = "CUDA_MPS_PIPE_DIRECTORY=" + paths_.pipe.string();
  std::istringstream entries(*environment);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    if (entry == wanted) return true;
  }
  return false;
}

}  // namespace tranche::agent
