#include "fatbin/archive.h"

#include <ar.h>

#include <charconv>
#include <cstring>

namespace raddle::fatbin {
namespace {

constexpr std::string_view kArchiveMagic{ARMAG, SARMAG};

std::string_view trimmed(std::string_view field) {
  const std::size_t end = field.find_last_not_of(' ');
  return field.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

bool read_number(std::string_view text, std::size_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

/// "name/" or "/offset into the table of long names, where names end in /".
std::string member_name(std::string_view field, std::string_view long_names) {
  std::size_t offset = 0;
  if (field.starts_with('/') && read_number(field.substr(1), offset) && offset < long_names.size())
    field = long_names.substr(offset, long_names.find('\n', offset) - offset);
  return std::string(field.substr(0, field.rfind('/')));
}

}  // namespace

bool is_archive(std::string_view bytes) { return bytes.starts_with(kArchiveMagic); }

Result<std::vector<ArchiveMember>> read_archive(std::string_view bytes) {
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  for (std::size_t offset = SARMAG; offset < bytes.size();) {
    ar_hdr header;
    if (bytes.size() - offset < sizeof header)
      return Error::invalid("archive: header at offset {} is cut off", offset);
    std::memcpy(&header, bytes.data() + offset, sizeof header);
    std::size_t size = 0;
    if (!read_number({header.ar_size, sizeof header.ar_size}, size) ||
        size > bytes.size() - offset - sizeof header)
      return Error::invalid("archive: member at offset {} has no size that fits", offset);
    const std::string_view name = trimmed({header.ar_name, sizeof header.ar_name});
    const std::string_view content = bytes.substr(offset + sizeof header, size);
    if (name == "//")
      long_names = content;
    else if (name != "/" && name != "/SYM64/")
      members.push_back({member_name(name, long_names), content});
    offset += sizeof header + size + size % 2;
  }
  return members;
}

}  // namespace raddle::fatbin
