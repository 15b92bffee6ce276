#pragma once
// Creates the extension for the line `hook` of arbiter/run/extensions.def.

#include <memory>

#include "arbiter/extension.h"

namespace tranche::nvml {
class Connection;
}  // namespace tranche::nvml

namespace tranche::arbiter::hook {

MakeExtension extension(const std::shared_ptr<nvml::Connection>& driver);

}  // namespace tranche::arbiter::hook
