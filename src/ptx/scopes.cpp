// Each binding logs the field it overwrites; closing a scope plays the log back.
#include "ptx/scopes.h"

#include "base/assert.h"

namespace raddle::ptx {

Scopes::Entry& Scopes::entry(NameId name) {
  if (name >= entries_.size()) entries_.resize(name + name / 2 + 64);
  return entries_[name];
}

void Scopes::restore(const Undo& undo) {
  Entry& e = entries_[undo.name];
  switch (undo.field) {
    case Field::symbol:
      e.symbol = undo.before.symbol;
      break;
    case Field::range:
      e.range = undo.before.range, e.range_depth = undo.before.range_depth;
      break;
    case Field::label:
      e.label = undo.before.label, e.label_depth = undo.before.label_depth;
      break;
  }
}

void Scopes::close() {
  RADDLE_ASSERT(!marks_.empty(), "the module scope is never closed");
  for (const std::size_t mark = marks_.back(); undo_.size() > mark; undo_.pop_back()) restore(undo_.back());
  marks_.pop_back();
  if (!marks_.empty()) return;
  for (; !function_undo_.empty(); function_undo_.pop_back()) restore(function_undo_.back());
}

bool Scopes::bind(NameId name, Binding binding) {
  Entry& e = entry(name);
  binding.depth = depth();
  if (e.symbol.kind != Binding::Kind::none && e.symbol.depth == binding.depth) return false;
  if (marks_.empty())
    e.at_module = true;
  else
    undo_.push_back({name, Field::symbol, e});
  e.symbol = binding;
  return true;
}

bool Scopes::bind_range(NameId prefix, std::uint32_t range) {
  Entry& e = entry(prefix);
  if (e.range != kUnbound && e.range_depth == depth()) return false;
  if (!marks_.empty()) undo_.push_back({prefix, Field::range, e});
  e.range = range;
  e.range_depth = depth();
  return true;
}

bool Scopes::bind_label(NameId name, std::uint32_t label) {
  Entry& e = entry(name);
  if (e.label != kUnbound && e.label_depth == depth()) return false;
  if (!marks_.empty()) undo_.push_back({name, Field::label, e});
  e.label = label;
  e.label_depth = depth();
  return true;
}

void Scopes::bind_in_function(NameId name, Binding binding) {
  Entry& e = entry(name);
  binding.depth = 1;
  function_undo_.push_back({name, Field::symbol, e});
  e.symbol = binding;
}

}  // namespace raddle::ptx
