#include "raddle/graph/lua_program.h"

#include "graph/lua/bindings.h"
#include "graph/lua/control_flow.h"
#include "graph/lua/prelude.h"

namespace raddle::graph {

Result<LuaReport> run_lua(Executor& executor, std::string_view text, const std::string& name,
                          const LuaOptions& options) {
  LuaBindings bindings(executor, options);
  Sandbox sandbox({options.most_instructions, options.memory_bytes, options.seconds});
  bindings.add_to(sandbox);
  const bool is_stream = text.find("set_resources") != std::string_view::npos;
  if (is_stream) sandbox.on_return([&] { return bindings.control_flow(); });
  TRY(sandbox.run(kLuaPrelude, is_stream ? with_control_flow(text) : std::string(text), name));
  TRY(bindings.finish());
  return bindings.take();
}

}  // namespace raddle::graph
