#include <fmt/format.h>

#include "offer/offer.h"

namespace tranche::offer {

std::string replica_id(std::string_view uuid, int replica) {
  return fmt::format("{}::{}", uuid, replica);
}

std::string_view device_uuid_of(std::string_view id) { return id.substr(0, id.find("::")); }

bool is_replica_id(std::string_view id) { return id.find("::") != std::string_view::npos; }

}  // namespace tranche::offer
