// Loads and stores. The shape of its address decides how one is made: uniform (one scalar access),
// constant distances between lanes (one window of memory per part, permuted; or runs of 16 bytes, joined),
// anything else (gather, scatter, lane loop). A checked address takes the vector access where its run-time
// flag holds.
#pragma once

#include <functional>
#include <vector>

#include "jit/addresses.h"
#include "jit/lane_loops.h"
#include "jit/parameters.h"

namespace raddle::jit {

class MemoryAccess {
 public:
  MemoryAccess(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values,
               Masks& masks, Registers& registers, LaneLoops& loops, Addresses& addresses,
               Parameters& parameters);

  /// Operands of the instruction at hand.
  void load(unsigned destination, unsigned address);
  void store(unsigned address, unsigned value);

  /// cp.async, by the numbers of its operands.
  struct Copy {
    unsigned to, from;
    unsigned bytes;  ///< of each lane, themselves: 4, 8 or 16
    unsigned
        read;  ///< if it is given: how many of them the source has, or a predicate: none; the rest is zero
  };
  /// From global to shared memory.
  void copy(const Copy& what);

 private:
  /// One load or store.
  struct Access {
    Type type;
    unsigned bytes, count;  // per element, elements per lane
    WarpValue address;
    Mask mask;
    llvm::AtomicOrdering ordering;
    std::vector<ptx::Operand> elements;
    const ptx::Operand* operand = nullptr;  // of the address; null in a copy
    bool is_alone = false;                  ///< nobody looks while the warp runs (lone_accesses.cpp)
    bool fetches_lines = true;              ///< a scatter may: nobody has, and the code runs often
    std::vector<int> places;  ///< of elements, in elements from the address; none: one behind the other
    int place(unsigned e) const { return places.empty() ? static_cast<int>(e) : places[e]; }
    bool is_atomic() const { return ordering != llvm::AtomicOrdering::NotAtomic; }
    bool is_plain() const { return !is_atomic() && bytes <= 8; }
    bool is_single() const {
      return count > 1 && bytes * count <= 16;
    }  // a vector that is one access of the host
  };
  using Parts = std::vector<std::vector<llvm::Value*>>;  // [element][part]
  /// Bytes [first, first + size) around a part's base that hold all its lanes' elements, and each lane's
  /// place there.
  struct Window {
    std::int64_t first = 0;
    unsigned size = 0;            // in elements; 0: lanes lie too far apart
    std::vector<unsigned> place;  // element index by lane
    bool distinct = true;         // no two lanes share a place
    /// Index of a lane's element.
    unsigned index(const Access& a, unsigned lane, unsigned e) const {
      return static_cast<unsigned>(static_cast<int>(place[lane]) + a.place(e));
    }
  };

  Access access(unsigned address, unsigned data);
  Access wrapped(Access a);
  Access by_all(Access a);
  llvm::Value* made_by_all(const Access& a);
  bool made_by_some(const Access& a) const;
  Parts load_by_mask(const Access& a, const std::function<Parts(const Access&)>& load);
  void store_by_mask(const Access& a, const std::function<void(const Access&)>& store);
  /// Each instruction once, however often it is written.
  void count_apart();
  bool counts() const { return !cursor_.plan.together && !code_.writes_otherwise(); }

  // ---- windows (windows.cpp) ----
  Window window_of(const Access& a, unsigned p) const;
  bool has_windows(const Access& a, bool for_store) const;
  bool has_runs(const Access& a) const;
  std::int64_t offset_in_part(const Access& a, unsigned p, unsigned lane) const;
  llvm::Value* window_mask(const Access& a, const Window& w, unsigned p);
  llvm::Value* window_mask(const Access& a, const Window& w, llvm::Value* lanes);
  Window padded(Window w) const;
  Window in_whole_vectors(Window w) const;
  LaneRun whole_part(const Window& w, const Access& a, unsigned p) const;
  llvm::Value* base_of(const Access& a, const Window& w, unsigned p);
  Parts load_windows(const Access& a);
  Parts load_runs(const Access& a);
  Parts load_near(const Access& a);
  std::vector<llvm::Value*> load_one_place(const Access& a, llvm::Value* base, unsigned p);
  void store_near(const Access& a, const Parts& values);
  enum class Way : std::uint8_t {
    through_caches,
    past_caches,
    with_the_rest,  ///< whole windows: what no lane writes is read, and written as it was
  };
  bool has_quads(const Access& a) const;
  bool are_quads(const Access& a, const Window& w) const;
  llvm::Value* quads_of(const Parts& values, unsigned p);
  llvm::Value* window_of_values(const Access& a, const Window& w, const Parts& values, unsigned p);
  void store_windows(const Access& a, const Parts& values, Way way);
  bool may_go_past_caches(const Access& a) const;
  unsigned parts_of_line(const Access& a) const;
  bool covers_lines(const Access& a) const;
  llvm::Value* goes_past_caches(const Access& a);
  bool may_write_the_rest(const Access& a) const;
  llvm::Value* lies_in_shared_memory(const Access& a);
  void store_some(const Access& a, const Parts& values);
  llvm::Value* words_of(const Access& a, unsigned p);
  void store_with_the_rest(const Access& a, llvm::Value* window, llvm::Value* at, llvm::Value* written);
  llvm::Instruction* may_prefetch(llvm::Instruction* access);
  bool is_stream() const;
  llvm::Value* step_of_turn(const ptx::Operand& address);
  void prefetch(llvm::Value* address);
  void prefetch_next_turn(const Access& a, const ptx::Operand& address);

  // ---- volatile and relaxed accesses at which nobody looks (lone_accesses.cpp) ----
  bool is_alone(const Access& a, const ptx::Operand& address) const;
  bool is_row(const Access& a) const;
  bool has_lanes_of_addresses() const;
  LaneRun run_of_row(const Access& a, unsigned k) const;
  llvm::Value* start_of_run(const Access& a, LaneRun run);
  Parts load_row(const Access& a);
  void store_row(const Access& a, const Parts& values);
  Parts load_alone(const Access& a);
  void store_alone(const Access& a, const std::vector<WarpValue>& inputs, const Parts& values);
  void keep_here(const Parts& values);

  // ---- loads ----
  std::vector<llvm::Value*> load_uniform(const Access& a);
  /// Those of `near` where the address's flag holds, of `wrapped` where not.
  Parts load_checked(const Access& a, const std::function<Parts()>& near,
                     const std::function<Parts()>& wrapped);
  Parts load_either(const Access& a,
                    const std::function<void(const std::function<void(const Parts&)>&)>& ways);
  void load_together(const Access& a, const ptx::Operand& address);
  Parts load_gather(const Access& a);
  bool may_lie_within_limits(const Access& a, const ptx::Operand& address) const;  // limits.cpp
  Parts load_within_limits(const Access& a);
  Parts load_wrapped(const Access& a);
  Parts load_lanes(const Access& a);
  llvm::Value* load_single(const Access& a, llvm::Value* at);

  // ---- stores ----
  void store_uniform(const Access& a, const std::vector<WarpValue>& values);
  Parts paired(const Parts& values);
  void store_scatter(const Access& a, const Parts& values);
  void store_wrapped(const Access& a, const Parts& values);
  void store_lanes(const Access& a, const Parts& values);
  void store_single(const Access& a, llvm::Value* all, llvm::Value* at);

  // ---- vectors of 16 bytes, lane by lane (wide_lanes.cpp) ----
  bool is_wide(const Access& a) const;
  bool has_wide_lanes(const Access& a) const { return a.address.shape.affine && is_wide(a); }
  llvm::Value* start_of_lane(const Access& a, llvm::Value* addresses, unsigned lane);
  void prefetch_wide_lanes(const Access& a, llvm::Value* addresses);
  Parts load_wide_lanes(const Access& a);
  void store_wide_lanes(const Access& a, const Parts& values);

  // ---- pairs of words, four lanes' side by side (row_stores.cpp) ----
  bool has_all_lanes(const Mask& mask) const;
  bool has_rows(const Access& a) const;
  llvm::Value* row_of(const Parts& values, unsigned lane);
  void store_near_rows(const Access& a, const Parts& values);
  bool are_pair(const ptx::Instruction& first, const ptx::Instruction& second) const;
  const ptx::Instruction* other_of_pair(int distance) const;
  llvm::Value* lie_in_rows(const std::vector<llvm::Value*>& addresses);
  void store_pair(const ptx::Instruction& first);

  // ---- accesses behind each other that share windows (joint_windows.cpp) ----
  bool can_join(const ptx::Instruction& i) const;
  bool continues(const ptx::Instruction& first, const ptx::Instruction& i) const;
  Access planned(const std::vector<const ptx::Instruction*>& some) const;
  bool gains(const std::vector<const ptx::Instruction*>& some) const;
  std::vector<const ptx::Instruction*> made_together() const;
  bool is_joined();
  Access one_access(const std::vector<const ptx::Instruction*>& some);
  void load_joined(const std::vector<const ptx::Instruction*>& some);
  void store_joined(const std::vector<const ptx::Instruction*>& some);
  llvm::Value* element_bits(const WarpValue& value, unsigned p, unsigned bytes);

  // ---- copies (copies.cpp) ----
  /// How much of their sources lanes read.
  struct Limit {
    std::vector<Val> bytes;  // u32: of every lane, or by part; none: all of them
    bool by_bytes = false;   // not just all or nothing
    Mask lanes;              // that read anything
    bool exists() const { return !bytes.empty(); }
    bool is_same() const { return exists() && !bytes[0].is_vector(); }
  };
  Access access(const Copy& what, bool stores, const Mask& lanes);
  Limit limit_of(const Copy& what, const Mask& executing);
  Val limited(Val element, Val bytes, unsigned first);
  void copy_windows(const Access& to, const Access& from, const Limit& limit);
  void copy_lanes(const Access& to, const Access& from, const Limit& limit);

  // ---- copies of whole lines (row_copies.cpp) ----
  bool may_copy_lines(const Access& to, const Access& from) const;
  std::vector<llvm::Value*> begins_of_lines(const Access& a);
  llvm::Value* are_lines(const std::vector<llvm::Value*>& begins, unsigned zeros);
  void copy_lines(const std::vector<llvm::Value*>& to, const std::vector<llvm::Value*>& from);
  void copy_lines_or(const Access& to, const Access& from, const std::function<void()>& by_lane);
  bool has_known_lines(const Access& to, const ptx::Operand& from) const;
  void copy_known_lines(const Access& to, const std::vector<llvm::Value*>& from);
  void copy_known_lines_or(const Access& to, const Access& from, const std::function<void()>& by_lane);

  // ---- vectors of addresses ----
  llvm::Value* gather(llvm::Type* element, llvm::Value* addresses, llvm::Align align, llvm::Value* mask,
                      unsigned p);
  void scatter(const Access& a, const std::vector<llvm::Value*>& values,
               const std::vector<llvm::Value*>& addresses, bool fetches);
  std::vector<LaneRun> address_vectors() const;
  llvm::Value* some_of(llvm::Value* vector, LaneRun lanes);

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const Cursor& cursor_;
  WarpValues& values_;
  Masks& masks_;
  Registers& registers_;
  LaneLoops& loops_;
  Addresses& addresses_;
  Parameters& parameters_;
  const ptx::Instruction* fetched_ahead_ = nullptr;  ///< the last that prefetches for the next turn
};

}  // namespace raddle::jit
