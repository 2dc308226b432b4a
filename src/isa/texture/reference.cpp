// Reference semantics of texture fetches and queries: one lane's operands become a request to the machine's
// texture unit (exec/texture.h).
#include "interp/reference.h"

#include "exec/texture.h"
#include "interp/lane.h"

namespace raddle::interp {

using exec::TextureLanes;
using exec::TextureRequest;
using isa::Op;
using ptx::Instruction;

namespace {

std::uint32_t element(Lane& lane, unsigned k, unsigned i) {
  return lane.value<std::uint32_t>(lane.element(k, i));
}

constexpr unsigned kFirstOfForm = 5;  ///< operand: those after the coordinates depend on the form

/// What the brackets hold: texture, sampler, coordinates.
void read_place(Lane& lane, TextureRequest& request, TextureLanes& lanes) {
  const unsigned n = lane.index();
  lanes.handle[n] = lane.in<std::uint64_t>(2);
  request.has_sampler = lane.has(3);
  if (request.has_sampler) lanes.sampler[n] = lane.in<std::uint64_t>(3);
  unsigned next = 0;
  if (isa::has_layer(request.geometry)) lanes.layer[n] = element(lane, 4, next++);
  if (isa::has_sample(request.geometry)) lanes.sample[n] = element(lane, 4, next++);
  for (unsigned d = 0; d < isa::coordinate_count(request.geometry); ++d)
    lanes.coordinate[d][n] = element(lane, 4, next++);
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

/// @param level  0 where the query is not about one
std::uint32_t query(Lane& lane, const Instruction& i, std::uint32_t level) {
  exec::TextureQueryLanes lanes;
  const unsigned n = lane.index();
  lanes.handle[n] = lane.in<std::uint64_t>(1);
  lanes.level[n] = level;
  const auto what = static_cast<std::uint32_t>(exec::texture_query(*i.opcode));
  lane.services().texture_query(&lane.context(), what, 1u << n, &lanes);
  return lanes.result[n];
}

}  // namespace

template <>
void reference<Op::tex>(Lane& lane, const Instruction& i) {
  TextureLanes lanes;
  TextureRequest request = exec::texture_request(*i.opcode);
  read_place(lane, request, lanes);
  unsigned next = kFirstOfForm;
  if (request.action == TextureRequest::level) lanes.level[lane.index()] = lane.in<std::uint32_t>(next++);
  if (request.action == TextureRequest::gradient)
    for (unsigned g = 0; g < 2; ++g, ++next)
      for (unsigned d = 0; d < isa::coordinate_count(request.geometry); ++d)
        lanes.gradient[g][d][lane.index()] = element(lane, next, d);
  read_offset(lane, next, request, lanes);
  fetch(lane, request, lanes);
}

template <>
void reference<Op::tex_multisample>(Lane& lane, const Instruction& i) {
  reference<Op::tex>(lane, i);
}

template <>
void reference<Op::tld4>(Lane& lane, const Instruction& i) {
  reference<Op::tex>(lane, i);
}

template <>
void reference<Op::txq>(Lane& lane, const Instruction& i) {
  lane.out<std::uint32_t>(0, query(lane, i, lane.has(2) ? lane.in<std::uint32_t>(2) : 0));
}

template <>
void reference<Op::txq_sampler>(Lane& lane, const Instruction& i) {
  lane.out<std::uint32_t>(0, query(lane, i, 0));
}

template <>
void reference<Op::suq>(Lane& lane, const Instruction& i) {
  lane.out<std::uint32_t>(0, query(lane, i, 0));
}

template <>
void reference<Op::istypep>(Lane& lane, const Instruction& i) {
  lane.out<bool>(0, query(lane, i, 0) != 0);
}

}  // namespace raddle::interp
