#pragma once
// A server that is kept open: what does not work (a port in use, a certificate that is not there
// yet) is logged once, and tried again at each keep().
//
// keep() and close() are called by one thread, keep() about every second.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"
#include "http/certificate_files.h"
#include "http/server.h"

namespace tranche::http {

class KeptServer {
 public:
  struct Options {
    std::string name;         // for the log: "metrics", "the fleet"
    std::string verb = "is";  // that it takes: "are"
    Server::Options server;   // `tls` follows `tls_dir`
    std::string tls_dir;      // folder of tls.crt and tls.key; "": without TLS
  };

  // `log` outlives this.
  KeptServer(Options options, Handler handler, const Log& log);

  void keep();
  // 0: it is not open. Any thread may ask.
  std::uint16_t port() const { return port_; }
  // Closes the port until the next keep().
  void close();

 private:
  Result<void> open();
  Result<void> renew_certificate();
  void tell(std::string_view topic, const std::string& text);

  const Options options_;
  const Handler handler_;
  const Log& log_;
  SaidOnce said_;
  std::optional<CertificateFiles> certificate_;
  std::atomic<std::uint16_t> port_ = 0;
  std::unique_ptr<Server> server_;  // last: its threads use the others
};

}  // namespace tranche::http
