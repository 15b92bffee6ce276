// tranche-lab-kubelet: the kubelet stand-in as a process, driven by JSON lines on stdin. It prints
// one line when it serves and one per command, logs to stderr, and ends with its input.

#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "lab/kubelet/commands.h"
#include "lab/kubelet/kubelet.h"

namespace {

constexpr int kUsage = 2;

constexpr std::string_view kHelp =
    "tranche-lab-kubelet [--kubelet-root DIR] [--grace SECONDS] [--dial-timeout SECONDS]\n"
    "A stand-in for kubelet's device manager; not kubelet. One JSON command a line on stdin, such\n"
    "as {\"op\":\"node\"}, one JSON answer a line on stdout.\n"
    "  --kubelet-root DIR      default /var/lib/kubelet\n"
    "  --grace SECONDS         how long a resource outlives its plugin, default 300\n"
    "  --dial-timeout SECONDS  how long Register waits for the plugin's socket, default 10\n"
    "Commands (op) and their fields:\n";

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
  double seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc() || end != text.data() + text.size() || !(seconds >= 0) ||
      seconds > 1e6)
    return std::nullopt;
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

// False when the option or its value is not understood.
bool apply(tranche::lab::Kubelet::Options& options, std::string_view name, std::string_view value) {
  if (name == "--kubelet-root") {
    options.root = value;
    return !value.empty();
  }
  const auto seconds = parse_seconds(value);
  if (!seconds) return false;
  if (name == "--grace") {
    options.grace = *seconds;
    return true;
  }
  if (name == "--dial-timeout") {
    options.dial_timeout = *seconds;
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  tranche::lab::Kubelet::Options options{.root = "/var/lib/kubelet"};
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      std::cout << kHelp << tranche::lab::help_text();
      return 0;
    }
    if (i + 1 == argc || !apply(options, name, argv[i + 1])) {
      std::cerr << fmt::format("{}: unknown, or its value is missing or wrong; see --help\n", name);
      return kUsage;
    }
  }

  const tranche::SystemClock clock;
  const tranche::Log log;
  tranche::lab::Kubelet kubelet(options, clock, log);
  if (const auto started = kubelet.start(); !started) {
    log.error(started.error());
    return 1;
  }
  std::cout << "{\"ready\":true,\"program\":\"kubelet stand-in\"}\n" << std::flush;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) std::cout << tranche::lab::run_command(kubelet, line) << '\n' << std::flush;
  return 0;
}
