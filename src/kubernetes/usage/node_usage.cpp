#include "usage/node_usage.h"

#include <array>
#include <utility>

#include "usage/words.h"

namespace tranche::usage {
namespace {

constexpr std::array kMechanisms{
    std::pair{Mechanism::kExclusive, std::string_view("exclusive")},
    std::pair{Mechanism::kMig, std::string_view("mig")},
    std::pair{Mechanism::kTimeSlicing, std::string_view("time-slicing")},
    std::pair{Mechanism::kMps, std::string_view("mps")},
    std::pair{Mechanism::kShare, std::string_view("share")},
    std::pair{Mechanism::kNone, std::string_view("none")},
};
constexpr std::array kOwners{
    std::pair{ProcessOwner::kContainer, std::string_view("container")},
    std::pair{ProcessOwner::kHost, std::string_view("host")},
    std::pair{ProcessOwner::kUnknown, std::string_view("unknown")},
};

}  // namespace

std::string_view to_string(Mechanism mechanism) { return word_in(kMechanisms, mechanism); }
std::string_view to_string(ProcessOwner owner) { return word_in(kOwners, owner); }

bool parse_word(std::string_view word, std::optional<Mechanism>& mechanism) {
  return find_word(kMechanisms, word, mechanism);
}

bool parse_word(std::string_view word, std::optional<ProcessOwner>& owner) {
  return find_word(kOwners, word, owner);
}

}  // namespace tranche::usage
