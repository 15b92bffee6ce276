// What the control daemon answers to commands (NVIDIA's manual page and MPS documentation).

#include <algorithm>

#include "fmt/format.h"
#include "sim/gpu/memory.h"
#include "sim/machine/read_number.h"
#include "sim/mps/daemon.h"
#include "sim/mps/devices.h"

namespace tranche::sim::mps {
namespace {

constexpr std::string_view kHelp =
    "Available commands:\n"
    "  get_server_list\n"
    "  get_server_status <PID>\n"
    "  start_server -uid <UID>\n"
    "  shutdown_server <PID> [-f]\n"
    "  get_client_list <PID>\n"
    "  get_device_client_list [<PID>]\n"
    "  device_query\n"
    "  ps [-p <PID>]\n"
    "  terminate_client <server PID> <client PID>\n"
    "  set_default_active_thread_percentage <percentage>\n"
    "  get_default_active_thread_percentage\n"
    "  set_active_thread_percentage <PID> <percentage>\n"
    "  get_active_thread_percentage <PID>\n"
    "  set_default_device_pinned_mem_limit <dev> <value>\n"
    "  get_default_device_pinned_mem_limit <dev>\n"
    "  set_device_pinned_mem_limit <PID> <dev> <value>\n"
    "  get_device_pinned_mem_limit <PID> <dev>\n"
    "  set_default_client_priority <priority>\n"
    "  get_default_client_priority\n"
    "  sm_partition add <device UUID> <number of chunks>\n"
    "  sm_partition rm <device UUID> <partition>\n"
    "  lspart\n"
    "  quit [-t <TIMEOUT>]\n"
    "  help\n";

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::optional<Answer> Daemon::obey(Peer& user, const std::vector<std::string>& words) {
  if (words.empty()) return Answer();
  const std::string& command = words[0];
  if (user.uid != 0 && user.uid != ::getuid()) {
    return refuse(fmt::format("{}: only the user who started the daemon, and root, may", command));
  }
  if (options_.protocol == 3) {
    if (auto answer = obey_protocol_3(words)) return answer;
  } else if (is_one_of(command, {"sm_partition", "lspart"})) {
    return shell_partition(words);
  }
  if (command == "help") return Answer{.text = std::string(kHelp)};
  if (command == "get_server_list") {
    Answer list;
    for (const ServerRecord& server : servers_) {
      if (server.pid != 0) list.text += fmt::format("{}\n", server.pid);
    }
    return list;
  }
  if (command == "start_server") return start_for_user(user, words);
  if (command == "shutdown_server") return shut_down(words);
  if (command == "quit") return quit(user, words);
  if (command == "device_query") return query_devices();
  if (command == "ps") {
    const std::string header = fmt::format("{:<9} {:<9} {:<9} {:<22} {:<11} {}\n", "PID", "ID",
                                           "SERVER", "DEVICE", "NAMESPACE", "COMMAND");
    std::vector<std::string> of = {"ps"};
    if (word_at(words, 1) == "-p") of.push_back(word_at(words, 2));
    return ask_all("ps", of, header);
  }
  if (command == "get_device_client_list") return ask_all(command, words, "");
  if (is_one_of(command, {"get_server_status", "get_client_list", "terminate_client",
                          "set_active_thread_percentage", "get_active_thread_percentage",
                          "set_device_pinned_mem_limit", "get_device_pinned_mem_limit"})) {
    return about_server(words);
  }
  if (command.starts_with("set_default_")) return set_default(words);
  if (command.starts_with("get_default_")) return get_default(words);
  return refuse(fmt::format("Unknown command: {}", command));
}

// The server answers at once, whatever its clients do.
Answer Daemon::ask(ServerRecord& server, const std::string& command) {
  if (!send_packet(server.socket.get(), "ask " + command)) {
    return refuse(fmt::format("Server {} is gone", server.pid));
  }
  for (;;) {
    const Packet packet = receive_packet(server.socket.get());
    if (packet.kind != Packet::Kind::kText) {
      return refuse(fmt::format("Server {} does not answer", server.pid));
    }
    constexpr std::string_view kAnswer = "answer ";
    if (packet.text.starts_with(kAnswer)) {
      const std::string_view said = std::string_view(packet.text).substr(kAnswer.size());
      return {.ok = said.starts_with('0'), .text = std::string(said.substr(2))};
    }
    take_message(server, packet.text);
  }
}

// Asks the server that `words` name, else all of them.
Answer Daemon::ask_all(const std::string& command, const std::vector<std::string>& words,
                       std::string header) {
  Answer all = {.text = std::move(header)};
  if (words.size() > 1 && find_server(words[1]) == nullptr) {
    return refuse(fmt::format("Couldn't find server {}", words[1]));
  }
  for (ServerRecord& server : servers_) {
    const bool is_meant = words.size() < 2 || words[1] == std::to_string(server.pid);
    if (!is_meant || server.pid == 0 || !server.is_ready) continue;
    const Answer one = ask(server, command);
    all.ok = all.ok && one.ok;
    all.text += one.text;
  }
  return all;
}

Answer Daemon::about_server(const std::vector<std::string>& words) {
  const std::string pid = word_at(words, 1);
  if (pid.empty()) return refuse(fmt::format("{}: which server?", words[0]));
  ServerRecord* const server = find_server(pid);
  if (server == nullptr) return refuse(fmt::format("Couldn't find server {}", pid));
  if (!server->is_ready) {
    if (words[0] == "get_server_status") return {.text = "INITIALIZING\n"};
    return refuse(fmt::format("Server {} is not ready", pid));
  }
  std::string command = words[0];
  for (std::size_t i = 2; i < words.size(); ++i) command += ' ' + words[i];
  return ask(*server, command);
}

std::optional<Answer> Daemon::start_for_user(Peer& user, const std::vector<std::string>& words) {
  const auto uid = read_number<uid_t>(word_at(words, 2));
  if (word_at(words, 1) != "-uid" || !uid) return refuse("start_server: -uid <user id> is needed");
  if (quits_) return refuse("start_server: the daemon quits");
  Peer as_client;
  as_client.uid = *uid;
  const ServerRecord* server = server_for(as_client);
  if (server == nullptr && options_.protocol == 2 && !servers_.empty()) {
    return refuse(fmt::format("start_server: server {} for user {} is there", servers_.front().pid,
                              servers_.front().uid));
  }
  if (server == nullptr) server = start_server(*uid, config_for(as_client));
  if (server == nullptr) return refuse("start_server: no server can be started");
  if (server->is_ready) return Answer();
  user.wants_server = server->pid;
  return std::nullopt;
}

Answer Daemon::shut_down(const std::vector<std::string>& words) {
  const std::string pid = word_at(words, 1);
  ServerRecord* const server = find_server(pid);
  if (server == nullptr) return refuse(fmt::format("Couldn't find server {}", pid));
  if (word_at(words, 2) == "-f") {
    force(*server);
  } else {
    drain(*server);
  }
  return {};
}

// Applies to servers started from now on.
Answer Daemon::set_default(const std::vector<std::string>& words) {
  const std::string value = word_at(words, 1);
  if (words[0] == "set_default_active_thread_percentage") {
    const auto permille = read_permille(value);
    if (!permille) return refuse(fmt::format("Invalid active thread percentage: {}", value));
    defaults_.thread_permille = *permille;
    return {.text = percent_text(*permille) + "\n"};
  }
  if (words[0] == "set_default_client_priority") {
    if (value != "0" && value != "1") {
      return refuse(fmt::format("Invalid client priority: {}", value));
    }
    defaults_.priority = value == "1" ? 1 : 0;
    return {};
  }
  if (words[0] == "set_default_device_pinned_mem_limit") {
    const auto ordinal = ordinal_of(sim_->state(), devices_, value);
    if (!ordinal) return refuse(fmt::format("Invalid device: {}", value));
    const auto bytes = read_memory(word_at(words, 2));
    if (!bytes) {
      return refuse(fmt::format("Invalid device pinned memory limit: {}", word_at(words, 2)));
    }
    defaults_.memory[*ordinal] = *bytes;
    return {};
  }
  return refuse(fmt::format("Unknown command: {}", words[0]));
}

Answer Daemon::get_default(const std::vector<std::string>& words) const {
  if (words[0] == "get_default_active_thread_percentage") {
    return {.text = percent_text(defaults_.thread_permille) + "\n"};
  }
  if (words[0] == "get_default_client_priority") {
    return {.text = fmt::format("{}\n", defaults_.priority)};
  }
  if (words[0] == "get_default_device_pinned_mem_limit") {
    const auto ordinal = ordinal_of(sim_->state(), devices_, word_at(words, 1));
    if (!ordinal) return refuse(fmt::format("Invalid device: {}", word_at(words, 1)));
    const auto found = defaults_.memory.find(*ordinal);
    const UseTarget& device = devices_[*ordinal];
    const std::uint64_t bytes = found == defaults_.memory.end()
                                    ? memory_use(*sim_, device.gpu, device.gpu_instance).total
                                    : found->second;
    return {.text = memory_text(bytes) + "\n"};
  }
  return refuse(fmt::format("Unknown command: {}", words[0]));
}

Answer Daemon::query_devices() {
  Answer all = {.text = "Default\n" + device_table(sim_->state(), devices_)};
  for (ServerRecord& server : servers_) {
    if (server.pid == 0 || !server.is_ready) continue;
    all.text += fmt::format("Server {}\n{}", server.pid, ask(server, "device_query").text);
  }
  return all;
}

// No new client is admitted. The daemon ends when the current clients are gone or, after the
// timeout, without waiting for them. Answered then.
std::optional<Answer> Daemon::quit(Peer& user, const std::vector<std::string>& words) {
  if (words.size() > 1) {
    const auto seconds = read_number<unsigned>(word_at(words, 2));
    if (words[1] != "-t" || !seconds) return refuse("quit: [-t <seconds>]");
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(*seconds);
  }
  quits_ = true;
  user.wants_quit = true;
  for (ServerRecord& server : servers_) drain(server);
  return std::nullopt;
}

}  // namespace tranche::sim::mps
