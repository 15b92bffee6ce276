// The runtime's hook and the arbiter's end of it: container state, bundle, an image's preload file,
// packets. The first byte chooses which; the rest is the text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/printable.h"
#include "hook/container.h"
#include "hook/image_preload.h"
#include "limit/start_message.h"

using namespace tranche;

namespace {

const std::filesystem::path kTenants[] = {"/t"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      if (const auto state = hook::parse_state(text); state && state->pid <= 0) std::abort();
      break;
    case 1:
      if (const auto container = hook::parse_config(text, "/run/bundle", kTenants)) {
        for (const auto& id : container->tenants) {
          if (!limit::is_tenant_id(id)) std::abort();
        }
      }
      break;
    case 2: {
      const auto names = hook::preloaded_by(text);
      if (printable(names, limit::kLongestPreload) != names) std::abort();
      break;
    }
    case 3:
      if (const auto notice = limit::decode_start_notice(text)) {
        const auto packet = limit::encode(*notice);
        if (packet.size() > limit::kLargestStartPacket) std::abort();
        if (limit::decode_start_notice(packet).value() != *notice) std::abort();
      }
      break;
    default:
      if (const auto answer = limit::decode_start_answer(text)) {
        if (limit::decode_start_answer(limit::encode(*answer)).value() != *answer) std::abort();
      }
  }
  return 0;
}
