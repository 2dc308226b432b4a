// A first pass over the text finds what a parsed document no longer shows: where an error is, keys given
// twice, depth.
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace raddle {
namespace {

using nlohmann::json;
constexpr std::size_t kDepth = 64;

/// Listens to the parser and keeps the first complaint.
class Examiner : public nlohmann::json_sax<json> {
 public:
  std::string complaint;
  std::size_t position = 0;  // of a syntax error; 0: unknown

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    complaint = fmt::format("'{}' is given twice in one object", name);
    return false;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& what) override {
    complaint = what.what();
    if (const std::size_t colon = complaint.rfind("; "); colon != std::string::npos)
      complaint.erase(0, colon + 2);
    complaint.insert(0, "no JSON: ");
    position = at;
    return false;
  }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() <= kDepth) return true;
    complaint = fmt::format("nested more than {} deep", kDepth);
    return false;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
};

SourceSpan place_of(std::string_view text, std::size_t position, const std::string& name) {
  if (position == 0) return {name};
  const std::string_view before = text.substr(0, std::min(position - 1, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {name, static_cast<unsigned>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<unsigned>(before.size() - line_start + 1)};
}

}  // namespace

Result<json> parse_json(std::string_view text, const std::string& name) {
  Examiner examiner;
  if (!json::sax_parse(text, &examiner))
    return Error{ErrorCode::invalid, examiner.complaint, place_of(text, examiner.position, name)};
  return json::parse(text, nullptr, false);
}

std::string json_string(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

Error JsonValue::error(std::string_view what) const { return Error::invalid("{}: {}", path_, what); }

Result<void> JsonValue::has_only(std::span<const std::string_view> names) const {
  if (!value_->is_object()) return error("must be an object");
  for (const auto& [key, value] : value_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    return error(fmt::format("no '{}' is known here; there are {}", key, fmt::join(names, ", ")));
  }
  return {};
}

std::optional<JsonValue> JsonValue::find(std::string_view name) const {
  if (!value_->is_object()) return std::nullopt;
  const auto found = value_->find(name);
  if (found == value_->end()) return std::nullopt;
  return JsonValue(*found, fmt::format("{}.{}", path_, name));
}

Result<JsonValue> JsonValue::member(std::string_view name) const {
  if (!value_->is_object()) return error("must be an object");
  if (auto found = find(name)) return *found;
  return error(fmt::format("'{}' is missing", name));
}

Result<std::vector<JsonValue>> JsonValue::elements(std::size_t least, std::size_t most) const {
  if (!value_->is_array()) return error("must be an array");
  if (value_->size() < least || value_->size() > most) {
    const std::string wanted =
        least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    return error(fmt::format("has {} elements, must have {}", value_->size(), wanted));
  }
  std::vector<JsonValue> all;
  all.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    all.push_back({(*value_)[i], fmt::format("{}[{}]", path_, i)});
  return all;
}

Result<std::uint64_t> JsonValue::whole(std::uint64_t least, std::uint64_t most) const {
  constexpr double kExact = 9007199254740992.0;  // 2^53: every whole number below is a double
  std::optional<std::uint64_t> number;
  if (value_->is_number_unsigned()) number = value_->get<std::uint64_t>();
  if (value_->is_number_float()) {
    const double given = value_->get<double>();
    if (given >= 0 && given <= kExact && given == std::floor(given))
      number = static_cast<std::uint64_t>(given);
  }
  if (number && *number >= least && *number <= most) return *number;
  return error(fmt::format("{} is no whole number from {} to {}",
                           value_->dump(-1, ' ', false, json::error_handler_t::replace), least, most));
}

Result<std::int64_t> JsonValue::integer(std::int64_t least, std::int64_t most) const {
  if (value_->is_number_integer() &&
      !(value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX)) {
    const auto number = value_->get<std::int64_t>();
    if (number >= least && number <= most) return number;
  }
  return error(fmt::format("{} is no whole number from {} to {}",
                           value_->dump(-1, ' ', false, json::error_handler_t::replace), least, most));
}

Result<double> JsonValue::number(double least, double most) const {
  if (value_->is_number()) {
    const double number = value_->get<double>();
    if (number >= least && number <= most) return number;
  }
  return error(fmt::format("{} is no number from {} to {}",
                           value_->dump(-1, ' ', false, json::error_handler_t::replace), least, most));
}

Result<bool> JsonValue::flag() const {
  if (value_->is_boolean()) return value_->get<bool>();
  return error("must be true or false");
}

Result<std::string> JsonValue::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  return error("must be a string");
}

}  // namespace raddle
