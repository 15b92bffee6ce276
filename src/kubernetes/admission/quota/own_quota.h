#pragma once
// The ResourceQuota that we keep in addition to the administrator's (decision 41). Its hard amount
// is what the namespace's shares leave for whole GPUs, and the ledger is one of its annotations, so
// that one write at the read resourceVersion changes both or neither. Pods are admitted by its
// status, which follows its spec. Its text, read and written. Pure.

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
  std::optional<Ledger> ledger;      // nullopt: missing or damaged; rebuild it
  std::int64_t wanted = 0;           // spec.hard, in billionths
  std::optional<std::int64_t> hard;  // status.hard; nullopt: Kubernetes has not counted yet
  std::int64_t used = 0;             // status.used: by whole GPUs
};

// kFailedPrecondition: without our label, so it is somebody else's under our name.
Result<OwnQuota> read_own_quota(json::View object);

// The object to create, with `ledger` and what it leaves of `limits`, which are not empty. `owner`:
// the object is deleted with it.
std::string new_own_quota(const Ledger& ledger, const std::vector<Limit>& limits,
                          const cluster::OwnerReference& owner);
// The same for an existing object; its resourceVersion stays.
std::string changed_own_quota(json::View object, const Ledger& ledger,
                              const std::vector<Limit>& limits);
// The object with status.hard set to spec.hard.
std::string with_status_as_wanted(json::View object);

}  // namespace tranche::admission::quota
