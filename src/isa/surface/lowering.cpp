// JIT: surface loads, stores and reductions: one request to the machine's texture unit per warp.
#include "exec/texture.h"
#include "isa/op.h"
#include "jit/request_lanes.h"

namespace raddle::jit {
namespace {

using exec::SurfaceLanes;
using exec::SurfaceRequest;

constexpr std::size_t kWideRow = sizeof(std::uint64_t) * exec::kWarpSize;

SurfaceRequest describe(const isa::Opcode& o, SurfaceRequest::Action action) {
  SurfaceRequest request;
  request.geometry = isa::geometry_of(o);
  request.action = action;
  if (o.has(Mod::zero)) request.bounds = SurfaceRequest::zero;
  if (o.has(Mod::clamp)) request.bounds = SurfaceRequest::clamp;
  request.formatted = o.has(Mod::p);
  request.is_signed = o.type() == Type::s32 || o.type() == Type::s64;
  request.bytes = isa::bit_size(o.type()) / 8;
  request.elements = o.vector_length();
  return request;
}

void put_place(WarpEmitter& e, RequestLanes& lanes, unsigned k, isa::Geometry geometry) {
  lanes.put(offsetof(SurfaceLanes, handle), 64, e.operand(k));
  std::size_t row = 0;
  bool layer = isa::has_layer(geometry);
  for (const ptx::Operand& element : e.elements(k + 1)) {
    lanes.put(layer ? offsetof(SurfaceLanes, layer)
                    : offsetof(SurfaceLanes, coordinate) + row++ * RequestLanes::kRow,
              32, element);
    layer = false;
  }
}

void put_values(WarpEmitter& e, RequestLanes& lanes, unsigned k) {
  std::size_t at = offsetof(SurfaceLanes, value);
  for (const ptx::Operand& element : e.elements(k)) {
    lanes.put(at, 64, element);
    at += kWideRow;
  }
}

SurfaceRequest::Action reduction(Mod operation) {
  if (operation == Mod::and_) return SurfaceRequest::and_;
  if (operation == Mod::or_) return SurfaceRequest::or_;
  if (operation == Mod::min) return SurfaceRequest::min;
  return operation == Mod::max ? SurfaceRequest::max : SurfaceRequest::add;
}

void store(WarpEmitter& e, SurfaceRequest::Action action) {
  e.addresses.note();
  RequestLanes lanes(e, sizeof(SurfaceLanes));
  const SurfaceRequest request = describe(e.opcode(), action);
  put_place(e, lanes, 0, request.geometry);
  put_values(e, lanes, 2);
  lanes.call(exec::Service::surface, request.word());
}

}  // namespace

template <>
void emit<Op::suld>(WarpEmitter& e) {
  e.addresses.note();
  RequestLanes lanes(e, sizeof(SurfaceLanes));
  const SurfaceRequest request = describe(e.opcode(), SurfaceRequest::load);
  put_place(e, lanes, 1, request.geometry);
  lanes.call(exec::Service::surface, request.word());
  std::size_t at = offsetof(SurfaceLanes, value);
  for (const ptx::Operand& destination : e.elements(0)) {
    lanes.get(at, 64, request.bytes * 8, destination);
    at += kWideRow;
  }
}

template <>
void emit<Op::sust>(WarpEmitter& e) {
  store(e, SurfaceRequest::store);
}

template <>
void emit<Op::sured>(WarpEmitter& e) {
  store(e, reduction(e.get(ModKind::operation)));
}

}  // namespace raddle::jit
