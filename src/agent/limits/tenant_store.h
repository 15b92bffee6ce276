#pragma once
// The tenants of this node, as files: <dir>/<id>.json says what a container was promised
// (limits/v1) and is read by the arbiter; <dir>/<id>/ is mounted into the container and holds
// nothing but the arbiter's socket. Written before Allocate is answered, kept as long as the grant.
//
// Threads may write different tenants at once; who writes the same one, TenantManager says.

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

  // Makes the folder; put() does, too.
  Result<void> make_folder() const;
  const std::filesystem::path& dir() const { return dir_; }

  // Writes what differs; true: something did.
  Result<bool> put(const limit::TenantLimits& limits) const;
  // kNotFound: there is no such tenant; kInvalidArgument: its file is damaged.
  Result<limit::TenantLimits> get(const std::string& id) const;
  // First the file, so that the arbiter lets go, then the folder; fine when they are not there.
  Result<void> remove(const std::string& id) const;
  // Of every file, in order; none where there is no folder.
  Result<std::vector<std::string>> ids() const;

 private:
  std::filesystem::path dir_;
  FsRoot fs_;
};

// kInvalidArgument: more devices than a tenant can have.
Result<limit::TenantLimits> tenant_limits(std::string id, std::string resource,
                                          const GrantLimits& limits);

}  // namespace tranche::agent
