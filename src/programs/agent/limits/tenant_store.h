#pragma once
// The tenants of this node, as files. <dir>/<id>.json says what a container was promised
// (limits/v1); the arbiter reads it. <dir>/<id>/ is mounted into the container, read-only, and
// holds the arbiter's socket and what the container is shown of its devices before an arbiter
// answers (limit/part_format.h). All are written before Allocate is answered, and kept as long as
// the grant.
//
// Threads may write different tenants at once. TenantManager decides which thread writes a tenant.

#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "limit/tenant_limits.h"
#include "offer/limits.h"

namespace tranche::agent {

class TenantStore {
 public:
  explicit TenantStore(std::filesystem::path dir) : dir_(std::move(dir)) {}

  // Makes the folder; put() does so too.
  Result<void> make_folder() const;
  const std::filesystem::path& dir() const { return dir_; }

  // Writes the files that differ; true: the promise is another one.
  Result<bool> put(const limit::TenantLimits& limits) const;
  // kNotFound: there is no such tenant; kInvalidArgument: its file is damaged.
  Result<limit::TenantLimits> get(const std::string& id) const;
  // Removes first the file, so that the arbiter drops the tenant, then the folder. It is no error
  // if they are not there.
  Result<void> remove(const std::string& id) const;
  // The id of every file, in order; empty if there is no folder.
  Result<std::vector<std::string>> ids() const;

 private:
  std::filesystem::path dir_;
  FsRoot fs_;
};

// kInvalidArgument: more devices than a tenant can have.
Result<limit::TenantLimits> tenant_limits(std::string id, std::string resource,
                                          const GrantLimits& limits);

}  // namespace tranche::agent
