#pragma once
// One value for each room of the agent, found by its type: what a room's input saw of the node, for
// stages and followers of any room that knows the type. So the loop carries the values without
// knowing them. Copies share the values, which do not change.

#include <map>
#include <memory>
#include <typeindex>
#include <utility>

namespace tranche::agent {

class Slots {
 public:
  // The room's value; T's default until it is set. Valid until it is set again.
  template <class T>
  const T& get() const {
    static const T kUnset{};
    const auto found = slots_.find(typeid(T));
    return found == slots_.end() ? kUnset : *static_cast<const T*>(found->second.value.get());
  }

  template <class T>
  void set(T value) {
    if (get<T>() == value) return;
    put(std::make_shared<T>(std::move(value)));
  }
  // The value for one change. Do not keep the reference: later copies share what it refers to.
  template <class T>
  T& edit() {
    return put(std::make_shared<T>(get<T>()));
  }

  // A value that was never set differs from one that was set to the default.
  bool operator==(const Slots&) const = default;

 private:
  struct Slot {
    std::shared_ptr<const void> value;
    bool (*equal)(const void* a, const void* b);
    bool operator==(const Slot& other) const {
      return value == other.value || equal(value.get(), other.value.get());
    }
  };

  template <class T>
  T& put(std::shared_ptr<T> value) {
    T& put = *value;
    slots_.insert_or_assign(typeid(T), Slot{std::move(value), [](const void* a, const void* b) {
                                              return *static_cast<const T*>(a) ==
                                                     *static_cast<const T*>(b);
                                            }});
    return put;
  }

  std::map<std::type_index, Slot> slots_;
};

}  // namespace tranche::agent
