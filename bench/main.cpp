// Runs the benchmarks and writes what they counted as a Markdown table.
//   tilecopy_bench [Google Benchmark's flags] [--markdown=FILE] [--about=TEXT]
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <string_view>

namespace {

class MarkdownReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      std::string counters;
      for (const auto& [name, counter] : run.counters) {
        counters += fmt::format("{}{} {:.3g}", counters.empty() ? "" : ", ", name, counter.value);
      }
      rows_ += fmt::format("| `{}` | {:.3g} {} | {} |\n", run.benchmark_name(),
                           run.GetAdjustedRealTime(), benchmark::GetTimeUnitString(run.time_unit),
                           counters);
    }
  }

  const std::string& rows() const { return rows_; }

 private:
  std::string rows_;
};

// The value of `--name=value`, which is taken out of the arguments.
std::string take_option(std::string_view name, int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (!argument.starts_with(name)) continue;
    std::string value(argument.substr(name.size()));
    std::copy(argv + i + 1, argv + argc, argv + i);
    --argc;
    return value;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string markdown = take_option("--markdown=", argc, argv);
  std::string about = take_option("--about=", argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  MarkdownReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  if (markdown.empty()) return 0;
  std::ofstream file(markdown);
  file << about << "\n\n| benchmark | time | |\n|---|---|---|\n" << reporter.rows();
  return file.good() ? 0 : 1;
}
