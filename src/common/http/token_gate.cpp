#include "http/token_gate.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::http {

TokenGate::TokenGate(const std::string& file, std::string closed, const Log& log)
    : closed_(std::move(closed)), log_(log) {
  if (!file.empty()) token_.emplace(FsRoot(), file);
}

bool TokenGate::admits(const Request& request) {
  if (!token_) return true;
  const auto allowed = token_->check(request.authorization);
  if (!allowed && allowed.error().code != Code::kPermission) {
    log_.warn(fmt::format("{}: {}", closed_, allowed.error().message()));
  }
  return allowed.has_value();
}

}  // namespace tranche::http
