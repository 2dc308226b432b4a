// What functions of the driver answer: CUDA's result (Status), or a value in its place (Answer). An Error of
// the layers below becomes a result when it is returned, so that TRY and TRY_ASSIGN (base/result.h) pass on
// both.
#pragma once

#include <utility>
#include <variant>

#include "base/result.h"
#include "driver/abi.h"

namespace raddle::driver {

/// For errors of a call; says the error's text on stderr when RADDLE_TRACE asks for the API.
CUresult result_of(const Error& error);

class [[nodiscard]] Status {
 public:
  Status(CUresult result) : result_(result) {}
  Status(const Error& error) : result_(result_of(error)) {}
  Status(const Result<void>& done) : result_(done ? CUDA_SUCCESS : result_of(done.error())) {}

  bool ok() const { return result_ == CUDA_SUCCESS; }
  /// CUDA_SUCCESS if it is none.
  CUresult error() const { return result_; }

 private:
  CUresult result_;
};

template <class T>
class [[nodiscard]] Answer {
 public:
  Answer(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Answer(CUresult error) : state_(std::in_place_index<1>, error) {}
  Answer(const Error& error) : Answer(result_of(error)) {}

  bool ok() const { return state_.index() == 0; }
  T&& value() && { return std::get<0>(std::move(state_)); }
  CUresult error() const { return std::get<1>(state_); }

 private:
  std::variant<T, CUresult> state_;
};

}  // namespace raddle::driver
