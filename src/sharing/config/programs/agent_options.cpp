#include "config/programs/agent_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/go_values.h"
#include "config/programs/driver_name.h"
#include "config/programs/listen_address.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

std::vector<std::string> without_empty(std::vector<std::string> items) {
  std::erase(items, "");
  return items;
}

int small_int(OptionReader& reader, std::string_view name) {
  const auto value = reader.get<std::int64_t>(name);
  if (value >= 1 && value <= 1'000'000) return static_cast<int>(value);
  reader.error(name, fmt::format("{} is out of range", value), "write a number above 0");
  return 1;
}

LabelsMode labels_mode(OptionReader& reader) {
  const auto on = go::parse_bool(reader.get<std::string>("labels"));
  if (on) return *on ? LabelsMode::kOn : LabelsMode::kOff;
  const auto text = reader.choice("labels", "none of auto, on, off");
  if (text == "on") return LabelsMode::kOn;
  return text == "off" ? LabelsMode::kOff : LabelsMode::kAuto;
}

// nullopt: never.
std::optional<std::chrono::nanoseconds> duration_or_never(OptionReader& reader,
                                                          std::string_view flag) {
  const auto text = reader.get<std::string>(flag);
  if (text == "never") return std::nullopt;
  const auto duration = go::parse_duration(text);
  if (duration && duration->count() >= 0) return duration;
  reader.error(flag, fmt::format("'{}' is no duration", text.substr(0, 40)),
               "write a duration such as 5m, or never");
  return std::nullopt;
}

std::chrono::nanoseconds interval(OptionReader& reader, std::string_view flag,
                                  std::string_view what, std::string_view usual) {
  static constexpr auto kShortest = std::chrono::milliseconds(10);
  const auto value = reader.get<Interval>(flag).value;
  if (value && *value >= kShortest) return *value;
  reader.error(flag, fmt::format("{} some time, and not all the time", what),
               fmt::format("write a duration of at least 10ms, such as {}", usual));
  return kShortest;
}

std::chrono::nanoseconds machine_interval(OptionReader& reader) {
  return interval(reader, "machine-interval", "the hardware must be read again", "10s");
}

std::chrono::nanoseconds grants_interval(OptionReader& reader) {
  return interval(reader, "grants-interval", "grants must be looked at again", "30s");
}

std::chrono::nanoseconds mig_drain_timeout(OptionReader& reader) {
  return interval(reader, "mig-drain-timeout", "Pods must be given", "5m");
}

std::vector<Fallback> fallbacks(OptionReader& reader) {
  const auto names = without_empty(reader.get<std::vector<std::string>>("fallback-strategies"));
  auto parsed = parse_fallbacks(names);
  if (parsed) return *std::move(parsed);
  reader.error("fallback-strategies", parsed.error().what, parsed.error().hint);
  return {};
}

std::string required(OptionReader& reader, std::string_view name) {
  auto text = reader.get<std::string>(name);
  if (text.empty()) {
    reader.error(fmt::format("{}", name),
                 fmt::format("invalid <{}>: must not be empty string", name),
                 fmt::format("give --{}", name));
  }
  return text;
}

// An absolute path is never below a relative folder.
void check_trusted_folders(OptionReader& reader) {
  for (const auto& folder : reader.get<std::vector<std::string>>("trusted-folders")) {
    if (folder.starts_with('/')) continue;
    reader.error("trusted-folders", fmt::format("'{}' is no absolute path", folder.substr(0, 80)),
                 "write it from /");
  }
}

LabelOutput label_output(OptionReader& reader) {
  const auto text = reader.choice("label-output", "none of auto, file, nodefeature, node");
  if (text == "file") return LabelOutput::kFile;
  if (text == "nodefeature") return LabelOutput::kNodeFeature;
  return text == "node" ? LabelOutput::kNode : LabelOutput::kAuto;
}

std::optional<MetricsOptions> metrics(OptionReader& reader) {
  if (reader.get<std::string>("metrics-address").empty()) return std::nullopt;
  auto listen = read_listen_address(reader, "metrics-address", 9400);
  MetricsOptions options{.address = std::move(listen.address),
                         .port = listen.port,
                         .tls_dir = reader.get<std::string>("metrics-tls-dir"),
                         .token_file = reader.get<std::string>("metrics-token-file")};
  const auto names = reader.choice("metrics-names", "none of both, 4.8, 4.9");
  if (names == "4.8") options.names = DcgmNames::k48;
  if (names == "4.9") options.names = DcgmNames::k49;
  return options;
}

std::string check_level(OptionReader& reader) {
  return reader.choice("check", "neither live nor ready");
}

// How a node of a cluster chooses its configuration; nullopt: by neither a ConfigMap nor a label.
std::optional<NodeConfigOptions> node_config(OptionReader& reader) {
  const auto map = reader.get<std::string>("config-map");
  const bool by_label =
      reader.is_set("node-label") && !reader.get<std::string>("config-file").empty();
  if (map.empty() && !by_label) return std::nullopt;
  if (!map.empty() && !reader.get<std::string>("config-file").empty()) {
    reader.error("config-map", "a configuration file is named too (--config-file, CONFIG_FILE)",
                 "name one of the two");
  }
  if (reader.get<std::string>("node-name").empty()) {
    reader.error("node-name", "the node's label cannot be read without the node's name",
                 "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
  }
  const auto slash = map.find('/');
  NodeConfigOptions options{.node_label = reader.get<std::string>("node-label"),
                            .default_config = reader.get<std::string>("default-config"),
                            .fallbacks = fallbacks(reader)};
  if (map.empty()) return options;
  options.map_namespace =
      slash == std::string::npos ? reader.get<std::string>("namespace") : map.substr(0, slash);
  options.map_name = slash == std::string::npos ? map : map.substr(slash + 1);
  if (options.map_namespace.empty() || options.map_name.empty() ||
      options.map_name.find('/') != std::string::npos) {
    reader.error("config-map", fmt::format("'{}' names no ConfigMap", map.substr(0, 80)),
                 "write NAME or NAMESPACE/NAME");
  }
  return options;
}

}  // namespace

Result<AgentOptions> load_agent_options(const Sources& sources) {
  OptionReader reader(sources, kUseAgent);
  AgentOptions options{
      .config_file = reader.get<std::string>("config-file"),
      .config_name = reader.get<std::string>("config-name"),
      .strict_config = reader.get<bool>("strict-config"),
      .kubelet_root = reader.get<std::string>("kubelet-root"),
      .kubelet_socket = reader.get<std::string>("kubelet-socket"),
      .take_over = reader.get<bool>("take-over"),
      .labels = labels_mode(reader),
      .state_dir = reader.get<std::string>("state-dir"),
      .release = reader.get<std::string>("release"),
      .limit_library = reader.get<std::string>("limit-library"),
      .arbiter_state_dir = reader.get<std::string>("arbiter-state-dir"),
      .ask_evictions = reader.get<bool>("ask-evictions"),
      .host_root = reader.get<std::string>("host-root"),
      .mps_dir = reader.absolute("mps-dir"),
      .cdi_root = reader.get<std::string>("cdi-root"),
      .health_recovery = duration_or_never(reader, "health-recovery"),
      .machine_interval = machine_interval(reader),
      .grants_interval = grants_interval(reader),
      .mig_manager = reader.get<bool>("mig-manager"),
      .mig_config_file = reader.get<std::string>("mig-config-file"),
      .mig_drain_timeout = mig_drain_timeout(reader),
      .mig_ask_controller = reader.get<bool>("mig-ask-controller"),
      .dra = reader.get<bool>("dra"),
      .dra_driver_name = read_driver_name(reader),
      .dra_evict_after = duration_or_never(reader, "dra-evict-after"),
      .dra_dynamic_mig = reader.get<bool>("dra") && reader.get<bool>("dra-dynamic-mig"),
      .gpu_node = reader.get<bool>("gpu-node"),
      .metrics = metrics(reader),
      .pod_resources_socket = reader.get<std::string>("pod-resources-socket"),
      .plugins_dir = reader.get<std::string>("kubelet-plugins-directory-path"),
      .registrar_dir = reader.get<std::string>("kubelet-registrar-directory-path"),
      .node_name = reader.get<std::string>("node-name"),
      .pod_name = reader.get<std::string>("pod-name"),
      .pod_uid = reader.get<std::string>("pod-uid"),
      .kube_namespace = reader.get<std::string>("namespace"),
      .api_server = reader.api_server(),
      .node_config = node_config(reader),
      .label_output = label_output(reader),
      .check = check_level(reader),
      .log_level = reader.log_level(),
      .cdi_feature_flags = without_empty(reader.get<std::vector<std::string>>("cdi-feature-flags")),
      .cdi_disable_hooks =
          without_empty(reader.get<std::vector<std::string>>("cdi-disable-hooks"))};
  if (!reader.is_set("kubelet-socket")) {
    options.kubelet_socket = options.device_plugins_dir() + "/kubelet.sock";
  }
  check_trusted_folders(reader);
  return reader.result(std::move(options));
}

Result<AgentOptions> load_mps_control_options(const Sources& sources) {
  OptionReader reader(sources, kUseMpsControl);
  AgentOptions options{.config_file = reader.get<std::string>("config-file"),
                       .config_name = reader.get<std::string>("config-name"),
                       .strict_config = reader.get<bool>("strict-config"),
                       .host_root = reader.get<std::string>("host-root"),
                       .mps_dir = reader.absolute("mps-dir"),
                       .machine_interval = machine_interval(reader),
                       .node_name = reader.get<std::string>("node-name"),
                       .kube_namespace = reader.get<std::string>("namespace"),
                       .api_server = reader.api_server(),
                       .node_config = node_config(reader),
                       .log_level = reader.log_level()};
  options.state_dir = options.mps_dir + "/.tranche";
  return reader.result(std::move(options));
}

Result<FeatureDiscoveryOptions> load_feature_discovery_options(const Sources& sources) {
  OptionReader reader(sources, kUseFeatureDiscovery);
  FeatureDiscoveryOptions options{
      .config_file = reader.get<std::string>("config-file"),
      .config_name = reader.get<std::string>("config-name"),
      .strict_config = reader.get<bool>("strict-config"),
      .container_driver_root = reader.get<std::string>("driver-root-ctr-path"),
      .api_server = reader.api_server(),
      .kube_api_qps = reader.get<double>("kube-api-qps"),
      .kube_api_burst = small_int(reader, "kube-api-burst"),
      .kube_namespace = reader.get<std::string>("namespace"),
      .node_name = reader.get<std::string>("node-name"),
      .pod_name = reader.get<std::string>("pod-name"),
      .needs_node_feature = sources.drop_in || reader.is_set("use-node-feature-api"),
      .host_root = reader.get<std::string>("host-root"),
      .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

Result<ConfigManagerOptions> load_config_manager_options(const Sources& sources) {
  OptionReader reader(sources, kUseConfigManager);
  ConfigManagerOptions options{.oneshot = reader.get<bool>("oneshot"),
                               .api_server = reader.api_server(),
                               .node_name = required(reader, "node-name"),
                               .node_label = reader.get<std::string>("node-label"),
                               .source_dir = required(reader, "config-file-srcdir"),
                               .destination = required(reader, "config-file-dst"),
                               .default_config = reader.get<std::string>("default-config"),
                               .fallbacks = fallbacks(reader),
                               .send_signal = reader.get<bool>("send-signal"),
                               .signal = small_int(reader, "signal"),
                               .process_to_signal = reader.get<std::string>("process-to-signal"),
                               .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

}  // namespace tranche::config
