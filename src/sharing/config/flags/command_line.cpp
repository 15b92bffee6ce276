#include "config/flags/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/edit_distance.h"
#include "config/flags/flag_table.h"
#include "config/go_values.h"

namespace tranche::config {
namespace {

constexpr std::size_t kHelpWidth = 100;
constexpr std::string_view kHelpIndent = "        ";

struct Word {
  std::string_view name;
  std::optional<std::string_view> value;  // after '='
};

// nullopt: not a flag ("-" alone is not one).
std::optional<Word> as_flag(std::string_view text) {
  if (text.size() < 2 || text[0] != '-') return std::nullopt;
  text.remove_prefix(text[1] == '-' ? 2 : 1);
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return Word{text, std::nullopt};
  return Word{text.substr(0, equals), text.substr(equals + 1)};
}

// Handles --help and --version, which every program has. False: another flag.
Result<bool> take_own(const Word& word, ParsedArgs& parsed) {
  const bool help = word.name == "help" || word.name == "h";
  const bool version = word.name == "version" || word.name == "v";
  if (!help && !version) return false;
  const auto value = go::parse_bool(word.value.value_or("true"));
  if (!value) {
    return fail(Code::kInvalidArgument,
                fmt::format("invalid boolean value \"{}\" for -{}: parse error",
                            word.value->substr(0, 80), word.name),
                "write it without a value");
  }
  (help ? parsed.help : parsed.version) = *value;
  return true;
}

std::unexpected<Error> unknown(std::string_view name, unsigned uses) {
  auto names = flag_names(uses);
  names.insert(names.end(), {"help", "version"});
  const auto near = nearest(name, names);
  return fail(Code::kInvalidArgument,
              fmt::format("flag provided but not defined: -{}", name.substr(0, 80)),
              near ? fmt::format("did you mean --{}?", *near) : "--help lists the flags there are");
}

// Breaks `text` into lines of kHelpWidth, each with the indent.
std::string wrap(std::string_view text) {
  std::string out;
  std::string line(kHelpIndent);
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (line.size() + word.size() + 1 > kHelpWidth) {
      out += line + '\n';
      line = kHelpIndent;
    }
    if (line.size() > kHelpIndent.size()) line += ' ';
    line += word;
  }
  return out + line + '\n';
}

std::string flag_help(const FlagSpec& spec, unsigned uses) {
  std::string names = fmt::format("--{}", spec.name);
  for (const auto alias : aliases_of(spec, uses)) {
    names += fmt::format(", {}{}", alias.size() == 1 ? "-" : "--", alias);
  }
  std::string text(spec.help);
  if (!spec.default_text.empty()) text += fmt::format(" (default: {})", spec.default_text);
  for (const auto name : spec.environment) text += fmt::format(" [${}]", name);
  if (const auto value = placeholder(spec.type); !value.empty()) names += fmt::format(" {}", value);
  return fmt::format("  {}\n{}", names, wrap(text));
}

}  // namespace

std::string_view placeholder(FlagType type) {
  switch (type) {
    case FlagType::kBool:
      return "";
    case FlagType::kInt:
    case FlagType::kFloat:
      return "NUMBER";
    case FlagType::kIntList:
    case FlagType::kStringList:
      return "LIST";
    case FlagType::kDuration:
      return "DURATION";
    case FlagType::kString:
      break;
  }
  return "VALUE";
}

Result<ParsedArgs> parse_arguments(std::span<const std::string_view> args, unsigned uses) {
  ParsedArgs parsed;
  while (!args.empty()) {
    const auto text = args.front();
    const auto word = as_flag(text);
    if (text == "--") args = args.subspan(1);
    if (text == "--" || !word) break;
    args = args.subspan(1);
    if (word->name.empty() || word->name[0] == '-' || word->name[0] == '=') {
      return fail(Code::kInvalidArgument, fmt::format("bad flag syntax: {}", text.substr(0, 80)),
                  "write --flag=value");
    }
    ASSIGN_OR_RETURN(const bool own, take_own(*word, parsed));
    if (own) continue;
    const auto* spec = find_flag(word->name, uses);
    if (spec == nullptr) return unknown(word->name, uses);
    auto value = word->value;
    if (!value && spec->type == FlagType::kBool) value = "true";
    if (!value) {
      if (args.empty()) {
        return fail(Code::kInvalidArgument, fmt::format("flag needs an argument: -{}", word->name),
                    fmt::format("write --{}=value", spec->name));
      }
      value = args.front();
      args = args.subspan(1);
    }
    parsed.flags.push_back({std::string(spec->name), std::string(*value)});
  }
  parsed.positionals.assign(args.begin(), args.end());
  return parsed;
}

Result<ParsedArgs> parse_words(std::span<const std::string_view> args, unsigned uses) {
  ParsedArgs all;
  while (true) {
    ASSIGN_OR_RETURN(auto parsed, parse_arguments(args, uses));
    all.help |= parsed.help;
    all.version |= parsed.version;
    std::ranges::move(parsed.flags, std::back_inserter(all.flags));
    const auto left = parsed.positionals.size();
    const bool ended = left < args.size() && args[args.size() - left - 1] == "--";
    if (left == 0 || ended) {
      std::ranges::move(parsed.positionals, std::back_inserter(all.positionals));
      return all;
    }
    all.positionals.push_back(std::move(parsed.positionals.front()));
    args = args.last(left - 1);
  }
}

std::string flags_help(unsigned uses) {
  std::string text;
  for (const auto& spec : flag_table()) {
    if (uses != 0 && (spec.uses & uses) == uses) text += flag_help(spec, uses);
  }
  return text + "  --help, -h\n        show this text\n  --version, -v\n        show the version\n";
}

}  // namespace tranche::config
