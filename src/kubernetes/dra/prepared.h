#pragma once
// What a claim got on this node: prepared claims, and their stored form checkpoint/v1, one file for
// each claim (docs/schemas/checkpoint-v1.schema.json). Kubelet names a claim by its uid alone when
// it ends, and the object may be gone by then, so all that undoing needs is stored before kubelet
// is answered. A file is written once and never changed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "dra/mig_place.h"
#include "values/limits.h"

namespace tranche::dra {

// What a claim consumed of a GPU that claims share.
struct ConsumedPart {
  Bytes memory;
  std::uint32_t percent = 0;  // of compute
  bool operator==(const ConsumedPart&) const = default;
};

struct PreparedDevice {
  std::string request;  // without its subrequest
  std::string pool;
  std::string device;
  std::string share_id = {};  // a UUID; empty: the device is not shared
  // "GPU-..." or "MIG-..."; empty: of a place whose instance is not made yet. Nobody knows it
  // before, so the stored form of a place never has it.
  std::string uuid = {};
  // An instance is made there for the claim. nullopt: the device is there by itself.
  std::optional<MigPlace> place = {};
  std::optional<ConsumedPart> part = {};  // nullopt: all of the device
  // What its containers are held to: the part, and less where the claim's configuration asks for
  // less. nullopt: nothing.
  // Until an instance is made, of its GPU.
  std::optional<GrantLimits> limits = {};
  // For monitoring, beside those that hold the device.
  bool admin_access = false;
  // The tenant of another share that this one goes together with (dra/joint.h): the limits of the
  // tenant are the sum. Empty: it has a tenant of its own.
  std::string joined = {};
  // The resource whose MPS control daemon its containers are clients of. Empty: of none. It is what
  // was so when the claim was prepared; what has changed since is told (agent/dra/claim_mps.h).
  std::string mps = {};
  bool operator==(const PreparedDevice&) const = default;
};

struct PreparedClaim {
  std::string ns;
  std::string name;
  std::string uid;
  // The machine's boot id. After a reboot nothing of it is there, and device names may stand for
  // other GPUs.
  std::string boot;
  std::vector<PreparedDevice> devices = {};
  // The uid of the only Pod that it was reserved for then; empty: there were several, or none.
  std::string pod = {};
  bool operator==(const PreparedClaim&) const = default;
};

// The instance at the device's place has been made, or found: its UUID, also in its limits.
void fill_uuid(PreparedDevice& device, const std::string& uuid);

// The tenant of a device with limits; empty: it has none. Of a share it is the share's id, unless
// it has joined another one.
std::string tenant_of(const PreparedClaim& claim, const PreparedDevice& device);

// "<uid>-gpu-0", and "<uid>-gpu-0-<share id>" of a share: the name of a device in the claim's CDI
// file. Runtimes keep what they read by name, so no name is used twice.
std::string cdi_device_name(const PreparedClaim& claim, const PreparedDevice& device);
std::string encode(const PreparedClaim& claim);
// kInvalidArgument: torn, edited, another version, or names that can be none.
Result<PreparedClaim> decode_prepared(std::string_view text);

}  // namespace tranche::dra
