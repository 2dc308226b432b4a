// The part of the language for graphs that is written in Lua itself: closures and methods. Names that begin
// with an underscore are functions of the bindings (bindings.cpp), which programs do not see.
#pragma once

#include <string_view>

namespace raddle::graph {

inline constexpr std::string_view kLuaPrelude = R"lua(
local setmetatable, pairs, type, error = setmetatable, pairs, type, error
local make_buffer, make_image, make_previous, make_kernel = _buffer, _image, _previous, _kernel
local define, begin, command, order_passes = _define, _begin, _command, _order
local stream_state, stream_resources, stream_command, stream_mode = _state, _resources, _stream, _mode
local param_of, read_word, write_words, run, has_body, command_list = _param, _read, _write, _execute, _body, _commands
_buffer, _image, _previous, _kernel, _define, _begin, _command, _order = nil
_state, _resources, _stream, _mode, _param, _read, _write, _execute, _body, _commands = nil
_ENV.setmetatable = nil

-- Resources and views of them are tables that the bindings read.
local view = {}
view.__index = view
local function new_view(from)
  local made = {}
  for key, value in pairs(from) do made[key] = value end
  return setmetatable(made, view)
end
function view:bytes(first, count)
  local made = new_view(self)
  made.first, made.count = (self.first or 0) + first, count
  return made
end
function view:mips(first, count)
  local made = new_view(self)
  made.mip, made.mip_count = first, count or 1
  return made
end
function view:layers(first, count)
  local made = new_view(self)
  made.layer, made.layer_count = first, count or 1
  return made
end
function buffer(options, bytes, origin)
  if type(options) == "string" then options = {name = options, bytes = bytes, origin = origin} end
  return setmetatable({resource = make_buffer(options)}, view)
end
function image(options) return setmetatable({resource = make_image(options)}, view) end
function previous(of) return setmetatable({resource = make_previous(of)}, view) end
function texture(of, sampler) return {texture = of, sampler = sampler or {}} end
function surface(of) return {surface = of} end
function kernel(file, name) return {kernel = make_kernel(file, name)} end
function param(name, default)
  local value = param_of(name, type(default))
  if value == nil then return default end
  return value
end
function order(earlier, later) order_passes(earlier.pass, later.pass) end
function read(resource, kind, index) return read_word(resource, kind, index or 0) end
function write(resource, kind, values, index) write_words(resource, kind, values, index or 0) end
function execute() run() end

-- Form 1.
local builder = {}
builder.__index = builder
for name in command_list do
  builder[name] = function(self, arguments) command(self.pass, name, arguments or {}) return self end
end
function pass(definition)
  local number = define(definition)
  return function(arguments)
    local made = setmetatable({pass = begin(number, arguments)}, builder)
    local all = {}
    for key, value in pairs(definition.state or {}) do all[key] = value end
    for key, value in pairs(arguments) do all[key] = value end
    if definition.commands then definition.commands(made, all) end
    if definition.body then has_body(number, made.pass, arguments) end
    return made
  end
end

-- Form 2.
function set_state(state) stream_state(state) end
function set_resources(reads, writes) stream_resources(reads or {}, writes or {}) end
function blocks(commands, options) stream_mode(commands, options or {}) end
for name in command_list do
  _ENV[name] = function(arguments) stream_command(name, arguments or {}) end
end
)lua";

}  // namespace raddle::graph
