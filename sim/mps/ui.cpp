#include "sim/mps/ui.h"

#include <cstdio>
#include <iostream>
#include <optional>

#include "sim/mps/wire.h"

namespace tranche::sim::mps {
namespace {

std::optional<OwnedFd> open_daemon() {
  auto daemon = connect_mps(mps_pipe_folder());
  if (daemon && send_packet(daemon->get(), "ui")) return *std::move(daemon);
  std::fputs("Cannot find MPS control daemon process\n", stderr);
  return std::nullopt;
}

// The exit code; nullopt: the daemon is gone.
std::optional<int> say(const OwnedFd& daemon, const std::string& command) {
  if (split_words(command).empty()) return 0;
  if (!send_packet(daemon.get(), command)) return std::nullopt;
  const Packet packet = receive_packet(daemon.get());
  if (packet.kind != Packet::Kind::kText || packet.text.size() < 2) return std::nullopt;
  const bool ok = packet.text.front() == '0';
  std::fputs(packet.text.c_str() + 2, ok ? stdout : stderr);
  return ok ? 0 : 1;
}

int lost() {
  std::fputs("The MPS control daemon has ended\n", stderr);
  return 1;
}

}  // namespace

int run_command(const std::string& command) {
  const auto daemon = open_daemon();
  if (!daemon) return 1;
  const auto code = say(*daemon, command);
  return code ? *code : lost();
}

int run_commands() {
  const auto daemon = open_daemon();
  if (!daemon) return 1;
  int worst = 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto code = say(*daemon, line);
    if (!code) return lost();
    worst = std::max(worst, *code);
    std::fflush(stdout);
    const auto words = split_words(line);
    if (*code == 0 && !words.empty() && words[0] == "quit") break;
  }
  return worst;
}

}  // namespace tranche::sim::mps
