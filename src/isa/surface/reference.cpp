// Reference semantics of surface loads, stores and reductions: one lane's request to the machine's texture
// unit (exec/texture.h). suq is with txq in ../texture.
#include "interp/reference.h"

#include "exec/texture.h"
#include "interp/lane.h"

namespace raddle::interp {

using exec::SurfaceLanes;
using exec::SurfaceRequest;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

SurfaceRequest request_of(const isa::Opcode& o) {
  SurfaceRequest request{.geometry = isa::geometry_of(o)};
  request.bounds = o.has(Mod::trap)    ? SurfaceRequest::trap
                   : o.has(Mod::clamp) ? SurfaceRequest::clamp
                                       : SurfaceRequest::zero;
  request.formatted = o.has(Mod::p);
  request.is_signed = isa::type_class(o.type()) == isa::TypeClass::signed_;
  request.bytes = isa::byte_size(o.type());
  request.elements = o.vector_length();
  return request;
}

/// @param k  operand of the handle; the coordinates follow
void access(Lane& lane, unsigned k, const SurfaceRequest& request, SurfaceLanes& lanes) {
  const unsigned n = lane.index(), first = isa::has_layer(request.geometry) ? 1 : 0;
  lanes.handle[n] = lane.in<std::uint64_t>(k);
  if (first != 0) lanes.layer[n] = lane.value<std::uint32_t>(lane.element(k + 1, 0));
  for (unsigned d = 0; d < isa::coordinate_count(request.geometry); ++d)
    lanes.coordinate[d][n] = lane.value<std::int32_t>(lane.element(k + 1, first + d));
  lane.note_access(lanes.handle[n]);
  lane.services().surface(&lane.context(), request.word(), 1u << n, &lanes);
}

SurfaceRequest::Action action_of(Mod operation) {
  switch (operation) {
    case Mod::add:
      return SurfaceRequest::add;
    case Mod::min:
      return SurfaceRequest::min;
    case Mod::max:
      return SurfaceRequest::max;
    case Mod::and_:
      return SurfaceRequest::and_;
    default:
      return SurfaceRequest::or_;
  }
}

}  // namespace

template <>
void reference<Op::suld>(Lane& lane, const Instruction& i) {
  SurfaceLanes lanes;
  const SurfaceRequest request = request_of(*i.opcode);
  access(lane, 1, request, lanes);
  for (unsigned e = 0; e < request.elements; ++e)
    lane.assign<std::uint64_t>(lane.element(0, e), lanes.value[e][lane.index()]);
}

template <>
void reference<Op::sust>(Lane& lane, const Instruction& i) {
  SurfaceLanes lanes;
  SurfaceRequest request = request_of(*i.opcode);
  request.action = SurfaceRequest::store;
  for (unsigned e = 0; e < request.elements; ++e)
    lanes.value[e][lane.index()] = lane.value<std::uint64_t>(lane.element(2, e));
  access(lane, 0, request, lanes);
}

template <>
void reference<Op::sured>(Lane& lane, const Instruction& i) {
  SurfaceLanes lanes;
  SurfaceRequest request = request_of(*i.opcode);
  request.action = action_of(i.opcode->get(isa::ModKind::operation));
  lanes.value[0][lane.index()] = lane.in<std::uint64_t>(2);
  access(lane, 0, request, lanes);
}

}  // namespace raddle::interp
