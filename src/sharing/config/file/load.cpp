#include "config/file/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/yaml.h"
#include "config/file/json.h"
#include "config/file/merge.h"
#include "config/file/read_file.h"
#include "config/file/settle.h"
#include "config/file/source.h"
#include "config/file/validate.h"
#include "config/flags/flag_table.h"
#include "config/flags/given.h"
#include "config/flags/values.h"
#include "config/problems.h"

namespace tranche::config {
namespace {

bool is_strict(const Sources& sources) {
  if (sources.strict) return true;
  const auto flag = given(*find_flag("strict-config", use_of(sources.program)), sources);
  // If the flag cannot be read, load_agent_options reports it.
  return flag && *flag && std::get<bool>((*flag)->value);
}

// The value of a flag that no key of the file sets. If it cannot be read, load_agent_options
// reports it.
std::vector<std::string> words_of(std::string_view name, const Sources& sources) {
  const auto& spec = *find_flag(name, use_of(Program::kAgent));
  const auto flag = given(spec, sources);
  auto value = flag && *flag ? (*flag)->value : value_from_default(spec.type, spec.default_text);
  return std::get<std::vector<std::string>>(std::move(value));
}

FlagsAlone flags_alone(const Sources& sources) {
  const auto disabled = words_of("cdi-disable-hooks", sources);
  return {.trusted_folders = words_of("trusted-folders", sources),
          .cdi_hooks = std::ranges::find(disabled, "all") == disabled.end()};
}

// Checks the document as a whole.
void check_document(const yaml::Document& document, const std::string& name, Problems& problems) {
  if (yaml::says_nothing(document.root)) {
    problems.warn(fmt::format("{} is empty", name), "nothing is shared",
                  "write 'version: v1' if that is meant");
  }
  if (document.next_line == 0) return;
  problems.suspicious(fmt::format("{}:{}", name, document.next_line),
                      "another document begins here", "and the first one alone is read",
                      "write one configuration in a file or key");
}

Result<Loaded> load(const Sources& sources, Problems& problems) {
  Settings settings{.file_name = sources.file_name};
  if (sources.file_text) {
    if (sources.file_text->size() > kMaxConfigBytes) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("{}: {} bytes are too many", sources.file_name, sources.file_text->size()),
          "a configuration is a file of at most 1 MiB");
    }
    ASSIGN_OR_RETURN(const auto document, yaml::parse(*sources.file_text, sources.file_name));
    check_document(document, sources.file_name, problems);
    settings = read_file(document, sources.file_name, problems);
  }
  merge(sources, settings, problems);
  neuter(settings, problems);
  const bool readable = !problems.any_errors();
  validate(settings, sources.program, flags_alone(sources), problems);
  if (problems.any_errors()) {
    return std::unexpected(
        problems.as_error(readable ? Code::kFailedPrecondition : Code::kInvalidArgument));
  }
  return Loaded{.config = settle(settings), .json = to_json(settings, sources.program)};
}

std::vector<Warning> warnings_in(const Problems& problems) {
  std::vector<Warning> warnings;
  for (const auto& warning : problems.warnings()) warnings.push_back({warning});
  return warnings;
}

}  // namespace

Result<Loaded> load(const Sources& sources) {
  Problems problems(is_strict(sources));
  ASSIGN_OR_RETURN(auto loaded, load(sources, problems));
  loaded.warnings = warnings_in(problems);
  return loaded;
}

std::vector<Warning> warnings_of(const Sources& sources) {
  Problems problems(is_strict(sources));
  (void)load(sources, problems);
  return warnings_in(problems);
}

Result<void> validate_on_machine(const Config& config, const MachineFacts& facts) {
  if (config.uses_cdi() && !facts.nvml_loadable) {
    return fail(Code::kFailedPrecondition,
                "CDI --device-list-strategy options are only supported on NVML-based systems",
                "install the driver (libnvidia-ml.so.1 was not found), or use envvar or "
                "volume-mounts");
  }
  return {};
}

std::string startup_failure(const Sources& sources, const Error& error) {
  static constexpr std::string_view kFile =
      "unable to load config: unable to finalize config: unable to parse config file: ";
  const bool agent = sources.program == Program::kAgent;
  std::string cause;
  if (error.code == Code::kFailedPrecondition) {
    cause =
        agent ? "unable to validate flags: " : "unable to load config: unable to validate flags: ";
  } else if (error.what.starts_with(kUnknownVersion)) {
    cause = fmt::format("{}error parsing config file: ", kFile);
  } else if (error.what.starts_with(sources.file_name + ":")) {
    const auto* step = error.hint == yaml::kRemedy
                           ? "error converting YAML to JSON: yaml: "
                           : "error unmarshaling JSON: while decoding JSON: ";
    cause = fmt::format("{}error parsing config file: unmarshal error: {}", kFile, step);
  } else if (error.what.starts_with(kNoConfigText)) {
    cause = fmt::format("{}error opening config file: ", kFile);
  } else {
    return error
        .message();  // a flag or a variable, with which NVIDIA's programs do not start at all
  }
  return fmt::format("{}{}{}", agent ? "error starting plugins: " : "", cause, error.message());
}

}  // namespace tranche::config
