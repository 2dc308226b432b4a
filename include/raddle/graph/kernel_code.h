// A kernel by program and name, for any target.
#pragma once

#include <memory>
#include <string>

#include "raddle/raddle.h"

namespace raddle::graph {

/// A light handle of constant data: a target loads the program when a graph first needs it.
class KernelCode {
 public:
  KernelCode() = default;
  /// @errors not_found
  static Result<KernelCode> find(std::shared_ptr<const Program> program, const std::string& name);
  /// All of a text's kernels are found in one program. @errors as Program::read; not_found
  static Result<KernelCode> read(std::string_view image, const std::string& name,
                                 std::uint32_t capability = 90);

  explicit operator bool() const { return data_ != nullptr; }
  const std::shared_ptr<const Program>& program() const { return data_->program; }
  const std::string& name() const { return data_->info.name; }
  const KernelInfo& info() const { return data_->info; }
  const void* identity() const { return data_.get(); }  ///< equal for copies

 private:
  struct Data {
    std::shared_ptr<const Program> program;
    KernelInfo info;
  };
  std::shared_ptr<const Data> data_;
};

}  // namespace raddle::graph
