#include "cdi/imex.h"

#include <fmt/format.h>

namespace tranche::cdi {

Result<ImexChannels> find_imex_channels(const FsRoot& driver, const FsRoot& host,
                                        const std::string& dev_root, const config::Imex& imex) {
  ImexChannels channels;
  for (const int id : imex.channel_ids) {
    const auto path = fmt::format("/dev/nvidia-caps-imex-channels/channel{}", id);
    if (driver.is_char_device(path) || host.is_char_device(dev_root + path) ||
        host.is_char_device(path)) {
      channels.ids.push_back(id);
      continue;
    }
    const auto what = fmt::format("IMEX channel {} is missing: no device {}", id, path);
    if (imex.required) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("requested IMEX channel channel{} does not exist: {}", id, what),
                  "create it (nvidia-modprobe, module parameter NVreg_CreateImexChannel0=1) or set "
                  "imex.required: false");
    }
    channels.warnings.push_back(what + "; containers get none");
  }
  return channels;
}

}  // namespace tranche::cdi
