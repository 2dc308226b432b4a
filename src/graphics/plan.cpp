#include "graphics/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "graphics/check.h"
#include "graphics/workspace.h"

namespace raddle::graphics {
namespace {

constexpr std::uint64_t kMostPlaces = 1ull << 30, kLeastQuads = 1u << 15;

std::uint32_t or_usual(std::uint32_t limit, std::uint64_t usual) {
  return limit != 0 ? limit : static_cast<std::uint32_t>(std::min(usual, kMostPlaces));
}

/// Primitives of `count` vertices in one run.
std::uint64_t primitives_of(Topology topology, unsigned patch_size, std::uint64_t count) {
  const auto after = [count](std::uint64_t first) { return count < first ? 0 : count - first + 1; };
  switch (topology) {
    case Topology::points:
      return count;
    case Topology::lines:
      return count / 2;
    case Topology::line_strip:
      return after(2);
    case Topology::triangles:
      return count / 3;
    case Topology::triangle_strip:
    case Topology::triangle_fan:
      return after(3);
    case Topology::lines_adjacent:
      return count / 4;
    case Topology::line_strip_adjacent:
      return after(4);
    case Topology::triangles_adjacent:
      return count / 6;
    case Topology::triangle_strip_adjacent:
      return count < 6 ? 0 : (count - 4) / 2;
    case Topology::patches:
      return count / patch_size;
  }
  return 0;
}

/// Vertices of a primitive as the rasteriser gets it, and as a geometry shader does.
unsigned corners_of(Topology topology, bool adjacent) {
  switch (topology) {
    case Topology::points:
      return 1;
    case Topology::lines:
    case Topology::line_strip:
      return 2;
    case Topology::lines_adjacent:
    case Topology::line_strip_adjacent:
      return adjacent ? 4 : 2;
    case Topology::triangles_adjacent:
    case Topology::triangle_strip_adjacent:
      return adjacent ? 6 : 3;
    default:
      return 3;
  }
}

unsigned corners_of(OutputTopology output) { return 1 + static_cast<unsigned>(output); }

const Target& some_target(const Draw& draw) {
  if (!draw.targets.empty()) return draw.targets[0];
  return draw.depth_target ? *draw.depth_target : *draw.stencil_target;
}

TargetView view_of(const Target& target) {
  return {target.address.value, target.row_pitch, target.slice_pitch, target.format};
}

/// Makes a plan stage by stage, in the pipeline's order.
class Planner {
 public:
  Planner(const Draw& draw, std::uint64_t base) : draw_(draw), space_(base) {}

  Result<Plan> plan(DevicePtr status) {
    data_.counters = space_.take<Counters>(1);
    data_.status = {status.value};
    TRY(assemble());
    if (draw_.domain) divide();
    if (draw_.geometry) amplify();
    TRY(set_up());
    rasterise();
    merge();
    plan_.bytes = space_.bytes();
    return plan_;
  }

 private:
  std::uint64_t run_length() const { return draw_.indices ? draw_.index_count : draw_.vertex_count; }

  Result<void> assemble() {
    Assembly& from = data_.assembly;
    std::uint64_t vertices = draw_.vertex_count;
    if (draw_.indices) {
      TRY_ASSIGN(vertices, indexable_vertices(draw_));
      from.index_bytes = draw_.indices->index_bytes;
      from.indices = {draw_.indices->address.value + std::uint64_t{draw_.first_index} * from.index_bytes};
    }
    from.index_count = static_cast<std::uint32_t>(run_length());
    from.instances = draw_.instance_count;
    from.base_vertex = draw_.base_vertex;
    from.vertex_count = static_cast<std::uint32_t>(vertices);
    from.dense = !draw_.indices || vertices <= draw_.index_count;
    from.per_instance = from.dense ? from.vertex_count : draw_.index_count;
    from.topology = draw_.topology;
    from.size = draw_.topology == Topology::patches ? draw_.patch_size
                                                    : corners_of(draw_.topology, draw_.geometry.has_value());
    from.restart = draw_.primitive_restart;
    from.places = static_cast<std::uint32_t>(
        draw_.primitive_restart ? run_length()
                                : primitives_of(draw_.topology, draw_.patch_size, run_length()));
    const std::uint64_t shaded = std::uint64_t{from.per_instance} * from.instances;
    plan_.assembled = plan_.before_setup = std::uint64_t{from.places} * from.instances;
    if (shaded > kMostPlaces || plan_.assembled * from.size > kMostPlaces)
      return Error::invalid("the draw has {} vertices and {} primitives, more than {} can be counted", shaded,
                            plan_.assembled, kMostPlaces);
    if (from.restart) from.run = space_.take<std::uint32_t>(from.index_count);
    data_.list = space_.take<std::uint32_t>(plan_.assembled * from.size);
    data_.final_list = data_.list;
    size_ = corners_of(draw_.topology, false);
    vertices_ = space_.vertices(shaded, draw_.vertex->varyings);
    shade_vertices(static_cast<std::uint32_t>(shaded));
    primitives_ = {{data_.list.address}, counter(&Counters::primitives), from.size};
    return {};
  }

  void shade_vertices(std::uint32_t count) {
    const Assembly& from = data_.assembly;
    VertexBatch& batch = plan_.vertex;
    batch.count = count;
    batch.per_instance = std::max(from.per_instance, 1u);
    batch.first_vertex = draw_.indices ? 0 : draw_.first_vertex;
    batch.first_instance = draw_.first_instance;
    batch.vertex_count = from.vertex_count;
    batch.base_vertex = from.base_vertex;
    batch.index_bytes = from.dense ? 0 : from.index_bytes;
    batch.indices = from.indices;
    batch.out = vertices_;
    batch.attribute_count = static_cast<std::uint32_t>(draw_.attributes.size());
    for (std::size_t i = 0; i < draw_.attributes.size(); ++i) {
      const VertexAttribute& attribute = draw_.attributes[i];
      const VertexBuffer& buffer = draw_.vertex_buffers[attribute.buffer];
      batch.attributes[i] = {
          {buffer.address.value + attribute.offset}, buffer.stride, buffer.instances, attribute.format};
    }
  }

  Array<const std::uint32_t> counter(std::uint32_t Counters::* member) const {
    Counters zero{};
    const auto offset = reinterpret_cast<const char*>(&(zero.*member)) - reinterpret_cast<const char*>(&zero);
    return {data_.counters.address + static_cast<std::uint64_t>(offset)};
  }

  void divide() {
    const std::uint64_t patches = plan_.assembled;
    Division& division = data_.division;
    division.shape = draw_.tessellation.shape;
    division.partitioning = draw_.tessellation.partitioning;
    division.output = draw_.tessellation.output;
    division.clockwise = draw_.tessellation.clockwise;
    division.patch_count = static_cast<std::uint32_t>(patches);
    division.factor_stride = division.patch_count;
    std::copy(std::begin(draw_.tessellation.factors), std::end(draw_.tessellation.factors), division.factor);
    Primitives control{{data_.list.address}, counter(&Counters::patches), draw_.patch_size};
    if (draw_.hull) {
      const Array<float> factors = space_.take<float>(patches * 6);
      const Vertices out = space_.vertices(patches * draw_.hull->control_points, draw_.hull->varyings);
      plan_.hull = {{}, control, vertices_, out, draw_.hull->control_points, division.factor_stride, factors};
      division.factors = {factors.address};
      control = {{}, counter(&Counters::patches), draw_.hull->control_points};
      vertices_ = out;
    } else {
      division.fixed = 1;
    }
    const std::uint64_t usual = std::clamp<std::uint64_t>(patches * 1024, 8192, 1u << 18);
    division.point_capacity = or_usual(draw_.limits.tessellated_points, usual);
    division.primitive_capacity =
        or_usual(draw_.limits.tessellated_primitives, 2 * std::uint64_t{division.point_capacity});
    size_ = corners_of(division.output);
    division.points_of = space_.take<Span>(patches);
    division.primitives_of = space_.take<Span>(patches);
    division.patch = space_.take<std::uint32_t>(division.point_capacity);
    division.u = space_.take<float>(division.point_capacity);
    division.v = space_.take<float>(division.point_capacity);
    division.list = space_.take<std::uint32_t>(std::uint64_t{division.primitive_capacity} * size_);
    const Vertices out = space_.vertices(division.point_capacity, draw_.domain->varyings);
    plan_.domain = {{},
                    counter(&Counters::points),
                    {division.patch.address},
                    {division.u.address},
                    {division.v.address},
                    control,
                    vertices_,
                    out};
    vertices_ = out;
    data_.final_list = division.list;
    plan_.before_setup = division.primitive_capacity;
    primitives_ = {{division.list.address}, counter(&Counters::primitives), size_};
  }

  void amplify() {
    const std::uint64_t most = draw_.geometry->max_vertices;
    const std::uint64_t usual =
        std::min<std::uint64_t>(plan_.before_setup * most, std::max<std::uint64_t>(1u << 20, most));
    const std::uint32_t capacity = or_usual(draw_.limits.geometry_vertices, usual) / most * most;
    const Vertices out = space_.vertices(capacity, draw_.geometry->varyings);
    const Array<std::uint32_t> marks = space_.take<std::uint32_t>(capacity);
    plan_.geometry = {{},       primitives_, vertices_, out, marks, static_cast<std::uint32_t>(most),
                      capacity, data_.status};
    vertices_ = out;
    data_.final_list = marks;
    data_.from_geometry = 1;
    data_.geometry_most = static_cast<std::uint32_t>(most);
    data_.geometry_capacity = capacity;
    size_ = corners_of(draw_.geometry->output);
    plan_.before_setup = capacity;
  }

  Result<void> set_up() {
    data_.vertices = vertices_;
    data_.primitive_size = size_;
    const bool direct = !draw_.domain && !draw_.geometry;
    data_.places_per_instance = direct ? std::max(data_.assembly.places, 1u) : ~0u;
    data_.primitive_places = static_cast<std::uint32_t>(plan_.before_setup);
    const std::uint64_t places = plan_.before_setup;
    data_.triangle_capacity = or_usual(draw_.limits.triangles, 2 * places + 64);
    data_.triangles = space_.take<Triangle>(data_.triangle_capacity);
    data_.box_x = space_.take<std::uint32_t>(data_.triangle_capacity);
    data_.box_y = space_.take<std::uint32_t>(data_.triangle_capacity);
    data_.groups = space_.take<Span>((places + kGroup - 1) / kGroup);
    view();
    const RasterState& raster = draw_.raster;
    data_.cull = raster.cull;
    data_.front_is_counter_clockwise = raster.front_is_counter_clockwise;
    data_.depth_clip = raster.depth_clip;
    data_.depth_bias = raster.depth_bias, data_.slope_bias = raster.slope_bias;
    data_.point_size = raster.point_size, data_.line_width = raster.line_width;
    return {};
  }

  /// The viewport, and the pixels that may be drawn: in it, in the scissor and in the target.
  void view() {
    const Target& target = some_target(draw_);
    Viewport view = draw_.viewport;
    if (view.width == 0) view.width = static_cast<float>(target.width) - view.x;
    if (view.height == 0) view.height = static_cast<float>(target.height) - view.y;
    data_.scale[0] = view.width / 2, data_.scale[1] = -view.height / 2;
    data_.scale[2] = view.greatest_depth - view.least_depth;
    data_.offset[0] = view.x + view.width / 2, data_.offset[1] = view.y + view.height / 2;
    data_.offset[2] = view.least_depth;
    data_.least_depth = std::min(view.least_depth, view.greatest_depth);
    data_.greatest_depth = std::max(view.least_depth, view.greatest_depth);
    const auto inside = [](float value, std::uint32_t extent) {
      return static_cast<std::int32_t>(std::clamp(value, 0.0f, static_cast<float>(extent)));
    };
    data_.left = inside(std::floor(view.x), target.width),
    data_.top = inside(std::floor(view.y), target.height);
    data_.right = inside(std::ceil(view.x + view.width), target.width);
    data_.bottom = inside(std::ceil(view.y + view.height), target.height);
    if (!draw_.scissor) return;
    const Rectangle& cut = *draw_.scissor;
    const auto end = [](int from, int extent) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::int64_t{from} + extent, 0, 1 << 20));
    };
    data_.left = std::max(data_.left, cut.x), data_.top = std::max(data_.top, cut.y);
    data_.right = std::min(data_.right, end(cut.x, cut.width));
    data_.bottom = std::min(data_.bottom, end(cut.y, cut.height));
  }

  void rasterise() {
    const Target& target = some_target(draw_);
    data_.layers = target.layers, data_.samples = target.samples;
    data_.tiles_x = (target.width + kTile - 1) / kTile, data_.tiles_y = (target.height + kTile - 1) / kTile;
    const unsigned longer = std::max(data_.tiles_x, data_.tiles_y);
    data_.bin_shift = std::max(
        3,
        static_cast<int>(std::bit_width((longer - 1) / 16)));  // at most 16 bins a side, of 8 tiles or more
    const unsigned side = 1u << data_.bin_shift;
    data_.bins_x = (data_.tiles_x + side - 1) / side, data_.bins_y = (data_.tiles_y + side - 1) / side;
    const std::uint64_t bins = std::uint64_t{data_.bins_x} * data_.bins_y * data_.layers;
    data_.bins = space_.take<Span>(bins);
    const std::uint64_t triangles = data_.triangle_capacity;
    data_.bin_capacity =
        or_usual(draw_.limits.bin_entries,
                 std::min(triangles * bins, std::max<std::uint64_t>(1u << 20, 8 * triangles)));
    for (Array<std::uint32_t>* const array : {&data_.bin_entries, &data_.bin_x, &data_.bin_y})
      *array = space_.take<std::uint32_t>(data_.bin_capacity);
    data_.shades = draw_.pixel.has_value();
    const bool late =
        draw_.pixel && (draw_.pixel->may_discard || draw_.pixel->writes_depth || draw_.pixel->late_tests);
    data_.early_tests = !late;
    data_.in_order = late;
    for (const BlendState& state : draw_.blend)
      if (state.enabled != 0) data_.in_order = 1;
    if (!draw_.pixel) return;
    const std::uint64_t quads =
        std::uint64_t{data_.tiles_x} * data_.tiles_y * data_.layers * (kTilePixels / 4);
    data_.tiles = space_.take<Span>(quads / (kTilePixels / 4));
    data_.extras = space_.take<Span>(quads);
    const std::uint64_t usual =
        std::max({2 * quads, std::min<std::uint64_t>(4 * quads, 1u << 20), kLeastQuads});
    data_.quad_capacity = (or_usual(draw_.limits.fragment_quads, usual) + 7) / 8 * 8;
    const std::uint64_t fragments = std::uint64_t{data_.quad_capacity} * 4;
    data_.fragment_triangle = space_.take<std::uint32_t>(fragments);
    data_.fragment_place = space_.take<std::uint32_t>(fragments);
    data_.coverage = space_.take<std::uint8_t>(fragments);
  }

  void merge() {
    data_.depth = draw_.depth;
    data_.stencil = draw_.stencil;
    if (draw_.depth_target) data_.depth_target = view_of(*draw_.depth_target);
    if (draw_.stencil_target) data_.stencil_target = view_of(*draw_.stencil_target);
    data_.target_count = static_cast<std::uint32_t>(draw_.targets.size());
    bool second = false;
    for (std::size_t t = 0; t < draw_.targets.size(); ++t) {
      data_.targets[t] = view_of(draw_.targets[t]);
      if (t < draw_.blend.size()) data_.blend[t] = draw_.blend[t];
      BlendState& state = data_.blend[t];
      if (state.enabled == 0) continue;
      state.enabled = 1;
      for (const BlendFactor factor : {state.source, state.target, state.source_alpha, state.target_alpha})
        if (factor >= BlendFactor::second_colour) state.enabled = 2, second = true;
    }
    std::copy(std::begin(draw_.blend_constant), std::end(draw_.blend_constant), data_.blend_constant);
    if (!draw_.pixel) return;
    const std::uint64_t fragments = std::uint64_t{data_.quad_capacity} * 4;
    const unsigned outputs = data_.target_count + (second ? 1 : 0);
    const Array<float> colours = space_.take<float>(fragments * 4 * outputs);
    Array<float> depths{};
    if (draw_.pixel->writes_depth) depths = space_.take<float>(fragments), data_.writes_depth = 1;
    data_.colours = {colours.address}, data_.depths = {depths.address};
    plan_.pixel = {{},
                   counter(&Counters::quads),
                   {data_.fragment_triangle.address},
                   {data_.fragment_place.address},
                   data_.coverage,
                   colours,
                   depths,
                   {data_.triangles.address},
                   vertices_,
                   static_cast<std::uint32_t>(fragments),
                   outputs};
  }

  const Draw& draw_;
  Workspace space_;
  Plan plan_;
  DrawData& data_ = plan_.data;
  Vertices vertices_;      ///< of the last stage so far
  Primitives primitives_;  ///< of the last stage so far
  unsigned size_ = 3;      ///< vertices of a primitive now
};

}  // namespace

Result<Plan> plan_draw(const Draw& draw, DevicePtr workspace, DevicePtr status) {
  return Planner(draw, workspace.value).plan(status);
}

}  // namespace raddle::graphics
