// Calls: direct, indirect, and to device services; parameters of device functions. A parameter block keeps
// every variable as words (of a scalar's own size, else of 4 bytes): word w of the warp's 32 threads lies
// together at w * 32, so that accesses are vectors and every width sees the same bytes.
#include <llvm/IR/Intrinsics.h>

#include "base/assert.h"
#include "base/round_up.h"
#include "jit/function.h"
#include "jit/holds.h"
#include "ptx/signature.h"

namespace raddle::jit {

using isa::Mod;
using ptx::Operand;

namespace {

/// Where the next variable of `size` bytes goes in a block of `bytes`, which grows by it: caller and callee
/// place alike. Every variable begins at a multiple of 8, so that its words are whole whatever its declared
/// alignment.
std::uint64_t place_parameter(std::uint64_t& bytes, std::uint64_t size) {
  constexpr std::uint64_t kAlign = 8;
  std::uint64_t offset = bytes;
  bytes += round_up(std::max<std::uint64_t>(size, 1), kAlign);
  return offset;
}

/// Bytes of the words that a parameter variable is kept in.
unsigned word_bytes(const ptx::Variable& v) {
  return v.dimensions.empty() && v.vector == 1 ? std::max(1u, isa::byte_size(v.type)) : 4;
}

/// Bytes of a parameter block that holds one such variable alone.
std::uint64_t block_bytes(const ptx::Variable& v) {
  std::uint64_t bytes = 0;
  place_parameter(bytes, v.size);
  return bytes;
}

}  // namespace

bool FunctionCompiler::is_parameter_access(const Operand& address, Mod space) const {
  if (space != Mod::param && space != Mod::param_func && space != Mod::param_entry) return false;
  if (address.base != Operand::Base::variable) return false;
  const auto& v = context.kernel.module.variables[address.index];
  return v.space == ptx::Space::param && !(f.is_entry && v.is_parameter);
}

llvm::Value* FunctionCompiler::parameter_slot(ptx::VariableId id) {
  auto& slot = parameter_slots_[id];
  if (slot) return slot;
  const auto& v = context.kernel.module.variables[id];
  auto formal = [&](const std::vector<ptx::VariableId>& list, llvm::Value* block) -> llvm::Value* {
    auto at = std::find(list.begin(), list.end(), id);
    if (at == list.end()) return nullptr;
    std::uint64_t bytes = 0, offset = 0;
    for (auto i = list.begin(); i <= at; ++i)
      offset = place_parameter(bytes, context.kernel.module.variables[*i].size);
    Builder entry(entry_->getTerminator());
    return entry.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block, offset * exec::kWarpSize);
  };
  if (v.is_parameter)
    slot = formal(f.parameters, parameters_);
  else if (v.is_return)
    slot = formal(f.returns, returns_);
  if (!slot)
    slot = entry_alloca(llvm::ArrayType::get(ir.getInt8Ty(), block_bytes(v) * exec::kWarpSize), "param", 64);
  return slot;
}

/// Part p of word w of a parameter variable: its address.
llvm::Value* FunctionCompiler::parameter_word(const ptx::Variable& v, llvm::Value* slot, std::uint64_t w,
                                              unsigned p) {
  return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), slot,
                                       word_bytes(v) * (w * exec::kWarpSize + std::uint64_t{p} * lanes()));
}

/// The integers of `bytes` bytes at a byte offset of a parameter variable.
llvm::Value* FunctionCompiler::load_parameter_part(ptx::VariableId id, std::uint64_t offset, unsigned bytes,
                                                   unsigned p) {
  const auto& v = context.kernel.module.variables[id];
  unsigned word = word_bytes(v);
  auto vector_of = [&](unsigned n) { return llvm::FixedVectorType::get(ir.getIntNTy(n * 8), lanes()); };
  auto load = [&](std::uint64_t w) -> llvm::Value* {
    return ir.CreateAlignedLoad(vector_of(word), parameter_word(v, parameter_slot(id), w, p),
                                llvm::Align(word));
  };
  if (bytes <= word)
    return ir.CreateTrunc(ir.CreateLShr(load(offset / word), offset % word * 8), vector_of(bytes));
  llvm::Value* all = nullptr;
  for (unsigned k = 0; k < bytes / word; ++k) {
    auto* piece = ir.CreateShl(ir.CreateZExt(load(offset / word + k), vector_of(bytes)), k * word * 8);
    all = all ? ir.CreateOr(all, piece) : piece;
  }
  return all;
}

/// Stores such integers for the lanes of `mask`.
void FunctionCompiler::store_parameter_part(ptx::VariableId id, std::uint64_t offset, llvm::Value* value,
                                            unsigned p, llvm::Value* mask) {
  const auto& v = context.kernel.module.variables[id];
  unsigned word = word_bytes(v), bytes = value->getType()->getScalarSizeInBits() / 8;
  auto* words = llvm::FixedVectorType::get(ir.getIntNTy(word * 8), lanes());
  auto store = [&](llvm::Value* x, std::uint64_t w) {
    ir.CreateMaskedStore(x, parameter_word(v, parameter_slot(id), w, p), llvm::Align(word), mask);
  };
  if (bytes < word) {  // the rest of the word stays
    auto* at = parameter_word(v, parameter_slot(id), offset / word, p);
    auto bits = llvm::APInt::getBitsSet(word * 8, offset % word * 8, offset % word * 8 + bytes * 8);
    auto* rest = ir.CreateAnd(ir.CreateAlignedLoad(words, at, llvm::Align(word)),
                              llvm::ConstantInt::get(words, ~bits));
    return store(ir.CreateOr(rest, ir.CreateShl(ir.CreateZExt(value, words), offset % word * 8)),
                 offset / word);
  }
  for (unsigned k = 0; k < bytes / word; ++k)
    store(ir.CreateTrunc(ir.CreateLShr(value, k * word * 8), words), offset / word + k);
}

void FunctionCompiler::load_parameter(unsigned destination, const Operand& address) {
  Type type = opcode().type(opcode().type_count - 1);
  auto destinations = elements(destination);
  for (std::size_t e = 0; e < destinations.size(); ++e) {
    std::uint64_t offset = static_cast<std::uint64_t>(address.value) + e * isa::byte_size(type);
    std::vector<llvm::Value*> values;
    for (unsigned p = 0; p < parts(); ++p)
      values.push_back(load_parameter_part(address.index, offset, isa::byte_size(type), p));
    write_parts(destinations[e], type, values);
  }
}

void FunctionCompiler::store_parameter(const Operand& address, unsigned value) {
  Type type = opcode().type(opcode().type_count - 1);
  auto* element = llvm::FixedVectorType::get(ir.getIntNTy(isa::bit_size(type)), lanes());
  auto sources = elements(value);
  Mask mask = executing();
  for (std::size_t e = 0; e < sources.size(); ++e) {
    std::uint64_t offset = static_cast<std::uint64_t>(address.value) + e * isa::byte_size(type);
    WarpValue v = read(sources[e]);
    for (unsigned p = 0; p < parts(); ++p) {
      Val x = part(v, p);
      auto* bits = ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, element);
      store_parameter_part(address.index, offset, bits, p, mask[p]);
    }
  }
}

/// Formals declared as registers travel in the same blocks as .param ones: copied in at entry ...
void FunctionCompiler::load_register_formals() {
  for (auto id : f.parameters) {
    const auto& v = context.kernel.module.variables[id];
    if (v.space != ptx::Space::reg) continue;
    auto* block = parameter_slot(id);
    Type type = f.registers[v.offset].type;
    Slot& s = slot(v.offset);
    for (unsigned p = 0; p < s.parts.size(); ++p) {
      auto* element = type == Type::pred ? ir.getInt8Ty() : lane_type(type);
      auto* at = ir.CreateConstInBoundsGEP1_64(
          ir.getInt8Ty(), block, std::uint64_t{p} * lanes() * std::max(1u, isa::byte_size(type)));
      llvm::Value* value =
          ir.CreateAlignedLoad(llvm::FixedVectorType::get(element, lanes()), at, llvm::Align(1));
      if (type == Type::pred)
        value = mask_to_storage(ir.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())));
      ir.CreateStore(value, s.parts[p]);
    }
  }
}

/// ... and out where lanes return.
void FunctionCompiler::store_register_returns(const Mask& leaving) {
  for (auto id : f.returns) {
    const auto& v = context.kernel.module.variables[id];
    if (v.space != ptx::Space::reg) continue;
    auto* block = parameter_slot(id);
    Type type = f.registers[v.offset].type;
    ptx::Operand formal;
    formal.kind = ptx::Operand::Kind::reg;
    formal.index = v.offset;
    formal.type = type;
    WarpValue value = read(formal);
    for (unsigned p = 0; p < parts(); ++p) {
      Val x = part(value, p);
      auto* at = ir.CreateConstInBoundsGEP1_64(
          ir.getInt8Ty(), block, std::uint64_t{p} * lanes() * std::max(1u, isa::byte_size(type)));
      auto* bits = type == Type::pred
                       ? ir.CreateZExt(x.v, llvm::FixedVectorType::get(ir.getInt8Ty(), lanes()))
                       : x.as(isa::bits_type(x.bits())).v;
      ir.CreateMaskedStore(bits, at, llvm::Align(1), leaving[p]);
    }
  }
}

llvm::FunctionType* FunctionCompiler::device_function_type() {
  auto* pointer = ir.getPtrTy();
  return llvm::FunctionType::get(ir.getVoidTy(),
                                 {pointer, ir.getInt32Ty(), pointer, pointer, ir.getInt32Ty()}, false);
}

llvm::Function* declare_device_function(ModuleContext& context, ptx::FunctionId id,
                                        llvm::FunctionType* type) {
  auto& function = context.functions[id];
  if (!function) {
    function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                      "function." + context.kernel.module.functions[id].name, context.llvm);
    context.to_compile.push_back(id);
  }
  return function;
}

FunctionCompiler::Formals FunctionCompiler::formals_of(const ptx::Call& call) {
  Formals formals;
  if (call.callee.kind != Operand::Kind::function && call.prototype != ptx::kNone) {
    const ptx::Prototype& prototype = f.prototypes[call.prototype];
    for (const auto& v : prototype.parameters) formals.parameters.push_back(&v);
    for (const auto& v : prototype.returns) formals.returns.push_back(&v);
    return formals;
  }
  const bool direct = call.callee.kind == Operand::Kind::function;
  const auto& function = context.kernel.module.functions[direct ? call.callee.index : call.targets.front()];
  for (const auto id : function.parameters)
    formals.parameters.push_back(&context.kernel.module.variables[id]);
  for (const auto id : function.returns) formals.returns.push_back(&context.kernel.module.variables[id]);
  return formals;
}

/// The caller's block for a list of call operands: a lone variable's own slot, or a copy of several in order,
/// placed and as wide as the formals that the callee has for them.
llvm::Value* FunctionCompiler::argument_block(const std::vector<Operand>& operands,
                                              const std::vector<const ptx::Variable*>& formals, bool copy_in,
                                              std::vector<std::function<void()>>& after) {
  if (operands.empty()) return llvm::ConstantPointerNull::get(ir.getPtrTy());
  if (operands.size() == 1 && operands[0].kind == Operand::Kind::variable)
    return parameter_slot(operands[0].index);
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool variable = operands[k].kind == Operand::Kind::variable;
    const auto& v = variable ? context.kernel.module.variables[operands[k].index] : *formals[k];
    offsets.push_back(place_parameter(bytes, v.size));
  }
  auto* block = entry_alloca(llvm::ArrayType::get(ir.getInt8Ty(), bytes * exec::kWarpSize), "arguments", 64);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto* at = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block, offsets[k] * exec::kWarpSize);
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
void FunctionCompiler::pass_variable(ptx::VariableId id, llvm::Value* at, bool copy_in,
                                     std::vector<std::function<void()>>& after) {
  const std::uint64_t length = block_bytes(context.kernel.module.variables[id]) * exec::kWarpSize;
  auto* slot = parameter_slot(id);
  if (copy_in)
    ir.CreateMemCpy(at, llvm::Align(16), slot, llvm::Align(16), length);
  else
    after.push_back(
        [this, at, slot, length] { ir.CreateMemCpy(slot, llvm::Align(16), at, llvm::Align(16), length); });
}

/// A register or a constant to its place in a block of arguments, of `bits` a lane: predicates have a byte.
void FunctionCompiler::pass_value(const Operand& o, unsigned bits, llvm::Value* at) {
  auto* type = llvm::FixedVectorType::get(ir.getIntNTy(bits), lanes());
  const WarpValue v = read(o);
  for (unsigned p = 0; p < parts(); ++p) {
    const Val x = part(v, p);
    auto* value = x.type == Type::pred ? x.v : x.as(isa::bits_type(x.bits())).v;
    ir.CreateAlignedStore(
        ir.CreateZExtOrTrunc(value, type),
        ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), at, std::uint64_t{p} * lanes() * bits / 8),
        llvm::Align(1));
  }
}

/// The other way round.
void FunctionCompiler::receive_value(const Operand& to, unsigned bits, llvm::Value* at) {
  const Type type = f.registers[to.index].type;
  auto* stored = llvm::FixedVectorType::get(ir.getIntNTy(bits), lanes());
  std::vector<llvm::Value*> values;
  for (unsigned p = 0; p < parts(); ++p) {
    llvm::Value* value = ir.CreateAlignedLoad(
        stored, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), at, std::uint64_t{p} * lanes() * bits / 8),
        llvm::Align(1));
    if (type == Type::pred)
      value = ir.CreateIsNotNull(value);
    else
      value =
          ir.CreateZExtOrTrunc(value, llvm::FixedVectorType::get(ir.getIntNTy(isa::bit_size(type)), lanes()));
    values.push_back(value);
  }
  write_parts(to, type == Type::pred ? type : isa::bits_type(isa::bit_size(type)), values);
}

/// What a call passes, word for word: an array by lane each, and the type of its elements.
std::vector<std::pair<llvm::Value*, llvm::Type*>> FunctionCompiler::argument_words(const ptx::Call& call) {
  std::vector<std::pair<llvm::Value*, llvm::Type*>> words;
  for (const auto& o : call.arguments) {
    if (o.kind != Operand::Kind::variable) {
      const WarpValue value = read(o);
      words.emplace_back(spill(value), ir.getIntNTy(isa::bit_size(value.type)));
      continue;
    }
    const auto& v = context.kernel.module.variables[o.index];
    for (std::uint64_t w = 0; (w + 1) * word_bytes(v) <= v.size; ++w)
      words.emplace_back(parameter_word(v, parameter_slot(o.index), w, 0), ir.getIntNTy(word_bytes(v) * 8));
  }
  return words;
}

/// Services see one lane at a time: scalars out of the arguments' words, result back.
void FunctionCompiler::emit_service_call(const ptx::Call& call, const ptx::Function& callee,
                                         ptx::DeviceService service) {
  using exec::Service;
  auto *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  const auto words = argument_words(call);
  llvm::Value* passed = nullptr;
  auto* passed_type = llvm::ArrayType::get(i64, exec::kDeviceRuntimeArguments);
  if (service == ptx::DeviceService::device_runtime) {
    passed = entry_alloca(passed_type, "device_runtime", 64);
    ir.CreateStore(llvm::Constant::getNullValue(passed_type), passed);
  }
  std::vector<std::function<void()>> after;
  const Formals formals = formals_of(call);
  auto* returned = argument_block(call.returns, formals.returns, false, after);
  for_each_marked_lane(mask_bits(executing()), [&](llvm::Value* lane) {
    auto word = [&](std::size_t k, llvm::Type* as) {
      return ir.CreateZExtOrTrunc(load_lane(words[k].first, words[k].second, lane), as);
    };
    llvm::Value* result = nullptr;
    switch (service) {
      case ptx::DeviceService::vprintf:
        result = call_service(Service::vprintf, {lane, word(0, i64), word(1, i64)});
        break;
      case ptx::DeviceService::malloc:
        result = call_service(Service::malloc, {word(0, i64)});
        break;
      case ptx::DeviceService::free:
        call_service(Service::free, {word(0, i64)});
        break;
      case ptx::DeviceService::assert_fail:
        call_service(Service::assert_fail, {lane, word(0, i64), word(1, i64), word(2, i32), word(3, i64)});
        break;
      case ptx::DeviceService::device_runtime:
        for (unsigned k = 0; k < std::min<std::size_t>(words.size(), exec::kDeviceRuntimeArguments); ++k)
          ir.CreateStore(word(k, i64), ir.CreateConstInBoundsGEP1_32(i64, passed, k));
        result = call_service(
            Service::device_runtime,
            {lane, ir.getInt32(static_cast<std::uint32_t>(*ptx::find_device_runtime(callee.name))), passed});
        break;
    }
    if (!result || call.returns.empty()) return;
    auto* type = ir.getIntNTy(std::min(word_bytes(*formals.returns[0]), 8u) * 8);
    store_lane(returned, ir.CreateZExtOrTrunc(result, type), lane);
  });
  for (auto& copy : after) copy();
}

/// Calls a device function for some lanes; tells it which others wait that it might have to meet.
void FunctionCompiler::call_function(llvm::Function* function, llvm::Value* lanes_called,
                                     const std::array<llvm::Value*, 3>& blocks) {
  auto* i32 = ir.getInt32Ty();
  auto* outside =
      ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp_, offsetof(exec::WarpContext, outside_lanes));
  llvm::Value* before = ir.getInt32(0);
  if (!f.is_entry) before = ir.CreateLoad(i32, outside);
  auto* here = may_meet_callee(plan, block) ? lanes_elsewhere() : ir.getInt32(0);
  ir.CreateStore(ir.CreateOr(before, here), outside);
  ir.CreateCall(function, {warp_, lanes_called, blocks[0], blocks[1], blocks[2]});
  ir.CreateStore(before, outside);
}

void FunctionCompiler::emit_call() {
  const ptx::Call& call = f.calls[instruction->extra];
  if (call.callee.kind == Operand::Kind::function) {
    const ptx::Function* callee = &context.kernel.module.functions[call.callee.index];
    ptx::FunctionId id = call.callee.index;
    if (callee->alias_of != ptx::kNone) id = callee->alias_of, callee = &context.kernel.module.functions[id];
    if (const auto service = ptx::find_device_service(context.kernel.module, *callee))
      return emit_service_call(call, *callee, *service);
    std::vector<std::function<void()>> after;
    const Formals formals = formals_of(call);
    auto* parameters = argument_block(call.arguments, formals.parameters, true, after);
    auto* returns = argument_block(call.returns, formals.returns, false, after);
    auto* frame = frame_end();
    auto* bits = mask_bits(executing());
    auto* function = declare_device_function(context, id, device_function_type());
    note_line();
    if_then(ir.CreateICmpNE(bits, ir.getInt32(0)),
            [&] { call_function(function, bits, {parameters, returns, frame}); });
    for (auto& copy : after) copy();
    return remove_exited();
  }
  emit_indirect_call(call);
}

/// Lanes call what their own pointer names: one call per distinct function, with the lanes that chose it.
void FunctionCompiler::emit_indirect_call(const ptx::Call& call) {
  std::vector<std::function<void()>> after;
  const Formals formals = formals_of(call);
  auto* parameters = argument_block(call.arguments, formals.parameters, true, after);
  auto* returns = argument_block(call.returns, formals.returns, false, after);
  auto* frame = frame_end();
  WarpValue callee = read(call.callee);
  auto* array = spill(callee);
  auto* element = ir.getIntNTy(isa::bit_size(callee.type));
  auto* left_slot = entry_alloca(ir.getInt32Ty(), "left");
  auto* running = mask_bits(executing());
  ir.CreateStore(running, left_slot);
  note_line();
  for_each_lane(running, [&](llvm::Value* lane) {
    auto* left = ir.CreateLoad(ir.getInt32Ty(), left_slot);
    if_then(ir.CreateICmpNE(ir.CreateAnd(ir.CreateLShr(left, lane), ir.getInt32(1)), ir.getInt32(0)), [&] {
      auto* chosen = load_lane(array, element, lane);
      Mask same;
      for (unsigned p = 0; p < parts(); ++p)
        same.push_back(
            ir.CreateICmpEQ(part(callee, p).as(isa::bits_type(isa::bit_size(callee.type))).v, splat(chosen)));
      auto* group = ir.CreateAnd(mask_bits(same), left);
      ir.CreateStore(ir.CreateAnd(left, ir.CreateNot(group)), left_slot);
      // Function pointers are numbers in the module's table (index + 1); anything else is no function.
      auto* bad = llvm::BasicBlock::Create(ir.getContext(), "no_function", function_);
      auto* called = llvm::BasicBlock::Create(ir.getContext(), "called", function_);
      auto* choose = ir.CreateSwitch(chosen, bad);
      for (ptx::FunctionId id = 0; id < context.kernel.module.functions.size(); ++id) {
        ptx::FunctionId body = context.kernel.module.functions[id].alias_of;
        if (body == ptx::kNone) body = id;
        const auto& target = context.kernel.module.functions[body];
        if (target.is_entry || target.is_declaration || !context.kernel.address_taken[id]) continue;
        if (!ptx::signature_fits(context.kernel.module, f, call, target)) continue;
        auto* block = llvm::BasicBlock::Create(ir.getContext(), target.name, function_);
        choose->addCase(llvm::cast<llvm::ConstantInt>(llvm::ConstantInt::get(element, id + 1)), block);
        ir.SetInsertPoint(block);
        call_function(declare_device_function(context, body, device_function_type()), group,
                      {parameters, returns, frame});
        ir.CreateBr(called);
      }
      ir.SetInsertPoint(bad);
      fault(exec::FaultKind::invalid_function, ir.CreateZExtOrTrunc(chosen, ir.getInt64Ty()), lane);
      ir.CreateBr(called);
      ir.SetInsertPoint(called);
    });
  });
  for (auto& copy : after) copy();
  remove_exited();
}

/// Lanes that executed `exit` inside the callee are gone.
void FunctionCompiler::remove_exited() {
  if (!context.kernel.functions_may_exit()) return;
  auto* alive = warp_field(offsetof(exec::WarpContext, live_lanes), ir.getInt32Ty(), "live", false);
  ir.CreateStore(ir.CreateAnd(lanes_inside(), alive), inside_);
  Mask live = mask_from_bits(alive);
  for (unsigned p = 0; p < parts(); ++p) active_[p] = ir.CreateAnd(active_[p], live[p]);
}

}  // namespace raddle::jit
