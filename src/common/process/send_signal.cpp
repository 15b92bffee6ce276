#include "process/send_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <vector>

namespace tranche::process {
namespace {

std::optional<pid_t> parse_pid(const std::string& text) {
  pid_t pid = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, pid);
  if (error != std::errc() || stop != end) return std::nullopt;
  return pid;
}

}  // namespace

Result<void> send_signal(const FsRoot& fs, const std::string& name, int signal) {
  ASSIGN_OR_RETURN(const auto entries, fs.list("/proc"));
  std::vector<pid_t> pids;
  for (const auto& entry : entries) {
    if (const auto pid = parse_pid(entry)) pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  for (const auto pid : pids) {
    const auto command = fs.read(fmt::format("/proc/{}/cmdline", pid));
    if (!command || command->substr(0, command->find('\0')) != name) continue;
    if (::kill(pid, signal) == 0) return {};
    return std::unexpected(errno_error(errno, fmt::format("signal {} ({})", name, pid)));
  }
  return fail(Code::kNotFound, fmt::format("no process is called '{}'", name),
              "check --process-to-signal, and shareProcessNamespace of the Pod");
}

}  // namespace tranche::process
