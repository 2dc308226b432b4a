// The code cache: what it finds again, what it refuses, and that an engine uses it.
#include "jit/code_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public ::testing::Test {
 protected:
  CodeCacheTest() {
    std::string name = (fs::temp_directory_path() / "raddle_cache_XXXXXX").string();
    root_ = mkdtemp(name.data());
    directory_ = root_ / "cache";
  }
  ~CodeCacheTest() override { fs::remove_all(root_); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(directory_)) found.push_back(file.path());
    return found;
  }
  static std::string text(CodeCache& cache, const CodeKey& key) {
    auto object = cache.find(key);
    return object ? object->getBuffer().str() : "(none)";
  }

  fs::path root_, directory_;
};

constexpr const char* kKernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p)
{
  .reg .b64 %d<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r1;
  ret;
}
)";

TEST(CodeKey, DependsOnEveryPartAndWhereItEnds) {
  EXPECT_EQ(code_key({"ab", "c"}), code_key({"ab", "c"}));
  EXPECT_NE(code_key({"ab", "c"}), code_key({"a", "bc"}));
  EXPECT_NE(code_key({"ab", "c"}), code_key({"ab", "d"}));
  EXPECT_NE(code_key({"ab"}), code_key({"ab", ""}));
}

TEST_F(CodeCacheTest, FindsWhatWasStoredInAnotherProcessToo) {
  const CodeKey key = code_key({"one"});
  CodeCache first(directory_);
  EXPECT_EQ(text(first, key), "(none)");
  first.store(key, "the code");
  EXPECT_EQ(text(first, key), "the code");
  CodeCache second(directory_);
  EXPECT_EQ(text(second, key), "the code");
  EXPECT_EQ(text(second, code_key({"two"})), "(none)");
}

TEST_F(CodeCacheTest, WithoutDirectoryItRemembersInMemory) {
  CodeCache cache("");
  cache.store(code_key({"one"}), "the code");
  EXPECT_EQ(text(cache, code_key({"one"})), "the code");
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(CodeCacheTest, OnlyTheOwnerMayLook) {
  CodeCache cache(directory_);
  cache.store(code_key({"one"}), "the code");
  EXPECT_EQ(fs::status(directory_).permissions(), fs::perms::owner_all);
}

TEST_F(CodeCacheTest, ADamagedFileIsMissingAndGoes) {
  const CodeKey key = code_key({"one"});
  for (int damage = 0; damage < 3; ++damage) {
    CodeCache(directory_).store(key, "the code");
    ASSERT_EQ(files().size(), 1u);
    const fs::path file = files()[0];
    if (damage == 0) fs::resize_file(file, fs::file_size(file) - 1);
    if (damage == 1) std::fstream(file, std::ios::in | std::ios::out).seekp(-1, std::ios::end).put('X');
    if (damage == 2) fs::resize_file(file, 3);
    CodeCache cache(directory_);
    EXPECT_EQ(text(cache, key), "(none)") << damage;
    EXPECT_TRUE(files().empty()) << damage;
  }
}

TEST_F(CodeCacheTest, ADirectoryOthersMayWriteToIsNotUsed) {
  fs::create_directory(directory_);
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  CodeCache cache(directory_);
  EXPECT_NE(cache.problem(), "");
  cache.store(code_key({"one"}), "the code");
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(text(cache, code_key({"one"})), "the code") << "memory still serves";
}

TEST_F(CodeCacheTest, ADirectoryOthersMayLookIntoIsNotUsed) {
  fs::create_directory(directory_);
  for (const mode_t mode : {0755, 0710, 0701, 02700, 0500}) {
    ASSERT_EQ(chmod(directory_.c_str(), mode), 0);
    CodeCache cache(directory_);
    EXPECT_NE(cache.problem().find("not 0700"), std::string::npos) << mode << cache.problem();
    cache.store(code_key({"one"}), "the code");
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(CodeCacheTest, ADirectoryOfSomebodyElseIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(directory_);
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(chown(directory_.c_str(), 65534, 65534), 0);
  EXPECT_NE(CodeCache(directory_).problem().find("belongs to somebody else"), std::string::npos);
}

TEST_F(CodeCacheTest, WhatIsNoDirectoryIsNotUsed) {
  ASSERT_EQ(mkfifo(directory_.c_str(), 0700), 0);  // opened as a file it would wait for a writer
  EXPECT_NE(CodeCache(directory_).problem(), "");
}

TEST_F(CodeCacheTest, OnlyRegularFilesOfTheUserAreRead) {
  const CodeKey key = code_key({"one"});
  CodeCache(directory_).store(key, "the code");
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0], aside = root_ / "aside";
  fs::rename(file, aside);
  const auto found = [&] {
    CodeCache cache(directory_);
    return text(cache, key);
  };
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // nobody writes to it: reading would wait for ever
  EXPECT_EQ(found(), "(none)");
  EXPECT_FALSE(fs::exists(file));
  fs::create_symlink(aside, file);
  EXPECT_EQ(found(), "(none)");
  EXPECT_FALSE(fs::is_symlink(file));
  fs::create_directory(file);
  EXPECT_EQ(found(), "(none)");
  fs::remove(file);
  fs::copy_file(aside, file);
  EXPECT_EQ(found(), "the code");
  ASSERT_EQ(chmod(file.c_str(), 0622), 0);
  EXPECT_EQ(found(), "(none)") << "others may write to it";
  if (geteuid() != 0) return;  // only root can give a file away
  fs::copy_file(aside, file);
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_EQ(found(), "(none)") << "somebody else's";
}

TEST_F(CodeCacheTest, AnObjectServesUnderItsOwnKeyOnly) {
  const CodeKey one = code_key({"one"}), two = code_key({"two"});
  CodeCache(directory_).store(one, "the code");
  const fs::path first = files()[0];
  CodeCache(directory_).store(two, "other code");
  for (const fs::path& file : files())
    if (file != first) fs::copy_file(file, first, fs::copy_options::overwrite_existing);
  CodeCache cache(directory_);
  EXPECT_EQ(text(cache, one), "(none)");
  EXPECT_EQ(text(cache, two), "other code");
}

TEST_F(CodeCacheTest, BeyondItsSizeTheLongestUnusedGoes) {
  fs::create_directory(directory_);
  fs::permissions(directory_, fs::perms::owner_all);
  auto sparse = [&](const char* name, std::uint64_t bytes, int hours_ago) {
    std::ofstream{directory_ / name};
    fs::resize_file(directory_ / name, bytes);
    fs::last_write_time(directory_ / name, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  };
  sparse("old.o", CodeCache::kDiskBytes / 2, 3);
  sparse("older.o", CodeCache::kDiskBytes / 2, 5);
  sparse("new.o", CodeCache::kDiskBytes / 4, 1);
  CodeCache(directory_).store(code_key({"one"}), "the code");
  EXPECT_FALSE(fs::exists(directory_ / "older.o"));
  EXPECT_FALSE(fs::exists(directory_ / "old.o"));
  EXPECT_TRUE(fs::exists(directory_ / "new.o"));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CodeCacheTest, AnEngineCompilesOnceForAllProcesses) {
  auto module = ptx::parse(kKernel, "test");
  ASSERT_TRUE(module.ok());
  const exec::CompileOptions block{.block = {64, 1, 1}};
  auto from_cache = [&](const EngineOptions& options) {
    auto engine = make_engine(options);
    auto code = engine->compile(*module, 0, block);
    EXPECT_TRUE(code.ok());
    return (*code)->statistics.from_cache;
  };
  EXPECT_FALSE(from_cache({.cache_directory = directory_}));
  EXPECT_TRUE(from_cache({.cache_directory = directory_}));
  EXPECT_FALSE(from_cache({.simd = SimdLevel::sse42, .cache_directory = directory_}))
      << "other vectors, other code";
  EXPECT_FALSE(from_cache({.tier = Tier::quick, .cache_directory = directory_})) << "hardly optimised";
  EXPECT_TRUE(from_cache({.tier = Tier::quick, .cache_directory = directory_}));
  EXPECT_TRUE(from_cache({.tier = Tier::balanced, .cache_directory = directory_}))
      << "what kernels start with";
  EXPECT_FALSE(from_cache({.tier = Tier::optimised, .cache_directory = directory_})) << "none ran for long";
  EXPECT_TRUE(from_cache({.tier = Tier::optimised, .cache_directory = directory_}));
  EXPECT_FALSE(from_cache({})) << "no directory: nothing from before";
  EXPECT_FALSE(from_cache({.cache = false, .cache_directory = directory_}));
}

}  // namespace
}  // namespace raddle::jit
