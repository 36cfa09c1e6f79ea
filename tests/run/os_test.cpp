#include "base/os.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/log.h"
#include "base/options.h"
#include "run/testing.h"

namespace tilecopy {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing_tools::code_of;
using testing_tools::ScopedEnv;
using testing_tools::TestDirectory;

TEST(SplitWords, FollowsTheShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(os::split_words("  cc  -O2 "), (Words{"cc", "-O2"}));
  EXPECT_EQ(os::split_words(R"('my cc' "a \"b\"" c\ d '' x'y'z)"),
            (Words{"my cc", "a \"b\"", "c d", "", "xyz"}));
  EXPECT_EQ(os::split_words("'open"), (Words{"open"}));
  EXPECT_EQ(os::split_words(""), Words{});
}

TEST(JoinWords, IsReadBackAsTheSameWords) {
  const std::vector<std::string> words = {"cc", "", "a b", "it's", "$HOME", "x\"y", "-o/tmp/k.so"};
  EXPECT_EQ(os::split_words(os::join_words(words)), words);
}

TEST(FindExecutable, SearchesPathOnly) {
  TestDirectory dir;
  os::write_file(dir.path() / "tool", "#!/bin/sh\n");
  ScopedEnv path("PATH", ("::/nonexistent:" + dir.path().string()).c_str());
  EXPECT_FALSE(os::find_executable("tool")) << "the file has no execute permission";
  chmod((dir.path() / "tool").c_str(), 0755);
  EXPECT_EQ(os::find_executable("tool"), dir.path() / "tool");
  EXPECT_EQ(os::find_executable("/bin/sh"), fs::path("/bin/sh"));
  EXPECT_FALSE(os::find_executable("sh"));
  EXPECT_FALSE(os::find_executable(dir.path().string())) << "a directory is not a program";
  ScopedEnv none("PATH", nullptr);
  EXPECT_FALSE(os::find_executable("sh"));
}

TEST(RunProcess, CapturesStreamsAndStatus) {
  const std::vector<std::string> argv = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"};
  const auto merged = os::run_process(argv);
  EXPECT_EQ(merged.output, "out\nerr\n");
  EXPECT_EQ(merged.exit_status, 3);
  EXPECT_EQ(merged.ending(), "exit status 3");
  EXPECT_FALSE(merged.ok());
  const auto apart = os::run_process(argv, {.merge_streams = false});
  EXPECT_EQ(apart.output, "out\n");
  EXPECT_EQ(apart.errors, "err\n");
  EXPECT_TRUE(os::run_process({"/bin/sh", "-c", "exit 0"}).ok());
}

TEST(RunProcess, PassesArgumentsUnchanged) {
  const auto result =
      os::run_process({"/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "$X", ""});
  EXPECT_EQ(result.output, "a b|$X||");
}

TEST(RunProcess, TakesMoreOutputThanAPipeHolds) {
  const auto result =
      os::run_process({"/bin/sh", "-c", "head -c 1000000 /dev/zero; head -c 500000 /dev/zero >&2"},
                      {.merge_streams = false});
  EXPECT_EQ(result.output.size(), 1000000u);
  EXPECT_EQ(result.errors.size(), 500000u);
}

TEST(RunProcess, GivesAnEmptyInput) {
  EXPECT_EQ(os::run_process({"/bin/sh", "-c", "cat; echo end"}).output, "end\n");
}

TEST(RunProcess, ReportsWhatCannotStart) {
  const auto missing = os::run_process({"/nonexistent/tool"});
  EXPECT_NE(missing.start_error, 0);
  EXPECT_FALSE(missing.ok());
  EXPECT_NE(missing.ending().find("No such file"), std::string::npos);
  EXPECT_NE(os::run_process({}).start_error, 0);
}

TEST(RunProcess, ReportsSignals) {
  const auto result = os::run_process({"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_FALSE(result.ok());
}

TEST(RunProcess, KillsTheWholeGroupWhenTimeRunsOut) {
  TestDirectory dir;
  const std::string pid_file = (dir.path() / "pid").string();
  const auto start = std::chrono::steady_clock::now();
  const auto result = os::run_process(
      {"/bin/sh", "-c", "sleep 60 & echo $! > " + pid_file + "; wait"}, {.timeout = 300ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  const int grandchild = std::stoi(os::read_file(pid_file));
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    // A killed orphan that nobody reaps stays as a zombie, which is as good as gone.
    const auto stat = os::try_read_file("/proc/" + std::to_string(grandchild) + "/stat");
    gone = !stat || stat->find(") Z ") != std::string::npos;
    if (!gone) usleep(10000);
  }
  EXPECT_TRUE(gone);
}

TEST(RunProcess, DoesNotWaitForWhatTheChildLeftBehind) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = os::run_process({"/bin/sh", "-c", "sleep 30 & echo done"});
  EXPECT_EQ(result.output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TEST(RunProcess, LeaksNoDescriptors) {
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  for (int i = 0; i < 5; ++i) os::run_process({"/bin/sh", "-c", "true"}, {.merge_streams = false});
  os::run_process({"/nonexistent"});
  EXPECT_EQ(count(), before);
}

TEST(Files, RoundTrip) {
  TestDirectory dir;
  const fs::path file = dir.path() / "f";
  const std::string content("a\0b\n", 4);
  os::write_file(file, content);
  EXPECT_EQ(os::read_file(file), content);
  os::write_file(file, "");
  EXPECT_EQ(os::read_file(file), "");
  EXPECT_FALSE(os::read_file("/proc/self/status").empty()) << "/proc gives files no size";
}

TEST(Files, ErrorsNameThePathAndTheReason) {
  TestDirectory dir;
  EXPECT_EQ(code_of([&] { os::read_file(dir.path() / "absent"); }), "E0605");
  EXPECT_EQ(code_of([&] { os::read_file(dir.path()); }), "E0605");
  EXPECT_EQ(code_of([&] { os::write_file(dir.path(), "x"); }), "E0605");
  EXPECT_EQ(code_of([&] { os::write_file("/proc/nonexistent", "x"); }), "E0605");
  EXPECT_EQ(code_of([&] { os::write_file("/dev/full", "x"); }), "E0605");
  EXPECT_FALSE(os::try_read_file(dir.path() / "absent"));
  EXPECT_FALSE(os::try_read_file(dir.path()));
  try {
    os::read_file(dir.path() / "absent");
    FAIL();
  } catch (const ToolError& error) {
    EXPECT_NE(std::string(error.what()).find("absent: No such file"), std::string::npos);
  }
}

TEST(OutputFile, LeavesTheOldFileUnlessCommitted) {
  TestDirectory dir;
  const fs::path file = dir.path() / "f";
  os::write_file(file, "old");
  {
    os::OutputFile output(file, {});
    output.write("half of the new");
  }
  EXPECT_EQ(os::read_file(file), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "a temporary file is left";
}

TEST(OutputFile, KeepsPermissionsAndFollowsLinks) {
  TestDirectory dir;
  os::write_file(dir.path() / "real", "old");
  chmod((dir.path() / "real").c_str(), 0640);
  fs::create_symlink("real", dir.path() / "link");
  os::write_file(dir.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
  EXPECT_EQ(os::read_file(dir.path() / "real"), "new");
  EXPECT_EQ(static_cast<int>(fs::status(dir.path() / "real").permissions()), 0640);
}

TEST(OutputFile, WritesDevicesInPlace) {
  os::write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(InputFile, KnowsWhatRemainsOfAPipe) {
  TestDirectory dir;
  const fs::path pipe = dir.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string content(200000, 'p');
  const pid_t writer = fork();
  if (writer == 0) {
    os::write_file(pipe, "head" + content);
    _exit(0);
  }
  os::InputFile file(pipe, {});
  std::string head(4, ' ');
  EXPECT_EQ(file.read(head.data(), 4), 4u);
  EXPECT_EQ(head, "head");
  EXPECT_EQ(file.remaining(), content.size());
  std::string rest(content.size() + 10, ' ');
  EXPECT_EQ(file.read(rest.data(), rest.size()), content.size());
  EXPECT_EQ(file.remaining(), 0u);
  waitpid(writer, nullptr, 0);
}

TEST(TempDirectory, IsRemovedByItsOwnerOnly) {
  fs::path path;
  {
    auto dir = os::TempDirectory::make_anywhere("tilecopy-test-");
    path = dir.path();
    os::write_file(path / "f", "x");
    const pid_t child = fork();
    if (child == 0) {
      { auto taken = std::move(dir); }
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(fs::exists(path / "f"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempDirectory, UsesAnotherPlaceWhenTmpdirIsUnusable) {
  ScopedEnv tmp("TMPDIR", "/proc/nonexistent");
  EXPECT_TRUE(fs::is_directory(os::TempDirectory::make_anywhere("tilecopy-test-").path()));
  EXPECT_FALSE(os::TempDirectory::make("/proc/nonexistent", "x"));
}

TEST(PublishDirectory, AppearsWholeOrLoses) {
  TestDirectory dir;
  fs::create_directory(dir.path() / "a");
  fs::create_directory(dir.path() / "b");
  os::write_file(dir.path() / "a/f", "first");
  os::write_file(dir.path() / "b/f", "second");
  EXPECT_EQ(os::publish_directory(dir.path() / "a", dir.path() / "t"), os::Publish::done);
  EXPECT_EQ(os::publish_directory(dir.path() / "b", dir.path() / "t"), os::Publish::lost);
  EXPECT_EQ(os::read_file(dir.path() / "t/f"), "first");
  EXPECT_EQ(os::read_file(dir.path() / "b/f"), "second");
  EXPECT_EQ(os::publish_directory(dir.path() / "b", dir.path() / "absent/t"), os::Publish::failed);
  EXPECT_EQ(os::publish_directory(dir.path() / "absent", dir.path() / "u"), os::Publish::failed);
}

TEST(SharedLibrary, OpensAndFindsSymbols) {
  os::SharedLibrary library("libm.so.6");
  auto* cosine = reinterpret_cast<double (*)(double)>(library.symbol("cos"));
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(library.try_symbol("no_such_symbol"), nullptr);
  EXPECT_EQ(code_of([&] { library.symbol("no_such_symbol"); }), "E0803");
  os::SharedLibrary moved = std::move(library);
  EXPECT_NE(moved.try_symbol("cos"), nullptr);
  EXPECT_EQ(library.try_symbol("cos"), nullptr);
}

TEST(SharedLibrary, ReportsWhatIsNotALibrary) {
  TestDirectory dir;
  os::write_file(dir.path() / "k.so", "not an ELF file");
  EXPECT_EQ(code_of([&] { os::SharedLibrary library(dir.path() / "k.so"); }), "E0803");
  std::string reason;
  EXPECT_FALSE(os::SharedLibrary::try_open(dir.path() / "absent.so", &reason));
  EXPECT_NE(reason.find("absent.so"), std::string::npos);
}

TEST(Options, TableIsCompleteAndUnique) {
  std::set<std::string_view> names;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_EQ(&option_row(row.id), &row);
  }
}

TEST(Options, CacheLocation) {
  ScopedEnv home("HOME", "/h");
  ScopedEnv xdg("XDG_CACHE_HOME", nullptr);
  ScopedEnv dir("TILECOPY_CACHE_DIR", nullptr);
  EXPECT_EQ(cache_location().directory, "/h/.cache/tilecopy");
  xdg.set("relative");
  EXPECT_EQ(cache_location().directory, "/h/.cache/tilecopy");
  xdg.set("/x");
  EXPECT_EQ(cache_location().directory, "/x/tilecopy");
  dir.set("/c");
  EXPECT_EQ(cache_location().directory, "/c");
  dir.set("~/c");
  EXPECT_EQ(cache_location().directory, "/h/c");
  dir.set("c");
  EXPECT_EQ(cache_location().directory, fs::current_path() / "c");
  for (const char* off : {"off", "0", "none"}) {
    dir.set(off);
    EXPECT_FALSE(cache_location().enabled) << off;
  }
}

TEST(Options, AreReadWhenAskedFor) {
  ScopedEnv target("TILECOPY_TARGET", nullptr);
  EXPECT_EQ(default_target(), "cpu");
  target.set("cuda -arch=sm_90a");
  EXPECT_EQ(default_target(), "cuda -arch=sm_90a");
  ScopedEnv color("NO_COLOR", "1");
  EXPECT_FALSE(color_allowed());
  color.set(nullptr);
  EXPECT_TRUE(color_allowed());
  ScopedEnv dump("TILECOPY_DUMP_DIR", nullptr);
  EXPECT_FALSE(dump_directory());
  dump.set("/d");
  EXPECT_EQ(dump_directory(), fs::path("/d"));
}

TEST(Log, ObeysTheLevelAndTheSink) {
  ScopedEnv level("TILECOPY_LOG_LEVEL", nullptr);
  testing_tools::LogCapture log;
  warn("w");
  info("i");
  level.set("debug");
  debug("d");
  level.set("error");
  warn("quiet");
  EXPECT_EQ(log.text(), "warn: w\ndebug: d\n");
}

TEST(Log, ComplainsOnceAboutAnUnknownLevel) {
  ScopedEnv level("TILECOPY_LOG_LEVEL", "lots");
  testing_tools::LogCapture log;
  warn("w");
  info("i");
  warn("w");
  EXPECT_EQ(log.count("is \"lots\""), 1);
  EXPECT_EQ(log.count("warn: w"), 2);
  EXPECT_EQ(log.count("info: i"), 0);
}

TEST(Log, SurvivesASinkThatThrows) {
  set_log_sink([](LogLevel, std::string_view) { throw 1; });
  warn("w");
  set_log_sink({});
}

TEST(Log, WarnsOnceAboutOneThing) {
  testing_tools::LogCapture log;
  for (int i = 0; i < 3; ++i) warn_once("os_test", "once");
  EXPECT_EQ(log.count("once"), 1);
}

}  // namespace
}  // namespace tilecopy
