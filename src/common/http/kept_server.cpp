#include "http/kept_server.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/fs.h"

namespace tranche::http {

KeptServer::KeptServer(Options options, Handler handler, const Log& log)
    : options_(std::move(options)), handler_(std::move(handler)), log_(log) {
  if (options_.tls_dir.empty()) return;
  const std::filesystem::path folder = options_.tls_dir;
  certificate_.emplace(FsRoot(), folder / "tls.crt", folder / "tls.key");
}

void KeptServer::keep() {
  const auto& [name, verb, server, tls_dir] = options_;
  if (server_ == nullptr) {
    const auto opened = open();
    if (!opened) {
      tell("port", fmt::format("{} {} not served: {}", name, verb, opened.error().message()));
      return;
    }
    said_.forget("port");
    log_.info(fmt::format("{} {} served at port {}", name, verb, port()));
  }
  const auto renewed = renew_certificate();
  if (renewed) {
    said_.forget("certificate");
  } else {
    tell("certificate", fmt::format("the certificate of {} cannot be used: {}; the last good one "
                                    "stays, and without one no connection succeeds",
                                    name, renewed.error().message()));
  }
}

void KeptServer::close() {
  server_.reset();
  port_ = 0;
}

void KeptServer::tell(std::string_view topic, const std::string& text) {
  if (said_.is_news(topic, text)) log_.warn(text);
}

Result<void> KeptServer::open() {
  auto options = options_.server;
  options.tls = certificate_.has_value();
  ASSIGN_OR_RETURN(server_, Server::open(std::move(options), handler_));
  port_ = server_->port();
  return {};
}

// Until there is one, every handshake fails.
Result<void> KeptServer::renew_certificate() {
  if (!certificate_) return {};
  ASSIGN_OR_RETURN(const auto changed, certificate_->changed());
  return changed ? server_->set_certificate(*changed) : Result<void>();
}

}  // namespace tranche::http
