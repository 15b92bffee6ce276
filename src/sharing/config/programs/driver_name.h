#pragma once
// The setting --dra-driver-name, which agents and the controller share.

#include <string>

#include "config/programs/option_reader.h"

namespace tranche::config {

// Kubelet's rule for drivers, which are named in paths too. Reports an error if the name breaks it.
std::string read_driver_name(OptionReader& reader);

}  // namespace tranche::config
