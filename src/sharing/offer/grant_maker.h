#pragma once
// make_grant(offer, request): what one container receives. Pure; GrantOptions holds the required
// facts about the host.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "offer/grant.h"
#include "offer/limit_mounts.h"
#include "offer/offer.h"

namespace tranche::offer {

// Set once per configuration, and shared by all grants.
struct GrantOptions {
  std::vector<config::DeviceListStrategy> list_strategies = {config::DeviceListStrategy::kEnvvar};
  config::DeviceIdStrategy id_strategy = config::DeviceIdStrategy::kUuid;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  bool pass_device_specs = false;
  std::string dev_root = "/";
  // Full paths of the nodes that exist among /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools
  // and /dev/nvidia-modeset, in that order.
  std::vector<std::string> control_nodes;
  std::vector<int> imex_channels;  // the existing channels
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  // The CDI classes other than `gpu` whose specification is not empty ("gdrcopy", "gds", "mofed",
  // in that order).
  std::vector<std::string> cdi_modes;
  std::optional<LimitMounts> limits;  // nullopt: containers cannot be limited here
  std::string mps_root;               // the folder of the MPS daemons on the host
  bool operator==(const GrantOptions&) const = default;
};

// Makes the grants of one resource. It is built once per offer, and finds an id in constant time
// with any number of replicas. Immutable: any number of threads may call make().
class GrantMaker {
 public:
  GrantMaker(ResourceOffer offer, GrantOptions options);
  GrantMaker(const GrantMaker&) = delete;  // by_id_ refers into offer_
  GrantMaker& operator=(const GrantMaker&) = delete;

  // `fresh_id`: a fresh UUID (version 4), for cdi-annotations and for the tenant's id of a grant
  // with limits.
  //
  // Errors (kInvalidArgument) read `invalid allocation request for "<resource>": invalid request:
  // ...`. NVIDIA's endings are `unknown device: <id>` and `maximum request size for shared
  // resources is 1; found N`; ours are `duplicate device: <id>` and `no device`.
  // kFailedPrecondition: the resource has limits, and containers cannot be limited here.
  //
  // The device list keeps the order of the request. Devices, device nodes and CDI names that
  // several ids share (replicas of one GPU) appear once. NVIDIA's plugin repeats the device nodes.
  Result<Grant> make(std::span<const std::string> ids, std::string_view fresh_id) const;

  const ResourceOffer& offer() const { return offer_; }
  const GrantOptions& options() const { return options_; }

 private:
  Result<void> check(std::span<const std::string> ids) const;
  std::vector<const Device*> devices_of(std::span<const std::string> ids) const;

  const ResourceOffer offer_;
  const GrantOptions options_;
  std::unordered_map<std::string_view, std::size_t> by_id_;  // id -> index into offer_.devices
};

// Makes one grant, for callers that make few: GrantMaker(offer, options).make(ids, fresh_id).
Result<Grant> make_grant(const ResourceOffer& offer, const GrantOptions& options,
                         std::span<const std::string> ids, const std::string& fresh_id);

}  // namespace tranche::offer
