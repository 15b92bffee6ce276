#include "agent/mps/parts.h"

#include "agent/mps/mps_stage.h"

namespace tranche::agent {

Parts mps_parts(const AgentContext& context) {
  Parts parts;
  parts.inputs.push_back(std::make_unique<MpsInput>(context.options.mps_dir));
  parts.stages = {offer_what_mps_serves};
  return parts;
}

}  // namespace tranche::agent
