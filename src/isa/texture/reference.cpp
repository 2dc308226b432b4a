// Reference semantics of texture fetches and queries: one lane's operands become a request to the machine's
// texture unit (exec/texture.h).
#include "interp/reference.h"

#include "exec/texture.h"
#include "interp/lane.h"

namespace raddle::interp {

using exec::TextureLanes;
using exec::TextureQuery;
using exec::TextureRequest;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

std::uint32_t element(Lane& lane, unsigned k, unsigned i) {
  return lane.value<std::uint32_t>(lane.element(k, i));
}

/// Coordinates are operand 3; the operands after them depend on the form.
void read_coordinates(Lane& lane, isa::Geometry geometry, TextureLanes& lanes) {
  const unsigned n = lane.index(), first = isa::has_layer(geometry) ? 1 : 0;
  lanes.handle[n] = lane.in<std::uint64_t>(2);
  if (first != 0) lanes.layer[n] = element(lane, 3, 0);
  for (unsigned d = 0; d < isa::coordinate_count(geometry); ++d)
    lanes.coordinate[d][n] = element(lane, 3, first + d);
}

void read_offset(Lane& lane, unsigned k, TextureRequest& request, TextureLanes& lanes) {
  request.has_offset = lane.has(k);
  if (!request.has_offset) return;
  for (unsigned d = 0; d < isa::coordinate_count(request.geometry); ++d)
    lanes.offset[d][lane.index()] = static_cast<std::int32_t>(element(lane, k, d));
}

void fetch(Lane& lane, const TextureRequest& request, TextureLanes& lanes) {
  const unsigned n = lane.index();
  lane.note_access(lanes.handle[n]);
  lane.services().texture(&lane.context(), request.word(), 1u << n, &lanes);
  for (unsigned c = 0; c < lane.count(0); ++c) {
    if (request.result == TextureRequest::half)
      lane.assign<std::uint16_t>(lane.element(0, c), static_cast<std::uint16_t>(lanes.result[c][n]));
    else
      lane.assign<std::uint32_t>(lane.element(0, c), lanes.result[c][n]);
  }
  if (lane.has(1)) lane.out<bool>(1, (lanes.resident >> n & 1) != 0);
}

std::uint32_t query(Lane& lane, TextureQuery what, std::uint64_t handle, std::uint32_t level) {
  exec::TextureQueryLanes lanes;
  const unsigned n = lane.index();
  lanes.handle[n] = handle;
  lanes.level[n] = level;
  lane.services().texture_query(&lane.context(), static_cast<std::uint32_t>(what), 1u << n, &lanes);
  return lanes.result[n];
}

TextureQuery query_of(const isa::Opcode& opcode) {
  static constexpr std::pair<Mod, TextureQuery> kQueries[] = {
      {Mod::width, TextureQuery::width},
      {Mod::height, TextureQuery::height},
      {Mod::depth, TextureQuery::depth},
      {Mod::channel_data_type, TextureQuery::channel_data_type},
      {Mod::channel_order, TextureQuery::channel_order},
      {Mod::normalized_coords, TextureQuery::normalized_coordinates},
      {Mod::array_size, TextureQuery::array_size},
      {Mod::num_mipmap_levels, TextureQuery::mipmap_levels},
      {Mod::num_samples, TextureQuery::samples},
      {Mod::filter_mode, TextureQuery::filter_mode},
      {Mod::addr_mode_0, TextureQuery::address_mode_0},
      {Mod::addr_mode_1, TextureQuery::address_mode_1},
      {Mod::addr_mode_2, TextureQuery::address_mode_2},
      {Mod::memory_layout, TextureQuery::memory_layout}};
  for (const auto& [mod, what] : kQueries)
    if (opcode.has(mod)) return what;
  return TextureQuery::width;
}

}  // namespace

template <>
void reference<Op::tex>(Lane& lane, const Instruction& i) {
  TextureLanes lanes;
  const isa::Opcode& o = *i.opcode;
  TextureRequest request{.geometry = isa::geometry_of(o)};
  request.result = o.type(0) == Type::f16x2 ? TextureRequest::half_pair
                   : o.type(0) == Type::f16 ? TextureRequest::half
                                            : TextureRequest::bits32;
  request.integer_coordinates = o.type(1) == Type::s32;
  read_coordinates(lane, request.geometry, lanes);
  unsigned next = 4;
  if (o.has(Mod::level)) {
    request.action = TextureRequest::level;
    lanes.level[lane.index()] = lane.in<std::uint32_t>(next++);
  }
  if (o.has(Mod::grad)) {
    request.action = TextureRequest::gradient;
    for (unsigned g = 0; g < 2; ++g, ++next)
      for (unsigned d = 0; d < isa::coordinate_count(request.geometry); ++d)
        lanes.gradient[g][d][lane.index()] = element(lane, next, d);
  }
  read_offset(lane, next, request, lanes);
  fetch(lane, request, lanes);
}

template <>
void reference<Op::tld4>(Lane& lane, const Instruction& i) {
  TextureLanes lanes;
  const isa::Opcode& o = *i.opcode;
  TextureRequest request{.geometry = isa::geometry_of(o), .action = TextureRequest::gather};
  request.component = o.has(Mod::g) ? 1 : o.has(Mod::b) ? 2 : o.has(Mod::a) ? 3 : 0;
  read_coordinates(lane, request.geometry, lanes);
  read_offset(lane, 4, request, lanes);
  fetch(lane, request, lanes);
}

template <>
void reference<Op::txq>(Lane& lane, const Instruction& i) {
  const std::uint32_t level = lane.has(2) ? lane.in<std::uint32_t>(2) : 0;
  lane.out<std::uint32_t>(0, query(lane, query_of(*i.opcode), lane.in<std::uint64_t>(1), level));
}

template <>
void reference<Op::suq>(Lane& lane, const Instruction& i) {
  lane.out<std::uint32_t>(0, query(lane, query_of(*i.opcode), lane.in<std::uint64_t>(1), 0));
}

template <>
void reference<Op::istypep>(Lane& lane, const Instruction& i) {
  const Type type = i.opcode->type();
  const TextureQuery what = type == Type::texref       ? TextureQuery::is_texture
                            : type == Type::samplerref ? TextureQuery::is_sampler
                                                       : TextureQuery::is_surface;
  lane.out<bool>(0, query(lane, what, lane.in<std::uint64_t>(1), 0) != 0);
}

}  // namespace raddle::interp
