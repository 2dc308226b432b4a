// JIT: texture fetches and queries. A warp's operands go to arrays, the machine's texture unit is asked once.
#include "exec/texture.h"
#include "isa/op.h"
#include "jit/request_lanes.h"

namespace raddle::jit {
namespace {

using exec::Services;
using exec::TextureLanes;
using exec::TextureRequest;

constexpr unsigned kFirstOfForm = 5;  ///< operand: those after the coordinates depend on the form

/// A value per coordinate, into consecutive rows.
void put_rows(WarpEmitter& e, RequestLanes& lanes, unsigned k, std::size_t offset, std::size_t first = 0) {
  const auto elements = e.elements(k);
  for (std::size_t i = first; i < elements.size(); ++i)
    lanes.put(offset + (i - first) * RequestLanes::kRow, 32, elements[i]);
}

/// What the brackets hold: texture, sampler, coordinates.
void put_place(WarpEmitter& e, RequestLanes& lanes, TextureRequest& request) {
  lanes.put(offsetof(TextureLanes, handle), 64, e.operand(2));
  request.has_sampler = e.present(3);
  if (request.has_sampler) lanes.put(offsetof(TextureLanes, sampler), 64, e.operand(3));
  const auto elements = e.elements(4);
  std::size_t next = 0;
  if (isa::has_layer(request.geometry)) lanes.put(offsetof(TextureLanes, layer), 32, elements[next++]);
  if (isa::has_sample(request.geometry)) lanes.put(offsetof(TextureLanes, sample), 32, elements[next++]);
  put_rows(e, lanes, 4, offsetof(TextureLanes, coordinate), next);
}

/// d, p, [a, s, c], what the form has beside, e.
void fetch(WarpEmitter& e, TextureRequest request, unsigned offset_operand, RequestLanes& lanes) {
  e.addresses.note();
  put_place(e, lanes, request);
  request.has_offset = e.present(offset_operand);
  if (request.has_offset) put_rows(e, lanes, offset_operand, offsetof(TextureLanes, offset));
  lanes.call(exec::Service::texture, request.word());
  const unsigned bits = request.result == TextureRequest::half ? 16 : 32;
  const auto destinations = e.elements(0);
  for (std::size_t c = 0; c < destinations.size(); ++c)
    lanes.get(offsetof(TextureLanes, result) + c * RequestLanes::kRow, 32, bits, destinations[c]);
  if (!e.wants(1)) return;
  const Mask resident = e.masks.from_bits(lanes.word(offsetof(TextureLanes, resident)));
  e.out(1, Type::pred, resident);
}

/// @param of_level  operand 2 is the level
void query(WarpEmitter& e, bool of_level) {
  RequestLanes lanes(e, sizeof(exec::TextureQueryLanes));
  lanes.put(offsetof(exec::TextureQueryLanes, handle), 64, e.operand(1));
  lanes.put(offsetof(exec::TextureQueryLanes, level), 32,
            of_level ? e.operand(2)
                     : ptx::Operand{.kind = ptx::Operand::Kind::immediate, .type = Type::u32, .value = 0});
  lanes.call(exec::Service::texture_query, static_cast<std::uint32_t>(exec::texture_query(e.opcode())));
  if (e.operand(0).type == Type::pred)
    return e.out(0, Type::pred, lanes.flags(offsetof(exec::TextureQueryLanes, result)));
  lanes.get(offsetof(exec::TextureQueryLanes, result), 32, 32, e.operand(0));
}

}  // namespace

template <>
void emit<Op::tex>(WarpEmitter& e) {
  RequestLanes lanes(e, sizeof(TextureLanes));
  const TextureRequest request = exec::texture_request(e.opcode());
  unsigned next = kFirstOfForm;
  if (request.action == TextureRequest::level) {
    lanes.put(offsetof(TextureLanes, level), 32, e.operand(next++));
  } else if (request.action == TextureRequest::gradient) {
    put_rows(e, lanes, next++, offsetof(TextureLanes, gradient));
    put_rows(e, lanes, next++, offsetof(TextureLanes, gradient) + 3 * RequestLanes::kRow);
  }
  fetch(e, request, next, lanes);
}

template <>
void emit<Op::tex_multisample>(WarpEmitter& e) {
  emit<Op::tex>(e);
}
template <>
void emit<Op::tld4>(WarpEmitter& e) {
  emit<Op::tex>(e);
}

template <>
void emit<Op::txq>(WarpEmitter& e) {
  query(e, e.present(2));
}
template <>
void emit<Op::txq_sampler>(WarpEmitter& e) {
  query(e, false);
}
template <>
void emit<Op::suq>(WarpEmitter& e) {
  query(e, false);
}
template <>
void emit<Op::istypep>(WarpEmitter& e) {
  query(e, false);
}

}  // namespace raddle::jit
