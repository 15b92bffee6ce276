#pragma once
// What a claim got on this node: prepared claims, and their stored form checkpoint/v1, one file per
// claim (docs/schemas/checkpoint-v1.schema.json). When a claim ends kubelet only names its uid, and
// the object may be gone by then, so everything that undoing needs is stored before the answer to
// kubelet. A file is written once and never changed.

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

// What a claim consumed of a shared GPU.
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
  // "GPU-..." or "MIG-..."; empty: a place whose instance is not created yet. The UUID is not known
  // before, so the stored form of a place never has it.
  std::string uuid = {};
  // An instance is created there for the claim. nullopt: the device exists already.
  std::optional<MigPlace> place = {};
  std::optional<ConsumedPart> part = {};  // nullopt: all of the device
  // The limits of its containers: the part, or less if the claim's configuration asks for less.
  // nullopt: none. Until an instance is created, these are for its GPU.
  std::optional<GrantLimits> limits = {};
  // For monitoring, in addition to those that hold the device.
  bool admin_access = false;
  // The tenant of another share that this one is combined with (dra/joint.h): the limits of the
  // tenant are the sum. Empty: it has its own tenant.
  std::string joined = {};
  // The resource whose MPS control daemon its containers are clients of. Empty: none. Recorded when
  // the claim was prepared; later changes are reported (agent/dra/claim_mps.h).
  std::string mps = {};
  bool operator==(const PreparedDevice&) const = default;
};

struct PreparedClaim {
  std::string ns;
  std::string name;
  std::string uid;
  // The machine's boot id. After a reboot nothing of it is left, and device names may refer to
  // other GPUs.
  std::string boot;
  std::vector<PreparedDevice> devices = {};
  // The uid of the only Pod that it was reserved for then; empty: several, or none.
  std::string pod = {};
  // The name under which kubelet knows the driver that prepared it, and calls it to undo that.
  // Empty: a release prepared it that did not record that.
  std::string driver = {};
  bool operator==(const PreparedClaim&) const = default;
};

// The instance at the device's place has been created, or found: sets its UUID, also in its limits.
void fill_uuid(PreparedDevice& device, const std::string& uuid);

// The tenant of a device with limits; empty: it has none. For a share it is the share's id, unless
// it has joined another one.
std::string tenant_of(const PreparedClaim& claim, const PreparedDevice& device);

// "<uid>-gpu-0", and "<uid>-gpu-0-<share id>" for a share: the name of a device in the claim's CDI
// file. Runtimes cache by name, so no name is used twice.
std::string cdi_device_name(const PreparedClaim& claim, const PreparedDevice& device);
std::string encode(const PreparedClaim& claim);
// kInvalidArgument: truncated, edited, or invalid names; kUnsupported: of another version, so another
// release can read it.
Result<PreparedClaim> decode_prepared(std::string_view text);

}  // namespace tranche::dra
