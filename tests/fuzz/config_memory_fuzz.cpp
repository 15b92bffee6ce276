// Arbitrary text as the agent's config.json, as the content of one with a valid checksum, and as a
// configuration to keep. What is kept is given back; a torn file is an error, not an absence.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/config/config_memory.h"
#include "base/canonical_json.h"
#include "base/envelope.h"
#include "base/fs.h"
#include "support/temp_dir.h"

namespace {

using namespace tranche;

constexpr EnvelopeKind kChoice{.version = "config-choice/v1", .key = "choice"};

void require(bool holds) {
  if (!holds) std::abort();
}

// Bytes that are no UTF-8 are kept as U+FFFD, so the first kept form is compared.
void check_kept(const agent::ConfigMemory& memory, const agent::ConfigChoice& choice) {
  require(memory.store(choice).has_value());
  const auto first = memory.load();
  require(first && first->has_value() && (*first)->text.has_value() == choice.text.has_value());
  require(memory.store(**first).has_value());
  const auto second = memory.load();
  require(second && *second == *first);
}

void check_file(const std::filesystem::path& folder, std::string_view text) {
  const agent::ConfigMemory memory(folder);
  require(FsRoot().write_atomic(folder / "config.json", text).has_value());
  const auto loaded = memory.load();
  if (!loaded) {
    require(loaded.error().code == Code::kInvalidArgument && !loaded.error().what.empty());
    return;
  }
  require(loaded->has_value());
  check_kept(memory, **loaded);
  require(*memory.load() == *loaded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TempDir dir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(dir.path(), text);
  check_kept(agent::ConfigMemory(dir.path()),
             {.origin = "fuzz", .text = std::string(text), .name = "f"});
  const auto view = json::parse(text);
  if (!view) return 0;
  // No mutation hits a checksum: it is put around the content.
  if (const auto content = json::canonical_text(*view)) {
    check_file(dir.path(), seal(kChoice, *content));
  }
  return 0;
}
