#include "tenant/messages.h"

#include <cstring>

namespace tranche::tenant {

using namespace limit;

namespace {

template <class T>
std::optional<T> as(std::span<const std::byte> packet) {
  if (packet.size() != sizeof(T)) return std::nullopt;
  T message;
  std::memcpy(&message, packet.data(), sizeof(T));
  return message;
}

}  // namespace

std::optional<Incoming> parse(std::span<const std::byte> packet) {
  // Every message begins with magic and kind.
  struct Start {
    std::uint32_t magic;
    wire::Message kind;
  } start;
  if (packet.size() < sizeof(start) || packet.size() > kLargestPacket) return std::nullopt;
  std::memcpy(&start, packet.data(), sizeof(start));
  if (start.magic != wire::kHelloMagic) return std::nullopt;
  switch (start.kind) {
    case wire::Message::kHello:
      return as<wire::Hello>(packet);
    case wire::Message::kWaiting:
    case wire::Message::kContext: {
      const auto notice = as<wire::Notice>(packet);
      if (!notice || notice->device >= wire::kMaxDevices) return std::nullopt;
      return notice;
    }
    case wire::Message::kWelcome:
      break;  // only the arbiter sends it
  }
  return std::nullopt;
}

}  // namespace tranche::tenant
