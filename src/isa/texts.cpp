// The rows as written in rows.def, one constant each. The chapter of a row is the folder of the file it
// stands in.
#include "isa/texts.h"

#include <array>

#include "isa/op.h"
#include "isa/where.h"

namespace raddle::isa {
namespace {
#define PTX_OP(id, ...) constexpr RowText kText_##id{__VA_ARGS__};
#include "isa/rows.def"
#undef PTX_OP

constexpr auto kTexts = std::to_array<NamedText>({
#define PTX_OP(id, ...) {#id, __FILE__, &kText_##id},
#include "isa/rows.def"
#undef PTX_OP
});
static_assert(kTexts.size() == kOpCount);
}  // namespace

std::span<const NamedText> row_texts() { return kTexts; }

}  // namespace raddle::isa
