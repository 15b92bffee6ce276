#pragma once
// The callers' handles: numbers disguised as pointers, never dereferenced and never reused, so that
// a handle of a destroyed or nonexistent object is distinguished from a valid one. Not thread-safe:
// the driver's lock is held.

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace tranche::sim::cuda {

// Top bits that no address has, then the kind of object.
enum class HandleKind : std::uint64_t {
  kContext = 1,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kArray,
  kMipmap,
  kPool,
  kGraph,
  kNode,
  kExec,
  kExternalMemory,
  kPhysical,
  kConditional,
};

// The n-th handle of its kind.
constexpr std::uint64_t handle_number(HandleKind kind, std::uint64_t n) {
  return std::uint64_t{0x5C} << 56U | static_cast<std::uint64_t>(kind) << 48U | n;
}

// All live objects of one kind. T has a `number` (0 until it is added).
template <class T, HandleKind kind>
class Table {
 public:
  using Thing = T;

  std::shared_ptr<T> add(std::shared_ptr<T> thing) {
    thing->number = handle_number(kind, ++last_);
    things_[thing->number] = thing;
    return thing;
  }
  template <class Handle>
  std::shared_ptr<T> find(Handle handle) const {
    const auto found = things_.find(to_number(handle));
    return found == things_.end() ? nullptr : found->second;
  }
  // Restores an erased object under its old number.
  void restore(const std::shared_ptr<T>& thing) { things_[thing->number] = thing; }
  void erase(const T& thing) { things_.erase(thing.number); }
  auto begin() const { return things_.begin(); }
  auto end() const { return things_.end(); }
  std::size_t size() const { return things_.size(); }

 private:
  static std::uint64_t to_number(std::uint64_t handle) { return handle; }
  static std::uint64_t to_number(const void* handle) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));  // NOLINT
  }

  std::unordered_map<std::uint64_t, std::shared_ptr<T>> things_;
  std::uint64_t last_ = 0;
};

// The handle of an object in a table, with its type in the interface.
template <class Handle, class T>
Handle handle_of(const T& thing) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(thing.number));  // NOLINT: see above
}

}  // namespace tranche::sim::cuda
