// What passes hold (G-2).
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "raddle/graph/access.h"
#include "raddle/graph/kernel_code.h"
#include "raddle/graph/recorder.h"
#include "raddle/types.h"

namespace raddle::graph {

class Graph;

struct TextureOf {
  View view;
  Sampler sampler{};
};
struct SurfaceOf {
  View view;
};

/// An argument of a kernel: bytes, or something that is known once memory is placed: the address of a view,
/// the handle of a texture or surface of it.
class Value {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T> && (!std::is_same_v<T, View>) &&
             (!std::is_same_v<T, Resource>) && (!std::is_same_v<T, TextureOf>) &&
             (!std::is_same_v<T, SurfaceOf>)
  Value(const T& value)  // NOLINT: arguments are written as they are
      : what_(std::string(reinterpret_cast<const char*>(&value), sizeof value)) {}
  Value(const View& view) : what_(view) {}                                                // NOLINT
  Value(Resource resource) : what_(View(resource)) {}                                     // NOLINT
  Value(const TextureOf& texture) : what_(std::make_shared<const TextureOf>(texture)) {}  // NOLINT
  Value(const SurfaceOf& surface) : what_(surface) {}                                     // NOLINT
  static Value of_bytes(std::string bytes) {
    Value value(0);
    value.what_ = std::move(bytes);
    return value;
  }

  const std::string* bytes() const { return std::get_if<std::string>(&what_); }
  /// Of an address, texture or surface; null for bytes.
  const View* view() const;
  const TextureOf* texture() const;
  const SurfaceOf* surface() const { return std::get_if<SurfaceOf>(&what_); }
  std::size_t size() const { return bytes() != nullptr ? bytes()->size() : sizeof(std::uint64_t); }
  /// The same with another view. Not for bytes.
  Value with(const View& view) const;

 private:
  std::variant<std::string, View, SurfaceOf, std::shared_ptr<const TextureOf>> what_;
};

struct Dispatch {
  KernelCode kernel;
  LaunchConfig config;  ///< without stream
  std::vector<Value> arguments;
};

/// What a pipeline of a draw does is the graphics library's: it records it when addresses are known.
struct Draw {
  std::string what;  ///< for views
  std::function<Result<void>(Recorder&)> record;
};

struct Copy {
  View to, from;  ///< of the same size; images of the same extents and format
};
struct Clear {
  View view;
};
struct Fill {
  View view;
  std::uint64_t word = 0;
  unsigned word_bytes = 1;  ///< 1, 2, 4 or 8; divides the view's size
};
/// The contents stay. Written by the user, or inserted (G-9c, G-9d).
struct LayoutChange {
  View view;
  Layout to = Layout::general;
};
struct CacheAction {
  enum class Kind : std::uint8_t {
    flush,       ///< what was written through the unit's cache is in memory
    invalidate,  ///< the unit's cache forgets what it has
    prefetch,    ///< the bytes are read, so that a cache has them
  };
  View view;
  Kind kind = Kind::flush;
  Unit unit = Unit::kernel;
};
/// Everything invoked before has ended before anything invoked after it starts (G-2e).
struct Synchronise {};
/// A function on the host, called when the pass executes, from the device's callback thread.
struct Call {
  std::function<void()> function;
};
/// The body of a pass in a compiled language: it is called when the pass executes and makes its work then
/// (G-20). An error ends the run.
struct Body {
  std::function<Result<void>(Recorder&)> run;
};
/// Another graph, in place. Bound resources of it are views of this graph's.
struct SubGraph {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<Resource, View>> bindings;  ///< of the inner graph, of the outer one
};

using Command = std::variant<Dispatch, Draw, Copy, Clear, Fill, LayoutChange, CacheAction, Synchronise, Call,
                             Body, SubGraph>;
const char* command_name(const Command& command);

}  // namespace raddle::graph
