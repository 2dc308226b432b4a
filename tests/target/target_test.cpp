// RADDLE_TARGET: the same program on the CPU and on a GPU, whose driver is a stand-in here (fake_driver.cpp).
// The choice is made once for a process, so that each case is a process of its own: this program again, which
// then says where it ran.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "driver/exported.h"

namespace raddle::driver {
namespace {

std::string output_of(const std::string& environment) {
  const std::string command = environment + " /proc/" + std::to_string(getpid()) + "/exe --say 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char piece[256];
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pipe != nullptr) pclose(pipe);
  return text;
}

const std::string kFake = std::string("RADDLE_GPU_DRIVER=") + FAKE_DRIVER + " ";

/// What the other process prints: where it is, and what entries of several kinds answer.
int say() {
  char name[64] = "no device";
  const CUresult initialised = cuInit(0);
  if (initialised == CUDA_SUCCESS) cuDeviceGetName(name, sizeof name, 0);
  void* query = nullptr;
  CUdriverProcAddressQueryResult status{};
  cuGetProcAddress_v2("cuStreamQuery", &query, 12000, 0, &status);
  const auto stream = reinterpret_cast<CUstream>(1000);
  std::printf("%d %s, %d %d %d %d, %s\n", initialised, name,
              cuLaunchKernel(reinterpret_cast<CUfunction>(1), 1, 2, 3, 4, 5, 6, 7, stream, nullptr, nullptr),
              cuStreamQuery(stream), cuStreamQuery_ptsz(stream), cuMemFree_v2(0),
              query == nullptr                                   ? "none"
              : query == reinterpret_cast<void*>(&cuStreamQuery) ? "ours"
                                                                 : "another");
  return 0;
}

// proves: K-15b, K-15f
TEST(Target, TheSameProgramRunsOnEither) {
  EXPECT_EQ(output_of("RADDLE_TARGET=cpu " + kFake), "0 Raddle h200, 201 201 201 201, ours\n");
  // Arguments and answers pass unchanged; what the GPU's driver does not have is not run on the CPU instead.
  EXPECT_EQ(output_of("RADDLE_TARGET=gpu " + kFake), "0 a GPU, 1029 600 601 801, another\n");
}

TEST(Target, AutoTakesTheGpuWhereThereIsOne) {
  EXPECT_NE(output_of("RADDLE_TARGET=auto " + kFake).find(" a GPU,"), std::string::npos);
  EXPECT_NE(output_of("RADDLE_TARGET=auto RADDLE_GPU_DRIVER=/nowhere ").find(" Raddle h200,"),
            std::string::npos);
}

TEST(Target, WhatIsAskedForAndNotThereIsAnError) {
  const std::string text = output_of("RADDLE_TARGET=gpu RADDLE_GPU_DRIVER=/nowhere ");
  EXPECT_NE(text.find("RADDLE_TARGET asks for a GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("100 no device"), std::string::npos) << text;
  EXPECT_NE(output_of("RADDLE_TARGET=tpu ").find("it may be cpu, gpu or auto"), std::string::npos);
}

}  // namespace
}  // namespace raddle::driver

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--say") return raddle::driver::say();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
