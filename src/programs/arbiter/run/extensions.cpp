#include "arbiter/run/extensions.h"

namespace tranche::arbiter {

// Each extension's room defines the function `extension` in a namespace of the room's name.
#define EXTENSION(room)                                                     \
  namespace room {                                                          \
  MakeExtension extension(const std::shared_ptr<nvml::Connection>& driver); \
  }
#include "arbiter/run/extensions.def"
#undef EXTENSION

std::vector<MakeExtension> extensions_of_node(
    [[maybe_unused]] const std::shared_ptr<nvml::Connection>& driver) {
  return {
#define EXTENSION(room) room::extension(driver),
#include "arbiter/run/extensions.def"
#undef EXTENSION
  };
}

}  // namespace tranche::arbiter
