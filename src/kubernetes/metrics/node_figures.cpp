#include "metrics/node_figures.h"

namespace tranche::metrics {

std::string_view to_string(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::kExclusive:
      return "exclusive";
    case Mechanism::kMig:
      return "mig";
    case Mechanism::kTimeSlicing:
      return "time-slicing";
    case Mechanism::kMps:
      return "mps";
    case Mechanism::kShare:
      return "share";
  }
  return "";
}

}  // namespace tranche::metrics
