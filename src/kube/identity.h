#pragma once
// What a connection shows and trusts, read from where credentials say: as it is now.
//
// Files rotate: current() looks at each (one stat) and reads what changed. A file that cannot be
// read for a moment leaves what was read last in force. Thread-safe; no lock is held over a read.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/credentials.h"
#include "kube/rotating_file.h"

namespace tranche::kube {

struct Identity {
  std::string authority;  // PEM; empty: the system's
  std::string certificate;
  std::string key;
  std::string token;
  bool operator==(const Identity&) const = default;
};

class IdentityKeeper {
 public:
  // Fails when a file cannot be read, or a token could not be sent in a header.
  static Result<std::unique_ptr<IdentityKeeper>> open(const Credentials& credentials);

  // The same pointer as long as nothing changed.
  std::shared_ptr<const Identity> current();

 private:
  struct Source {
    std::string Identity::* field;
    RotatingFile file;
  };

  IdentityKeeper() = default;
  static Result<void> read_changed(std::vector<Source>& sources, Identity& identity);

  std::mutex mutex_;
  std::vector<Source> sources_;  // of what is in files
  std::shared_ptr<const Identity> identity_;
};

}  // namespace tranche::kube
