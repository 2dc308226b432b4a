// Compiles one PTX function (a kernel or a .func) to an LLVM function that runs one warp. This class holds
// what every instruction needs: values, masks, context. What each instruction does lies in
// src/isa/*/lowering*.cpp; control flow in control.cpp, values in values.cpp, memory accesses in memory.cpp.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "exec/executable.h"
#include "exec/services.h"
#include "jit/emitter.h"
#include "jit/frame.h"
#include "jit/kernel_plan.h"
#include "jit/line_table.h"
#include "jit/value.h"
#include "ptx/device_services.h"

namespace raddle::jit {

/// Parts of a warp per host vector, and how masks are held between operations.
struct SimdForm {
  unsigned lanes = 16;         ///< lanes per part: 32-bit elements of the widest vector
  bool mask_registers = true;  ///< AVX-512: <N x i1>; elsewhere masks live as sign-extended 32-bit vectors
  unsigned parts() const { return exec::kWarpSize / lanes; }
};

/// A mask over the warp, one <lanes x i1> per part.
using Mask = std::vector<llvm::Value*>;

/// A value over the warp: scalars (one base, or one per part) when shape.affine, vectors when not. When
/// checked, the scalars hold where the flag is true, and the vectors, which are poison there, where it is
/// false.
struct WarpValue {
  Shape shape;
  Type type = Type::none;
  std::vector<llvm::Value*> bases;
  llvm::Value* ok = nullptr;
  std::vector<llvm::Value*> parts;
};

/// The LLVM module of a kernel while its functions are written.
struct ModuleContext {
  const KernelPlan& kernel;
  llvm::Module& llvm;
  SimdForm simd;
  DebugLines& debug;
  std::map<ptx::FunctionId, llvm::Function*> functions;  ///< device functions declared so far
  std::vector<ptx::FunctionId> to_compile;               ///< of those, bodies still to come
  exec::CodeStatistics statistics;
  std::uint32_t frame_bytes = 0;  ///< regions: state saved per warp
};

llvm::Function* declare_device_function(ModuleContext& context, ptx::FunctionId id, llvm::FunctionType* type);

class FunctionCompiler {
 public:
  FunctionCompiler(ModuleContext& context, const FunctionPlan& plan);

  /// Kernel: `void(ptr warp)`, or `i32(ptr warp, ptr frame, i32 state)` for regions.
  /// Device function: `void(ptr warp, i32 lanes, ptr parameters, ptr returns, i32 local_frame)`.
  llvm::Function* compile();

  ModuleContext& context;
  const FunctionPlan& plan;
  const ptx::Function& f;
  Builder ir;

  // ---- the instruction at hand ----
  const ptx::Instruction* instruction = nullptr;
  BlockId block = 0;
  const isa::Opcode& opcode() const { return *instruction->opcode; }
  const ptx::Operand& operand(unsigned k) const { return f.operands_of(*instruction)[k]; }
  bool present(unsigned k) const {
    return k < instruction->operand_count && operand(k).kind != ptx::Operand::Kind::none;
  }
  bool wants(unsigned k) const { return present(k) && operand(k).kind != ptx::Operand::Kind::sink; }

  // ---- values (values.cpp) ----
  unsigned parts() const { return context.simd.parts(); }
  unsigned lanes() const { return context.simd.lanes; }
  WarpValue read(const ptx::Operand& operand);
  WarpValue read(unsigned k) { return read(operand(k)); }
  Val part(const WarpValue& value, unsigned p);            ///< as a vector of lanes()
  Val scalar(const WarpValue& value, unsigned group = 0);  ///< base of the warp (or of part `group`)
  Val scalar_of_uniform(const WarpValue& value);           ///< the one value of a uniform operand
  /// Writes destination k under the instruction's guard, keeping lanes that others still need.
  void write(unsigned k, const WarpValue& value) { write(operand(k), value); }
  using LateParts = std::function<std::vector<llvm::Value*>()>;
  /// @param late  computes the vectors of a checked value, where they are needed
  void write(const ptx::Operand& destination, const WarpValue& value, const LateParts& late = {});
  void write_parts(const ptx::Operand& destination, Type type, std::vector<llvm::Value*> parts);
  void write_uniform(const ptx::Operand& destination, Type type, llvm::Value* value);
  llvm::Value* splat(llvm::Value* scalar);
  std::pair<std::int64_t, std::int64_t> offset_range(
      const Shape& shape) const;                         ///< least and greatest, 0 included
  llvm::Value* lane_numbers(unsigned bits, unsigned p);  ///< constant vector first lane of part p, +1, ...
  Val constant(Type type, std::uint64_t bits) { return seed().constant(type, bits); }
  Val seed() { return {&ir, ir.getInt32(0), Type::u32}; }

  // ---- masks ----
  const Mask& active() const { return active_; }  ///< lanes that run this block
  Mask executing();                          ///< of those, the ones the guard lets execute the instruction
  llvm::Value* mask_bits(const Mask& mask);  ///< as i32
  Mask mask_from_bits(llvm::Value* bits);
  llvm::Value* any(const Mask& mask);  ///< i1
  /// Value of operand k in the first lane of `bits`: barrier numbers and counts are the same for a group.
  llvm::Value* of_first(unsigned k, llvm::Value* bits);
  llvm::Value* first_lane(llvm::Value* bits);  ///< number of the lowest lane in an i32 mask; below 32
  Mask all_lanes(bool value);
  /// Emits body(lane index i32, is in a loop) for each lane in the i32 mask, lowest first.
  void for_each_lane(llvm::Value* bits, const std::function<void(llvm::Value* lane)>& body);
  /// The same for what may fault: the fault names the lane.
  void for_each_marked_lane(llvm::Value* bits, const std::function<void(llvm::Value* lane)>& body);
  /// The same for short accesses that run often: without a test per lane where all 32 are in the mask.
  void for_each_lane_unrolled(llvm::Value* bits, const std::function<void(llvm::Value* lane)>& body);
  /// Emits `then` only where some lane executes; nothing if the condition is constant false.
  void if_then(llvm::Value* condition, const std::function<void()>& then);

  /// A warp-wide array on the stack, for lane loops: values spilled, then read by lane index.
  llvm::Value* spill(const WarpValue& value);
  llvm::Value* spill_parts(const std::vector<llvm::Value*>& parts);
  llvm::Value* load_lane(llvm::Value* array, llvm::Type* type, llvm::Value* lane);
  void store_lane(llvm::Value* array, llvm::Value* value, llvm::Value* lane);
  std::vector<llvm::Value*> reload(llvm::Value* array, llvm::Type* element);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name, unsigned align = 0);

  // ---- lanes that wait for each other (meetings.cpp) ----
  Mask participants();               ///< lanes that take part in a warp collective, also at other places
  WarpValue collective(unsigned k);  ///< operand k as a collective sees it: from each participant's place
  /// Number of the barrier at which lanes met that came on several paths and have been counted; else null.
  llvm::Value* met_barrier();
  /// The instruction at hand is barrier.cluster.wait, and its lanes have waited already.
  bool has_waited() const { return instruction == waited_; }
  llvm::Value* barrier_field(llvm::Value* barrier, std::size_t offset, const char* name);

  // ---- context (context.cpp) ----
  llvm::Value* warp() const { return warp_; }
  llvm::Value* cta() const { return cta_; }
  llvm::Value* cta_field(std::size_t offset, llvm::Type* type, const char* name, bool constant = true);
  llvm::Value* launch_field(std::size_t offset, llvm::Type* type, const char* name);
  llvm::Value* warp_field(std::size_t offset, llvm::Type* type, const char* name, bool constant = true);
  WarpValue special(const ptx::Operand& operand);
  WarpValue thread_coordinate(unsigned component);
  llvm::Value* aligned(llvm::Value* bytes);  ///< tells LLVM that an i64 is a multiple of 16
  llvm::Value* shared_base();                ///< i64 host address of shared address 0
  llvm::Value* rank_base();                  ///< i32 what the CTA's own shared addresses start with
  llvm::Value* cluster_size();               ///< i32 CTAs of the cluster
  llvm::Value* dynamic_stack(unsigned p);    ///< where the lanes' WarpContext::dynamic_stack stands
  llvm::Value* frame_end();                  ///< i32 end of the function's frame in local memory
  std::vector<llvm::Value*> local_base();    ///< <lanes x i64> host address of each thread's local memory
  llvm::Value* local_frame() const { return local_frame_; }
  /// The address (i64, or a vector of them) with the upper 32 bits that all of the module's constants share,
  /// where it has none: PTX takes 32-bit addresses of constants.
  llvm::Value* generic_constant(llvm::Value* address);
  llvm::Value* variable_address(ptx::VariableId id);  ///< i64, in the variable's own space
  /// Calls a service of the machine. @param arguments  behind the warp, of the types in services.def
  llvm::Value* call_service(exec::Service service, std::initializer_list<llvm::Value*> arguments);
  void note_line();  ///< before what may wait or fault outside this function: its faults name this line
  /// Around accesses of one lane at a time: names the lane should memory fault; null afterwards.
  void mark_lane(llvm::Value* lane);
  void fault(exec::FaultKind kind, llvm::Value* address, llvm::Value* lane);
  void fault_lanes(exec::FaultKind kind, const Mask& lanes);  ///< at run time, if there is one; no address

  // ---- memory (memory.cpp) ----
  /// Host addresses (i64) that an address operand names in a space (Mod::none: generic).
  WarpValue address_of(const ptx::Operand& operand, isa::Mod space);
  /// Makes accesses trap whose address is no multiple of `bytes` (alignment.cpp).
  void trap_misaligned(const ptx::Operand& operand, isa::Mod space, WarpValue& address, unsigned bytes);
  void check_parameter(const WarpValue& offset, llvm::Value* base);  ///< faults beyond the parameters
  /// Faults where an access of `bytes` bytes goes to shared memory of another CTA of the cluster which is not
  /// there (cluster.cpp). Before trap_misaligned().
  void check_remote(const ptx::Operand& operand, isa::Mod space, const WarpValue& address, unsigned bytes,
                    const Mask& mask);
  void load(unsigned destination, unsigned address);
  void store(unsigned address, unsigned value);
  /// Destinations or sources of a scalar or {vector} operand.
  std::vector<ptx::Operand> elements(unsigned k) const;
  llvm::Value* pointer(llvm::Value* address) { return ir.CreateIntToPtr(address, ir.getPtrTy()); }
  /// Values of `make` where the i1 holds, zeros of the same types elsewhere.
  std::vector<llvm::Value*> conditional(llvm::Value* condition, const std::vector<llvm::Type*>& types,
                                        const std::function<std::vector<llvm::Value*>()>& make);
  /// Writes per-lane results of a lane loop: spilled array -> destination.
  void write_spilled(const ptx::Operand& destination, Type type, llvm::Value* array);

  // ---- function parameters and calls (calls.cpp) ----
  bool is_parameter_access(const ptx::Operand& address, isa::Mod space) const;
  llvm::Value* parameter_word(const ptx::Variable& v, llvm::Value* slot, std::uint64_t w, unsigned p);
  llvm::Value* load_parameter_part(ptx::VariableId id, std::uint64_t offset, unsigned bytes, unsigned p);
  void store_parameter_part(ptx::VariableId id, std::uint64_t offset, llvm::Value* value, unsigned p,
                            llvm::Value* mask);
  void load_parameter(unsigned destination, const ptx::Operand& address);
  void store_parameter(const ptx::Operand& address, unsigned value);
  void emit_call();

  // ---- control (control.cpp) ----
  void emit_barrier_region();  ///< regions: suspend here, resume when all warps arrived
  bool runs_all(BlockId b) const;
  void leave(const Mask& lanes);  ///< lanes exit or return
  void add_lanes(BlockId target, const Mask& lanes);
  void go(const std::vector<BlockId>& set);  ///< transfer control; lanes may wait at `set`

  llvm::Value* carry_slot = nullptr;

 private:
  friend class BlockEmitter;
  void emit_prologue();
  bool moves_stack() const;
  void limit_host_stack();
  void check_host_stack();
  void check_stack();
  void poll();  ///< asks the machine whether to go on, at the end of a loop's turn or the begin of a call
  void keep_stack(bool restore);
  void emit_block(BlockId b);
  void emit_instruction();
  /// What follows belongs to this PTX line, 0: to none; elements of its vectors are these lanes.
  void at_line(std::uint32_t line, LaneRun lanes = {});
  /// What `make` makes for `instruction`: one vector access by these lanes.
  template <class Make>
  auto for_lanes(LaneRun lanes, Make make) {
    at_line(instruction->line, lanes);
    auto* made = make();
    at_line(instruction->line);
    return made;
  }
  void emit_plain();
  void emit_terminator(const ptx::Instruction* last);
  /// State of a block that starts with an operation at which lanes meet others that came on another path.
  struct Meeting {
    std::vector<BlockId> places;            // other blocks that start with it
    llvm::AllocaInst* going = nullptr;      // lanes that go on now
    llvm::AllocaInst* gathered = nullptr;   // warp: waiting lanes whose members have all come; CTA: counted
    llvm::AllocaInst* members = nullptr;    // warp: lanes that take part; CTA: phase of the barrier
    llvm::AllocaInst* barrier = nullptr;    // CTA: its number
    std::vector<llvm::AllocaInst*> values;  // warp: what they bring, per part
  };
  void prepare_meetings();
  void at_start_of(BlockId x, const std::function<void()>& body);
  llvm::Value* lanes_inside();
  llvm::Value* lanes_elsewhere();
  llvm::Value* named_members();
  void check_members();
  llvm::Value* complete_groups(const Meeting& m, llvm::Value* wanting,
                               const std::map<BlockId, llvm::Value*>& arrived);
  std::vector<llvm::Value*> gather_brought(const Meeting& m);
  void release(const Meeting& m, llvm::Value* complete, const std::map<BlockId, llvm::Value*>& arrived);
  void emit_hold();
  void hold_for_cluster();
  llvm::Value* may_be_remote(const WarpValue& address, isa::Mod space, const Mask& mask);
  llvm::Value* cluster_field(std::size_t offset, const char* name);
  void meet_in_warp(Meeting& m);
  void meet_at_barrier(Meeting& m);
  void continue_with(const Meeting& m);
  llvm::Value* waiting_at_barrier(const Meeting& m);
  llvm::Value* nobody_elsewhere();
  void emit_indexed(const ptx::Instruction& last);
  void emit_uniform_index(const ptx::Instruction& last);
  WarpValue look_up_target(const WarpValue& index, const std::vector<BlockId>& targets,
                           const std::vector<BlockId>& distinct);
  void keep_guard();
  WarpValue guard_value(const ptx::Instruction& i);
  Mask guard_mask(const ptx::Instruction& i);
  llvm::Value* guard_scalar(const ptx::Instruction& i);
  Mask load_mask(BlockId b);
  void store_mask(BlockId b, const Mask& mask);
  llvm::Value* mask_to_storage(llvm::Value* m);
  llvm::Value* mask_from_storage(llvm::Value* m);
  llvm::Type* mask_storage_type();
  llvm::Type* lane_type(Type t);  ///< element type of a register of PTX type t
  llvm::Value* widening_ok(const ptx::Instruction& i);

  llvm::Value* parameter_slot(ptx::VariableId id);
  llvm::FunctionType* device_function_type();
  /// What the callee of a call takes and gives.
  struct Formals {
    std::vector<const ptx::Variable*> parameters, returns;
  };
  Formals formals_of(const ptx::Call& call);
  llvm::Value* argument_block(const std::vector<ptx::Operand>& operands,
                              const std::vector<const ptx::Variable*>& formals, bool copy_in,
                              std::vector<std::function<void()>>& after);
  void pass_variable(ptx::VariableId id, llvm::Value* at, bool copy_in,
                     std::vector<std::function<void()>>& after);
  void pass_value(const ptx::Operand& o, unsigned bits, llvm::Value* at);
  void receive_value(const ptx::Operand& to, unsigned bits, llvm::Value* at);
  std::vector<std::pair<llvm::Value*, llvm::Type*>> argument_words(const ptx::Call& call);
  void emit_service_call(const ptx::Call& call, const ptx::Function& callee, ptx::DeviceService service);
  void call_function(llvm::Function* function, llvm::Value* lanes_called,
                     const std::array<llvm::Value*, 3>& blocks);
  void emit_indirect_call(const ptx::Call& call);
  void remove_exited();
  void load_register_formals();
  void store_register_returns(const Mask& lanes);

  struct Access {  // one load or store
    Type type;
    unsigned bytes, count;  // per element, elements per lane
    WarpValue address;
    Mask mask;
    llvm::AtomicOrdering ordering;
    std::vector<ptx::Operand> elements;
  };
  WarpValue strided_shared(WarpValue address, std::int64_t offset);
  Access access(unsigned address, unsigned data);
  using Parts = std::vector<std::vector<llvm::Value*>>;  // [element][part]
  /// Bytes [first, first + size) around a part's base that hold all its lanes' elements, and each lane's
  /// place there.
  struct Window {
    std::int64_t first = 0;
    unsigned size = 0;            // in elements; 0: lanes lie too far apart
    std::vector<unsigned> place;  // element index by lane
    bool distinct = true;         // no two lanes share a place
  };
  Window window_of(const Access& a, unsigned p) const;
  bool has_windows(const Access& a, bool for_store) const;
  llvm::Value* window_mask(const Access& a, const Window& w, unsigned p);
  llvm::Instruction* may_prefetch(llvm::Instruction* load);  ///< marks it, if it reaches device memory
  void prefetch_next_turn(const Access& a, const ptx::Operand& address);
  Parts load_windows(const Access& a);
  void store_windows(const Access& a, const Parts& values);
  Parts load_gather(const Access& a);
  llvm::Value* gather(llvm::Type* element, llvm::Value* addresses, llvm::Align align, llvm::Value* mask,
                      unsigned p);
  void scatter(llvm::Value* values, llvm::Value* addresses, llvm::Align align, llvm::Value* mask, unsigned p);
  /// Vectors of addresses that one instruction takes: [from, from + count) of a part.
  std::vector<LaneRun> address_vectors() const;
  llvm::Value* some_of(llvm::Value* vector, LaneRun lanes);
  LaneRun whole_part(const Window& w, const Access& a, unsigned p) const;
  Parts load_lanes(const Access& a);
  void store_scatter(const Access& a, const Parts& values);
  void store_lanes(const Access& a, const Parts& values);
  void store_uniform(const Access& a, const std::vector<WarpValue>& values);
  void two_ways(llvm::Value* ok, const std::function<void()>& fast, const std::function<void()>& slow);

  struct Slot {  // where a register lives
    std::vector<llvm::AllocaInst*> bases, parts;
    llvm::AllocaInst* ok = nullptr;
  };
  Slot& slot(ptx::RegisterId r);
  std::vector<llvm::AllocaInst*> variables_of(ptx::RegisterId r);
  void transfer_frame(const std::vector<ptx::RegisterId>& registers, bool load);
  std::uint32_t stored_size(const llvm::AllocaInst* variable) const;
  void lay_out_frame();

  llvm::Function* function_ = nullptr;
  llvm::DISubprogram* subprogram_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;  // allocas and loads of the context
  llvm::BasicBlock* body_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  llvm::Value* warp_ = nullptr;
  llvm::Value* cta_ = nullptr;
  llvm::Value* local_frame_ = nullptr;
  llvm::AllocaInst* kept_stack_ = nullptr;  // dynamic_stack of the warp when the function was entered
  llvm::Value* parameters_ = nullptr;       // device functions
  llvm::Value* returns_ = nullptr;
  llvm::Value* frame_ = nullptr;  // regions
  llvm::SwitchInst* resume_ = nullptr;
  std::map<std::uint32_t, FrameUse> frame_uses_;                    // regions: by barrier instruction
  std::map<const llvm::AllocaInst*, std::uint32_t> frame_offsets_;  // of registers that barriers hold
  Mask entry_mask_, active_;
  WarpValue kept_guard_;  // of this instruction, where it writes its own guard:
  const ptx::Instruction* kept_guard_of_ = nullptr;
  llvm::AllocaInst* inside_ = nullptr;       // i32: lanes that have not left the function
  llvm::Value* nobody_elsewhere_ = nullptr;  // of this block, once asked for
  std::map<BlockId, Meeting> meetings_;
  const Meeting* met_ = nullptr;  // of this block's first instruction, while it is emitted
  const ptx::Instruction* met_instruction_ = nullptr;
  const ptx::Instruction* waited_ = nullptr;  // the last for whose lanes hold_for_cluster() has waited
  std::vector<Slot> slots_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<std::vector<llvm::AllocaInst*>> masks_;  // by block, lanes waiting there
  std::map<std::pair<std::size_t, int>, llvm::Value*> fields_;
  std::map<ptx::VariableId, llvm::Value*> parameter_slots_;
  std::vector<llvm::Value*> local_base_;
  llvm::AllocaInst* spin_counter_ = nullptr;
};

/// emit<Op>: what a row does that is no plain lane operation (memory, warp collectives, barriers, services):
/// declared for every such done row, so that a missing one is a link error that names the op.
template <Op>
void emit(FunctionCompiler& c) = delete;
using EmitFunction = void (*)(FunctionCompiler&);
EmitFunction emission_of(Op op);

/// What a warp reads from a special register, defined in isa/special_registers/lowering.cpp.
/// @param component  0 to 3 for .x to .w, the number in a family, 0 of a scalar
template <isa::SpecialRegister>
WarpValue special_register(FunctionCompiler&, unsigned component) = delete;
#define PTX_SREG(id, ...) \
  template <>             \
  WarpValue special_register<isa::SpecialRegister::id>(FunctionCompiler&, unsigned component);
#include "isa/special_registers/registers.def"
#undef PTX_SREG

}  // namespace raddle::jit
