// Graphs: structure, copies, user objects, their memory. Both APIs have the same calls.
#include "cudart/entry.h"

namespace raddle::cudart::entry {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  CHECK(prepare());
  return driver().cuGraphCreate(graph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  CHECK(prepare());
  return driver().cuGraphDestroy(graph);
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original_graph) {
  CHECK(prepare());
  return driver().cuGraphClone(clone, original_graph);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original_node,
                                     cudaGraph_t cloned_graph) {
  CHECK(prepare());
  return driver().cuGraphNodeFindInClone(node, original_node, cloned_graph);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  CHECK(prepare());
  return driver().cuGraphNodeGetType(node, reinterpret_cast<int*>(type));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* num_nodes) {
  CHECK(prepare());
  return driver().cuGraphGetNodes(graph, nodes, num_nodes);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* root_nodes,
                                  std::size_t* num_root_nodes) {
  CHECK(prepare());
  return driver().cuGraphGetRootNodes(graph, root_nodes, num_root_nodes);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edge_data, std::size_t* num_edges) {
  CHECK(prepare());
  return driver().cuGraphGetEdges(graph, from, to, edge_data, num_edges);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edge_data, std::size_t* num_dependencies) {
  CHECK(prepare());
  return driver().cuGraphNodeGetDependencies(node, dependencies, edge_data, num_dependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependent_nodes,
                                           cudaGraphEdgeData* edge_data, std::size_t* num_dependent_nodes) {
  CHECK(prepare());
  return driver().cuGraphNodeGetDependentNodes(node, dependent_nodes, edge_data, num_dependent_nodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edge_data,
                                     std::size_t num_dependencies) {
  CHECK(prepare());
  return driver().cuGraphAddDependencies(graph, from, to, edge_data, num_dependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edge_data,
                                        std::size_t num_dependencies) {
  CHECK(prepare());
  return driver().cuGraphRemoveDependencies(graph, from, to, edge_data, num_dependencies);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  CHECK(prepare());
  return driver().cuGraphDestroyNode(node);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned flags) {
  CHECK(prepare());
  return driver().cuGraphDebugDotPrint(graph, path, flags);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  CHECK(prepare());
  return driver().cuUserObjectCreate(object, pointer, destroy, references, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  CHECK(prepare());
  return driver().cuUserObjectRetain(object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  CHECK(prepare());
  return driver().cuUserObjectRelease(object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  CHECK(prepare());
  return driver().cuGraphRetainUserObject(graph, object, count, flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  CHECK(prepare());
  return driver().cuGraphReleaseUserObject(graph, object, count);
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  CHECK(prepare());
  return driver().cuDeviceGraphMemTrim(device);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  CHECK(prepare());
  return driver().cuDeviceGetGraphMemAttribute(device, attribute, value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  CHECK(prepare());
  return driver().cuDeviceSetGraphMemAttribute(device, attribute, value);
}

}  // namespace raddle::cudart::entry
