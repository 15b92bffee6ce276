#pragma once
// Creates the extension for the line `kernel` of arbiter/run/extensions.def.

#include <memory>

#include "arbiter/extension.h"

namespace tranche::nvml {
class Connection;
}  // namespace tranche::nvml

namespace tranche::arbiter::kernel {

MakeExtension extension(const std::shared_ptr<nvml::Connection>& driver);

}  // namespace tranche::arbiter::kernel
