#pragma once
// The settings of the agent and of the programs in its image that are not in the configuration
// file: paths, sockets, names. From flags, environment and defaults, with load()'s precedence.
// Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/api_server.h"
#include "base/dra_driver.h"
#include "base/log.h"
#include "base/result.h"
#include "config/choose.h"
#include "config/flags/sources.h"
#include "values/dcgm_names.h"

namespace tranche::config {

enum class LabelsMode { kAuto, kOn, kOff };
// Where feature labels are written: auto = kNodeFeature if useNodeFeatureAPI was requested, else
// kFile.
enum class LabelOutput { kAuto, kFile, kNodeFeature, kNode };

struct MetricsOptions {
  std::string address;  // numeric; "": all
  std::uint16_t port = 0;
  DcgmNames names = DcgmNames::kBoth;
  std::string tls_dir;     // folder of tls.crt and tls.key; "": without TLS
  std::string token_file;  // "": anybody may read them
  bool operator==(const MetricsOptions&) const = default;
};

// How a cluster node receives its configuration.
struct NodeConfigOptions {
  std::string map_namespace;  // namespace of the ConfigMap
  std::string map_name;       // "": use the folder config_file
  std::string node_label = "nvidia.com/device-plugin.config";
  std::string default_config;
  std::vector<Fallback> fallbacks = {Fallback::kNamed, Fallback::kSingle};
  bool operator==(const NodeConfigOptions&) const = default;
};

// tranche agent, nvidia-device-plugin. Paths are as the process sees them, except for `host_root`,
// under which /sys, /proc and /dev are read.
struct AgentOptions {
  std::string config_file;  // "": none
  std::string config_name;  // "": the default, else the only one
  bool strict_config = false;
  std::string kubelet_root = "/var/lib/kubelet";
  // Where to register; "": do not register. Settled: below kubelet_root unless set.
  std::string kubelet_socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  bool take_over = false;
  LabelsMode labels = LabelsMode::kAuto;
  std::string state_dir = "/var/lib/tranche";
  std::string release;            // "namespace/name" of the Helm release; "": none
  std::string limit_library;      // "": next to this program
  std::string arbiter_state_dir;  // "": the arbiter's findings are not read
  bool ask_evictions = false;     // a controller performs evictions
  std::string host_root = "/";
  std::string mps_dir = "/mps";  // folder of the MPS control daemons, as this process sees it
  std::string cdi_root = "/var/run/cdi";
  std::optional<std::chrono::nanoseconds> health_recovery =
      std::chrono::minutes(5);  // nullopt: never
  std::chrono::nanoseconds machine_interval = std::chrono::seconds(10);
  std::chrono::nanoseconds grants_interval = std::chrono::seconds(30);
  bool mig_manager = false;
  std::string mig_config_file;  // "": only the machine's default layouts
  std::chrono::nanoseconds mig_drain_timeout = std::chrono::minutes(5);
  bool mig_ask_controller = true;
  bool dra = false;  // serve claims, where the node's label says so
  std::string dra_driver_name{kDefaultDraDriver};
  std::optional<std::chrono::nanoseconds> dra_evict_after;  // nullopt: never
  bool dra_dynamic_mig = false;           // create MIG instances for claims; only with `dra`
  bool gpu_node = false;                  // write the node's GPUNode
  std::optional<MetricsOptions> metrics;  // nullopt: none are served
  std::string pod_resources_socket;       // "": none is served
  std::string plugins_dir;  // "": below kubelet_root. A path as kubelet sees it, because it is sent
                            // to kubelet
  std::string registrar_dir;  // likewise
  std::string node_name;
  std::string pod_name;
  std::string pod_uid;
  std::string kube_namespace = "default";
  ApiServer api_server;
  std::optional<NodeConfigOptions> node_config;  // nullopt: config_file and config_name decide
  LabelOutput label_output = LabelOutput::kAuto;
  std::string check;  // "live" or "ready": probe the running agent; "": run as the agent
  LogLevel log_level = LogLevel::kInfo;
  std::vector<std::string> cdi_feature_flags;
  std::vector<std::string> cdi_disable_hooks;  // {"all"}: every hook
  bool operator==(const AgentOptions&) const = default;

  // The folder of the plugins' own sockets: kubelet_root/device-plugins.
  std::string device_plugins_dir() const { return kubelet_root + "/device-plugins"; }
  // The folder that contains a folder for each DRA driver, and the one that kubelet watches for
  // drivers.
  std::string kubelet_plugins_dir() const {
    return plugins_dir.empty() ? kubelet_root + "/plugins" : plugins_dir;
  }
  std::string kubelet_registrar_dir() const {
    return registrar_dir.empty() ? kubelet_root + "/plugins_registry" : registrar_dir;
  }
  // Whether it cannot work without the API server.
  bool needs_api_server() const {
    return dra || mig_manager || gpu_node || node_config.has_value() ||
           label_output == LabelOutput::kNodeFeature || label_output == LabelOutput::kNode;
  }
};

// tranche labels, gpu-feature-discovery.
struct FeatureDiscoveryOptions {
  std::string config_file;
  std::string config_name;
  bool strict_config = false;
  std::string container_driver_root = "/driver-root";
  ApiServer api_server;
  double kube_api_qps = 5;
  int kube_api_burst = 10;
  std::string kube_namespace = "default";
  std::string node_name;
  std::string pod_name;
  // NodeFeature objects are requested by a flag, by the environment, or by NVIDIA's program name,
  // where they are the default: without a node name there is no other place for the labels.
  bool needs_node_feature = false;
  std::string host_root = "/";
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const FeatureDiscoveryOptions&) const = default;
};

// config-manager.
struct ConfigManagerOptions {
  bool oneshot = false;
  ApiServer api_server;
  std::string node_name;
  std::string node_label = "nvidia.com/device-plugin.config";
  std::string source_dir;
  std::string destination;
  std::string default_config;
  std::vector<Fallback> fallbacks;
  bool send_signal = true;
  int signal = 1;
  std::string process_to_signal = "nvidia-device-plugin";
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const ConfigManagerOptions&) const = default;
};

// tranche mps-control-daemon, mps-control-daemon: the options shared with the agent. Its state_dir
// is a folder in mps_dir.
Result<AgentOptions> load_mps_control_options(const Sources& sources);

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per
// line.
Result<AgentOptions> load_agent_options(const Sources& sources);
Result<FeatureDiscoveryOptions> load_feature_discovery_options(const Sources& sources);
Result<ConfigManagerOptions> load_config_manager_options(const Sources& sources);

}  // namespace tranche::config
