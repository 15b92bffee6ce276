// What a container may send to the arbiter, and what a tenant's file may contain.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "limit/tenant_limits.h"
#include "tenant/messages.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

void look_at_packet(std::span<const std::byte> packet) {
  const auto message = tenant::parse(packet);
  if (!message) return;
  require(packet.size() <= tenant::kLargestPacket);
  if (const auto* notice = std::get_if<limit::wire::Notice>(&*message)) {
    require(notice->device < limit::wire::kMaxDevices);
  }
}

// What is read can be written, and is read as the same again.
void look_at_file(std::string_view text) {
  const auto limits = limit::decode(text);
  if (!limits) {
    require(!limits.error().what.empty());
    return;
  }
  require(!limits->devices.empty() && limits->devices.size() <= limit::wire::kMaxDevices);
  const auto again = limit::decode(limit::encode(*limits));
  require(again.has_value() && *again == *limits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  look_at_packet(std::as_bytes(std::span(data, size)));
  look_at_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
