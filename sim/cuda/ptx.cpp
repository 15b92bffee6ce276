#include "sim/cuda/ptx.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "sim/cuda/arena.h"
#include "sim/machine/read_number.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::string_view kDeclaration = "tranche-sim:";
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40U;  // bytes of one variable

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// ".u64" -> 8; nullopt: no type that data has.
std::optional<std::uint32_t> size_of_type(std::string_view type) {
  struct Special {
    std::string_view type;
    std::uint32_t size;
  };
  static constexpr auto kSpecial = std::to_array<Special>({{".pred", 1},
                                                           {".b128", 16},
                                                           {".bf16", 2},
                                                           {".f16x2", 4},
                                                           {".bf16x2", 4},
                                                           {".texref", 8},
                                                           {".surfref", 8},
                                                           {".samplerref", 8}});
  const auto special = std::ranges::find(kSpecial, type, &Special::type);
  if (special != kSpecial.end()) return special->size;
  const bool plain =
      type.size() > 2 && type[0] == '.' && std::string_view("busf").find(type[1]) != type.npos;
  if (!plain) return std::nullopt;
  const auto bits = read_number<std::uint64_t>(type.substr(2));
  if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64)) return std::nullopt;
  return static_cast<std::uint32_t>(*bits / 8);
}

struct Data {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  bool is_managed = false;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PtxModule> parse() {
    while (next()) TRY(statement());
    if (module_.version == 0) return complain(".version is missing");
    if (module_.target == 0) return complain(".target is missing");
    return std::move(module_);
  }

 private:
  std::unexpected<Error> complain(std::string_view what) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    return fail(Code::kInvalidArgument, fmt::format("PTX line {}: {}", line, what));
  }

  // The next word or sign; false at the end. Declarations in comments are kept.
  bool next() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (text_.substr(at_, 2) == "//") {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        note(trim(text_.substr(at_ + 2, end - at_ - 2)));
        at_ = end;
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        break;
      }
    }
    if (at_ >= text_.size() || text_[at_] == '\0') return false;
    std::size_t end = at_ + 1;
    if (text_[at_] == '"') {
      end = std::min(text_.find('"', end), text_.size() - 1) + 1;
    } else if (is_word(text_[at_])) {
      while (end < text_.size() && is_word(text_[end])) ++end;
    }
    token_ = text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  // True: `value` ended with `word`, which was taken off.
  static bool takes_word(std::string_view& value, std::string_view word) {
    if (!value.ends_with(word)) return false;
    value = trim(value.substr(0, value.size() - word.size()));
    return true;
  }

  // "tranche-sim: duration-ns = param 0"
  void note(std::string_view comment) {
    if (!comment.starts_with(kDeclaration)) return;
    comment = trim(comment.substr(kDeclaration.size()));
    const auto equals = comment.find('=');
    const std::string_view name = trim(comment.substr(0, equals));
    const std::string_view value =
        equals == comment.npos ? std::string_view() : trim(comment.substr(equals + 1));
    if (equals != comment.npos && name == "duration-ns") return note_duration(value);
    if (equals != comment.npos && name == "set-conditional") return note_conditional(value);
    declaration_error_ =
        "after 'tranche-sim:' comes 'duration-ns = ...' or 'set-conditional = ...'";
  }

  void note_duration(std::string_view value) {
    Duration duration;
    duration.beside_others = takes_word(value, "beside-others");
    duration.per_block = takes_word(value, "per-block");
    duration.parameter = parameter_of(value);
    const auto fixed =
        duration.parameter ? std::optional<std::uint64_t>(0) : read_number<std::uint64_t>(value);
    if (!fixed) {
      declaration_error_ = "duration-ns is a number or 'param' and a number";
      return;
    }
    if (!duration.parameter) duration.ns = *fixed;
    declared_ = duration;
  }

  // "param 1 count-down param 2"
  void note_conditional(std::string_view value) {
    struct Word {
      std::string_view word;
      SetsConditional::From from;
    };
    static constexpr auto kWords =
        std::to_array<Word>({{" value ", SetsConditional::From::kValue},
                             {" word ", SetsConditional::From::kWord},
                             {" count-down ", SetsConditional::From::kCountDown}});
    for (const Word& one : kWords) {
      const auto at = value.find(one.word);
      if (at == value.npos) continue;
      const auto handle = parameter_of(trim(value.substr(0, at)));
      const auto given = parameter_of(trim(value.substr(at + one.word.size())));
      if (!handle || !given) break;
      declared_conditional_ = {.handle = *handle, .from = one.from, .value = *given};
      return;
    }
    declaration_error_ =
        "set-conditional is a 'param', one of 'value', 'word' and 'count-down', and a 'param'";
  }

  // "param 1"
  static std::optional<unsigned> parameter_of(std::string_view text) {
    constexpr std::string_view kParameter = "param";
    if (!text.starts_with(kParameter)) return std::nullopt;
    const auto number = read_number<std::uint64_t>(trim(text.substr(kParameter.size())));
    return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
  }

  Result<void> statement() {
    if (!declaration_error_.empty()) return complain(declaration_error_);
    if (token_ == ".version") return version();
    if (token_ == ".target") return target();
    if (token_ == ".entry") return entry();
    if (token_ == ".func" || token_ == "{") return skip_function();
    if (token_ == ".global" || token_ == ".const") return variable();
    return {};
  }

  // "8.7"
  Result<void> version() {
    if (!next()) return complain(".version needs a number");
    const auto dot = token_.find('.');
    const auto major = read_number<std::uint64_t>(token_.substr(0, dot));
    const auto minor =
        dot == token_.npos ? std::nullopt : read_number<std::uint64_t>(token_.substr(dot + 1));
    if (!major || !minor) return complain(fmt::format(".version '{}' is no version", token_));
    module_.version = static_cast<unsigned>(*major * 10 + *minor);
    return {};
  }

  // "sm_80", "sm_90a", "compute_80"
  Result<void> target() {
    if (!next()) return complain(".target needs a name");
    const auto underscore = token_.find('_');
    const std::string_view digits =
        underscore == token_.npos ? std::string_view() : token_.substr(underscore + 1);
    const auto end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    const auto value = read_number<std::uint64_t>(digits.substr(0, end));
    if (!value) return complain(fmt::format(".target '{}' is no architecture", token_));
    module_.target = static_cast<unsigned>(*value);
    return {};
  }

  // ".align 4 .b8 name[16]" up to what ends it; token_ is what follows.
  Result<Data> data() {
    Data found;
    std::uint32_t element = 0;
    bool is_pointer = false;  // then the alignment is that of its target
    while (next() && token_ != "," && token_ != ")" && token_ != ";" && token_ != "=") {
      is_pointer = is_pointer || token_ == ".ptr";
      if (token_ == ".attribute") {
        while (token_ != ")" && next()) found.is_managed |= token_ == ".managed";
      } else if (token_ == ".align") {
        const auto value = next() ? read_number<std::uint64_t>(token_) : std::nullopt;
        if (!value || *value == 0 || *value > 1024) return complain(".align needs a number");
        if (!is_pointer) found.alignment = static_cast<std::uint32_t>(*value);
      } else if (const auto size = size_of_type(token_)) {
        element = *size;
        found.size = element;
        found.alignment = std::max(found.alignment, element);
      } else if (token_ == "[") {
        const auto count = next() ? read_number<std::uint64_t>(token_) : std::nullopt;
        if (count && *count <= kLargest) found.size *= *count;
        if (!count && token_ != "]") return complain("an array needs its length");
      } else if (token_[0] != '.' && token_ != "]" && is_word(token_[0])) {
        if (found.name.empty()) found.name = token_;
      }
    }
    if (element == 0) return complain("data without a type");
    return found;
  }

  Result<void> entry() {
    PtxEntry made;
    if (!next()) return complain(".entry needs a name");
    made.name = token_;
    made.duration = std::exchange(declared_, std::nullopt).value_or(Duration());
    made.sets_conditional = std::exchange(declared_conditional_, std::nullopt);
    if (!next()) return complain("the text ends in an entry");
    if (token_ == "(") TRY(parameters(made));
    while (token_ != "{" && token_ != ";") {
      if (token_ == ".maxntid" || token_ == ".reqntid") {
        TRY(threads(made));
        continue;
      }
      if (!next()) return complain("the text ends in an entry");
    }
    if (token_ == "{") TRY(body(&made));
    TRY(has_parameter(made, made.duration.parameter));
    if (const auto& sets = made.sets_conditional) {
      TRY(has_parameter(made, sets->handle));
      TRY(has_parameter(made, sets->value));
    }
    module_.entries.push_back(std::move(made));
    return {};
  }

  Result<void> has_parameter(const PtxEntry& made, std::optional<unsigned> wanted) const {
    if (!wanted || *wanted < made.parameters.size()) return {};
    return complain(fmt::format("{} has no parameter {}", made.name, *wanted));
  }

  Result<void> parameters(PtxEntry& made) {
    std::uint32_t offset = 0;
    bool more = false;
    // Between the brackets may be nothing.
    const std::size_t before = at_;
    if (next() && token_ != ")") {
      at_ = before;
      more = true;
    }
    while (more) {
      ASSIGN_OR_RETURN(const Data one, data());
      if (token_ != "," && token_ != ")") return complain("a parameter list that does not end");
      offset = static_cast<std::uint32_t>(round_up(offset, one.alignment));
      made.parameters.push_back({offset, static_cast<std::uint32_t>(one.size)});
      offset += static_cast<std::uint32_t>(one.size);
      more = token_ == ",";
    }
    std::ignore = next();
    return {};
  }

  // ".maxntid 256, 1, 1"
  Result<void> threads(PtxEntry& made) {
    std::uint64_t product = 1;
    while (next()) {
      if (const auto value = read_number<std::uint64_t>(token_)) {
        product *= *value;
      } else if (token_ != ",") {
        break;
      }
    }
    if (product == 0 || product > 1024)
      return complain("more threads in a block than there can be");
    made.most_threads = static_cast<unsigned>(product);
    return {};
  }

  // token_ is "{". Inside it, shared and local memory count for `made`.
  Result<void> body(PtxEntry* made) {
    unsigned depth = 1;
    while (depth > 0) {
      if (!next()) return complain("the text ends in a body");
      if (token_ == "{") ++depth;
      if (token_ == "}") --depth;
      const bool is_local = token_ == ".local";
      if ((is_local || token_ == ".shared") && made != nullptr) {
        const std::size_t before = at_;
        // ".shared" is also part of instructions' operands.
        const auto one = data();
        if (one && token_ == ";") {
          if (is_local) made->local_bytes += one->size;
          if (!is_local) made->shared_bytes += static_cast<std::uint32_t>(one->size);
        } else {
          at_ = before;
        }
      }
    }
    return {};
  }

  Result<void> skip_function() {
    while (token_ != "{" && token_ != ";") {
      if (!next()) return complain("the text ends in a function");
    }
    return token_ == "{" ? body(nullptr) : Result<void>();
  }

  Result<void> variable() {
    ASSIGN_OR_RETURN(Data one, data());
    while (token_ != ";" && next()) {
    }
    module_.variables.push_back({std::move(one.name), one.size, one.is_managed});
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view token_;
  std::optional<Duration> declared_;
  std::optional<SetsConditional> declared_conditional_;
  std::string declaration_error_;
  PtxModule module_;
};

}  // namespace

std::uint32_t PtxEntry::parameter_bytes() const {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
}

bool is_ptx(std::string_view text) {
  const auto version = text.find(".version");
  if (version == text.npos) return false;
  return std::ranges::all_of(text.substr(0, version), [](char c) {
    return c == '\t' || c == '\n' || c == '\r' || (c >= ' ' && c <= '~') || c < 0;
  });
}

Result<PtxModule> parse_ptx(std::string_view text) { return Parser(text).parse(); }

}  // namespace tranche::sim::cuda
