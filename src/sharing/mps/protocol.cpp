#include "mps/protocol.h"

#include <algorithm>
#include <array>

namespace tranche::mps {

std::span<const Protocol* const> protocols() {
  static const std::array all = {
#define PROTOCOL(name) &name(),
#include "mps/protocols.def"
#undef PROTOCOL
  };
  return all;
}

const Protocol& protocol_of(int number) {
  const auto all = protocols();
  const auto found = std::ranges::find(all, number, &Protocol::number);
  return found == all.end() ? *all.front() : **found;
}

}  // namespace tranche::mps
