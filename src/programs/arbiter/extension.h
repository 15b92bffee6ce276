#pragma once
// An extension is an optional part of the arbiter that not every node needs: limits that the kernel
// enforces, or containers that ask before they start. Each extension is a room inside
// src/programs/arbiter/ and one line in arbiter/run/extensions.def. Without that line it is not
// built.
//
// The arbiter's one thread calls these functions, and they return at once. An extension whose calls
// may hang makes them on its own threads.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/tenant_session.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"
#include "process/poller.h"

namespace tranche::arbiter {

class Extension {
 public:
  virtual ~Extension() = default;
  // The memory enforcer that this extension provides, if any.
  virtual std::optional<MemoryEnforcer> enforcer() const { return {}; }
  // Whether the hello of a tenant's process may be answered now. If not,
  // TenantSession::answer_held() asks again later.
  virtual bool may_answer(const TenantSession&, const tenant::ProcessId&) { return true; }
  // Reports a process of the tenant's container that uses a GPU without having registered, or that
  // is about to start.
  virtual void saw(const TenantSession&, const tenant::ProcessId&) {}
  // Whether a process reported by saw() may run. "": it may; other text: why not; nullopt: unknown
  // yet.
  virtual std::optional<std::string> outcome(const TenantSession&, const tenant::ProcessId&) const {
    return "";
  }
  // The outcome() of another extension may have changed.
  virtual void on_settled() {}
  // Handles processes and tenants that came, went or changed, and retries failures. Called at least
  // once a second.
  virtual void look() = 0;
  // Adds degraded tenants and findings to `status`.
  virtual void describe(limit::ArbiterStatus& status) const = 0;
};

// All extensions of an arbiter behind one interface.
class Extensions {
 public:
  void add(std::unique_ptr<Extension> extension) { all_.push_back(std::move(extension)); }
  // True if every extension lets the hello be answered.
  bool may_answer(const TenantSession& session, const tenant::ProcessId& process);
  void saw(const TenantSession& session, const tenant::ProcessId& process);
  // The first outcome that is not "" (a reason, or unknown yet); else "". A tenant whose device
  // memory requires an enforcer that no extension provides may not run.
  std::optional<std::string> outcome(const TenantSession& session,
                                     const tenant::ProcessId& process) const;
  void settled();
  void look();
  void describe(limit::ArbiterStatus& status) const;

 private:
  bool is_provided(MemoryEnforcer enforcer) const;

  std::vector<std::unique_ptr<Extension>> all_;
};

// The inputs of an extension; all of it outlives the extension.
struct ExtensionContext {
  std::filesystem::path tenants;      // the folder of the tenants' files
  std::filesystem::path cgroup_root;  // the node's cgroup v2 tree
  FsRoot host;                        // for /proc
  process::Poller& poller;
  const Clock& clock;
  const Log& log;
  Extensions& extensions;  // all extensions, this one included
  // The previous arbiter's status; only valid while the extension is created.
  const limit::ArbiterStatus& before;
  std::function<Sessions()> sessions;  // the current sessions; do not keep the result
};
using MakeExtension =
    std::function<Result<std::unique_ptr<Extension>>(const ExtensionContext& context)>;

}  // namespace tranche::arbiter
