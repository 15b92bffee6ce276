#include "agent/withholding/parts.h"

#include "agent/limits/tenant_manager.h"
#include "agent/withholding/held_notices.h"
#include "agent/withholding/withholding.h"

namespace tranche::agent {

Parts withholding_parts(const AgentContext& context) {
  auto& book = context.outside.book;
  book.on_misfit(context.look_again);
  WithholdingInput::Part part;
  if (auto* tenants = context.tenants) {
    part = [tenants](const holdings::Holding& holding) {
      return tenants->part_of(holding.tenant, holding.device);
    };
  }
  Parts parts;
  parts.inputs.push_back(std::make_unique<WithholdingInput>(
      book, context.outside.kubelet,
      HoldingsWatch::Parts{.book = book,
                           .answers = context.outside.holders,
                           .clock = context.clock,
                           .log = context.log,
                           .look_again = context.look_again,
                           .renew_checkpoint = context.renew_checkpoint},
      std::move(part)));
  parts.stages = {withhold_what_is_held};
  parts.followers.push_back(std::make_unique<HeldNotices>([&book] { return book.claimed(); },
                                                          context.outside.tell,
                                                          context.outside.report, context.log));
  return parts;
}

}  // namespace tranche::agent
