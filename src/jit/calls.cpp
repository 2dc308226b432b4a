#include "jit/calls.h"

#include <algorithm>

#include "jit/holds.h"
#include "ptx/signature.h"

namespace raddle::jit {

using isa::Mod;
using ptx::Operand;

Calls::Calls(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values,
             Masks& masks, Context& context, StateSpaces& spaces, Registers& registers, LaneLoops& loops,
             Parameters& parameters)
    : code_(code),
      ir_(code.ir),
      module_(module),
      kernel_(module.kernel),
      cursor_(cursor),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      context_(context),
      spaces_(spaces),
      registers_(registers),
      loops_(loops),
      parameters_(parameters) {}

Calls::Formals Calls::formals_of(const ptx::Call& call) {
  Formals formals;
  if (call.callee.kind != Operand::Kind::function && call.prototype != ptx::kNone) {
    const ptx::Prototype& prototype = f_.prototypes[call.prototype];
    for (const auto& v : prototype.parameters) formals.parameters.push_back(&v);
    for (const auto& v : prototype.returns) formals.returns.push_back(&v);
    return formals;
  }
  const bool direct = call.callee.kind == Operand::Kind::function;
  const auto& function = kernel_.module.functions[direct ? call.callee.index : call.targets.front()];
  for (const auto id : function.parameters) formals.parameters.push_back(&kernel_.module.variables[id]);
  for (const auto id : function.returns) formals.returns.push_back(&kernel_.module.variables[id]);
  return formals;
}

/// The caller's block for a list of call operands: a lone variable's own slot, or a copy of several in order,
/// placed and as wide as the formals that the callee has for them.
llvm::Value* Calls::argument_block(const std::vector<Operand>& operands,
                                   const std::vector<const ptx::Variable*>& formals, bool copy_in,
                                   std::vector<std::function<void()>>& after) {
  if (operands.empty()) return llvm::ConstantPointerNull::get(ir_.getPtrTy());
  if (operands.size() == 1 && operands[0].kind == Operand::Kind::variable)
    return parameters_.slot(operands[0].index);
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool variable = operands[k].kind == Operand::Kind::variable;
    const auto& v = variable ? kernel_.module.variables[operands[k].index] : *formals[k];
    offsets.push_back(place_parameter(bytes, v.size));
  }
  auto* block =
      code_.entry_alloca(llvm::ArrayType::get(ir_.getInt8Ty(), bytes * exec::kWarpSize), "arguments", 64);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), block, offsets[k] * exec::kWarpSize);
    if (operands[k].kind == Operand::Kind::variable)
      pass_variable(operands[k].index, at, copy_in, after);
    else if (copy_in)
      pass_value(operands[k], word_bytes(*formals[k]) * 8, at);
    else if (operands[k].kind == Operand::Kind::reg)
      after.push_back(
          [this, at, o = operands[k], bits = word_bytes(*formals[k]) * 8] { receive_value(o, bits, at); });
  }
  return block;
}

/// A variable's words by lane to their place in a block of arguments, or `after` the call from there.
void Calls::pass_variable(ptx::VariableId id, llvm::Value* at, bool copy_in,
                          std::vector<std::function<void()>>& after) {
  const std::uint64_t length = block_bytes(kernel_.module.variables[id]) * exec::kWarpSize;
  auto* slot = parameters_.slot(id);
  if (copy_in)
    ir_.CreateMemCpy(at, llvm::Align(16), slot, llvm::Align(16), length);
  else
    after.push_back(
        [this, at, slot, length] { ir_.CreateMemCpy(slot, llvm::Align(16), at, llvm::Align(16), length); });
}

/// A register or a constant to its place in a block of arguments, of `bits` a lane: predicates have a byte.
void Calls::pass_value(const Operand& o, unsigned bits, llvm::Value* at) {
  auto* type = code_.vector_of(ir_.getIntNTy(bits));
  const WarpValue v = registers_.read(o);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Val x = values_.part(v, p);
    auto* value = x.type == Type::pred ? x.v : x.as(isa::bits_type(x.bits())).v;
    ir_.CreateAlignedStore(
        ir_.CreateZExtOrTrunc(value, type),
        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), at, std::uint64_t{p} * code_.lanes() * bits / 8),
        llvm::Align(1));
  }
}

/// The other way round.
void Calls::receive_value(const Operand& to, unsigned bits, llvm::Value* at) {
  const Type type = f_.registers[to.index].type;
  auto* stored = code_.vector_of(ir_.getIntNTy(bits));
  std::vector<llvm::Value*> values;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    llvm::Value* value = ir_.CreateAlignedLoad(
        stored,
        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), at, std::uint64_t{p} * code_.lanes() * bits / 8),
        llvm::Align(1));
    if (type == Type::pred)
      value = ir_.CreateIsNotNull(value);
    else
      value = ir_.CreateZExtOrTrunc(value, code_.vector_of(ir_.getIntNTy(isa::bit_size(type))));
    values.push_back(value);
  }
  registers_.write_parts(to, type == Type::pred ? type : isa::bits_type(isa::bit_size(type)), values);
}

/// What a call passes, word for word: an array by lane each, and the type of its elements.
std::vector<std::pair<llvm::Value*, llvm::Type*>> Calls::argument_words(const ptx::Call& call) {
  std::vector<std::pair<llvm::Value*, llvm::Type*>> words;
  for (const auto& o : call.arguments) {
    if (o.kind != Operand::Kind::variable) {
      const WarpValue value = registers_.read(o);
      words.emplace_back(values_.spill(value), ir_.getIntNTy(isa::bit_size(value.type)));
      continue;
    }
    const auto& v = kernel_.module.variables[o.index];
    for (std::uint64_t w = 0; (w + 1) * word_bytes(v) <= v.size; ++w)
      words.emplace_back(parameters_.word(v, parameters_.slot(o.index), w, 0),
                         ir_.getIntNTy(word_bytes(v) * 8));
  }
  return words;
}

/// Services see one lane at a time: scalars out of the arguments' words, result back.
void Calls::call_service(const ptx::Call& call, const ptx::Function& callee, ptx::DeviceService service) {
  using exec::Service;
  auto *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  const auto words = argument_words(call);
  llvm::Value* passed = nullptr;
  auto* passed_type = llvm::ArrayType::get(i64, exec::kDeviceRuntimeArguments);
  if (service == ptx::DeviceService::device_runtime) {
    passed = code_.entry_alloca(passed_type, "device_runtime", 64);
    ir_.CreateStore(llvm::Constant::getNullValue(passed_type), passed);
  }
  std::vector<std::function<void()>> after;
  const Formals formals = formals_of(call);
  auto* returned = argument_block(call.returns, formals.returns, false, after);
  loops_.for_each_marked(masks_.bits(registers_.executing()), [&](llvm::Value* lane) {
    auto word = [&](std::size_t k, llvm::Type* as) {
      return ir_.CreateZExtOrTrunc(values_.load_lane(words[k].first, words[k].second, lane), as);
    };
    llvm::Value* result = nullptr;
    switch (service) {
      case ptx::DeviceService::vprintf:
        result = context_.call_service(Service::vprintf, {lane, word(0, i64), word(1, i64)});
        break;
      case ptx::DeviceService::malloc:
        result = context_.call_service(Service::malloc, {word(0, i64)});
        break;
      case ptx::DeviceService::free:
        context_.call_service(Service::free, {word(0, i64)});
        break;
      case ptx::DeviceService::assert_fail:
        context_.call_service(Service::assert_fail,
                              {lane, word(0, i64), word(1, i64), word(2, i32), word(3, i64)});
        break;
      case ptx::DeviceService::device_runtime:
        for (unsigned k = 0; k < std::min<std::size_t>(words.size(), exec::kDeviceRuntimeArguments); ++k)
          ir_.CreateStore(word(k, i64), ir_.CreateConstInBoundsGEP1_32(i64, passed, k));
        result = context_.call_service(
            Service::device_runtime,
            {lane, ir_.getInt32(static_cast<std::uint32_t>(*ptx::find_device_runtime(callee.name))), passed});
        break;
    }
    if (!result || call.returns.empty()) return;
    auto* type = ir_.getIntNTy(std::min(word_bytes(*formals.returns[0]), 8u) * 8);
    values_.store_lane(returned, ir_.CreateZExtOrTrunc(result, type), lane);
  });
  for (auto& copy : after) copy();
}

/// Calls a device function for some lanes; tells it which others wait that it might have to meet.
void Calls::call_function(llvm::Function* function, llvm::Value* lanes_called, const Blocks& blocks) {
  auto* i32 = ir_.getInt32Ty();
  auto* outside = context_.address_of_warp_field(offsetof(exec::WarpContext, outside_lanes));
  llvm::Value* before = ir_.getInt32(0);
  if (!f_.is_entry) before = ir_.CreateLoad(i32, outside);
  auto* here = may_meet_callee(cursor_.plan, cursor_.block) ? masks_.elsewhere() : ir_.getInt32(0);
  ir_.CreateStore(ir_.CreateOr(before, here), outside);
  ir_.CreateCall(function, {context_.warp(), lanes_called, blocks.parameters, blocks.returns, blocks.frame});
  ir_.CreateStore(before, outside);
}

Calls::Blocks Calls::blocks_of(const ptx::Call& call) {
  Blocks blocks;
  const Formals formals = formals_of(call);
  blocks.parameters = argument_block(call.arguments, formals.parameters, true, blocks.after);
  blocks.returns = argument_block(call.returns, formals.returns, false, blocks.after);
  blocks.frame = spaces_.frame_end();
  return blocks;
}

llvm::Function* Calls::declare(ptx::FunctionId id) {
  auto& function = module_.functions[id];
  if (!function) {
    function = llvm::Function::Create(device_function_type(ir_.getContext()), llvm::Function::InternalLinkage,
                                      "function." + kernel_.module.functions[id].name, module_.llvm);
    module_.to_compile.push_back(id);
  }
  return function;
}

void Calls::emit() {
  const ptx::Call& call = f_.calls[cursor_.instruction->extra];
  if (call.callee.kind != Operand::Kind::function) return call_indirect(call);
  const ptx::FunctionId alias = kernel_.module.functions[call.callee.index].alias_of;
  const ptx::FunctionId id = alias == ptx::kNone ? call.callee.index : alias;
  const ptx::Function& callee = kernel_.module.functions[id];
  if (const auto service = ptx::find_device_service(kernel_.module, callee))
    return call_service(call, callee, *service);
  const Blocks blocks = blocks_of(call);
  auto* bits = masks_.bits(registers_.executing());
  auto* function = declare(id);
  context_.note_line();
  code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)), [&] { call_function(function, bits, blocks); });
  for (auto& copy : blocks.after) copy();
  remove_exited();
}

/// Lanes call what their own pointer names: one call per distinct function, with the lanes that chose it.
void Calls::call_indirect(const ptx::Call& call) {
  const Blocks blocks = blocks_of(call);
  auto* i32 = ir_.getInt32Ty();
  WarpValue callee = registers_.read(call.callee);
  auto* array = values_.spill(callee);
  const Type bits = isa::bits_type(isa::bit_size(callee.type));
  auto* left_slot = code_.entry_alloca(i32, "left");
  auto* running = masks_.bits(registers_.executing());
  ir_.CreateStore(running, left_slot);
  context_.note_line();
  loops_.for_each(running, [&](llvm::Value* lane) {
    auto* left = ir_.CreateLoad(i32, left_slot);
    auto* is_left = ir_.CreateAnd(ir_.CreateLShr(left, lane), ir_.getInt32(1));
    code_.if_then(ir_.CreateICmpNE(is_left, ir_.getInt32(0)), [&] {
      auto* chosen = values_.load_lane(array, code_.lane_type(bits), lane);
      Mask same;
      for (unsigned p = 0; p < code_.parts(); ++p)
        same.push_back(ir_.CreateICmpEQ(values_.part(callee, p).as(bits).v, code_.splat(chosen)));
      auto* group = ir_.CreateAnd(masks_.bits(same), left);
      ir_.CreateStore(ir_.CreateAnd(left, ir_.CreateNot(group)), left_slot);
      call_chosen(call, chosen, group, lane, blocks);
    });
  });
  for (auto& copy : blocks.after) copy();
  remove_exited();
}

/// Function pointers are numbers in the module's table (index + 1); anything else is no function.
void Calls::call_chosen(const ptx::Call& call, llvm::Value* chosen, llvm::Value* group, llvm::Value* lane,
                        const Blocks& blocks) {
  auto *bad = code_.new_block("no_function"), *called = code_.new_block("called");
  auto* choose = ir_.CreateSwitch(chosen, bad);
  for (ptx::FunctionId id = 0; id < kernel_.module.functions.size(); ++id) {
    const ptx::FunctionId alias = kernel_.module.functions[id].alias_of;
    const ptx::FunctionId body = alias == ptx::kNone ? id : alias;
    const auto& target = kernel_.module.functions[body];
    if (target.is_entry || target.is_declaration || !kernel_.address_taken[id]) continue;
    if (!ptx::signature_fits(kernel_.module, f_, call, target)) continue;
    auto* way = code_.new_block(target.name.c_str());
    choose->addCase(llvm::cast<llvm::ConstantInt>(llvm::ConstantInt::get(chosen->getType(), id + 1)), way);
    ir_.SetInsertPoint(way);
    call_function(declare(body), group, blocks);
    ir_.CreateBr(called);
  }
  ir_.SetInsertPoint(bad);
  context_.fault(exec::FaultKind::invalid_function, ir_.CreateZExtOrTrunc(chosen, ir_.getInt64Ty()), lane);
  ir_.CreateBr(called);
  ir_.SetInsertPoint(called);
}

/// Lanes that executed `exit` inside the callee are gone.
void Calls::remove_exited() {
  if (!kernel_.functions_may_exit()) return;
  auto* alive = context_.warp_field(offsetof(exec::WarpContext, live_lanes), ir_.getInt32Ty(), "live", false);
  masks_.set_inside(ir_.CreateAnd(masks_.inside(), alive));
  Mask live = masks_.from_bits(alive);
  for (unsigned p = 0; p < code_.parts(); ++p) live[p] = ir_.CreateAnd(masks_.active()[p], live[p]);
  masks_.set_active(std::move(live));
}

}  // namespace raddle::jit
