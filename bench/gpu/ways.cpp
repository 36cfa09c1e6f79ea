// The ways to copy against each other: a copy through shared memory by each method, for tiles of
// many shapes, on one GPU. The figures behind the planner's order and limits (docs/planner.md).
//
//   bench_ways [ROWSxCOLUMNS of the tensor, float16]
#include <fmt/format.h>

#include <cstdio>

#include "bench/gpu/device.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::bench {
namespace {

constexpr int warm_up = 3, runs = 11;

struct Tile {
  std::int64_t rows, columns;
};

Function copy_through(const Tile& tile, std::int64_t rows, std::int64_t columns, int threads) {
  return function("copy_through", [&] {
    Buffer a = tensor("A", {rows, columns}, float16);
    Buffer b = tensor("B", {rows, columns}, float16);
    auto [bx, by] =
        kernel({ceildiv(columns, tile.columns), ceildiv(rows, tile.rows)}, {.threads = threads});
    Buffer shared = alloc_shared({tile.rows, tile.columns}, float16);
    cuda::copy(a(by * tile.rows, bx * tile.columns), shared);
    cuda::copy(shared, b(by * tile.rows, bx * tile.columns));
  });
}

std::string ways(const CompiledKernel& kernel) {
  return fmt::format("{} + {}", kernel.plans()[0].method, kernel.plans()[1].method);
}

void compare(const Device& device, std::int64_t rows, std::int64_t columns) {
  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * 2;
  DeviceMemory from(device, bytes), to(device, bytes);
  device.call("cuMemsetD8_v2", from.pointer(), static_cast<unsigned char>(1), bytes);
  const std::vector<Argument> arguments = {from.view(float16, {rows, columns}),
                                           to.view(float16, {rows, columns})};
  auto rate = [&](const std::function<void()>& launch) {
    std::vector<double> times;
    for (int n = 0; n < warm_up + runs; ++n) {
      double time = device.milliseconds(launch);
      if (n >= warm_up) times.push_back(time);
    }
    return 2.0 * static_cast<double>(bytes) / median(times) / 1e9;
  };
  const double reference = rate([&] {
    device.call("cuMemcpyDtoDAsync_v2", to.pointer(), from.pointer(), bytes, device.stream());
  });
  fmt::print("cuMemcpyDtoD {:.3f} TB/s, read and written, {}x{} float16\n", reference, rows,
             columns);
  fmt::print("{:>10} {:>8} {:<20} {:>8} {:>6}\n", "tile", "threads", "load + store", "TB/s",
             "ratio");
  for (const Tile& tile : std::vector<Tile>{{1, 4096},
                                            {2, 4096},
                                            {8, 1016},
                                            {8, 2048},
                                            {16, 1024},
                                            {16, 512},
                                            {32, 512},
                                            {64, 512},
                                            {64, 256},
                                            {64, 128},
                                            {128, 128},
                                            {128, 64},
                                            {256, 32}}) {
    for (int threads : {128, 256}) {
      std::string seen;
      for (const char* method : {"", "bulk", "tma", "cp_async", "simt"}) {
        const CompiledKernel kernel = compile(copy_through(tile, rows, columns, threads),
                                              "cuda -arch=sm_90a", {.method = method});
        const std::string taken = ways(kernel);
        if (*method && seen.find('[' + taken + ']') != seen.npos) continue;
        if (*method) seen += '[' + taken + ']';
        const double speed =
            rate([&] { kernel.run(arguments, {.stream = device.stream()}, Location{}); });
        fmt::print("{:>10} {:>8} {:<20} {:>8.3f} {:>6.2f}{}\n",
                   fmt::format("{}x{}", tile.rows, tile.columns), threads, taken, speed,
                   speed / reference, *method ? "" : "  default");
      }
    }
  }
}

}  // namespace
}  // namespace tilecopy::bench

int main(int count, char** words) try {
  long long rows = 16384, columns = 8192;
  if (count > 1 && std::sscanf(words[1], "%lldx%lld", &rows, &columns) != 2) {
    fmt::print(stderr, "bench_ways: needed ROWSxCOLUMNS, found {}\n", words[1]);
    return 2;
  }
  const tilecopy::bench::Device device;
  tilecopy::bench::compare(device, rows, columns);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
