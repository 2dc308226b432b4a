// What Lua programs call: it makes the same graphs that C++ programs make.
#pragma once

#include <optional>

#include "graph/lua/sandbox.h"
#include "raddle/graph/definition.h"
#include "raddle/graph/lua_program.h"

namespace raddle::graph {

class LuaBindings {
 public:
  LuaBindings(Executor& executor, const LuaOptions& options);
  void add_to(Sandbox& sandbox);
  Result<void> control_flow() { return stream_->control_flow(); }
  /// Runs what was built since the last time.
  Result<void> execute();
  Result<void> finish();
  LuaReport take() { return std::move(report_); }

 private:
  using Values = std::vector<LuaValue>;
  Result<LuaAnswer> make_buffer(const LuaTable& options, const SourceLine& line);
  Result<LuaAnswer> make_image(const LuaTable& options, const SourceLine& line);
  Result<LuaAnswer> make_previous(const Values& arguments);
  Result<LuaAnswer> make_kernel(const Values& arguments);
  Result<LuaAnswer> find_parameter(const Values& arguments) const;
  Result<LuaAnswer> define(const LuaTable& options, const SourceLine& line);
  Result<LuaAnswer> begin_pass(const Values& arguments, const SourceLine& line);
  Result<LuaAnswer> add_command(const Values& arguments);
  Result<LuaAnswer> add_body(const Values& arguments);
  Result<LuaAnswer> order(const Values& arguments);
  Result<LuaAnswer> set_state(const LuaTable& state, const SourceLine& line);
  Result<LuaAnswer> set_resources(const Values& arguments, const SourceLine& line);
  Result<LuaAnswer> stream_command(const Values& arguments, const SourceLine& line);
  Result<LuaAnswer> set_mode(const Values& arguments);
  Result<LuaAnswer> read(const Values& arguments);
  Result<LuaAnswer> write(const Values& arguments);
  void print(const Values& arguments) const;

  Result<View> view_of(const LuaValue& value) const;
  Result<StateValue> state_of(const LuaValue& value) const;
  /// Views, state and a kernel's list from a table of a program's.
  Result<Arguments> arguments_of(const LuaTable& table, const KernelCode& kernel) const;
  Result<Value> kernel_value(const LuaValue& value, const KernelInfo& kernel, std::size_t number) const;
  Result<DevicePtr> memory_of(Resource resource);
  Result<std::uint32_t> resource_of(const LuaValue& value) const;

  Executor& executor_;
  const LuaOptions& options_;
  Graph graph_;
  std::optional<CommandStream> stream_;
  KernelCode stream_kernel_;  // of the stream's state
  std::vector<KernelCode> kernels_;
  std::map<std::string, std::shared_ptr<const raddle::Program>> programs_;
  struct Defined {
    Definition definition;
    std::string body;
  };
  std::vector<Defined> definitions_;
  std::vector<std::string> commands_;  // names, and how far the prelude has asked for them
  std::size_t next_command_ = 0;
  LuaReport report_;
};

}  // namespace raddle::graph
