// What a server answers to the commands that are about it.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "fmt/format.h"
#include "sim/gpu/gpu_time.h"
#include "sim/gpu/memory.h"
#include "sim/mps/devices.h"
#include "sim/mps/server.h"

namespace tranche::sim::mps {
namespace {

std::string command_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  return line.empty() ? "-" : line;
}

}  // namespace

Answer Server::answer(const std::vector<std::string>& words) {
  if (words.empty()) return refuse("Invalid command");
  const std::string& command = words[0];
  if (command == "get_server_status") return {.text = in_fault() ? "FAULT\n" : "ACTIVE\n"};
  if (command == "get_client_list") return list_clients();
  if (command == "get_device_client_list") return list_device_clients();
  if (command == "ps") return list_processes();
  if (command == "device_query") return {.text = device_table(sim_->state(), devices_)};
  if (command == "get_active_thread_percentage") {
    return {.text = percent_text(limits_.thread_permille) + "\n"};
  }
  if (command == "set_active_thread_percentage") return set_percentage(word_at(words, 1));
  if (command == "get_device_pinned_mem_limit") return memory_of(word_at(words, 1));
  if (command == "set_device_pinned_mem_limit")
    return set_memory(word_at(words, 1), word_at(words, 2));
  if (command == "terminate_client") return terminate(word_at(words, 1));
  return refuse("Invalid command");
}

Answer Server::list_clients() const {
  Answer list;
  for (const ClientPtr& client : clients_) list.text += fmt::format("{}\n", client->pid);
  return list;
}

Answer Server::list_device_clients() const {
  Answer list;
  for (const UseTarget& device : devices_) {
    list.text += uuid_of(sim_->state(), device);
    // Every client enumerates all that the server has.
    for (const ClientPtr& client : clients_) list.text += fmt::format(" {}", client->pid);
    list.text += '\n';
  }
  return list;
}

Answer Server::list_processes() const {
  Answer list;
  for (const ClientPtr& client : clients_) {
    const std::size_t contexts = client->contexts.size();
    for (std::size_t id = 0; id < std::max<std::size_t>(1, contexts); ++id) {
      const std::string device = id < contexts ? uuid_of(sim_->state(), client->contexts[id]) : "-";
      list.text +=
          fmt::format("{:<9} {:<9} {:<9} {:<22} {:<11} {}\n", client->pid, id, ::getpid(),
                      device.substr(0, 22), client->pid_namespace, command_of(client->pid));
    }
  }
  return list;
}

Answer Server::set_percentage(const std::string& percent) {
  const auto permille = read_permille(percent);
  if (!permille) return refuse(fmt::format("Invalid active thread percentage: {}", percent));
  limits_.thread_permille = *permille;
  log_.line("Server", fmt::format("Active Threads Percentage set to {}", percent_text(*permille)));
  return {.text = percent_text(*permille) + "\n"};
}

Answer Server::set_memory(const std::string& device, const std::string& amount) {
  const auto ordinal = ordinal_of(sim_->state(), devices_, device);
  if (!ordinal) return refuse(fmt::format("Invalid device: {}", device));
  const auto bytes = read_memory(amount);
  if (!bytes) return refuse(fmt::format("Invalid device pinned memory limit: {}", amount));
  limits_.memory[*ordinal] = *bytes;
  log_.line("Server", fmt::format("Device pinned memory limit for device {} set to {:#x} bytes",
                                  *ordinal, *bytes));
  return {};
}

Answer Server::memory_of(const std::string& device) const {
  const auto ordinal = ordinal_of(sim_->state(), devices_, device);
  if (!ordinal) return refuse(fmt::format("Invalid device: {}", device));
  const auto found = limits_.memory.find(*ordinal);
  if (found != limits_.memory.end()) return {.text = memory_text(found->second) + "\n"};
  const std::uint32_t gpu = devices_[*ordinal].gpu;
  return {.text =
              memory_text(memory_use(*sim_, gpu, devices_[*ordinal].gpu_instance).total) + "\n"};
}

Answer Server::terminate(const std::string& pid) {
  ClientPtr client;
  for (const ClientPtr& one : clients_) {
    if (std::to_string(one->pid) == pid) client = one;
  }
  if (!client) return refuse(fmt::format("Couldn't find client {}", pid));
  log_.line("Server", fmt::format("Terminating client {{PID: {}}}", client->pid));
  // First keep it from asking for more, then end its work.
  send_packet(client->connection.get(), fmt::format("error {}", kMpsClientTerminated));
  end_work(*sim_, *client->slot, client->holder);
  drop_client(client);
  return {};
}

}  // namespace tranche::sim::mps
