#pragma once
// Installs libtranche-limit.so on the host, where containers mount it from. Kubelet replays a
// grant's mounts whenever it restarts the container, even under a later release of the agent. So
// each release's library and its preload file are in a folder named by its content, <dir>/<hash>/,
// which is removed when no grant mounts from it any more.
//
// Used by TenantManager under its turns_, never by a thread that answers kubelet.

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class LimitLibrary {
 public:
  struct Installed {
    std::string library;
    std::string preload;  // for /etc/ld.so.preload
  };

  // `source`: this release's library. `dir`: absolute; the same path on the host as in this
  // container.
  LimitLibrary(std::filesystem::path source, std::filesystem::path dir)
      : source_(std::move(source)), dir_(std::move(dir)) {}

  // Installs the library unless it exists. Errors: kNotFound: no library at `source`; it is empty;
  // the folder cannot be written.
  Result<Installed> install();

  // Names of other releases' folders without a file of `granted` (paths on the host).
  Result<std::vector<std::string>> unused(const std::set<std::string>& granted) const;
  Result<std::vector<std::string>> remove(std::vector<std::string> names) const;

 private:
  std::filesystem::path source_;
  std::filesystem::path dir_;
  FsRoot fs_;
  std::optional<Installed> installed_;
};

// The library installed with this program: ../lib, seen from the program's folder.
std::filesystem::path library_next_to_program();

}  // namespace tranche::agent
