#include "tenant/process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

#include "fmt/format.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace tranche::tenant {
namespace {

std::unexpected<Error> ended(pid_t pid) {
  return fail(Code::kNotFound, fmt::format("process {} has ended", pid));
}

// Field 22 of /proc/<pid>/stat, counted from the end of the name, because the name may hold any
// character.
Result<std::uint64_t> start_time(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto at = text.rfind(')');
  if (at == std::string::npos) return ended(pid);
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks).ec != std::errc{}) {
    return fail(Code::kInternal, fmt::format("/proc/{}/stat has no start time", pid));
  }
  return ticks;
}

Descriptor pidfd_of(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Result<Process> Process::peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::unexpected(errno_error(errno, "SO_PEERCRED"));
  }
  if (peer.pid <= 0) return fail(Code::kNotFound, "the peer is in a pid namespace out of sight");
  int raw = -1;
  size = sizeof(raw);
  const bool has_pidfd = getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &raw, &size) == 0;
  Descriptor fd = has_pidfd ? Descriptor(raw) : pidfd_of(peer.pid);
  if (!fd.is_open()) return ended(peer.pid);
  ASSIGN_OR_RETURN(const auto ticks, start_time(peer.pid));
  Process process({peer.pid, ticks}, std::move(fd));
  // The start time is the peer's only if the peer still lives.
  if (process.has_ended()) return ended(peer.pid);
  return process;
}

Result<Process> Process::find(pid_t pid) {
  Descriptor fd = pidfd_of(pid);
  if (!fd.is_open()) return ended(pid);
  ASSIGN_OR_RETURN(const auto ticks, start_time(pid));
  Process process({pid, ticks}, std::move(fd));
  if (process.has_ended()) return ended(pid);
  return process;
}

Result<Process> Process::open(const ProcessId& id) {
  Descriptor fd = pidfd_of(id.pid);
  if (!fd.is_open()) return ended(id.pid);
  ASSIGN_OR_RETURN(const auto ticks, start_time(id.pid));
  Process process(id, std::move(fd));
  if (ticks != id.start_time || process.has_ended()) return ended(id.pid);
  return process;
}

bool Process::has_ended() const {
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return poll(&poll_fd, 1, 0) > 0;
}

}  // namespace tranche::tenant
