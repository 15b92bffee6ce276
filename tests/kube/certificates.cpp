#include "kube/certificates.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace tranche::test {
namespace {

void run(const std::string& command) {
  if (std::system((command + " 2>/dev/null").c_str()) != 0) {
    throw std::runtime_error("failed: " + command);
  }
}

constexpr auto kNewKey = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

}  // namespace

Certificates::Certificates() {
  std::ofstream(dir_.path() / "extensions") << "subjectAltName=IP:127.0.0.1,DNS:api.example.test\n";
  make_authority("ca");
  make("server");
  make("client");
}

void Certificates::make_authority(const std::string& name) {
  run(fmt::format("{} -x509 -days 1 -subj /CN={} -keyout {} -out {}", kNewKey, name,
                  key(name).string(), pem(name).string()));
}

void Certificates::make(const std::string& name, const std::string& authority, int days) {
  const auto request = (dir_.path() / (name + ".csr")).string();
  run(fmt::format("{} -subj /CN={} -keyout {} -out {}", kNewKey, name, key(name).string(),
                  request));
  run(fmt::format(
      "openssl x509 -req -in {} -CA {} -CAkey {} -CAcreateserial -days {} -extfile {} -out {}",
      request, pem(authority).string(), key(authority).string(), days,
      (dir_.path() / "extensions").string(), pem(name).string()));
}

const Certificates& certificates() {
  static const Certificates made;
  return made;
}

}  // namespace tranche::test
