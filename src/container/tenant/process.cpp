#include "tenant/process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "base/fs.h"
#include "base/process_stat.h"
#include "fmt/format.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace tranche::tenant {
namespace {

std::unexpected<Error> ended(pid_t pid) {
  return fail(Code::kNotFound, fmt::format("process {} has ended", pid));
}

Result<std::uint64_t> start_time(pid_t pid) {
  ASSIGN_OR_RETURN(const std::string text, FsRoot().read(fmt::format("/proc/{}/stat", pid)));
  if (const auto stat = parse_process_stat(text)) return stat->start_time;
  return fail(Code::kInternal, fmt::format("/proc/{}/stat has no start time", pid));
}

Result<Descriptor> pidfd_of(pid_t pid) {
  Descriptor fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (fd.is_open()) return fd;
  // EINVAL: the pid is a thread's, or not a valid process number.
  if (errno == ESRCH || errno == EINVAL) return ended(pid);
  return std::unexpected(errno_error(errno, fmt::format("pidfd_open {}", pid)));
}

Result<Descriptor> peer_pidfd(int socket, pid_t pid) {
  int raw = -1;
  socklen_t size = sizeof(raw);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &raw, &size) == 0) return Descriptor(raw);
  if (errno == ENOPROTOOPT) return pidfd_of(pid);  // before Linux 6.5
  // Kernels differ in what they report about a peer that has ended.
  if (errno == ESRCH || errno == EINVAL || errno == ENODATA) return ended(pid);
  return std::unexpected(errno_error(errno, "SO_PEERPIDFD"));
}

}  // namespace

// The process that `fd` refers to and that has, or had, this pid.
Result<Process> Process::identify(pid_t pid, Descriptor fd) {
  const auto ticks = start_time(pid);
  Process process({pid, ticks.value_or(0)}, std::move(fd));
  // The start time is this process's only if it still lives.
  if (process.has_ended()) return ended(pid);
  if (!ticks) return std::unexpected(ticks.error());
  return process;
}

Result<Process> Process::peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::unexpected(errno_error(errno, "SO_PEERCRED"));
  }
  if (peer.pid <= 0) return fail(Code::kNotFound, "the peer is in a pid namespace out of sight");
  ASSIGN_OR_RETURN(Descriptor fd, peer_pidfd(socket, peer.pid));
  return identify(peer.pid, std::move(fd));
}

Result<Process> Process::find(pid_t pid) {
  ASSIGN_OR_RETURN(Descriptor fd, pidfd_of(pid));
  return identify(pid, std::move(fd));
}

Result<Process> Process::open(const ProcessId& id) {
  ASSIGN_OR_RETURN(Process process, find(id.pid));
  if (process.id() != id) return ended(id.pid);
  return process;
}

bool Process::has_ended() const {
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0;
}

}  // namespace tranche::tenant
