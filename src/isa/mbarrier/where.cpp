// Legality of operations on mbarriers beyond the grammar.
#include "isa/where.h"

namespace raddle::isa {

std::string_view mbarrier_order_legal(const Opcode& opcode) {
  const bool orders = opcode.get(ModKind::semantics) != Mod::none;
  return orders == (opcode.get(ModKind::scope) != Mod::none) ? std::string_view{}
                                                             : "an order and its scope stand together";
}

}  // namespace raddle::isa
