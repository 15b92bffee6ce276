#pragma once
// The settings of `tranche controller`, and those of `tranche cleanup` that the agent does not
// have. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/api_server.h"
#include "base/dra_driver.h"
#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "config/flags/sources.h"
#include "config/programs/web_options.h"

namespace tranche::config {

// A GPU model expected on nodes in mode dra, and the total that the shares of one GPU may have.
struct ExpectedModel {
  std::string product;
  Bytes memory;
  bool operator==(const ExpectedModel&) const = default;
};

// The admission webhook for fractions of GPUs.
struct WebhookOptions {
  std::string address;  // "": all
  std::uint16_t port = 8443;
  std::vector<std::string> hosts;  // DNS names and addresses at which it is reached; not empty
  std::string secret = "tranche-webhook";
  std::string configuration = "tranche-webhook";
  std::chrono::seconds certificate_life = std::chrono::hours(2160);
  std::vector<ExpectedModel> models = {};
  std::string dra_driver_name{kDefaultDraDriver};  // whose devices shares are of
  bool counts_shares = false;                      // against the quotas of namespaces
  // DeviceClasses whose claims are counted; not empty.
  std::vector<std::string> counted_classes = {"gpu-share"};
  bool operator==(const WebhookOptions&) const = default;
};

struct ControllerOptions {
  std::string ns;  // the release's namespace: for policies' ConfigMaps, config_map_out, the Lease
  std::string config_map_out;  // the ConfigMap that the agents follow; "": no policy is applied
  std::string mps_root;        // mps_root of the agents' Pods, on the host; "": not given
  std::string agents;          // the agents' DaemonSet, in `ns`; "": not given
  bool evict_unregistered = false;
  bool mig_changes = false;
  std::string mig_pools;                       // a ConfigMap in `ns`; "": there are no pools
  std::optional<WebhookOptions> webhook = {};  // nullopt: no webhook is served
  std::optional<WebOptions> web = {};          // nullopt: no page and no metrics are served
  bool leader_elect = false;
  std::string pod_name;  // "": not in a Pod
  ApiServer api_server;
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const ControllerOptions&) const = default;
};

struct CleanupOptions {
  // kClear: clear this node and exit. kStay: clear it and keep running. kCheck: probe the running
  // one. kRollOut: patch a DaemonSet and wait until all its Pods are replaced.
  enum class Mode { kClear, kStay, kCheck, kRollOut };
  Mode mode = Mode::kClear;
  // For kRollOut.
  std::string daemon_set_namespace;
  std::string daemon_set;
  std::string patch;                                             // JSON
  std::chrono::nanoseconds timeout = std::chrono::seconds(120);  // kClear, kRollOut
  std::string state_dir = "/var/lib/tranche";
  std::string release;  // the release whose node is cleared; "": any
  bool force = false;   // also where claims are prepared, whose Pods then cannot end
  ApiServer api_server;
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const CleanupOptions&) const = default;
};

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per
// line.
Result<ControllerOptions> load_controller_options(const Sources& sources);
Result<CleanupOptions> load_cleanup_options(const Sources& sources);

}  // namespace tranche::config
