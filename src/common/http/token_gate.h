#pragma once
// Who may read what one token, or none, protects: the metrics of a program. Thread-safe.

#include <optional>
#include <string>

#include "base/log.h"
#include "http/bearer_token.h"
#include "http/server.h"

namespace tranche::http {

class TokenGate {
 public:
  // `file`: of the token (http/bearer_token.h); "": everybody may. `closed`: a warning if the file
  // gives no token, before why: "metrics are refused to all". `log` outlives this.
  TokenGate(const std::string& file, std::string closed, const Log& log);

  bool admits(const Request& request);

 private:
  const std::string closed_;
  const Log& log_;
  std::optional<BearerToken> token_;
};

}  // namespace tranche::http
