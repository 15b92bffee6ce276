#pragma once
// What a server shows its clients.

#include <string>

namespace tranche::http {

struct Certificate {
  std::string chain;  // PEM, the server's own certificate first
  std::string key;    // PEM
  bool operator==(const Certificate&) const = default;
};

}  // namespace tranche::http
