// JIT: texture fetches and queries. A warp's operands go to arrays, the machine's texture unit is asked once.
#include <algorithm>

#include "base/assert.h"
#include "exec/texture.h"
#include "isa/op.h"
#include "jit/request_lanes.h"

namespace raddle::jit {
namespace {

using exec::Services;
using exec::TextureLanes;
using exec::TextureQuery;
using exec::TextureRequest;

/// The elements of a geometric operand, into consecutive rows; those of coordinates after the layer.
void put_rows(WarpEmitter& e, RequestLanes& lanes, unsigned k, std::size_t offset, bool layer_first) {
  const auto elements = e.elements(k);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool layer = layer_first && i == 0;
    const std::size_t row = i - (layer_first ? 1 : 0);
    lanes.put(layer ? offsetof(TextureLanes, layer) : offset + row * RequestLanes::kRow, 32, elements[i]);
  }
}

/// tex and tld4: d, p, [a, c], what the form has beside, e.
void fetch(WarpEmitter& e, TextureRequest request, unsigned offset_operand, RequestLanes& lanes) {
  e.addresses.note();
  request.geometry = isa::geometry_of(e.opcode());
  lanes.put(offsetof(TextureLanes, handle), 64, e.operand(2));
  put_rows(e, lanes, 3, offsetof(TextureLanes, coordinate), isa::has_layer(request.geometry));
  request.has_offset = e.present(offset_operand);
  if (request.has_offset) put_rows(e, lanes, offset_operand, offsetof(TextureLanes, offset), false);
  lanes.call(exec::Service::texture, request.word());
  const unsigned bits = request.result == TextureRequest::half ? 16 : 32;
  const auto destinations = e.elements(0);
  for (std::size_t c = 0; c < destinations.size(); ++c)
    lanes.get(offsetof(TextureLanes, result) + c * RequestLanes::kRow, 32, bits, destinations[c]);
  if (!e.wants(1)) return;
  const Mask resident = e.masks.from_bits(lanes.word(offsetof(TextureLanes, resident)));
  e.out(1, Type::pred, resident);
}

TextureRequest::Result result_of(Type type) {
  if (type == Type::f16x2) return TextureRequest::half_pair;
  return type == Type::f16 ? TextureRequest::half : TextureRequest::bits32;
}

void query(WarpEmitter& e, TextureQuery what) {
  RequestLanes lanes(e, sizeof(exec::TextureQueryLanes));
  lanes.put(offsetof(exec::TextureQueryLanes, handle), 64, e.operand(1));
  lanes.put(offsetof(exec::TextureQueryLanes, level), 32,
            e.present(2)
                ? e.operand(2)
                : ptx::Operand{.kind = ptx::Operand::Kind::immediate, .type = Type::u32, .value = 0});
  lanes.call(exec::Service::texture_query, static_cast<std::uint32_t>(what));
  if (e.operand(0).type == Type::pred)
    return e.out(0, Type::pred, lanes.flags(offsetof(exec::TextureQueryLanes, result)));
  lanes.get(offsetof(exec::TextureQueryLanes, result), 32, 32, e.operand(0));
}

TextureQuery wanted(const isa::Opcode& opcode) {
  struct Name {
    Mod mod;
    TextureQuery query;
  };
  constexpr Name kNames[] = {{Mod::width, TextureQuery::width},
                             {Mod::height, TextureQuery::height},
                             {Mod::depth, TextureQuery::depth},
                             {Mod::array_size, TextureQuery::array_size},
                             {Mod::channel_order, TextureQuery::channel_order},
                             {Mod::channel_data_type, TextureQuery::channel_data_type},
                             {Mod::memory_layout, TextureQuery::memory_layout},
                             {Mod::num_samples, TextureQuery::samples},
                             {Mod::num_mipmap_levels, TextureQuery::mipmap_levels},
                             {Mod::normalized_coords, TextureQuery::normalized_coordinates},
                             {Mod::filter_mode, TextureQuery::filter_mode},
                             {Mod::addr_mode_0, TextureQuery::address_mode_0},
                             {Mod::addr_mode_1, TextureQuery::address_mode_1},
                             {Mod::addr_mode_2, TextureQuery::address_mode_2}};
  const auto* found = std::ranges::find_if(kNames, [&](const Name& n) { return opcode.has(n.mod); });
  RADDLE_ASSERT(found != std::end(kNames), "a query without a name");
  return found->query;
}

}  // namespace

template <>
void emit<Op::tex>(WarpEmitter& e) {
  RequestLanes lanes(e, sizeof(TextureLanes));
  const isa::Opcode& o = e.opcode();
  TextureRequest request;
  request.result = result_of(o.type(0));
  request.integer_coordinates = o.type(1) == Type::s32;
  unsigned next = 4;
  if (o.has(Mod::level)) {
    request.action = TextureRequest::level;
    lanes.put(offsetof(TextureLanes, level), 32, e.operand(next++));
  } else if (o.has(Mod::grad)) {
    request.action = TextureRequest::gradient;
    put_rows(e, lanes, next++, offsetof(TextureLanes, gradient), false);
    put_rows(e, lanes, next++, offsetof(TextureLanes, gradient) + 3 * RequestLanes::kRow, false);
  }
  fetch(e, request, next, lanes);
}

template <>
void emit<Op::tld4>(WarpEmitter& e) {
  RequestLanes lanes(e, sizeof(TextureLanes));
  TextureRequest request;
  request.action = TextureRequest::gather;
  constexpr Mod kChannels[] = {Mod::r, Mod::g, Mod::b, Mod::a};
  for (std::uint32_t c = 0; c < 4; ++c)
    if (e.has(kChannels[c])) request.component = c;
  fetch(e, request, 4, lanes);
}

template <>
void emit<Op::txq>(WarpEmitter& e) {
  query(e, wanted(e.opcode()));
}
template <>
void emit<Op::suq>(WarpEmitter& e) {
  query(e, wanted(e.opcode()));
}
template <>
void emit<Op::istypep>(WarpEmitter& e) {
  const Type type = e.type();
  query(e, type == Type::surfref      ? TextureQuery::is_surface
           : type == Type::samplerref ? TextureQuery::is_sampler
                                      : TextureQuery::is_texture);
}

}  // namespace raddle::jit
