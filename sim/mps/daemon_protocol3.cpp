// What the control daemon answers to MPS v3's commands, `module verb ...` (NVIDIA's documentation
// of release 615). Implements, for each module, the verbs that supervisors use; no server is
// started or ended by command.

#include <algorithm>
#include <filesystem>

#include "fmt/format.h"
#include "sim/machine/read_number.h"
#include "sim/mps/daemon.h"
#include "sim/mps/devices.h"

namespace tranche::sim::mps {
namespace {

// "--server=x" of the words; nullopt: not there.
std::optional<std::string> option(const std::vector<std::string>& words, std::string_view name) {
  const std::string start = fmt::format("--{}=", name);
  for (const std::string& one : words) {
    if (one.starts_with(start)) return one.substr(start.size());
  }
  return std::nullopt;
}

bool is_name(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Reads --pinned-memory-limit and the others, over the previous settings. Empty: done; else why
// not.
std::string take_limits(const std::vector<std::string>& words, MpsLimits& limits,
                        std::optional<std::uint64_t>& memory) {
  bool any = false;
  if (const auto text = option(words, "active-thread-percentage")) {
    const auto permille = read_permille(*text);
    if (!permille) return fmt::format("Invalid active thread percentage: {}", *text);
    limits.thread_permille = *permille;
    any = true;
  }
  if (const auto text = option(words, "pinned-memory-limit")) {
    const auto bytes = read_memory(*text);
    if (!bytes) return fmt::format("Invalid pinned memory limit: {}", *text);
    memory = bytes;
    any = true;
  }
  if (const auto text = option(words, "client-priority")) {
    if (*text != "0" && *text != "1") return fmt::format("Invalid client priority: {}", *text);
    limits.priority = *text == "1" ? 1 : 0;
    any = true;
  }
  return any ? std::string() : "at least one option is needed";
}

}  // namespace

std::optional<Answer> Daemon::obey_protocol_3(const std::vector<std::string>& words) {
  const std::string module = word_at(words, 0);
  if (module == "server") return about_named_server(words);
  if (module == "namespace") return about_namespace(words);
  if (module == "sm-partition") return about_partition(words);
  if (module == "device" && word_at(words, 1) == "list") return list_devices();
  return std::nullopt;
}

NamedServer* Daemon::named(const std::string& name) {
  const auto found = std::ranges::find(options_.servers, name, &NamedServer::name);
  return found == options_.servers.end() ? nullptr : &*found;
}

std::string Daemon::status_of(const NamedServer& server) const {
  for (const ServerRecord& one : servers_) {
    if (one.pid != 0 && one.name == server.name) return one.is_ready ? "Ready" : "Initializing";
  }
  return {};
}

Answer Daemon::about_named_server(const std::vector<std::string>& words) {
  if (word_at(words, 1) == "list") {
    Answer list;
    for (const ServerRecord& one : servers_) {
      if (one.pid == 0) continue;
      const std::string name = one.name.empty() ? fmt::format("uid_{}", one.uid) : one.name;
      const NamedServer* const config = named(one.name);
      list.text += fmt::format("{},{},{},{},{}/{},{},-\n", name, one.uid, one.pid,
                               one.is_ready ? "Ready" : "Initializing", folder_, name,
                               config == nullptr ? "" : config->devices);
    }
    return list;
  }
  NamedServer* const server = named(word_at(words, 2));
  if (server == nullptr || status_of(*server).empty()) {
    return refuse(fmt::format("Server '{}' not found", word_at(words, 2)));
  }
  if (word_at(words, 1) == "get" && word_at(words, 3) == "status") {
    return {.text = status_of(*server) + "\n"};
  }
  if (word_at(words, 1) == "get" && word_at(words, 3) == "pipe-directory") {
    return {.text = fmt::format("{}/{}\n", folder_, server->name)};
  }
  if (word_at(words, 1) == "set") return set_server(*server, words);
  return refuse(fmt::format("server: unknown verb '{}' here", word_at(words, 1)));
}

// Its default namespace: what the server's own process reports to clients of no other namespace.
Answer Daemon::set_server(NamedServer& server, const std::vector<std::string>& words) {
  const std::string wrong = take_limits(words, server.limits, server.memory);
  if (!wrong.empty()) return refuse("server set: " + wrong);
  const auto record = std::ranges::find(servers_, server.name, &ServerRecord::name);
  Answer all = ask(*record, fmt::format("set_active_thread_percentage {}",
                                        percent_text(server.limits.thread_permille)));
  for (std::size_t i = 0; server.memory && i < devices_.size(); ++i) {
    // The server has some of the machine's GPUs.
    ask(*record, fmt::format("set_device_pinned_mem_limit {} {}",
                             uuid_of(sim_->state(), devices_[i]), memory_text(*server.memory)));
  }
  all.text.clear();
  return all;
}

Answer Daemon::about_namespace(const std::vector<std::string>& words) {
  const std::string verb = word_at(words, 1);
  const std::string name = word_at(words, 2);
  NamedServer* const server =
      named(verb == "get" ? word_at(words, 3) : option(words, "server").value_or(""));
  if (server == nullptr) return refuse(fmt::format("namespace {}: no such server", verb));
  auto& spaces = server->namespaces;
  if (verb == "list") {
    Answer list;
    for (const auto& [one, space] : spaces) {
      list.text += fmt::format("{},{},{},{},{}\n", one, server->name, status_of(*server),
                               space.memory ? memory_text(*space.memory) : "-",
                               percent_text(space.limits.thread_permille));
    }
    return list;
  }
  if (verb == "create") {
    if (!is_name(name) || name == "default" || spaces.contains(name)) {
      return refuse(fmt::format("namespace create: '{}' cannot be, or is", name));
    }
    const auto made =
        listen(fmt::format("{}/{}/{}", folder_, server->name, name),
               {.socket = {}, .server = server->name, .space = name, .limits = {}, .memory = {}});
    if (!made) return refuse(made.error().message());
    spaces[name] = {};
    return {};
  }
  const auto found = spaces.find(name);
  if (found == spaces.end()) return refuse(fmt::format("Namespace '{}' not found", name));
  if (verb == "get" && word_at(words, 4) == "pinned-memory-limit") {
    return {.text = (found->second.memory ? memory_text(*found->second.memory) : "-") + "\n"};
  }
  const auto listener = std::ranges::find_if(listeners_, [&](const Listener& one) {
    return one.server == server->name && one.space == name;
  });
  if (verb == "delete") {
    listeners_.erase(listener);
    std::error_code ignored;
    std::filesystem::remove_all(fmt::format("{}/{}/{}", folder_, server->name, name), ignored);
    spaces.erase(found);
    return {};
  }
  if (verb != "set") return refuse(fmt::format("namespace: unknown verb '{}'", verb));
  const std::string wrong = take_limits(words, found->second.limits, found->second.memory);
  if (!wrong.empty()) return refuse("namespace set: " + wrong);
  listener->limits = found->second.limits;
  listener->memory = found->second.memory;
  return {};
}

Answer Daemon::list_devices() {
  Answer list;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Gpu& gpu = sim_->state().gpus[devices_[i].gpu];
    const Model& model = sim_->state().models[gpu.model];
    list.text +=
        fmt::format("{},{},{:08x}:{:02x}:{:02x}.0,{},{},{},{},-\n", i,
                    options_.servers.empty() ? "-" : options_.servers.front().name, gpu.pci.domain,
                    gpu.pci.bus, gpu.pci.device, uuid_of(sim_->state(), devices_[i]), model.name,
                    model.sm_count, partitions_.total(devices_[i].gpu));
  }
  return list;
}

Answer Daemon::about_partition(const std::vector<std::string>& words) {
  const std::string verb = word_at(words, 1);
  const std::string server = option(words, "server").value_or("");
  const std::string name = word_at(words, 2);
  if (verb == "list") {
    Answer list;
    for (const Partition& one : partitions_.all()) {
      list.text +=
          fmt::format("{},{},{},{},{},false,created,{}\n", one.server,
                      sim_->state().gpus[one.gpu].uuid, one.name, one.chunks,
                      one.chunks * partitions_.multiprocessors_of_chunk(one.gpu), one.value);
    }
    return list;
  }
  const std::string device = option(words, "device").value_or("");
  const auto ordinal = ordinal_of(sim_->state(), devices_, device);
  if (named(server) == nullptr || !ordinal) {
    return refuse(fmt::format("sm-partition {}: no such server or device", verb));
  }
  const std::uint32_t gpu = devices_[*ordinal].gpu;
  if (verb == "delete") {
    if (!partitions_.remove(gpu, name)) return refuse(fmt::format("no SM partition '{}'", name));
    return {.text = fmt::format("SM partition '{}' deleted from device {}\n", name, device)};
  }
  const auto chunks = read_number<unsigned>(option(words, "chunks").value_or(""));
  if (verb != "create" || !is_name(name) || !chunks || *chunks == 0) {
    return refuse("sm-partition create <name> --server= --device= --chunks=");
  }
  const auto made = partitions_.add(server, name, gpu, *chunks);
  if (!made) return refuse(made.error().message());
  return {.text =
              fmt::format("SM partition '{}' created on device {} (sm-count={})\n"
                          "CUDA_MPS_SM_PARTITION={}/{}\n",
                          name, device, made->chunks * partitions_.multiprocessors_of_chunk(gpu),
                          sim_->state().gpus[gpu].uuid, made->value)};
}

// Commands of protocol 2: sm_partition add|rm, and lspart.
Answer Daemon::shell_partition(const std::vector<std::string>& words) {
  if (!options_.static_partitions) {
    return refuse(fmt::format("{}: static partitioning mode is not enabled", words[0]));
  }
  if (words[0] == "lspart") return list_partitions();
  const auto ordinal = ordinal_of(sim_->state(), devices_, word_at(words, 2));
  if (!ordinal) return refuse(fmt::format("Invalid device: {}", word_at(words, 2)));
  const std::uint32_t gpu = devices_[*ordinal].gpu;
  if (word_at(words, 1) == "rm") {
    if (partitions_.remove(gpu, word_at(words, 3))) return {};
    return refuse(fmt::format("Invalid partition: {}", word_at(words, 3)));
  }
  const auto chunks = read_number<unsigned>(word_at(words, 3));
  if (word_at(words, 1) != "add" || !chunks) {
    return refuse("sm_partition add <device UUID> <number of chunks>");
  }
  const auto made = partitions_.add({}, {}, gpu, *chunks);
  if (!made) return refuse(made.error().message());
  return {.text = fmt::format("{}/{}\n", sim_->state().gpus[gpu].uuid, made->value)};
}

Answer Daemon::list_partitions() {
  constexpr std::size_t kShown = 12;  // of a UUID
  Answer list = {.text =
                     "GPU           Partition                         free   used   free  used  "
                     "clients\n                                                chunk  chunk  SM  "
                     "  SM\n"};
  for (const UseTarget& device : devices_) {
    const std::string uuid = std::string(sim_->state().gpus[device.gpu].uuid).substr(0, kShown);
    const unsigned used = partitions_.used(device.gpu);
    const unsigned per_chunk = partitions_.multiprocessors_of_chunk(device.gpu);
    const unsigned all = sim_->state().models[sim_->state().gpus[device.gpu].model].sm_count;
    list.text += fmt::format("{:<13} {:<33} {:<6} {:<6} {:<5} {:<5} -\n", uuid, "-",
                             partitions_.total(device.gpu) - used, used, all - used * per_chunk,
                             used * per_chunk);
    for (const Partition& one : partitions_.all()) {
      if (one.gpu != device.gpu) continue;
      list.text += fmt::format("{:<13} {:<33} {:<6} {:<6} {:<5} {:<5} -\n", uuid, one.value, "-",
                               one.chunks, "-", one.chunks * per_chunk);
    }
  }
  return list;
}

// The part of each GPU with partitions, "gpu:permille,..."; "-": none has
// any.
std::string Daemon::partitions_of(const Peer& client) const {
  std::string text;
  for (const UseTarget& device : devices_) {
    const bool is_cut = options_.static_partitions || partitions_.has_any(device.gpu);
    if (!is_cut) continue;
    text += fmt::format("{}:{},", device.gpu, partitions_.permille(device.gpu, client.partition));
  }
  return text.empty() ? "-" : text;
}

}  // namespace tranche::sim::mps
