#pragma once
// Reads the current certificates, key and token that the credentials name.
//
// Files rotate: current() checks each file (one stat) and reads those that changed. While a file
// cannot be read, its last content stays in effect. Thread-safe; no lock is held while a file is
// read.

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
  std::string authority;  // PEM; empty: the system's authorities
  std::string certificate;
  std::string key;
  std::string token;
  std::string proxied_token{};  // empty: it is `token`
  bool operator==(const Identity&) const = default;
};

class IdentityReloader {
 public:
  // Fails if a file cannot be read, or if the token contains characters not allowed in a header.
  static Result<std::unique_ptr<IdentityReloader>> open(const Credentials& credentials);

  // The current identity. Returns the same pointer while nothing has changed.
  std::shared_ptr<const Identity> current();

 private:
  struct Source {
    std::string Identity::* field;
    RotatingFile file;
  };

  IdentityReloader() = default;
  static Result<void> read_changed(std::vector<Source>& sources, Identity& identity);

  std::mutex mutex_;
  std::vector<Source> sources_;  // the files, each with its field
  std::shared_ptr<const Identity> identity_;
};

}  // namespace tranche::kube
