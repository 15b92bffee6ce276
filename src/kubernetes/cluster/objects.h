#pragma once
// Port: the API server's objects. Bodies and answers are JSON text.
// Adapter: kube/client.h. Fake: tests/support/fake_objects.h.
//
// All calls block, end soon after a stop request, and may be made from several threads at once.
// Error codes, the same from adapter and fake:
//   kNotFound            no such object, or the kind is not served (its definition is missing)
//   kAlreadyExists       create: an object of that name exists
//   kFailedPrecondition  the object changed since it was read, another field manager owns a field,
//                        or a precondition does not hold: read again, decide again
//   kPermission          the credentials are not accepted (401), or an RBAC rule is missing (403)
//   kInvalidArgument     the API server refuses the object's content (400, 413, 422)
//   kUnavailable         the API server is away or overloaded: may work later
//   kTimeout             no answer before the deadline; a write may have happened
//   kUnsupported         the API server cannot do it (405, 415)

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/kinds.h"
#include "cluster/object.h"

namespace tranche::cluster {

// Receives objects of a list; `first`: the list starts, or restarts, and previous pages are void.
using PageHandler = std::function<Result<void>(std::vector<Object> page, bool first)>;

// The maximum total time of one call, including retries; and what ends it earlier.
struct Call {
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  std::stop_token stop = {};
  // For create and update: the name under which the API server records field ownership. Empty: the
  // adapter's default.
  std::string field_manager = {};
};

struct ListOptions {
  std::string ns = {};              // empty: all namespaces, or a cluster-scoped kind
  std::string label_selector = {};  // "a=b,c in (d,e)"
  std::string field_selector = {};  // "metadata.name=x"; RBAC by resourceNames needs this one
  // Empty: the current state, for which an API server may have to ask etcd. Otherwise the server
  // answers from its own cache, in one page, with a state at least as new as this version; "0": any
  // state. kFailedPrecondition, kTimeout: the server has no such state (yet). Only for list().
  std::string not_before = {};
};

struct WatchOptions {
  ListOptions selection = {};
  std::string resource_version = {};  // of the list, or of the last event or bookmark seen
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  Object object;  // kBookmark: only resource_version is set; kDeleted: its last state
};
// The first event is always a bookmark of the starting version: the stream is
// open.
using WatchHandler = std::function<void(WatchEvent)>;

// Why a watch ended without failing.
enum class WatchEnd {
  kClosed,   // the server ended the stream, as it does every few minutes: watch again from the last
             // version seen
  kExpired,  // that version is too old (410): list again
  kStopped,  // stop was requested
};

enum class PatchType {
  kMerge,      // RFC 7386
  kJson,       // RFC 6902
  kStrategic,  // Kubernetes' own; not for custom resources
};

struct Patch {
  PatchType type = PatchType::kMerge;
  std::string json;
  std::string subresource = {};  // "status", or empty
  std::string field_manager = "tranche";
};

// Server-side apply: `json` contains our fields, with apiVersion, kind and
// metadata.name.
struct Apply {
  std::string json;
  std::string field_manager = "tranche";
  bool force = false;            // take over fields owned by others
  std::string subresource = {};  // "status", or empty
};

struct Preconditions {
  std::optional<std::string> uid = {};
  std::optional<std::string> resource_version = {};
};

class Objects {
 public:
  virtual ~Objects() = default;

  virtual Result<Object> get(const Kind& kind, const ObjectKey& key, const Call& call = {}) = 0;
  // All pages.
  virtual Result<ObjectList> list(const Kind& kind, const ListOptions& options,
                                  const Call& call = {}) = 0;
  // The same page by page, on the calling thread, for lists too long to hold. Returns the list's
  // version. An error of `take` ends it and is returned.
  virtual Result<std::string> list_pages(const Kind& kind, const ListOptions& options,
                                         const PageHandler& take, const Call& call = {}) {
    ASSIGN_OR_RETURN(auto all, list(kind, options, call));
    TRY(take(std::move(all.items), true));
    return std::move(all.resource_version);
  }
  // Passes every event to `handler`, on the calling thread, until the stream ends.
  virtual Result<WatchEnd> watch(const Kind& kind, const WatchOptions& options,
                                 const WatchHandler& handler, std::stop_token stop) = 0;

  // `ns`: empty for a cluster-scoped kind. The name comes from the text (metadata.name, or
  // metadata.generateName).
  virtual Result<Object> create(const Kind& kind, const std::string& ns, std::string_view json,
                                const Call& call = {}) = 0;
  // Replaces the object. With metadata.resourceVersion in the text, only if it still matches;
  // leases and custom resources require it (kInvalidArgument).
  virtual Result<Object> update(const Kind& kind, const ObjectKey& key, std::string_view json,
                                const std::string& subresource = {}, const Call& call = {}) = 0;
  virtual Result<Object> patch(const Kind& kind, const ObjectKey& key, const Patch& patch,
                               const Call& call = {}) = 0;
  // Creates the object if it does not exist (not through a subresource).
  virtual Result<Object> apply(const Kind& kind, const ObjectKey& key, const Apply& apply,
                               const Call& call = {}) = 0;
  virtual Result<void> remove(const Kind& kind, const ObjectKey& key,
                              const Preconditions& preconditions = {}, const Call& call = {}) = 0;
  // Asks a question that is answered and not kept (TokenReview, SubjectAccessReview): the text of
  // the answer, which has the question and a status. kUnsupported: this port has nobody to ask.
  virtual Result<std::string> review(const Kind& kind, std::string_view json,
                                     const Call& call = {}) {
    static_cast<void>(json);
    static_cast<void>(call);
    return fail(Code::kUnsupported, kind.resource() + ": there is no API server to ask");
  }
  // Evicts the Pod as `kubectl drain` does (policy/v1 Eviction): a PodDisruptionBudget may forbid
  // it for now (kUnavailable, tried once). `uid`: only if it is still that Pod.
  virtual Result<void> evict(const ObjectKey& pod, const std::string& uid,
                             const Call& call = {}) = 0;
};

}  // namespace tranche::cluster
