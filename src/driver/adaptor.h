// From an exported symbol to its entry: the adaptor checks and resolves what entries.def declares of an entry
// and its parameters, in one order for all calls (ADR 41): pointers that must not be null, the driver and the
// devices, the current context, the handles from left to right. The entry's function gets objects.
#pragma once

#include <tuple>

#include "driver/parameters.h"
#include "driver/process.h"
#include "driver/status.h"

namespace raddle::driver {

/// What an entry needs before it can be called.
enum class Needs { nothing, driver, context };

/// An argument of a call, by what entries.def declares: a plain value.
template <class Declared>
class CallArgument {
 public:
  using Given = Declared;
  explicit CallArgument(const Given& given) : value_(given) {}
  bool is_missing() const { return false; }
  Status check_device() const { return CUDA_SUCCESS; }
  Status resolve(const std::shared_ptr<Context>&) { return CUDA_SUCCESS; }
  void lead(const std::shared_ptr<Context>*&) const {}
  const Given& get() const { return value_; }

 private:
  const Given& value_;
};

template <class Pointer>
class CallArgument<declared::NotNull<Pointer>> : public CallArgument<Pointer> {
 public:
  using CallArgument<Pointer>::CallArgument;
  bool is_missing() const { return this->get() == nullptr; }
};

template <>
class CallArgument<declared::In<CUdevice>> : public CallArgument<CUdevice> {
 public:
  using CallArgument<CUdevice>::CallArgument;
  Status check_device() const { return driver::check_device(CallArgument<CUdevice>::get()); }
  Gpu& get() const { return Process::instance().gpu(CallArgument<CUdevice>::get()); }
};

template <class Object>
class CallArgument<declared::In<Object>> {
 public:
  using Given = HandleOf<Object>;
  explicit CallArgument(Given given) : handle_(given) {}
  bool is_missing() const { return false; }
  Status check_device() const { return CUDA_SUCCESS; }
  Status resolve(const std::shared_ptr<Context>& here) {
    TRY_ASSIGN(object_, find<Object>(handle_, here));
    return CUDA_SUCCESS;
  }
  /// A stream's work is its context's, whichever is current.
  void lead([[maybe_unused]] const std::shared_ptr<Context>*& where) const {
    if constexpr (std::is_same_v<Object, Stream>)
      if (object_->keeps != nullptr) where = &object_->keeps;
  }
  const std::shared_ptr<Object>& get() const { return object_; }

 private:
  const Given handle_;
  std::shared_ptr<Object> object_;
};

template <>
class CallArgument<declared::OrCurrent<Context>> {
 public:
  using Given = CUcontext;
  explicit CallArgument(Given given) : handle_(given) {}
  bool is_missing() const { return false; }
  Status check_device() const { return CUDA_SUCCESS; }
  Status resolve(const std::shared_ptr<Context>&) {
    TRY_ASSIGN(object_, handle_ == nullptr ? current_context() : find<Context>(handle_));
    return CUDA_SUCCESS;
  }
  void lead(const std::shared_ptr<Context>*&) const {}
  const std::shared_ptr<Context>& get() const { return object_; }

 private:
  const Given handle_;
  std::shared_ptr<Context> object_;
};

template <class Declared>
inline constexpr bool kNeedsContext = false;
template <class Object>
inline constexpr bool kNeedsContext<declared::In<Object>> = kIsOfContext<Object>;

/// @tparam Declaration  the entry's type in the words of entries.def
template <Needs needs, auto entry, class Declaration>
struct Adaptor;

template <Needs needs, auto entry, class... Declared>
struct Adaptor<needs, entry, CUresult(Declared...)> {
  static_assert(needs == Needs::context || !(false || ... || kNeedsContext<Declared>),
                "such handles are the current context's: make it a CONTEXT_ENTRY");

  static CUresult call(typename CallArgument<Declared>::Given... given) {
    return answer(CallArgument<Declared>(given)...).error();
  }

 private:
  static Status answer(CallArgument<Declared>... arguments) {
    if ((false || ... || arguments.is_missing())) return CUDA_ERROR_INVALID_VALUE;
    if constexpr (needs != Needs::nothing) TRY(check_driver());
    Status status = CUDA_SUCCESS;
    (void)(true && ... && (status = arguments.check_device()).ok());
    if (!status.ok()) return status;
    if constexpr (needs == Needs::context) {
      TRY_ASSIGN(const std::shared_ptr<Context> here, current_context());
      (void)(true && ... && (status = arguments.resolve(here)).ok());
      if (!status.ok()) return status;
      const std::shared_ptr<Context>* where = &here;
      (arguments.lead(where), ...);
      if (*where != here) TRY(check_context(**where));
      return entry(*where, arguments.get()...);
    } else {
      (void)(true && ... && (status = arguments.resolve(nullptr)).ok());
      return status.ok() ? entry(arguments.get()...) : status;
    }
  }
};

}  // namespace raddle::driver
