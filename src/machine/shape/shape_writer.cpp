// The writer: writes each domain as an object of the format, and merges equal neighbours.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/count.h"
#include "machine/shape/shape_fields.h"
#include "machine/shape/shape_file.h"

namespace raddle::machine {
namespace {

using nlohmann::ordered_json;

template <class Owner, class Number, std::size_t count>
void write_fields(ordered_json& object, const ShapeField<Owner, Number> (&fields)[count],
                  const Owner& owner) {
  for (const auto& field : fields) {
    const Number number = owner.*field.member;
    if (field.bytes && number >= 1024 && number % 1024 == 0) {
      object[std::string(field.key)] = format_count(number);
    } else {
      object[std::string(field.key)] = number;
    }
  }
}

ordered_json describe(const MachineShape& shape, Level level, std::uint32_t index);

/// The parts of a domain in order, as descriptions.
std::vector<ordered_json> describe_parts(const MachineShape& shape, Level level, const Domain& domain) {
  std::vector<ordered_json> parts;
  const std::uint32_t first = shape.domain_of(level, domain.first_sm);
  const std::uint32_t last = shape.domain_of(level, domain.first_sm + domain.sm_count - 1);
  for (std::uint32_t part = first; part <= last; ++part) parts.push_back(describe(shape, level, part));
  return parts;
}

ordered_json describe_all(Level level, const std::vector<ordered_json>& parts) {
  if (parts.size() == 1) return parts.front();  // a level of one part is left out
  const std::string key = parts_key(level);
  ordered_json object;
  if (std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return part == parts.front(); })) {
    object[key] = parts.size();
    object.update(parts.front());
    return object;
  }
  ordered_json list = ordered_json::array();
  for (auto part = parts.begin(); part != parts.end();) {
    const auto next = std::find_if(part, parts.end(), [&](const auto& other) { return other != *part; });
    const auto equal = next - part;
    if (level == Level::tpc) {  // a TPC is its number of SMs
      for (; part != next; ++part) list.push_back(part->front());
      continue;
    }
    ordered_json element;
    if (equal != 1) element["count"] = equal;
    element.update(*part);
    list.push_back(std::move(element));
    part = next;
  }
  object[key] = std::move(list);
  return object;
}

ordered_json describe(const MachineShape& shape, Level level, std::uint32_t index) {
  const Domain& domain = shape.domains(level)[index];
  if (level == Level::tpc) return {{"sms", domain.sm_count}};
  const auto below = static_cast<Level>(static_cast<unsigned>(level) + 1);
  return describe_all(below, describe_parts(shape, below, domain));
}

}  // namespace

ordered_json shape_document(const MachineShape& shape) {
  ordered_json document;
  document["name"] = shape.name;
  if (!shape.notes.empty()) document["notes"] = shape.notes;
  document["capability"] = fmt::format("{}.{}", shape.capability / 10, shape.capability % 10);
  write_fields(document["sm"], kSmFields, shape.sm);
  if (shape.memory_bytes == kAllMemory) {
    document["memory_bytes"] = kHostMemory;
  } else {
    write_fields(document, kMemoryField, shape);
  }
  write_fields(document, kByteFields, shape);
  write_fields(document, kCountFields, shape);
  document.update(describe_all(Level::set, describe_parts(shape, Level::set, {0, shape.sm_count()})));
  return document;
}

std::string shape_text(const MachineShape& shape) {
  const ordered_json document = shape_document(shape);
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}\n  \"{}\": ", text.size() == 1 ? "" : ",", key);
    if (!value.is_array() || !value.front().is_object()) {
      text += value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
      continue;
    }
    text += "[";
    for (const auto& element : value)
      text += fmt::format("{}\n    {}", text.back() == '[' ? "" : ",", element.dump());
    text += "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace raddle::machine
