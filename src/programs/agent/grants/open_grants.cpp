#include "agent/grants/open_grants.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "agent/holdings/book.h"

namespace tranche::agent {

std::unique_ptr<GrantStore> open_grants(const AgentContext& context) {
  const auto dir = std::filesystem::path(context.options.state_dir) / "grants";
  const auto writers =
      context.inherited != nullptr ? GrantStore::Writers::kTwo : GrantStore::Writers::kThis;
  auto store = GrantStore::open(dir, context.clock, context.log, {}, writers);
  if (!store) {
    context.log.warn(
        fmt::format("the stored grants cannot be read, so none is stored and nothing can be "
                    "limited: {}; mend or remove the file, and restart the agent",
                    store.error().message()));
    return nullptr;
  }
  const auto restored = (*store)->all();
  context.outside.book.restore(restored);
  if (!restored.empty()) {
    context.log.info(fmt::format("restored {} grants from {}", restored.size(), dir.string()));
  }
  return *std::move(store);
}

}  // namespace tranche::agent
