#pragma once
// What the arbiter does beside the shares, and what not every node needs: limits that the kernel
// keeps, containers that ask before they start. Each is a room inside the arbiter's, and a line in
// arbiter/run/extensions.def; it goes with that line.
//
// Everything here is called by the arbiter's one thread and returns at once: an extension that asks
// somebody who may hang does so on threads of its own.

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
  // The enforcer of memory that it provides.
  virtual std::optional<MemoryEnforcer> enforcer() const { return {}; }
  // Whether the hello of a tenant's process may be answered now. A process that has to wait is
  // asked about again by TenantSession::answer_held().
  virtual bool may_answer(const TenantSession&, const tenant::ProcessId&) { return true; }
  // A process of the tenant's container that uses a GPU and has not registered, or that is about to
  // start.
  virtual void saw(const TenantSession&, const tenant::ProcessId&) {}
  // Whether a process that it saw may run: ""; else why not. nullopt: not known yet.
  virtual std::optional<std::string> outcome(const TenantSession&, const tenant::ProcessId&) const {
    return "";
  }
  // Another extension's outcome may have come.
  virtual void settled() {}
  // Follows what came, went and changed, and tries again what failed. At least each second.
  virtual void look() = 0;
  // Adds what is degraded, and findings.
  virtual void describe(limit::ArbiterStatus& status) const = 0;
};

// All extensions of an arbiter, asked as one.
class Extensions {
 public:
  void add(std::unique_ptr<Extension> extension) { all_.push_back(std::move(extension)); }
  // Whether all of them let the hello be answered.
  bool may_answer(const TenantSession& session, const tenant::ProcessId& process);
  void saw(const TenantSession& session, const tenant::ProcessId& process);
  // As of one: the first that knows why not, or does not know yet. A tenant whose memory of a
  // device is kept by an enforcer that no extension provides may not run.
  std::optional<std::string> outcome(const TenantSession& session,
                                     const tenant::ProcessId& process) const;
  void settled();
  void look();
  void describe(limit::ArbiterStatus& status) const;

 private:
  bool is_provided(MemoryEnforcer enforcer) const;

  std::vector<std::unique_ptr<Extension>> all_;
};

// What an extension works with; all of it outlives the extension.
struct ExtensionContext {
  std::filesystem::path tenants;      // the folder
  std::filesystem::path cgroup_root;  // of version 2, the node's
  FsRoot host;                        // for /proc
  process::Poller& poller;
  const Clock& clock;
  const Log& log;
  Extensions& extensions;              // itself among them
  const limit::ArbiterStatus& before;  // what an earlier arbiter told; for the time of making it
  std::function<Sessions()> sessions;  // asked anew each time
};
using MakeExtension =
    std::function<Result<std::unique_ptr<Extension>>(const ExtensionContext& context)>;

}  // namespace tranche::arbiter
