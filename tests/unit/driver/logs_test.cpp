// The driver's log of errors.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "driver_test.h"

namespace raddle::driver {
namespace {

void keep(void* data, CUlogLevel level, char* message, std::size_t length) {
  EXPECT_EQ(level, LOG_LEVEL_ERROR);
  static_cast<std::vector<std::string>*>(data)->emplace_back(message, length);
}

TEST_F(Driver, ErrorsAreLogged) {
  std::vector<std::string> told;
  CUlogsCallbackHandle handle = nullptr;
  CUlogIterator before = 0;
  ASSERT_EQ(cuLogsRegisterCallback(&keep, &told, &handle), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsRegisterCallback(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuLogsCurrent(&before, 0), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuLogsCurrent(&before, 1), CUDA_ERROR_INVALID_VALUE);
  CUmodule wrong = nullptr;
  EXPECT_EQ(cuModuleLoadData(&wrong, ".version 8.0\n.target sm_90\n.address_size 64\nrubbish\n"),
            CUDA_ERROR_INVALID_PTX);
  ASSERT_FALSE(told.empty());
  SKIP_ON_HARDWARE("says other things in other words");
  EXPECT_THAT(told.back(), testing::HasSubstr("rubbish"));

  char text[1000];
  std::size_t bytes = sizeof text;
  CUlogIterator from = before;
  ASSERT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(std::string(text), told.back() + "\n");
  EXPECT_EQ(bytes, told.back().size() + 1);
  bytes = sizeof text;
  ASSERT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 0u);  // told already
  bytes = 0;
  EXPECT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_ERROR_INVALID_VALUE);

  const std::string path = testing::TempDir() + "/raddle_log.txt";
  ASSERT_EQ(cuLogsDumpToFile(&before, path.c_str(), 0), CUDA_SUCCESS);
  std::ifstream file(path);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), testing::HasSubstr("rubbish"));
  EXPECT_EQ(cuLogsDumpToFile(nullptr, "/nowhere/log", 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogsUnregisterCallback(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
