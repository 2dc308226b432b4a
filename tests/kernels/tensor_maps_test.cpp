// Tensor maps that kernels edit, where they may not, on every engine. What edits do to the bytes is tested in
// tests/isa/tensor_map.
#include <gmock/gmock.h>

#include <algorithm>

#include "kernel_test.h"

namespace {

using testing::HasSubstr;

struct WrongEdit {
  const char* what;
  const char* body;  ///< its last line is executed by thread 5 and faults
  const char* text;
};

class TensorMapEdits : public KernelTest {};
ON_EVERY_ENGINE(TensorMapEdits);

TEST_P(TensorMapEdits, NameWhatIsWrong) {
  const WrongEdit cases[] = {
      {"shared map", "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%a+32], 1;", "misaligned address"},
      {"global map", "tensormap.replace.tile.global_address.global.b1024.b64 [there+16], %g;",
       "misaligned address"},
      {"generic map", "add.u64 %g, %g, 8;\n  @%p tensormap.replace.tile.box_dim.b1024.b32 [%g], 2, %n;",
       "misaligned address"},
      {"no memory", "mov.u64 %g, 0x500000;\n  @%p tensormap.replace.tile.rank.global.b1024.b32 [%g], 1;",
       "illegal address 0x500000"},
      {"copied from",
       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [there], "
       "[%a+16], 128;",
       "misaligned address"},
      {"copied to",
       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.sys.sync.aligned [there+32], "
       "[%a], 128;",
       "misaligned address"},
      {"copied nowhere",
       "mov.u64 %g, 0x500000;\n  @%p "
       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta.sync."
       "aligned [%g], [%a], 128;",
       "illegal address 0x500000"},
  };
  for (const WrongEdit& each : cases) {
    std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.global .align 128 .b8 there[256];
.visible .entry k(.param .u64 global) {
  .reg .b64 %g;
  .reg .b32 %a, %n, %id;
  .reg .pred %p;
  .shared .align 128 .b8 map[256];
  ld.param.u64 %g, [global];
  mov.u32 %a, map;
  mov.u32 %id, %tid.x;
  mov.u32 %n, 1;
  setp.eq.u32 %p, %id, 5;
)";
    text += std::string("  ") + (*each.body == 't' ? "@%p " : "") + each.body + "\n  ret;\n}\n";
    load_text(text);
    const auto line = std::count(text.begin(), text.end(), '\n') - 2;
    {
      auto global = buffer(std::vector<int>(256));
      auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {32}}, global);
      ASSERT_FALSE(report.ok()) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr(each.text)) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr("thread (5,0,0)")) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr("PTX line " + std::to_string(line))) << each.what;
    }
    close();
  }
}

}  // namespace
