#include "arbiter/hook/extension.h"

#include "arbiter/hook/start_gate.h"

namespace tranche::arbiter::hook {

MakeExtension extension(const std::shared_ptr<nvml::Connection>&) {
  return [](const ExtensionContext& context) { return StartGate::open(context); };
}

}  // namespace tranche::arbiter::hook
