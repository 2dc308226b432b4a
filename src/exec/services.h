// The services (services.def) as data: what generated code needs to know to call one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exec/abi.h"

namespace raddle::exec {

enum class Service : std::uint8_t {
#define SERVICE(result, name, ...) name,
#include "exec/services.def"
};

/// How a result or a parameter is passed.
enum class ServiceValue : std::uint8_t { none, word, wide, pointer };  // 32 bits, 64 bits

struct ServiceSignature {
  static constexpr std::size_t kMostParameters = 7;

  const char* name;
  std::size_t offset;  ///< in Services
  ServiceValue result;
  std::array<ServiceValue, kMostParameters> parameters;  ///< after the warp; none: no more
  bool is_seldom;                                        ///< called by preserve_most
};

namespace detail {

template <class T>
constexpr ServiceValue service_value() {
  if constexpr (std::is_void_v<T>)
    return ServiceValue::none;
  else if constexpr (std::is_pointer_v<T>)
    return ServiceValue::pointer;
  else
    return sizeof(T) == 4 ? ServiceValue::word : ServiceValue::wide;
}

template <class Result, class... Parameters>
constexpr ServiceSignature signature(const char* name, std::size_t offset,
                                     Result (*)(WarpContext*, Parameters...)) {
  return {name, offset, service_value<Result>(), {service_value<Parameters>()...}, false};
}

template <class Result, class... Parameters>
constexpr ServiceSignature signature(const char* name, std::size_t offset,
                                     Result (*)(WarpContext*, Parameters...) __attribute__((preserve_most))) {
  return {name, offset, service_value<Result>(), {service_value<Parameters>()...}, true};
}

}  // namespace detail

inline constexpr ServiceSignature kServiceSignatures[] = {
#define SERVICE(result, name, ...) \
  detail::signature(#name, offsetof(Services, name), decltype(Services::name){}),
#include "exec/services.def"
};

constexpr const ServiceSignature& signature_of(Service service) {
  return kServiceSignatures[static_cast<std::size_t>(service)];
}

}  // namespace raddle::exec
