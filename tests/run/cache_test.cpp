#include "run/cache.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "base/diagnostic.h"
#include "run/testing.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;
using testing_tools::code_of;
using testing_tools::LogCapture;
using testing_tools::ScopedEnv;
using testing_tools::TestDirectory;

Cache::Build writer(const std::string& content, int* builds = nullptr) {
  return [=](const fs::path& directory) {
    if (builds != nullptr) ++*builds;
    os::write_file(directory / "kernel.so", content);
    os::write_file(directory / "kernel.c", "source of " + content);
  };
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.insert(at->path().filename().string());
  }
  return names;
}

// Runs `body` in a child process, with its static objects destroyed at the end; returns the status.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class CacheTest : public testing::Test {
 protected:
  fs::path root() const { return directory_.path() / "cache"; }
  fs::path versioned() const { return root() / library_version(); }
  fs::path staging() const { return versioned() / ".staging"; }
  fs::path entry(const std::string& key) const { return versioned() / ("k." + content_hash(key)); }

  LogCapture log_;
  TestDirectory directory_;
  Cache cache_{root()};
};

TEST_F(CacheTest, BuildsOnceAndThenHits) {
  int builds = 0;
  EXPECT_FALSE(cache_.find("k", "key"));
  const CacheEntry built = cache_.get("k", "key", writer("code", &builds));
  EXPECT_FALSE(built.hit);
  const CacheEntry again = Cache(root()).get("k", "key", writer("other", &builds));
  EXPECT_TRUE(again.hit);
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(again.directory, entry("key"));
  EXPECT_EQ(os::read_file(again.file("kernel.so")), "code");
  EXPECT_EQ(os::read_file(again.file("key")), "key");
  EXPECT_TRUE(cache_.find("k", "key"));
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
  EXPECT_EQ(log_.text(), "");
}

TEST_F(CacheTest, KeysAndNamesMakeEntries) {
  cache_.get("k", "one", writer("1"));
  cache_.get("k", "two", writer("2"));
  cache_.get("other", "one", writer("3"));
  EXPECT_EQ(os::read_file(cache_.find("k", "one")->file("kernel.so")), "1");
  EXPECT_EQ(os::read_file(cache_.find("k", "two")->file("kernel.so")), "2");
  EXPECT_EQ(os::read_file(cache_.find("other", "one")->file("kernel.so")), "3");
}

TEST_F(CacheTest, NamesCannotLeaveTheDirectory) {
  for (const std::string& name :
       {std::string("../../x"), std::string("/etc/x"), std::string(), std::string("."),
        std::string(5000, 'n'), std::string("a\0b", 3)}) {
    const CacheEntry built = cache_.get(name, "key", writer("1"));
    EXPECT_EQ(built.directory.parent_path(), versioned());
    EXPECT_TRUE(cache_.get(name, "key", writer("2")).hit);
  }
  EXPECT_EQ(log_.text(), "");
}

TEST_F(CacheTest, EntriesHaveThePermissionsOfTheirDirectory) {
  fs::create_directories(versioned());
  chmod(versioned().c_str(), 0751);
  cache_.get("k", "key", writer("1"));
  EXPECT_EQ(static_cast<int>(fs::status(entry("key")).permissions()), 0751);
}

struct Damage {
  const char* name;
  std::function<void(const fs::path&)> apply;
};

class DamagedEntry : public CacheTest, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedEntry, IsRemovedAndBuiltAgain) {
  cache_.get("k", "key", writer("code"));
  GetParam().apply(entry("key"));
  int builds = 0;
  const CacheEntry rebuilt = cache_.get("k", "key", writer("code", &builds));
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(rebuilt.directory, entry("key"));
  EXPECT_EQ(os::read_file(rebuilt.file("kernel.so")), "code");
  EXPECT_EQ(log_.count("warn: "), 1) << log_.text();
  EXPECT_EQ(log_.count(entry("key").string()), 1) << log_.text();
  EXPECT_TRUE(cache_.get("k", "key", writer("code", &builds)).hit);
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
}

const Damage damages[] = {
    {"flipped_byte", [](const fs::path& e) { os::write_file(e / "kernel.so", "codE"); }},
    {"truncated_file", [](const fs::path& e) { fs::resize_file(e / "kernel.so", 2); }},
    {"emptied_file", [](const fs::path& e) { fs::resize_file(e / "kernel.so", 0); }},
    {"grown_file", [](const fs::path& e) { os::write_file(e / "kernel.so", "code "); }},
    {"lost_file", [](const fs::path& e) { fs::remove(e / "kernel.c"); }},
    {"directory_for_file",
     [](const fs::path& e) {
       fs::remove(e / "kernel.so");
       fs::create_directory(e / "kernel.so");
     }},
    {"lost_manifest", [](const fs::path& e) { fs::remove(e / "manifest"); }},
    {"empty_manifest", [](const fs::path& e) { fs::resize_file(e / "manifest", 0); }},
    {"title_only", [](const fs::path& e) { fs::resize_file(e / "manifest", 40); }},
    {"truncated_manifest",
     [](const fs::path& e) { fs::resize_file(e / "manifest", fs::file_size(e / "manifest") - 3); }},
    {"lines_without_names",
     [](const fs::path& e) {
       os::write_file(e / "manifest", "tilecopy manifest " + content_hash("x\n\ny") + "\nx\n\ny");
     }},
    {"changed_key", [](const fs::path& e) { os::write_file(e / "key", "kez"); }},
    {"lost_key", [](const fs::path& e) { fs::remove(e / "key"); }},
    {"empty_directory",
     [](const fs::path& e) {
       fs::remove_all(e);
       fs::create_directory(e);
     }},
};
INSTANTIATE_TEST_SUITE_P(All, DamagedEntry, testing::ValuesIn(damages),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(CacheTest, EqualHashesOfDifferentKeysAreToldApart) {
  cache_.get("k", "other key", writer("other"));
  fs::rename(entry("other key"), entry("key"));
  EXPECT_FALSE(cache_.find("k", "key"));
  EXPECT_EQ(log_.count("made from another key"), 1) << log_.text();
  EXPECT_EQ(os::read_file(cache_.get("k", "key", writer("code")).file("kernel.so")), "code");
}

TEST_F(CacheTest, AFailedBuildLeavesNothing) {
  const auto failing = [](const fs::path& directory) {
    os::write_file(directory / "half", "x");
    throw std::runtime_error("no");
  };
  EXPECT_THROW(cache_.get("k", "key", failing), std::runtime_error);
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
  EXPECT_EQ(cache_.list().size(), 0u);
  const auto raising = [](const fs::path&) { raise(ErrorCode::E0802, {}, {.found = "x"}); };
  EXPECT_EQ(code_of([&] { cache_.get("k", "key", raising); }), "E0802");
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
  EXPECT_FALSE(cache_.get("k", "key", writer("code")).hit);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(CacheTest, ABuilderThatDiesLeavesNoEntry) {
  const int status = in_child([&] {
    cache_.get("k", "key", [](const fs::path& directory) {
      os::write_file(directory / "kernel.so", "half");
      _exit(7);
    });
    return 0;
  });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(names_in(staging()).size(), 1u);
  int builds = 0;
  EXPECT_EQ(os::read_file(cache_.get("k", "key", writer("code", &builds)).file("kernel.so")),
            "code");
  EXPECT_EQ(builds, 1);
}

TEST_F(CacheTest, StaleStagingIsSweptAndFreshIsKept) {
  cache_.get("k", "key", writer("code"));
  fs::create_directory(staging() / "build-old");
  os::write_file(staging() / "build-old" / "f", "x");
  fs::create_directory(staging() / "build-new");
  fs::last_write_time(staging() / "build-old",
                      fs::file_time_type::clock::now() - std::chrono::minutes(61));
  cache_.get("k", "another key", writer("code"));
  EXPECT_EQ(names_in(staging()), std::set<std::string>{"build-new"});
}

TEST_F(CacheTest, ALostRenameUsesTheOwnFiles) {
  const CacheEntry ours = cache_.get("k", "key", [&](const fs::path& directory) {
    Cache(root()).get("k", "key", writer("winner"));
    writer("ours")(directory);
  });
  EXPECT_FALSE(ours.hit);
  EXPECT_EQ(os::read_file(ours.file("kernel.so")), "ours");
  EXPECT_EQ(os::read_file(entry("key") / "kernel.so"), "winner");
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
  cache_.clear();
  EXPECT_EQ(os::read_file(ours.file("kernel.so")), "ours") << "not within reach of others";
  EXPECT_EQ(log_.text(), "");
}

TEST_F(CacheTest, EightProcessesBuildOneEntry) {
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      close(start[1]);
      char byte;
      (void)!read(start[0], &byte, 1);  // returns when the parent closes its end
      const std::string own = "built by " + std::to_string(i);
      const CacheEntry got = Cache(root()).get("k", "key", [&](const fs::path& directory) {
        usleep(30000);
        writer(own)(directory);
      });
      const auto content = os::try_read_file(got.file("kernel.so"));
      const bool good = content && (got.hit ? content->starts_with("built by ") : *content == own);
      std::exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  close(start[0]);
  close(start[1]);
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(names_in(versioned()), (std::set<std::string>{".staging", "k." + content_hash("key")}));
  EXPECT_EQ(names_in(staging()), std::set<std::string>{});
  EXPECT_TRUE(cache_.get("k", "key", writer("x")).hit);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(CacheTest, ThreadsShareACache) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 5; ++n) {
        const std::string key = "key " + std::to_string((i + n) % 3);
        const CacheEntry got = cache_.get("k", key, writer(key));
        good += os::try_read_file(got.file("kernel.so")) == key ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
  EXPECT_EQ(log_.text(), "");
}

// Builds twice and reports through the exit status: 0 when the second is a hit and both are right.
int use_twice(const Cache& cache, const fs::path& report) {
  const CacheEntry first = cache.get("k", "key", writer("code"));
  const CacheEntry second = cache.get("k", "key", writer("other"));
  os::write_file(report, first.directory.string());
  const bool right = os::read_file(second.file("kernel.so")) == "code";
  return right && second.hit && !first.hit ? 0 : 1;
}

class UnusableDirectory : public CacheTest {
 protected:
  // Root may write anywhere, so the directories are ones in which nobody can make a directory.
  void expect_private(const Cache& cache, int warnings, const std::string& reason = "") {
    const fs::path report = directory_.path() / "report";
    const fs::path log = directory_.path() / "log";
    EXPECT_EQ(in_child([&] {
                const int status = use_twice(cache, report);
                os::write_file(log, log_.text());
                return status;
              }),
              0);
    const std::string text = os::read_file(log);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), warnings) << text;
    EXPECT_NE(text.find(reason), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(os::read_file(report))) << "removed when the process ends";
  }
};

TEST_F(UnusableDirectory, BelowARegularFile) {
  os::write_file(directory_.path() / "file", "");
  expect_private(Cache(directory_.path() / "file" / "cache"), 1, "cannot be written");
}

TEST_F(UnusableDirectory, InProc) { expect_private(Cache("/proc/tilecopy"), 1); }

TEST_F(UnusableDirectory, HomeIsMissing) {
  ScopedEnv home("HOME", "/proc/nonexistent");
  ScopedEnv xdg("XDG_CACHE_HOME", nullptr);
  ScopedEnv dir("TILECOPY_CACHE_DIR", nullptr);
  expect_private(Cache(), 1);
}

TEST_F(UnusableDirectory, OffIsSilent) {
  ScopedEnv home("HOME", directory_.path().c_str());
  ScopedEnv dir("TILECOPY_CACHE_DIR", "off");
  const Cache cache;
  EXPECT_FALSE(cache.enabled());
  expect_private(cache, 0);
  EXPECT_EQ(names_in(directory_.path()), (std::set<std::string>{"log", "report"}));
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(cache.clear().entries, 0u);
}

TEST_F(UnusableDirectory, OldEntriesAreStillUsed) {
  cache_.get("k", "old", writer("old"));
  fs::remove_all(staging());
  os::write_file(staging(), "a file in the way of new entries");
  EXPECT_TRUE(cache_.get("k", "old", writer("x")).hit);
  expect_private(cache_, 1);
}

TEST_F(UnusableDirectory, FullDisk) {
  const fs::path disk = directory_.path() / "disk";
  fs::create_directory(disk);
  constexpr int no_mounts = 42;
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
      return no_mounts;
    }
    const Cache cache(disk / "cache");
    if (!cache.get("k", "small", writer("fits")).directory.string().starts_with(disk.string())) {
      return 2;
    }
    const std::string large(100000, 'x');
    const CacheEntry got = cache.get("k", "large", writer(large));
    if (os::read_file(got.file("kernel.so")) != large) return 3;
    if (got.directory.string().starts_with(disk.string())) return 4;
    if (!cache.find("k", "small") || !cache.find("k", "large")) return 5;
    if (!names_in(disk / "cache" / library_version() / ".staging").empty()) return 6;
    return log_.count("disk is full") == 1 ? 0 : 7;
  });
  if (status == no_mounts) GTEST_SKIP() << "this user cannot mount a small disk";
  EXPECT_EQ(status, 0);
}

TEST_F(CacheTest, AChildKeepsTheParentsPrivateEntries) {
  const Cache off{fs::path()};
  const CacheEntry ours = off.get("k", "parent's key", writer("parent"));
  EXPECT_EQ(in_child([&] {
              const CacheEntry own = off.get("k", "child's key", writer("child"));
              return os::read_file(own.file("kernel.so")) == "child" ? 0 : 1;
            }),
            0);
  EXPECT_EQ(os::read_file(ours.file("kernel.so")), "parent");
}

TEST_F(CacheTest, ListsAndClearsEntriesOnly) {
  cache_.get("k", "one", writer("1"));
  cache_.get("k", "two", writer("2"));
  const fs::path old_version = root() / "0.0.9" / ("k." + content_hash("old"));
  fs::create_directories(old_version);
  os::write_file(old_version / "kernel.so", "12345");
  os::write_file(root() / "notes.txt", "mine");
  fs::create_directories(root() / "photos" / ("k." + content_hash("mine")));
  os::write_file(versioned() / "notes.txt", "mine");

  const auto listing = cache_.list();
  ASSERT_EQ(listing.size(), 2u);
  for (const CacheListing& row : listing) {
    EXPECT_TRUE(row.name == "k." + content_hash("one") || row.name == "k." + content_hash("two"));
    EXPECT_GT(row.bytes, 10u);
    EXPECT_LT(row.age, std::chrono::hours(1));
    EXPECT_GE(row.age, std::chrono::seconds(0));
  }
  const CacheCleared cleared = cache_.clear();
  EXPECT_EQ(cleared.entries, 3u);
  EXPECT_EQ(cleared.bytes, listing[0].bytes + listing[1].bytes + 5);
  EXPECT_TRUE(cache_.list().empty());
  EXPECT_EQ(names_in(root()),
            (std::set<std::string>{"notes.txt", "photos", std::string(library_version())}));
  EXPECT_EQ(names_in(versioned()), std::set<std::string>{"notes.txt"});
  EXPECT_FALSE(cache_.get("k", "one", writer("1")).hit);
}

TEST_F(CacheTest, AnAbsentDirectoryIsAnEmptyCache) {
  EXPECT_TRUE(cache_.list().empty());
  EXPECT_EQ(cache_.clear().entries, 0u);
  EXPECT_FALSE(fs::exists(root()));
}

}  // namespace
}  // namespace tilecopy
