#include "linking/libdevice.h"

#include <algorithm>
#include <map>

namespace raddle::linking {
namespace {

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/// kLibdevice by its directives, which begin lines: functions, their declarations before use, variables.
class LibdeviceIndex {
 public:
  LibdeviceIndex() {
    std::size_t begin = start_of_item(0);
    header_ = kLibdevice.substr(0, begin);
    while (begin < kLibdevice.size()) {
      const std::size_t end = start_of_item(begin + 1);
      const std::string_view text = kLibdevice.substr(begin, end - begin);
      by_name_[name_of(text)].push_back(items_.size());
      items_.push_back(text);
      begin = end;
    }
  }

  std::string module_of(const std::vector<std::string>& names) const {
    std::vector<bool> needed(items_.size(), false);
    bool some = false;
    for (const std::string& name : names) some = take(name, needed) || some;
    if (!some) return {};
    std::string text(header_);
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (needed[i]) text += items_[i];
    return text;
  }

 private:
  static std::size_t start_of_item(std::size_t from) {
    for (std::size_t at = from; at < kLibdevice.size(); ++at) {
      at = at == 0 ? 0 : kLibdevice.find("\n.", at - 1);
      if (at == std::string_view::npos) break;
      if (kLibdevice[at] == '\n') ++at;
      for (std::string_view kind : {".visible", ".func", ".const", ".global"})
        if (kLibdevice.substr(at).starts_with(kind)) return at;
    }
    return kLibdevice.size();
  }

  /// Behind the result in parentheses, if there is one, the last word before the next mark.
  static std::string_view name_of(std::string_view text) {
    std::size_t begin = text.find(".func");
    begin = begin == std::string_view::npos ? 0 : text.find_first_not_of(" \t\n", begin + 5);
    if (text[begin] == '(') begin = text.find(')', begin) + 1;
    std::size_t end = text.find_first_of("([=;", begin);
    while (end > begin && !is_identifier(text[end - 1])) --end;
    begin = end;
    while (begin > 0 && is_identifier(text[begin - 1])) --begin;
    return text.substr(begin, end - begin);
  }

  /// Marks what has this name and all that it names. @returns whether there is anything
  bool take(std::string_view name, std::vector<bool>& needed) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return false;
    for (const std::size_t index : found->second) {
      if (needed[index]) continue;
      needed[index] = true;
      const std::string_view text = items_[index];
      for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_identifier(text[end])) ++end;
        if (end > at && text[at] == '_') take(text.substr(at, end - at), needed);
        at = end + (end == at);
      }
    }
    return true;
  }

  std::string_view header_;
  std::vector<std::string_view> items_;
  std::map<std::string_view, std::vector<std::size_t>> by_name_;
};

}  // namespace

std::string libdevice_module(const std::vector<std::string>& names) {
  static const LibdeviceIndex index;
  return index.module_of(names);
}

}  // namespace raddle::linking
