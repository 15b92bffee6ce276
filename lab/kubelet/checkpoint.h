#pragma once
// The stand-in's checkpoint: who holds which devices with which answer, in kubelet's file
// `kubelet_internal_checkpoint` and in its shape, {"Data": {"PodDeviceEntries": [...],
// "RegisteredDevices": {...}}, "Checksum": n}.
//
// It differs from kubelet's in three ways: AllocResp is readable JSON instead of encoded protobuf,
// the checksum is FNV-1a over the dumped Data, and "Pods" keeps names and limits, which kubelet
// learns again from the API server. Pure text; the caller reads and writes the file.

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/kubelet/ledger.h"

namespace tranche::lab {

inline constexpr std::string_view kCheckpointName = "kubelet_internal_checkpoint";

struct Checkpoint {
  Ledger ledger;
  // Resource -> ids of its healthy devices.
  std::map<std::string, Ids> registered;
};

std::string to_text(const Checkpoint& checkpoint);
// kInvalidArgument when the text is no checkpoint or its checksum does not fit.
Result<Checkpoint> parse_checkpoint(std::string_view text);

}  // namespace tranche::lab
