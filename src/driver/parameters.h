// What entries.def says of a parameter, beside its type:
//   In<Stream>          a handle; its entry gets the live object
//   In<CUdevice>        a device's number; its entry gets the device
//   OrCurrent<Context>  a handle, or null for the current context
//   NotNull<int*>       a pointer that must not be null: CUDA_ERROR_INVALID_VALUE
// These words have three meanings, a namespace each: `exported` has what programs call, `entry` what the
// entries' functions take, `declared` the words themselves, by which the adaptor checks and resolves
// (adaptor.h).
#pragma once

#include <memory>
#include <type_traits>

#include "driver/abi.h"

namespace raddle::driver {

/// The type of the handles that stand for an object.
template <class Object>
struct HandleType;
#define HANDLE(object, handle, table, number, wrong) \
  struct object;                                     \
  template <>                                        \
  struct HandleType<object> {                        \
    using Type = handle;                             \
  };
#include "driver/handles.def"
#undef HANDLE

// Texture and surface objects are numbered by the device that reads them.
struct Texture;
struct Surface;
template <>
struct HandleType<Texture> {
  using Type = CUtexObject;
};
template <>
struct HandleType<Surface> {
  using Type = CUsurfObject;
};
template <>
struct HandleType<CUdevice> {
  using Type = CUdevice;
};

template <class Object>
using HandleOf = typename HandleType<Object>::Type;

namespace declared {
template <class Object>
struct In;
template <class Object>
struct OrCurrent;
template <class Pointer>
struct NotNull;
}  // namespace declared

namespace exported {
template <class Object>
using In = HandleOf<Object>;
template <class Object>
using OrCurrent = HandleOf<Object>;
template <class Pointer>
using NotNull = Pointer;
}  // namespace exported

class Gpu;

namespace entry {
template <class Object>
using In = std::conditional_t<std::is_same_v<Object, CUdevice>, Gpu&, const std::shared_ptr<Object>&>;
template <class Object>
using OrCurrent = In<Object>;
template <class Pointer>
using NotNull = Pointer;
/// The context that an entry works in, which it gets before its parameters: that of the stream that it is
/// for, else the current one.
using Here = const std::shared_ptr<Context>&;
}  // namespace entry

}  // namespace raddle::driver
