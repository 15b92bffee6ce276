#pragma once
// The rules by which a container runtime refuses a whole CDI file, with every device in it. So a
// file that breaks one of them is never written.
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md

#include "base/result.h"
#include "cdi/spec.h"

namespace tranche::cdi {

// kInvalidArgument: the first rule that `spec` breaks, and where.
Result<void> validate(const Spec& spec);

}  // namespace tranche::cdi
