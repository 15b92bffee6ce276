#include "config/programs/layout_file_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

// A flag that only some of the words have.
class WordReader {
 public:
  WordReader(const Sources& sources, unsigned use) : reader_(sources, use), use_(use) {}

  std::string text(std::string_view name) {
    return has(name) ? reader_.get<std::string>(name) : std::string();
  }
  bool truth(std::string_view name) { return has(name) && reader_.get<bool>(name); }
  bool says(std::string_view name, std::string_view word) {
    return has(name) && reader_.choice(name, "no form") == word;
  }
  OptionReader& reader() { return reader_; }

 private:
  bool has(std::string_view name) const { return find_flag(name, use_) != nullptr; }

  OptionReader reader_;
  unsigned use_;
};

}  // namespace

Result<LayoutFileOptions> load_layout_file_options(const Sources& sources, unsigned use) {
  WordReader of(sources, use);
  return of.reader().result(
      LayoutFileOptions{.file = of.text("config-file"),
                        .layout = of.text("selected-config"),
                        .mode_only = of.truth("mode-only"),
                        .valid_only = of.truth("valid-config"),
                        .dry_run = of.truth("dry-run"),
                        .yes = of.truth("yes"),
                        .force = of.truth("force"),
                        .state_dir = of.text("state-dir"),
                        .label = of.text("config-label"),
                        .output = of.says("output", "json") ? OutputForm::kJson : OutputForm::kYaml,
                        .driver_root = of.text("driver-root-ctr-path"),
                        .host_root = of.text("host-root")});
}

}  // namespace tranche::config
