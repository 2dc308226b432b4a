// The reader. An object says what the parts of a domain are by a key for each level below it; a level without
// a key has one part. Outer objects may give, for all their parts, the keys that an object leaves out.
#include "machine/shape/shape_file.h"

#include <algorithm>

#include "base/count.h"
#include "base/file.h"
#include "base/json.h"
#include "machine/shape/host.h"
#include "machine/shape/shape_fields.h"

namespace raddle::machine {
namespace {

constexpr int kSmLevel = kLevels - 1;
Level level_at(int index) { return static_cast<Level>(index); }

/// An object that describes the parts of a domain.
struct Scope {
  const JsonValue& object;
  Scope* around = nullptr;
  bool used[kLevels] = {};

  /// The nearest value for parts of a level; notes that it was used.
  std::optional<JsonValue> parts(int level) {
    for (Scope* scope = this; scope != nullptr; scope = scope->around) {
      if (auto value = scope->object.find(parts_key(level_at(level)))) {
        scope->used[level] = true;
        return value;
      }
    }
    return std::nullopt;
  }
  Result<void> check_all_used() const {
    for (int level = 0; level < static_cast<int>(kLevels); ++level) {
      const auto value = object.find(parts_key(level_at(level)));
      if (value && !used[level]) return value->error("no part of the machine is described by it");
    }
    return {};
  }
};

class HierarchyReader {
 public:
  explicit HierarchyReader(MachineShape& shape) : shape_(shape) {}

  Result<void> read(const JsonValue& root) {
    Scope scope{root};
    TRY(fill(-1, scope));
    return scope.check_all_used();
  }

 private:
  /// Gives the open domain of a level (-1: the machine) its parts.
  Result<void> fill(int level, Scope& scope) {
    const int part = level + 1;
    const auto parts = scope.parts(part);
    if (parts && parts->is_array()) return fill_from_list(part, *parts, scope);
    if (!parts && part == kSmLevel)
      return scope.object.error("'sms' is missing, in it and around it: how many SMs does a TPC have?");
    std::uint64_t count = 1;
    if (parts) {
      TRY_ASSIGN(count, parts->whole(1, kMostSms));
    }
    return add(part, count, scope, parts ? *parts : scope.object);
  }

  Result<void> add(int part, std::uint64_t count, Scope& scope, const JsonValue& where) {
    if (part == kSmLevel) {
      if (shape_.sm_count() + count > kMostSms)
        return where.error(fmt::format("with it the machine has more than {} SMs", kMostSms));
      shape_.add_sms(static_cast<std::uint32_t>(count));
      return {};
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      shape_.open(level_at(part));
      TRY(fill(part, scope));
      shape_.close(level_at(part));
    }
    return {};
  }

  Result<void> fill_from_list(int part, const JsonValue& list, Scope& scope) {
    if (part == kSmLevel) return list.error("must be a number: SMs have no parts");
    TRY_ASSIGN(const auto elements, list.elements(1, kMostSms));
    for (const JsonValue& element : elements) {
      if (element.is_object()) {
        TRY(add_described(part, element, scope));
      } else {
        TRY(add_counted(part, element, scope));
      }
    }
    return {};
  }

  /// `{"tpcs": 3, "count": 2}`
  Result<void> add_described(int part, const JsonValue& element, Scope& around) {
    TRY(check_keys(part, element));
    std::uint64_t count = 1;
    if (const auto given = element.find("count")) {
      TRY_ASSIGN(count, given->whole(1, kMostSms));
    }
    Scope scope{element, &around};
    TRY(add(part, count, scope, element));
    return scope.check_all_used();
  }

  static Result<void> check_keys(int part, const JsonValue& element) {
    for (const auto& [key, value] : element.raw().items()) {
      if (key == "count") continue;
      int level = 0;
      while (level < static_cast<int>(kLevels) && key != parts_key(level_at(level))) ++level;
      if (level == kLevels)
        return element.error(
            fmt::format("no '{}' is known here; there are count and the levels below, {} to sms", key,
                        parts_key(level_at(part + 1))));
      if (level <= part)
        return element.error(
            fmt::format("a {} has no '{}': the order is sets, gpus, ugpus, gpcs, cpcs, tpcs, sms",
                        level_name(level_at(part)), key));
    }
    return {};
  }

  /// A bare number: how many parts of the next level. Not where that level is usually left out.
  Result<void> add_counted(int part, const JsonValue& element, Scope& scope) {
    const Level below = level_at(part + 1);
    if (below == Level::gpu || below == Level::ugpu || below == Level::cpc)
      return element.error(fmt::format(
          "must be an object, such as {{\"tpcs\": 9}}: a number would be one of {}", parts_key(below)));
    TRY_ASSIGN(const std::uint64_t count, element.whole(1, kMostSms));
    shape_.open(level_at(part));
    TRY(add(part + 1, count, scope, element));
    shape_.close(level_at(part));
    return {};
  }

  MachineShape& shape_;
};

Result<std::uint64_t> read_number(const JsonValue& value, std::uint64_t least, std::uint64_t most,
                                  bool bytes) {
  if (!bytes || !value.raw().is_string()) return value.whole(least, most);
  TRY_ASSIGN(const std::string text, value.text());
  const auto count = parse_count(text);
  if (!count) return value.error(count.error().message);
  if (*count < least || *count > most)
    return value.error(fmt::format("{} is not from {} to {}", text, format_count(least), format_count(most)));
  return *count;
}

template <class Owner, class Number, std::size_t count>
Result<void> read_fields(const JsonValue& object, const ShapeField<Owner, Number> (&fields)[count],
                         Owner& owner) {
  for (const auto& field : fields) {
    const auto value = object.find(field.key);
    if (!value) continue;
    TRY_ASSIGN(const std::uint64_t number, read_number(*value, field.least, field.most, field.bytes));
    owner.*field.member = static_cast<Number>(number);
  }
  return {};
}

template <class Owner, class Number, std::size_t count>
void add_keys(std::vector<std::string_view>& keys, const ShapeField<Owner, Number> (&fields)[count]) {
  for (const auto& field : fields) keys.push_back(field.key);
}

Result<void> read_sm(const JsonValue& object, SmLimits& sm) {
  std::vector<std::string_view> keys;
  add_keys(keys, kSmFields);
  TRY(object.has_only(keys));
  TRY(read_fields(object, kSmFields, sm));
  if (sm.threads_per_block > sm.threads)
    return object.error(fmt::format("a block of {} threads (threads_per_block) does not fit {} (threads)",
                                    sm.threads_per_block, sm.threads));
  if (sm.threads_per_block > sm.warps * exec::kWarpSize)
    return object.error(fmt::format("a block of {} threads (threads_per_block) does not fit {} warps",
                                    sm.threads_per_block, sm.warps));
  if (sm.shared_per_block + exec::kReservedShared > sm.shared_bytes)
    return object.error(
        fmt::format("a block of {} bytes (shared_per_block) and the {} that each reserves do not fit "
                    "{} (shared_bytes)",
                    sm.shared_per_block, exec::kReservedShared, sm.shared_bytes));
  return {};
}

Result<std::string> read_text(const JsonValue& value, std::size_t least, std::size_t most) {
  TRY_ASSIGN(std::string text, value.text());
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (text.size() < least || text.size() > most || !printable)
    return value.error(fmt::format("must be {} to {} bytes on one line", least, most));
  return text;
}

/// "9.0" -> 90
Result<std::uint32_t> read_capability(const JsonValue& value) {
  TRY_ASSIGN(const std::string text, value.text());
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t dot = text.size() - 2;  // at most two digits, and one after the dot
  const bool fits = text.size() == 3 || text.size() == 4;
  if (!fits || text[dot] != '.' || !std::all_of(text.begin(), text.begin() + dot, digit) ||
      !digit(text.back()))
    return value.error("must be a compute capability, such as \"9.0\"");
  std::uint32_t capability = 0;
  for (const char c : text)
    if (c != '.') capability = capability * 10 + static_cast<std::uint32_t>(c - '0');
  return capability;
}

Result<void> check_root_keys(const JsonValue& root) {
  std::vector<std::string_view> keys{"name", "notes", "capability", "sm"};
  add_keys(keys, kMemoryField);
  add_keys(keys, kByteFields);
  add_keys(keys, kCountFields);
  std::vector<std::string> levels;
  for (unsigned level = 0; level < kLevels; ++level) levels.push_back(parts_key(static_cast<Level>(level)));
  keys.insert(keys.end(), levels.begin(), levels.end());
  return root.has_only(keys);
}

Result<MachineShape> read_root(const JsonValue& root) {
  TRY(check_root_keys(root));
  MachineShape shape;
  TRY_ASSIGN(const JsonValue name, root.member("name"));
  TRY_ASSIGN(shape.name, read_text(name, 1, 64));
  if (const auto notes = root.find("notes")) {
    TRY_ASSIGN(shape.notes, read_text(*notes, 0, 4096));
  }
  if (const auto capability = root.find("capability")) {
    TRY_ASSIGN(shape.capability, read_capability(*capability));
  }
  if (const auto sm = root.find("sm")) TRY(read_sm(*sm, shape.sm));
  TRY(read_fields(root, kCountFields, shape));
  TRY(read_fields(root, kByteFields, shape));
  shape.memory_bytes = kAllMemory;
  if (const auto memory = root.find("memory_bytes"); memory && memory->raw() != kHostMemory)
    TRY(read_fields(root, kMemoryField, shape));
  TRY(HierarchyReader(shape).read(root));
  return shape;
}

}  // namespace

Result<MachineShape> read_shape(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const nlohmann::json document, parse_json(text, name));
  Result<MachineShape> shape = read_root(JsonValue(document));
  if (!shape) shape.error().where.file = name;
  return shape;
}

Result<MachineShape> find_shape(const std::string& name) {
  if (!name.ends_with(".json")) return preset_shape(name, host_info().usable_cores);
  TRY_ASSIGN(const std::string text, read_file(name));
  return read_shape(text, name);
}

}  // namespace raddle::machine
