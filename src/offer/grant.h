#pragma once
// What one container receives: make_grant(offer, request). Pure; what it needs of the host comes in
// GrantOptions. Wire texts are NVIDIA's (users grep for them).

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "offer/offer.h"

namespace tranche::offer {

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions = "rw";
  bool operator==(const DeviceNode&) const = default;
};

struct Grant {
  config::ResourceName resource;
  std::vector<std::string> ids;  // as requested
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  // qualified names
  bool operator==(const Grant&) const = default;
};

// Settled once per configuration, shared by all grants.
struct GrantOptions {
  std::vector<config::DeviceListStrategy> list_strategies = {config::DeviceListStrategy::kEnvvar};
  config::DeviceIdStrategy id_strategy = config::DeviceIdStrategy::kUuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  bool pass_device_specs = false;
  std::string dev_root = "/";
  // Which of /dev/nvidiactl, nvidia-uvm, nvidia-uvm-tools, nvidia-modeset exist, in that order.
  std::vector<std::string> control_nodes;
  std::vector<int> imex_channels;  // those that exist
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  // CDI classes beside `gpu` whose spec is not empty ("gdrcopy", "gds", "mofed", in that order).
  std::vector<std::string> cdi_modes;
  bool operator==(const GrantOptions&) const = default;
};

// `annotation_id`: a fresh UUID (version 4), used only with cdi-annotations.
// Errors, NVIDIA's words: `invalid allocation request for "<resource>": invalid request: unknown
// device: <id>` and `... maximum request size for shared resources is 1; found N`.
Result<Grant> make_grant(const ResourceOffer& offer, const GrantOptions& options,
                         std::span<const std::string> ids, const std::string& annotation_id);

}  // namespace tranche::offer
