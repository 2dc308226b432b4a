// raddle nvcc: adds PTX to output that would be machine code only.
#include "cli/nvcc_options.h"

#include <gtest/gtest.h>

namespace raddle::cli {
namespace {

using Words = std::vector<std::string>;

TEST(NvccOptions, PtxIsAddedWhereThereIsNone) {
  EXPECT_EQ(with_ptx({"-gencode", "arch=compute_90a,code=sm_90a", "app.cu"}).words,
            (Words{"-gencode", "arch=compute_90a,code=sm_90a", "app.cu",
                   "-gencode=arch=compute_90a,code=compute_90a"}));
  EXPECT_EQ(with_ptx({"--generate-code=arch=compute_80,code=[sm_80,sm_86]"}).words.back(),
            "-gencode=arch=compute_80,code=compute_80");
  EXPECT_EQ(with_ptx({"-arch=compute_90", "-code=sm_90", "a.cu"}).words,
            (Words{"-arch=compute_90", "-code=sm_90,compute_90", "a.cu"}));
  EXPECT_EQ(with_ptx({"-arch", "sm_80", "-code", "sm_80"}).words,
            (Words{"-arch", "sm_80", "-code", "sm_80,compute_80"}));
}

TEST(NvccOptions, WhatHasPtxStays) {
  for (const Words& words :
       {Words{"app.cu"}, Words{"-arch=sm_90", "app.cu"},
        Words{"-gencode", "arch=compute_90,code=[sm_90,compute_90]"},
        Words{"-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=compute_90"},
        Words{"-arch=compute_90", "-code=sm_90,compute_90"}}) {
    EXPECT_EQ(with_ptx(words).words, words);
    EXPECT_TRUE(with_ptx(words).warnings.empty());
  }
}

TEST(NvccOptions, WarnsWhereNoneCanBeAdded) {
  EXPECT_EQ(with_ptx({"-arch=all-major", "a.cu"}).warnings.size(), 1u);
}

TEST(NvccOptions, CubinsAreMadeOfPtx) {
  using Words = std::vector<std::string>;
  const NvccOptions named =
      with_ptx({"-cubin", "-gencode=arch=compute_90,code=sm_90", "a.cu", "-o", "b.cubin"});
  EXPECT_EQ(named.words, (Words{"-ptx", "-gencode=arch=compute_90,code=sm_90", "a.cu", "-o", "b.cubin"}));
  EXPECT_EQ(named.cubin, "b.cubin");
  const NvccOptions unnamed = with_ptx({"--cubin", "x/a.cu"});
  EXPECT_EQ(unnamed.words, (Words{"-ptx", "x/a.cu", "-o", "a.cubin"}));
  EXPECT_EQ(unnamed.cubin, "a.cubin");
  EXPECT_EQ(with_ptx({"a.cu"}).cubin, "");
}

}  // namespace
}  // namespace raddle::cli
