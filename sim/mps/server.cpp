#include "sim/mps/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "fmt/format.h"
#include "sim/gpu/enumerate.h"
#include "sim/gpu/gpu_time.h"
#include "sim/gpu/memory.h"
#include "sim/machine/read_number.h"
#include "sim/mps/devices.h"
#include "sim/mps/partitions.h"

namespace tranche::sim::mps {
namespace {

constexpr std::uint64_t kContextBytes = std::uint64_t{30} << 20U;  // of the server; invented
constexpr std::uint32_t kVolta = 7;                                // compute capability
constexpr unsigned kMostContexts = 48;
constexpr unsigned kMostContextsBeforeVolta = 16;
constexpr int kServerLooksEveryMs =
    200;  // whether clients whose connection a child inherited are dead

std::string rest_of(const std::vector<std::string>& words, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < words.size(); ++i) text += words[i] + ' ';
  return text;
}

// "gpu:permille,...", or "-".
std::map<std::uint32_t, std::uint32_t> read_partitions(std::string_view text) {
  std::map<std::uint32_t, std::uint32_t> all;
  while (!text.empty() && text != "-") {
    const auto end = std::min(text.find(','), text.size());
    const auto one = text.substr(0, end);
    const auto colon = std::min(one.find(':'), one.size() - 1);
    const auto gpu = read_number<std::uint32_t>(one.substr(0, colon));
    const auto permille = read_number<std::uint32_t>(one.substr(colon + 1));
    if (gpu && permille) all[*gpu] = *permille;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace

Server::Server() : log_(OwnedFd(kLogFd), std::getenv(kEchoVariable) != nullptr) {}

int Server::run() {
  if (const auto started = start(); !started) {
    log_.line("Server", fmt::format("Failed to start: {}", started.error().message()));
    send_packet(daemon_.get(), "failed " + started.error().message());
    return 1;
  }
  send_packet(daemon_.get(), "ready");
  while (!drains_ || !clients_.empty()) {
    const std::vector<ClientPtr> listened = clients_;
    std::vector<pollfd> ready = {{.fd = daemon_.get(), .events = POLLIN, .revents = 0}};
    for (const ClientPtr& client : listened) {
      ready.push_back({.fd = client->connection.get(), .events = POLLIN, .revents = 0});
    }
    if (::poll(ready.data(), ready.size(), kServerLooksEveryMs) < 0) continue;
    for (std::size_t i = 0; i < listened.size(); ++i) {
      const ClientPtr& client = listened[i];
      const auto index = static_cast<unsigned>(client->slot - sim_->state().processes);
      if (ready[i + 1].revents != 0) {
        receive_from_client(client);
      } else if (!sim_->holder(index) || client->slot->holder.load() != client->holder) {
        drop_client(client);
      }
    }
    if (ready[0].revents != 0 && !receive_from_daemon()) break;
  }
  log_.line("Server", "Server exiting");
  return 0;
}

Result<void> Server::start() {
  const Packet packet = receive_packet(daemon_.get());
  const auto words = split_words(packet.text);
  const auto limits = decode_limits(rest_of(words, 2));
  if (words.size() < 2 || words[0] != "start" || !limits) {
    return fail(Code::kInternal, "the control daemon said nothing");
  }
  uid_ = read_number<uid_t>(words[1]).value_or(0);
  limits_ = *limits;
  log_.line("Other", "Startup");
  log_.line("Other", fmt::format("Connecting to control daemon on socket: {}/{}", mps_pipe_folder(),
                                 kMpsControlSocket));
  log_.line("Other", "Initializing server process");
  ASSIGN_OR_RETURN(sim_, Simulation::open(options_from_environment()));
  State& state = sim_->state();
  if (state.init_error.load() != 0) return fail(Code::kUnavailable, "the driver does not start");
  ASSIGN_OR_RETURN(slot_, sim_->claim_slot(kServerName));
  // Unique on a machine: a client that outlives its server shares turns with no other client.
  group_ = static_cast<std::uint32_t>(state.lane_ids.fetch_add(1) + 1);
  devices_ = enumerate_devices(state);
  if (devices_.empty()) return fail(Code::kUnavailable, "there is no device");
  for (const UseTarget& device : devices_) TRY(hold(device));
  log_start();
  return {};
}

Result<void> Server::hold(const UseTarget& device) {
  const Gpu& gpu = sim_->state().gpus[device.gpu];
  log_.line("Server", fmt::format("Creating server context on device {} ({})",
                                  &device - devices_.data(), sim_->state().models[gpu.model].name));
  if (!admits(*sim_, *slot_, device)) {
    return fail(Code::kUnavailable,
                fmt::format("{} is in a compute mode that admits no context, or no other one",
                            uuid_of(sim_->state(), device)));
  }
  ASSIGN_OR_RETURN(Use* const use, add_use(*sim_, *slot_, device));
  return take_memory(*sim_, *use, kContextBytes);
}

void Server::log_start() const {
  const State& state = sim_->state();
  const std::string_view driver = state.driver_version;
  log_.line("Server",
            fmt::format("Created anonymous shared memory region mps.shm.{}.{}", uid_, ::getpid()));
  log_.line("Server",
            fmt::format("CUDA MPS Server for Linux/Unix. Binary version: {}", state.cuda_version));
  log_.line("Server",
            fmt::format("Display Driver version: {}", driver.substr(0, driver.find('.'))));
  log_.line("Server", fmt::format("Active Threads Percentage set to {}",
                                  percent_text(limits_.thread_permille)));
  for (const auto& [device, bytes] : limits_.memory) {
    log_.line("Server", fmt::format("Device pinned memory limit for device {} set to {:#x} bytes",
                                    device, bytes));
  }
  log_.line("Server", fmt::format("Server Priority set to {}", limits_.priority));
  log_.line("Server", "Server has started");
}

// False: the daemon is gone, or wants the server gone.
bool Server::receive_from_daemon() {
  Packet packet = receive_packet(daemon_.get());
  if (packet.kind != Packet::Kind::kText) return false;
  auto words = split_words(packet.text);
  if (words.empty()) return true;
  if (words[0] == "client") {
    add_client(std::move(packet));
  } else if (words[0] == "drain") {
    drains_ = true;
  } else if (words[0] == "ask") {
    words.erase(words.begin());
    const Answer said = answer(words);
    send_packet(daemon_.get(), fmt::format("answer {} {}", said.ok ? 0 : 1, said.text));
  } else if (words[0] == "shutdown") {
    return false;
  }
  return true;
}

void Server::add_client(Packet packet) {
  const auto words = split_words(packet.text);
  if (words.size() < 10 || !packet.passed.is_open()) return;
  auto client = std::make_shared<Client>();
  const auto slot = read_number<std::uint32_t>(words[1]).value_or(kMaxProcesses);
  client->holder = read_number<std::uint64_t>(words[2]).value_or(0);
  client->pid = read_number<pid_t>(words[3]).value_or(0);
  client->uid = read_number<uid_t>(words[4]).value_or(0);
  client->pid_namespace = words[5];
  const auto limits = decode_limits(rest_of(words, 8)).value_or(MpsLimits());
  client->limits = words[6] == "own" ? limits : limits_.lowered_by(limits);
  client->partitions = read_partitions(words[7]);
  client->connection = std::move(packet.passed);
  log_.line("Server", fmt::format("Received new client request for {{PID: {}}}", client->pid));
  const bool is_known = slot < kMaxProcesses && sim_->is_taken(slot) &&
                        sim_->state().processes[slot].holder.load() == client->holder;
  if (!is_known || drains_ || in_fault()) {
    const auto error = is_known ? kMpsServerNotReady : kMpsConnectionFailed;
    log_.line("Server",
              fmt::format("Refused client {{PID: {}}} with error {}", client->pid, error));
    send_packet(client->connection.get(), fmt::format("refuse {}", error));
    tell_count();
    return;
  }
  client->slot = &sim_->state().processes[slot];
  if (!send_packet(client->connection.get(), welcome(*client))) return tell_count();
  log_.line("Server", fmt::format("Client {{PID: {}}} connected", client->pid));
  log_.line("Server", fmt::format("Creating worker thread for client {{PID: {}}}", client->pid));
  clients_.push_back(std::move(client));
  tell_count();
}

std::string Server::welcome(const Client& client) const {
  const MpsLimits& limits = client.limits;
  // With a partition percentages do not count.
  std::uint32_t permille = 0;
  for (const auto& [gpu, own] : client.partitions) permille = std::max(permille, own);
  if (permille == 0) permille = limits.thread_permille;
  std::string text = fmt::format("welcome {} {} {}", group_, permille, limits.priority);
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const auto found = limits.memory.find(i);
    text += fmt::format(" {}:{}", encode(devices_[i]),
                        found == limits.memory.end() ? 0 : found->second);
  }
  return text;
}

void Server::receive_from_client(const ClientPtr& client) {
  const Packet packet = receive_packet(client->connection.get());
  const auto words = split_words(packet.text);
  if (packet.kind != Packet::Kind::kText || words.size() < 2) {
    log_.line("Server", "Receive command failed, assuming client exit");
    return drop_client(client);
  }
  const auto device = decode_target(words[1]);
  if (!device) return drop_client(client);
  if (words[0] == "context") {
    add_context(client, *device);
  } else if (words[0] == "destroy") {
    const auto known = std::ranges::find_if(
        client->contexts, [&](const UseTarget& one) { return same_device(one, *device); });
    if (known != client->contexts.end()) client->contexts.erase(known);
  } else if (words[0] == "fault" && words.size() == 3) {
    spread_fault(client, *device, words[2]);
  }
}

void Server::add_context(const ClientPtr& client, const UseTarget& device) {
  const auto partition = client->partitions.find(device.gpu);
  if (partition != client->partitions.end() && partition->second == 0) {
    log_.line("Server", fmt::format("Client {{PID: {}}} refused: no SM partition of {}",
                                    client->pid, uuid_of(sim_->state(), device)));
    send_packet(client->connection.get(), fmt::format("refuse {}", kInvalidResourceConfiguration));
    return;
  }
  unsigned contexts = 0;
  for (const ClientPtr& one : clients_) {
    contexts += static_cast<unsigned>(std::ranges::count_if(
        one->contexts, [&](const UseTarget& other) { return same_device(other, device); }));
  }
  if (contexts >= most_contexts(device)) {
    log_.line("Server", fmt::format("Client {{PID: {}, Context ID: {}}} refused: {} contexts on {}",
                                    client->pid, client->contexts.size(), contexts,
                                    uuid_of(sim_->state(), device)));
    send_packet(client->connection.get(), fmt::format("refuse {}", kMpsMaxClientsReached));
    return;
  }
  log_.line("Server", fmt::format("Client {{PID: {}, Context ID: {}}} connected", client->pid,
                                  client->contexts.size()));
  client->contexts.push_back(device);
  send_packet(client->connection.get(), "done");
}

unsigned Server::most_contexts(const UseTarget& device) const {
  const State& state = sim_->state();
  const std::uint32_t major = state.models[state.gpus[device.gpu].model].cc_major;
  return major < kVolta ? kMostContextsBeforeVolta : kMostContexts;
}

void Server::drop_client(const ClientPtr& client) {
  std::erase(clients_, client);
  log_.line("Server", fmt::format("Client {{PID: {}}} disconnected", client->pid));
  if (client->is_faulty && !in_fault()) {
    log_.line("Server", "Status change from FAULT to RECOVERING");
    log_.line("Server", "Status change from RECOVERING to ACTIVE");
  }
  tell_count();
}

// Ends all that have a context on that GPU.
void Server::spread_fault(const ClientPtr& from, const UseTarget& device,
                          const std::string& error) {
  log_.line("Server", fmt::format("Client {{PID: {}}}: fatal fault {} on {}", from->pid, error,
                                  uuid_of(sim_->state(), device)));
  if (!in_fault()) log_.line("Server", "Status change from ACTIVE to FAULT");
  for (const ClientPtr& client : clients_) {
    const bool is_there = std::ranges::any_of(
        client->contexts, [&](const UseTarget& one) { return same_device(one, device); });
    if (client->is_faulty || (client != from && !is_there)) continue;
    client->is_faulty = true;
    end_work(*sim_, *client->slot, client->holder);
    if (client != from) send_packet(client->connection.get(), "error " + error);
  }
}

bool Server::in_fault() const {
  return std::ranges::any_of(clients_, [](const ClientPtr& one) { return one->is_faulty; });
}

void Server::tell_count() const {
  send_packet(daemon_.get(), fmt::format("clients {}", clients_.size()));
}

}  // namespace tranche::sim::mps
