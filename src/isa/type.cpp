#include "isa/type.h"

#include <array>
#include <unordered_map>

namespace raddle::isa {
namespace {
struct TypeText {
  std::string_view name;
  unsigned bits;
  TypeClass cls;
  Type element;
  unsigned elements;
};
constexpr auto kTypes = std::to_array<TypeText>({
    {"", 0, TypeClass::none, Type::none, 1},
#define PTX_TYPE(id, name, bits, cls, element, elements) \
  {name, bits, TypeClass::cls, Type::element, elements},
#include "isa/types.def"
#undef PTX_TYPE
});
}  // namespace

unsigned bit_size(Type t) { return kTypes[static_cast<std::size_t>(t)].bits; }
TypeClass type_class(Type t) { return kTypes[static_cast<std::size_t>(t)].cls; }
std::string_view type_name(Type t) { return kTypes[static_cast<std::size_t>(t)].name; }
Type element_type(Type t) { return kTypes[static_cast<std::size_t>(t)].element; }
unsigned element_count(Type t) { return kTypes[static_cast<std::size_t>(t)].elements; }

Type type_from_name(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Type> map;
    for (std::size_t i = 1; i < kTypes.size(); ++i) map.emplace(kTypes[i].name, static_cast<Type>(i));
    return map;
  }();
  auto found = index.find(name);
  return found == index.end() ? Type::none : found->second;
}

Type bits_type(unsigned bits) {
  switch (bits) {
    case 1:
      return Type::b1;
    case 8:
      return Type::b8;
    case 16:
      return Type::b16;
    case 32:
      return Type::b32;
    case 64:
      return Type::b64;
    case 128:
      return Type::b128;
    default:
      return Type::none;
  }
}

Type widened(Type t) {
  switch (t) {
    case Type::u8:
      return Type::u16;
    case Type::s8:
      return Type::s16;
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    case Type::b8:
      return Type::b16;
    case Type::b16:
      return Type::b32;
    case Type::b32:
      return Type::b64;
    case Type::b64:
      return Type::b128;
    default:
      return Type::none;
  }
}

}  // namespace raddle::isa
