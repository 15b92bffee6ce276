// User objects: things of the program's that graphs keep alive.

#include <algorithm>

#include "sim/cuda/graph_calls.h"

namespace tranche::sim::cuda {
namespace {

template <class Answer>
CUresult on_object(const char* name, CUuserObject handle, bool arguments_given, Answer answer) {
  return on_driver(name, arguments_given, [&](Call& call) {
    const UserObjectPtr object = call.driver.user_objects.find(handle);
    return object ? answer(call, object) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

CUDA_API CUresult cuUserObjectCreate(CUuserObject* out, void* thing, CUhostFn destroy,
                                     unsigned references, unsigned flags) {
  const bool arguments = given(out) && destroy != nullptr && references > 0 &&
                         flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
  return on_driver(__func__, arguments, [&](Call& call) {
    auto object = std::make_shared<UserObject>();
    object->object = thing;
    object->destroy = destroy;
    object->references = references;
    *out = handle_of<CUuserObject>(*call.driver.user_objects.add(std::move(object)));
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return on_object(__func__, handle, count > 0, [&](Call&, const UserObjectPtr& object) {
    object->references += count;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  return on_object(__func__, handle, count > 0, [&](Call& call, const UserObjectPtr& object) {
    release(*object, count);
    if (object->references == 0) call.driver.user_objects.erase(*object);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle,
                                          unsigned count, unsigned flags) {
  const bool arguments = count > 0 && flags <= CU_GRAPH_USER_OBJECT_MOVE;
  return on_graph(__func__, handle, arguments, [&](Call& call, const GraphPtr& graph) {
    const UserObjectPtr object = call.driver.user_objects.find(object_handle);
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    // Moved references were the caller's.
    if (flags != CU_GRAPH_USER_OBJECT_MOVE) object->references += count;
    graph->objects.emplace_back(object, count);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle,
                                           unsigned count) {
  return on_graph(__func__, handle, count > 0, [&](Call& call, const GraphPtr& graph) {
    const UserObjectPtr object = call.driver.user_objects.find(object_handle);
    const auto held = std::ranges::find_if(
        graph->objects, [&](const auto& entry) { return entry.first == object; });
    if (!object || held == graph->objects.end() || held->second < count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    held->second -= count;
    release(*object, count);
    if (held->second == 0) graph->objects.erase(held);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
