#pragma once
// Whether the configuration in force is the one that this node is asked to have.

namespace tranche::agent {

struct ConfigStanding {
  enum class Is {
    kUnknown,  // what is asked for is not known: the API server has not answered since the start
    kCurrent,  // the node's label, or the agent's flags, name it
    kOlder,    // another one is asked for, and was refused
    kDefault,  // none is asked for
  };
  Is is = Is::kUnknown;
  bool operator==(const ConfigStanding&) const = default;
};

}  // namespace tranche::agent
