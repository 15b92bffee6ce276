#pragma once
// The ResourceQuota that we keep beside the operator's (decision 41). Its hard amount is what the
// shares of the namespace leave for whole GPUs; the ledger is one of its annotations, so that a
// write with the resourceVersion that was read changes both or neither. Pods are admitted by what
// its status says, which follows its spec. Its text, read and written. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/quota/ledger.h"
#include "admission/quota/limit.h"
#include "base/json.h"
#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::admission::quota {

inline constexpr std::string_view kOwnQuotaName = "tranche-gpu-shares";
inline constexpr std::string_view kLedgerAnnotation = "tranche.dev/gpu-share-ledger";
// For people: how many GPUs the shares hold, "1.75".
inline constexpr std::string_view kHeldAnnotation = "tranche.dev/gpu-shares-held";

struct OwnQuota {
  std::optional<Ledger> ledger;      // nullopt: it is missing or torn, and to be made anew
  std::int64_t wanted = 0;           // spec.hard, in billionths
  std::optional<std::int64_t> hard;  // status.hard; nullopt: Kubernetes has not counted yet
  std::int64_t used = 0;             // status.used: by whole GPUs
};

// kFailedPrecondition: it has not our label, so it is somebody else's under our name.
Result<OwnQuota> read_own_quota(json::View object);

// `ledger` as it is to be written, with what it leaves of `limits`, which are not empty. `owner`:
// with whom the object goes.
std::string new_own_quota(const Ledger& ledger, const std::vector<Limit>& limits,
                          const cluster::OwnerReference& owner);
// The same, of an object that is there; its resourceVersion stays.
std::string changed_own_quota(json::View object, const Ledger& ledger,
                              const std::vector<Limit>& limits);
// The object with status.hard as its spec wants it.
std::string with_status_as_wanted(json::View object);

}  // namespace tranche::admission::quota
