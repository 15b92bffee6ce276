// Arbitrary text as a kubeconfig file, base64, and the address of an API server.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/base64.h"
#include "kube/credentials.h"
#include "kube/server_url.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tranche::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto credentials = parse_kubeconfig(text, "/x/kube.conf");
  if (credentials) {
    require(parse_server_url(credentials->server).has_value());
    require(credentials->certificate.empty() == credentials->key.empty());
    require(!credentials->insecure || credentials->authority.empty());
  } else {
    require(!credentials.error().what.empty());
  }
  if (const auto url = parse_server_url(text)) {
    const auto again = parse_server_url(url->to_string());
    require(again && again->to_string() == url->to_string());
  }
  if (const auto decoded = tranche::decode_base64(text)) require(decoded->size() <= size);
  return 0;
}
