#include "cli/doctor/read_node.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "agent/node/agent_status.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fs.h"
#include "cli/shell/cluster_choice.h"
#include "cluster/client/list_of.h"
#include "cluster/kinds.h"
#include "cluster/pod.h"
#include "gpu/devices.h"
#include "host/process_owners.h"
#include "kube/client.h"
#include "kubelet/pod_resources_client.h"
#include "kubelet/socket_server.h"
#include "limit/status_reader.h"
#include "nvml/connection.h"
#include "nvml/process_reader.h"
#include "nvml/reader.h"
#include "process/liveness_file.h"

namespace tranche::cli {
namespace {

using explain::ArbiterFacts;
using explain::NodeFacts;
using explain::Tried;

constexpr std::chrono::seconds kOldestBeat{90};

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

Error away(std::string what) { return {Code::kUnavailable, std::move(what), ""}; }

class Reading {
 public:
  Reading(const config::DoctorOptions& options, const config::Sources& sources)
      : options_(options), sources_(sources), host_(options.host_root) {}

  NodeFacts made() {
    read_driver();
    read_agent();
    read_kubelet();
    if (!options_.arbiter_state_dir.empty()) read_arbiter(facts_.arbiter.emplace());
    if (!options_.metrics_address.empty()) facts_.metrics = tried_port(options_.metrics_address);
    read_pods();
    return std::move(facts_);
  }

 private:
  void read_driver() {
    const auto connection = nvml::Connection::make(
        {.driver_root = options_.driver_root, .host = host_, .log = nullptr});
    const auto machine = nvml::Reader(connection).read();
    facts_.driver = {options_.driver_root, error_of(machine)};
    if (!machine) return;
    std::vector<std::string> devices;
    for (const auto& gpu : machine->gpus) {
      const bool is_there = gpu.presence == gpu::Presence::kPresent;
      facts_.gpus.push_back({gpu.uuid.value, is_there ? "" : gpu.presence_reason});
      if (!is_there) continue;
      for (auto& uuid : gpu::used_devices(gpu)) devices.push_back(std::move(uuid));
    }
    read_processes(connection, devices);
  }

  void read_processes(const std::shared_ptr<nvml::Connection>& connection,
                      const std::vector<std::string>& devices) {
    host::ProcessOwners owners(host_);
    facts_.sources.push_back({"host-processes", owners.sees_node()});
    const auto answers = nvml::ProcessReader(connection).read(devices);
    bool is_whole = answers.has_value();
    bool groups_tell = true;
    for (const auto& answer : answers.value_or(std::vector<gpu::DeviceProcesses>())) {
      is_whole = is_whole && answer.processes.has_value();
      if (!answer.processes) continue;
      for (const auto& process : *answer.processes) {
        groups_tell = groups_tell && owners.of(process.pid).kind != host::Owner::Kind::kUnknown;
      }
    }
    facts_.sources.push_back({"driver", is_whole});
    if (owners.sees_node()) facts_.sources.push_back({"control-groups", groups_tell});
  }

  void read_agent() {
    const auto status = agent::read_status(options_.state_dir, kOldestBeat);
    facts_.agent = {options_.state_dir, error_of(status)};
    if (status) facts_.agent_is_ready = status->ready;
    if (status) facts_.agent_text = status->text;
    facts_.state.where = options_.state_dir;
    if (!FsRoot().is_directory(options_.state_dir)) {
      facts_.state.error = away("there is no such folder");
    } else if (::access(options_.state_dir.c_str(), W_OK) != 0) {
      facts_.state.error = away("it cannot be written");
    }
  }

  void read_kubelet() {
    const std::filesystem::path root = options_.kubelet_root;
    const auto plugins = root / "device-plugins" / "kubelet.sock";
    facts_.device_plugins.where = plugins;
    if (!kubelet::socket_answers(plugins)) {
      facts_.device_plugins.error = away("no process answers on it");
    }
    facts_.pod_resources = {root / "pod-resources" / "kubelet.sock",
                            error_of(kubelet::PodResourcesClient(root).list())};
  }

  void read_arbiter(ArbiterFacts& arbiter) const {
    const std::filesystem::path folder = options_.arbiter_state_dir;
    const SystemClock clock;
    const auto alive = folder / process::LivenessFile::kArbiters;
    arbiter.alive = {folder, error_of(process::LivenessFile::check(alive, clock, "arbiter"))};
    limit::StatusReader status(folder);
    arbiter.status = {status.file(), error_of(status.refresh())};
    arbiter.driver_failure = status.status().nvml_failure;
    for (const auto& tenant : status.status().refused) {
      arbiter.refused.push_back(fmt::format("{}: {}", tenant.id, tenant.reason));
    }
  }

  // Whether a process listens there.
  static Tried tried_port(const std::string& address) {
    Tried tried{.where = address};
    const auto colon = address.rfind(':');
    auto name = address.substr(0, colon);
    std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
    const auto port = colon == std::string::npos ? "" : address.substr(colon + 1);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const auto* const host = name.empty() ? "127.0.0.1" : name.c_str();
    if (::getaddrinfo(host, port.c_str(), &hints, &found) != 0) {
      tried.error = away("it is no address");
      return tried;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    const Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
      tried.error = away("nobody listens there");
    }
    return tried;
  }

  // Without a cluster, or the node's name, nothing is said of them.
  void read_pods() {
    if (options_.node_name.empty()) return;
    auto credentials = choose_cluster(options_.api_server, sources_);
    if (!credentials) return;
    const auto client =
        kube::Client::open(*std::move(credentials), {.user_agent = "tranche-doctor"});
    if (!client) return;
    const auto pods = cluster::list_of(**client, cluster::kPod,
                                       {.field_selector = "spec.nodeName=" + options_.node_name},
                                       cluster::parse_pod);
    facts_.sources.push_back({"pods", pods.has_value()});
  }

  const config::DoctorOptions& options_;
  const config::Sources& sources_;
  FsRoot host_;
  NodeFacts facts_;
};

}  // namespace

NodeFacts read_node(const config::DoctorOptions& options, const config::Sources& sources) {
  return Reading(options, sources).made();
}

}  // namespace tranche::cli
