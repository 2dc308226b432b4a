// What names stand for, scope by scope: module, function, and the nested `{ }` of inline assembly and call
// sequences. Opening a scope costs nothing; closing one undoes exactly what was bound in it.
#pragma once

#include <vector>

#include "ptx/names.h"

namespace raddle::ptx {

/// What a name stands for.
struct Binding {
  enum class Kind : std::uint8_t {
    none,
    reg,              ///< RegisterId
    vector_register,  ///< index of its first RegisterId; `count` follow each other
    variable,         ///< VariableId
    function,         ///< FunctionId
    special,          ///< SpecialRegister; `count`: its component, or kPickComponent
    warp_size,        ///< WARP_SZ
    prototype,        ///< index into Function::prototypes
    branch_list,      ///< index into Function::branch_targets
    call_targets,     ///< index into FunctionState::call_targets
  };
  static constexpr std::uint8_t kPickComponent = 255;

  Kind kind = Kind::none;
  std::uint8_t count = 0;
  std::uint16_t depth = 0;  ///< of the scope that bound it; 0 is the module
  std::uint32_t index = 0;
};

class Scopes {
 public:
  static constexpr std::uint32_t kUnbound = 0xffffffffu;

  std::uint16_t depth() const { return static_cast<std::uint16_t>(marks_.size()); }
  void open() { marks_.push_back(undo_.size()); }
  /// Closes the innermost scope. Closing depth 1 (the function) also undoes `bind_in_function`.
  void close();

  Binding symbol(NameId name) const { return name < entries_.size() ? entries_[name].symbol : Binding{}; }
  std::uint32_t range(NameId name) const { return name < entries_.size() ? entries_[name].range : kUnbound; }
  std::uint32_t label(NameId name) const { return name < entries_.size() ? entries_[name].label : kUnbound; }
  bool label_is_innermost(NameId name) const {
    return label(name) != kUnbound && entries_[name].label_depth == depth();
  }
  /// True if the name stands for something at module level, hidden or not.
  bool is_module_name(NameId name) const { return name < entries_.size() && entries_[name].at_module; }

  /// Binds in the innermost scope. False if the name is bound there already.
  bool bind(NameId name, Binding binding);
  bool bind_range(NameId prefix, std::uint32_t range);
  bool bind_label(NameId name, std::uint32_t label);
  /// Binds at function level although an inner scope may be open. The name must be unbound in the function.
  void bind_in_function(NameId name, Binding binding);

 private:
  struct Entry {
    Binding symbol;
    std::uint32_t range = kUnbound, label = kUnbound;
    std::uint16_t range_depth = 0, label_depth = 0;
    bool at_module = false;
  };
  enum class Field : std::uint8_t { symbol, range, label };
  struct Undo {
    NameId name;
    Field field;
    Entry before;
  };
  void restore(const Undo& undo);
  Entry& entry(NameId name);

  std::vector<Entry> entries_;      // by NameId
  std::vector<Undo> undo_;          // oldest first
  std::vector<std::size_t> marks_;  // size of undo_ when each scope was opened
  std::vector<Undo> function_undo_;
};

}  // namespace raddle::ptx
