// tranche-limit-hook: the container runtime runs it as root on the host before a container with
// limits starts (OCI hook createRuntime, through a CDI specification). Exit 0: the container may
// start. It is small and linked statically, because it runs on the node with whatever C library the
// node has.

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "hook/container.h"
#include "hook/start.h"

namespace {

constexpr std::string_view kUsage =
    "Usage: tranche-limit-hook --tenants DIR [--wait SECONDS] < STATE\n"
    "\n"
    "Run by the container runtime before a container with GPU limits starts (OCI hook\n"
    "createRuntime); the agent of Tranche names it in tranche.dev-limits.json. STATE is the\n"
    "container's state, as the OCI runtime specification has it.\n"
    "\n"
    "  --tenants DIR    the agent's folder of tenants, in its state folder\n"
    "  --wait SECONDS   so long a container waits until the driver limits its memory, where that\n"
    "                   is wished for (kernelLimits) [10]\n"
    "\n"
    "Example: tranche-limit-hook --tenants /var/lib/tranche/tenants --wait 5 < state.json\n"
    "\n"
    "Exit code 0: the container may start. 1: it may not, stderr says why. 2: wrong arguments.\n";

// Seconds beyond the wait itself, for files and images that do not answer.
constexpr unsigned kGrace = 5;

volatile sig_atomic_t exit_at_alarm = 1;

extern "C" void give_up(int /*signal*/) {
  constexpr std::string_view kMessage = "tranche: the node's files do not answer in time\n";
  (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(exit_at_alarm);
}

bool read_all(int fd, std::size_t most, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const auto n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > most) return false;
  }
}

int refuse(std::string_view why) {
  std::fprintf(stderr, "tranche-limit-hook: %.*s\n", static_cast<int>(why.size()), why.data());
  (void)!std::fwrite(kUsage.data(), 1, kUsage.size(), stderr);
  return tranche::kExitUsage;
}

int refuse_unknown(std::string_view word) {
  static constexpr std::string_view kKnown[] = {"--tenants", "--wait", "--help"};
  auto why = "unknown argument \"" + std::string(word.substr(0, 80)) + "\"";
  if (const auto near = tranche::nearest(word, kKnown)) {
    why += "; did you mean \"" + std::string(*near) + "\"?";
  }
  return refuse(why);
}

}  // namespace

int main(int argc, char** argv) {
  tranche::hook::Options options;
  unsigned seconds = 10;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      (void)!std::fwrite(kUsage.data(), 1, kUsage.size(), stdout);
      return tranche::kExitFine;
    }
    if (flag != "--tenants" && flag != "--wait") return refuse_unknown(flag);
    const std::string_view value = ++i < argc ? argv[i] : "";
    const char* end = value.data() + value.size();
    if (flag == "--tenants") {
      if (!value.starts_with('/')) return refuse("--tenants is no absolute path");
      options.tenants = value;
    } else if (value.empty() || std::from_chars(value.data(), end, seconds).ptr != end ||
               seconds > 600) {
      return refuse("--wait is no number of seconds up to 600");
    }
  }
  if (options.tenants.empty()) return refuse("--tenants is missing");
  options.patience = std::chrono::seconds(seconds);
  // The runtime may have started the hook with other settings of these signals.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGALRM, give_up);
  sigset_t alarm_alone;
  sigemptyset(&alarm_alone);
  sigaddset(&alarm_alone, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm_alone, nullptr);
  ::alarm(seconds + kGrace);

  std::string state;
  if (!read_all(STDIN_FILENO, tranche::hook::kLongestState, state)) {
    std::fputs("tranche: the container's state cannot be read, or is too long\n", stderr);
    return 1;
  }
  const auto verdict = tranche::hook::decide(state, options, [](bool starts_anyway) {
    if (!starts_anyway) return;
    exit_at_alarm = 0;
    ::alarm(kGrace);
  });
  if (!verdict.message.empty()) std::fprintf(stderr, "%s\n", verdict.message.c_str());
  return verdict.may_start ? 0 : 1;
}
