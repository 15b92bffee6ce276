#pragma once
// Reads --service.

#include "base/controller_service.h"
#include "config/programs/option_reader.h"

namespace tranche::config {

// Of the flag `service`: NAMESPACE/[SCHEME:]NAME[:PORT]. Empty: no name. An error is recorded in
// `reader`.
ControllerService read_controller_service(OptionReader& reader);

}  // namespace tranche::config
