#include "usage/node_usage.h"

#include <array>
#include <initializer_list>
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

namespace {

// Of one entry of a list, and of texts in it.
template <class Entry>
std::size_t bytes_of(const Entry&, std::initializer_list<const std::string*> texts) {
  std::size_t bytes = sizeof(Entry);
  for (const auto* text : texts) bytes += text->size();
  return bytes;
}

std::size_t bytes_of(const GpuUsage& gpu) {
  auto bytes = bytes_of(gpu, {&gpu.uuid, &gpu.model});
  for (const auto& one : gpu.instances) bytes += bytes_of(one, {&one.uuid, &one.profile});
  return bytes;
}

}  // namespace

std::size_t bytes_of(const NodeUsage& usage) {
  auto bytes = bytes_of(usage, {&usage.node, &usage.agent, &usage.driver_version});
  for (const auto& one : usage.gpus) bytes += bytes_of(one);
  for (const auto& one : usage.containers) {
    bytes += bytes_of(one, {&one.ns, &one.pod, &one.container, &one.resource, &one.tier, &one.gpu,
                            &one.device, &one.mig_profile});
  }
  for (const auto& one : usage.processes) {
    bytes += bytes_of(one, {&one.name, &one.device, &one.ns, &one.pod, &one.container});
  }
  for (const auto& one : usage.tranches) bytes += bytes_of(one, {&one.resource});
  for (const auto& one : usage.checks) bytes += bytes_of(one, {&one.name});
  return bytes;
}

}  // namespace tranche::usage
