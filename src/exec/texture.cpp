#include "exec/texture.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "isa/op.h"

namespace raddle::exec {

using isa::Mod;
using isa::Type;

TextureRequest texture_request(const isa::Opcode& opcode) {
  TextureRequest request{.geometry = isa::geometry_of(opcode)};
  request.result = opcode.type(0) == Type::f16x2 ? TextureRequest::half_pair
                   : opcode.type(0) == Type::f16 ? TextureRequest::half
                                                 : TextureRequest::bits32;
  request.integer_coordinates = opcode.type(1) == Type::s32;
  if (opcode.op == isa::Op::tld4) {
    request.action = TextureRequest::gather;
    request.component = opcode.has(Mod::g) ? 1 : opcode.has(Mod::b) ? 2 : opcode.has(Mod::a) ? 3 : 0;
  } else if (opcode.has(Mod::level)) {
    request.action = TextureRequest::level;
  } else if (opcode.has(Mod::grad)) {
    request.action = TextureRequest::gradient;
  }
  return request;
}

TextureQuery texture_query(const isa::Opcode& opcode) {
  if (opcode.op == isa::Op::istypep)
    return opcode.type() == Type::surfref      ? TextureQuery::is_surface
           : opcode.type() == Type::samplerref ? TextureQuery::is_sampler
                                               : TextureQuery::is_texture;
  struct Name {
    Mod mod;
    TextureQuery query;
  };
  static constexpr Name kNames[] = {
      {Mod::width, TextureQuery::width},
      {Mod::height, TextureQuery::height},
      {Mod::depth, TextureQuery::depth},
      {Mod::array_size, TextureQuery::array_size},
      {Mod::channel_order, TextureQuery::channel_order},
      {Mod::channel_data_type, TextureQuery::channel_data_type},
      {Mod::memory_layout, TextureQuery::memory_layout},
      {Mod::num_samples, TextureQuery::samples},
      {Mod::num_mipmap_levels, TextureQuery::mipmap_levels},
      {Mod::normalized_coords, TextureQuery::normalized_coordinates},
      {Mod::force_unnormalized_coords, TextureQuery::force_unnormalized_coordinates},
      {Mod::filter_mode, TextureQuery::filter_mode},
      {Mod::addr_mode_0, TextureQuery::address_mode_0},
      {Mod::addr_mode_1, TextureQuery::address_mode_1},
      {Mod::addr_mode_2, TextureQuery::address_mode_2}};
  const auto* found = std::ranges::find_if(kNames, [&](const Name& n) { return opcode.has(n.mod); });
  RADDLE_ASSERT(found != std::end(kNames), "a query without a name");
  return found->query;
}

}  // namespace raddle::exec
