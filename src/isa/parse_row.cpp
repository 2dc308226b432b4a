// Parser of the row notation described at RowText and OperandSpec in isa/row.h.
#include "isa/parse_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

namespace raddle::isa {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

/// Calls `use` with every part of `text` between separators, trimmed, empty parts left out.
template <class Use>
void for_each_part(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (const auto part = trimmed(text.substr(0, end)); !part.empty()) use(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; }

std::string_view take_name(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_name_char(text[length])) ++length;
  const auto name = text.substr(0, length);
  text.remove_prefix(length);
  return name;
}

class RowParser {
 public:
  RowParser(Op op, const NamedText& source, std::vector<std::string>& problems)
      : source_(source), problems_(problems) {
    row_.op = op;
    row_.id = source.id;
    row_.text = source.text;
  }

  Row run() {
    const std::string_view path = source_.file.substr(0, source_.file.rfind('/'));
    row_.chapter = path.substr(path.rfind('/') + 1);
    for_each_part(source_.text->syntax, ';', [&](std::string_view part) {
      if (part.front() == '.') read_set(part);
    });
    for_each_part(source_.text->syntax, ';', [&](std::string_view part) {
      if (part.front() != '.') read_form(part);
    });
    if (row_.forms.empty()) complain("no form");
    for (const auto& [name, set] : sets_)
      if (!set.used) complain(fmt::format("set .{} is not used", name));
    read_operands();
    return std::move(row_);
  }

 private:
  struct Set {
    ModSlot slot;
    bool used = false;
  };

  void complain(std::string what) { problems_.push_back(fmt::format("{}: {}", source_.id, what)); }

  /// `m64n*k16`: every modifier whose name starts and ends so.
  static bool add_matching(ModSlot& slot, std::string_view pattern) {
    const auto star = pattern.find('*');
    const auto head = pattern.substr(0, star), tail = pattern.substr(star + 1);
    for (auto i = 1u; i < static_cast<unsigned>(Mod::count); ++i)
      if (const auto name = mod_name(static_cast<Mod>(i)); name.starts_with(head) && name.ends_with(tail))
        slot.mods.push_back(static_cast<Mod>(i));
    return !slot.mods.empty();
  }

  static bool add_alternative(ModSlot& slot, std::string_view name) {
    if (name.find('*') != name.npos) return add_matching(slot, name);
    if (const Mod mod = mod_from_name(name); mod != Mod::none) {
      slot.mods.push_back(mod);
    } else if (const Type type = type_from_name(name); type != Type::none) {
      slot.types.push_back(type);
    } else {
      return false;
    }
    return true;
  }

  void read_set(std::string_view part) {
    part.remove_prefix(1);
    const auto name = take_name(part);
    Set set;
    set.slot.set = name;
    const auto open = part.find('{'), close = part.find('}');
    if (open == part.npos || close == part.npos) return complain(fmt::format("set .{} has no braces", name));
    for_each_part(part.substr(open + 1, close - open - 1), ',', [&](std::string_view item) {
      if (item.front() == '.') item.remove_prefix(1);
      if (!add_alternative(set.slot, item)) complain(fmt::format("set .{} names unknown .{}", name, item));
    });
    if (mod_from_name(name) != Mod::none || type_from_name(name) != Type::none)
      complain(fmt::format("set .{} has the name of a modifier", name));
    if (!sets_.emplace(std::string(name), std::move(set)).second)
      complain(fmt::format("set .{} defined twice", name));
  }

  void read_form(std::string_view part) {
    Form form;
    form.text = part;
    const auto end = std::find_if(part.begin(), part.end(), [](unsigned char c) { return std::isspace(c); });
    std::string_view opcode = part.substr(0, static_cast<std::size_t>(end - part.begin()));
    read_form_operands(form, part.substr(opcode.size()));
    const auto mnemonic = take_name(opcode);
    if (row_.mnemonic.empty()) row_.mnemonic = mnemonic;
    if (row_.mnemonic != mnemonic)
      complain(fmt::format("forms of {} and {} in one row", row_.mnemonic, mnemonic));
    while (!opcode.empty()) {
      const bool optional = opcode.front() == '{';
      if (optional) opcode.remove_prefix(1);
      if (opcode.empty() || opcode.front() != '.')
        return complain(fmt::format("cannot read form '{}'", form.text));
      opcode.remove_prefix(1);
      form.slots.push_back(read_slot(take_name(opcode), optional));
      if (!optional) continue;
      if (opcode.empty() || opcode.front() != '}')
        return complain(fmt::format("unclosed brace in '{}'", form.text));
      opcode.remove_prefix(1);
    }
    row_.forms.push_back(std::move(form));
  }

  ModSlot read_slot(std::string_view name, bool optional) {
    ModSlot slot;
    if (const auto found = sets_.find(std::string(name)); found != sets_.end()) {
      found->second.used = true;
      slot = found->second.slot;
    } else if (!add_alternative(slot, name)) {
      complain(fmt::format(".{} is no set, modifier or type", name));
    }
    slot.optional = optional;
    return slot;
  }

  void read_form_operands(Form& form, std::string_view text) {
    OperandSlot next;
    bool in_brackets = false;
    while (!text.empty()) {
      if (is_name_char(text.front())) {
        next.name = take_name(text);
        form.operands.push_back(next);
        next.joined = false;
        next.bracketed = in_brackets;
        continue;
      }
      if (text.front() == '[') in_brackets = true;
      if (text.front() == ']') in_brackets = next.bracketed = false;
      if (text.front() == '{') next.optional = true;
      if (text.front() == '}') next.optional = false;
      if (text.front() == '|') next.joined = true;
      text.remove_prefix(1);
    }
  }

  void read_operands() {
    const std::string_view text = source_.text->operands;
    if (text.empty()) {
      if (source_.text->status == Status::done) complain("done, but without operands");
      return;
    }
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return complain("operands without '='");
    for_each_part(text.substr(0, equals), ' ', [&](std::string_view part) { read_operand(part, true); });
    for_each_part(text.substr(equals + 1), ' ', [&](std::string_view part) { read_operand(part, false); });
    check_operands();
  }

  void read_operand(std::string_view part, bool is_destination) {
    OperandSpec spec;
    spec.is_destination = is_destination;
    spec.name = take_until_colon(part);
    if (part.ends_with('+')) {
      spec.may_be_wider = true;
      part.remove_suffix(1);
    }
    while (take_suffix(part, spec)) {
    }
    if (part.starts_with("wide(") && part.ends_with(')')) {
      spec.widened = true;
      part = part.substr(5, part.size() - 6);
    }
    if (part.starts_with("list(") && part.ends_with(')')) {
      spec.kind = OperandKind::vector_list;
      part = part.substr(5, part.size() - 6);
    }
    spec.type = part;
    if (part == "addr")
      spec.kind = OperandKind::address;
    else if (part == "label")
      spec.kind = OperandKind::label;
    else if (part == "call")
      spec.kind = OperandKind::call;
    else if (part == "handle")
      spec.kind = OperandKind::handle;
    else if (part == "sampler")
      spec.kind = OperandKind::sampler;
    else if (part != "any")
      read_type(spec);
    row_.operands.push_back(std::move(spec));
  }

  /// One `.suffix` of a type text. @returns false if there is none
  static bool take_suffix(std::string_view& part, OperandSpec& spec) {
    struct Flag {
      std::string_view text;
      bool OperandSpec::* flag;
    };
    static constexpr Flag kFlags[] = {{".vec", &OperandSpec::vector},
                                      {".pack", &OperandSpec::packed},
                                      {".minus", &OperandSpec::may_be_minus},
                                      {".power", &OperandSpec::power_of_two},
                                      {".or_pred", &OperandSpec::may_be_predicate},
                                      {".members", &OperandSpec::names_members},
                                      {".mbarrier", &OperandSpec::names_mbarrier},
                                      {".updated", &OperandSpec::is_updated},
                                      {".or_fragment", &OperandSpec::may_be_fragment},
                                      {".sign", &OperandSpec::is_sign}};
    static constexpr std::pair<std::string_view, SelectorKind> kSelectors[] = {
        {".part", SelectorKind::part},
        {".halves", SelectorKind::halves},
        {".bytes", SelectorKind::bytes},
        {".half_mask", SelectorKind::half_mask},
        {".byte_mask", SelectorKind::byte_mask}};
    static constexpr std::pair<std::string_view, GeometricKind> kGeometric[] = {
        {".coords", GeometricKind::coordinates},
        {".steps", GeometricKind::steps},
        {".block", GeometricKind::block},
        {".im2col", GeometricKind::im2col},
        {".fragment", GeometricKind::fragment}};
    for (const auto& [text, kind] : kGeometric) {
      if (!part.ends_with(text)) continue;
      spec.geometric = kind;
      part.remove_suffix(text.size());
      return true;
    }
    for (const auto& [text, flag] : kFlags) {
      if (!part.ends_with(text)) continue;
      spec.*flag = true;
      part.remove_suffix(text.size());
      return true;
    }
    for (const auto& [text, kind] : kSelectors) {
      if (!part.ends_with(text)) continue;
      spec.selector = kind;
      part.remove_suffix(text.size());
      return true;
    }
    return take_range(part, spec);
  }

  /// `.0-4`.
  static bool take_range(std::string_view& part, OperandSpec& spec) {
    const auto dot = part.rfind('.');
    const auto dash = part.find('-', dot == part.npos ? part.size() : dot);
    if (dash == part.npos) return false;
    auto number = [](std::string_view text, std::uint32_t& value) {
      const char* end = text.data() + text.size();
      return !text.empty() && std::from_chars(text.data(), end, value).ptr == end;
    };
    spec.is_constant = number(part.substr(dot + 1, dash - dot - 1), spec.least) &&
                       number(part.substr(dash + 1), spec.greatest);
    if (spec.is_constant) part = part.substr(0, dot);
    return spec.is_constant;
  }

  static std::string take_until_colon(std::string_view& part) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    std::string name(part.substr(0, colon));
    part.remove_prefix(std::min(colon + 1, part.size()));
    return name;
  }

  void read_type(OperandSpec& spec) {
    if (spec.type.size() == 5 && spec.type.starts_with("type") && spec.type[4] >= '0' &&
        spec.type[4] <= '4') {
      spec.type_slot = spec.type[4] - '0';
      return;
    }
    spec.fixed = type_from_name(spec.type);
    if (spec.fixed != Type::none) return;
    for (const Form& form : row_.forms)
      if (const int slot = type_slot_of_set(form, spec.type); slot >= 0) spec.type_slot = slot;
    if (spec.type_slot < 0) complain(fmt::format("operand {} has unknown type '{}'", spec.name, spec.type));
  }

  static int type_slot_of_set(const Form& form, std::string_view set) {
    int index = 0;
    for (const ModSlot& slot : form.slots) {
      if (slot.types.empty()) continue;
      if (slot.set == set) return index;
      ++index;
    }
    return -1;
  }

  /// Every operand of a form has a spec; its type exists in the form, at the spec's slot.
  void check_operands() {
    std::map<std::string, bool> seen;
    for (Form& form : row_.forms) {
      const auto type_slots = std::count_if(form.slots.begin(), form.slots.end(),
                                            [](const ModSlot& s) { return !s.types.empty(); });
      if (type_slots > 5) complain(fmt::format("'{}' has over five type modifiers", form.text));
      for (const OperandSlot& slot : form.operands) {
        seen[slot.name] = true;
        const auto spec = std::find_if(row_.operands.begin(), row_.operands.end(),
                                       [&](const OperandSpec& s) { return s.name == slot.name; });
        if (spec == row_.operands.end()) {
          complain(fmt::format("operand {} of '{}' has no type", slot.name, form.text));
        } else if (spec->type_slot >= type_slots) {
          complain(
              fmt::format("operand {}: '{}' has no type modifier {}", slot.name, form.text, spec->type_slot));
        } else if (spec->type_slot >= 0 && !spec->type.starts_with("type") &&
                   type_slot_of_set(form, spec->type) != spec->type_slot) {
          complain(fmt::format("operand {}: .{} stands elsewhere in '{}'", slot.name, spec->type, form.text));
        } else if (spec->names_members) {
          form.members = static_cast<int>(&slot - form.operands.data());
        }
      }
    }
    for (const OperandSpec& spec : row_.operands)
      if (!seen[spec.name]) complain(fmt::format("operand {} is in no form", spec.name));
  }

  const NamedText& source_;
  std::vector<std::string>& problems_;
  std::map<std::string, Set> sets_;
  Row row_;
};

}  // namespace

Row parse_row(Op op, const NamedText& source, std::vector<std::string>& problems) {
  return RowParser(op, source, problems).run();
}

}  // namespace raddle::isa
