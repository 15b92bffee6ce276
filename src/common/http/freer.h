#pragma once
// A deleter that calls a C library's function. Only for the files of this room.

namespace tranche::http {

template <auto kFree>
struct Freer {
  template <class T>
  void operator()(T* value) const {
    kFree(value);
  }
};

}  // namespace tranche::http
