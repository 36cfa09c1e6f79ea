#include "run/host_kernel.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "base/diagnostic.h"
#include "base/options.h"

namespace tilecopy::run {
namespace {

constexpr int most_threads = 1024;
constexpr std::size_t tile_alignment = 64;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

std::unique_ptr<char, Free> allocate_tiles(std::int64_t tile_bytes, int threads) {
  if (tile_bytes == 0) return nullptr;
  std::size_t bytes = static_cast<std::size_t>(tile_bytes) * static_cast<std::size_t>(threads);
  auto* memory = static_cast<char*>(std::aligned_alloc(tile_alignment, bytes));
  if (memory) return std::unique_ptr<char, Free>(memory);
  raise(ErrorCode::E0712, {},
        {.needed = fmt::format("{} bytes, {} for each of {} threads", bytes, tile_bytes, threads),
         .found = "a failed allocation"});
}

}  // namespace

int thread_count(int requested) {
  if (requested < 0 || requested > most_threads) {
    raise(ErrorCode::E0603, {},
          {.needed = fmt::format("0 to {} threads", most_threads),
           .found = fmt::format("{}", requested),
           .help = "use 0 for one thread on each core"});
  }
  if (requested > 0) return requested;
  // OpenMP takes a list, one number for each level of nesting: ours is the first.
  if (auto text = option_value(Option::omp_num_threads)) {
    int value = 0;
    auto end = std::from_chars(text->data(), text->data() + text->size(), value).ptr;
    bool number = end == text->data() + text->size() || *end == ',';
    if (number && value >= 1 && value <= most_threads) return value;
    warn_once("OMP_NUM_THREADS",
              fmt::format("OMP_NUM_THREADS={} is ignored: needed 1 to {}", *text, most_threads));
  }
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 1024u));
}

HostKernel::HostKernel(std::shared_ptr<const os::SharedLibrary> library, LaunchPlan plan)
    : library_(std::move(library)), plan_(std::move(plan)) {
  void* symbol = library_->symbol(plan_.entry.c_str());
  entry_ = reinterpret_cast<Entry*>(symbol);
}

namespace {

// NOTE: the OpenMP runtimes keep a pool of threads that does not survive fork(): a parallel region
// of the child would wait for it forever. A region of one thread needs no pool.
bool in_forked_child() {
  static std::atomic<bool> forked{false};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  return registered == 0 && forked.load(std::memory_order_relaxed);
}

}  // namespace

void HostKernel::launch(const std::vector<Argument>& arguments, int threads) const {
  BoundArguments bound = bind_arguments(plan_, arguments);
  int count = in_forked_child() ? 1 : thread_count(threads);
  auto tiles = allocate_tiles(plan_.tile_bytes, count);
  entry_(bound.tensors.data(), bound.symbols.data(), bound.scalars.data(), tiles.get(), count);
}

}  // namespace tilecopy::run
