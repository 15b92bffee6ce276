#pragma once
// A ResourceClaim (resource.k8s.io/v1) as a driver reads it: what the scheduler allocated, with
// which configuration, and for which consumers. Requests concern only the scheduler, except those
// for all devices (dra/all_devices.h). Tenants write claims, so nothing in them is trusted beyond
// what the API server has checked.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/object.h"

namespace tranche::cluster {

// A device, or a share of one, allocated to a claim (status.allocation.devices.results).
struct AllocatedDevice {
  std::string request;  // "gpu", or "gpu/l20" for the chosen subrequest
  std::string driver;
  std::string pool;
  std::string device;
  std::string share_id = {};  // a UUID; empty: the whole device
  std::map<std::string, std::uint64_t> consumed = {};
  // For monitoring: the device may be in use by others, and is not taken from them.
  bool admin_access = false;

  // The request without the subrequest.
  std::string_view base_request() const {
    return std::string_view(request).substr(0, request.find('/'));
  }
  bool operator==(const AllocatedDevice&) const = default;
};

// A request, or subrequest, with allocationMode All and without adminAccess.
struct RequestForAll {
  std::string name;  // as in AllocatedDevice::request
  std::string device_class;
  std::vector<std::string> selectors;   // CEL expressions; not those of the class
  std::vector<std::string> capacities;  // the names of those that it asks for
  bool operator==(const RequestForAll&) const = default;
};

// Opaque parameters for a driver.
struct ClaimConfig {
  bool from_class = false;            // from the DeviceClass; else from the claim
  std::vector<std::string> requests;  // empty: all; a subrequest as "gpu/l20"
  std::string driver;
  std::string parameters;  // JSON text, as sent
  bool operator==(const ClaimConfig&) const = default;
};

// A consumer that may use the claim (status.reservedFor).
struct ClaimConsumer {
  std::string resource;  // "pods"
  std::string name;
  std::string uid;
  bool operator==(const ClaimConsumer&) const = default;
};

struct ResourceClaim {
  ObjectKey key;
  std::string uid = {};
  std::string resource_version = {};
  bool allocated = false;
  std::vector<RequestForAll> for_all = {};
  std::vector<AllocatedDevice> devices = {};
  std::vector<ClaimConfig> configs = {};  // the class's first; a later one wins
  std::vector<ClaimConsumer> reserved_for = {};
  bool operator==(const ResourceClaim&) const = default;
};

Result<ResourceClaim> parse_resource_claim(std::string_view json);
// The selectors (CEL) of a DeviceClass.
Result<std::vector<std::string>> parse_class_selectors(std::string_view json);

}  // namespace tranche::cluster
