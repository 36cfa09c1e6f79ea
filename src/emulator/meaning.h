// What each row of the instruction catalogue means to the emulator. A row without a meaning does
// not compile (program.cpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecopy::emulator {

struct Meaning {
  enum Kind : std::uint8_t {
    none,
    host,  ///< of the cpu target: never in a kernel for threads
    move,
    cp_async,
    ldmatrix,
    stmatrix,
    bulk_load,
    bulk_store,
    tensor_load,
    tensor_im2col,
    tensor_store,
    prefetch_map,
    barrier,
    fence_async,
    cp_async_commit,
    cp_async_wait,
    bulk_commit,
    bulk_wait,
    mbarrier_init,
    mbarrier_fence,
    expect_tx,
    mbarrier_wait
  };
  Kind kind = none;
  int number = 0;      ///< rank of a tensor copy, matrices of ldmatrix and stmatrix
  bool trans = false;  ///< of the latter
  bool read = false;   ///< bulk_wait: until sources may be written
};

constexpr Meaning meaning_of(std::string_view name) {
  auto begins = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
  auto digit = [&](std::string_view with) { return name[with.size()] - '0'; };
  auto contains = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (begins("host.")) return {Meaning::host};
  if (name == "cuda.move" || name == "cuda.load_hint" || name == "cuda.store_hint") {
    return {Meaning::move};
  }
  if (name == "cuda.cp_async" || name == "cuda.cp_async_hint") return {Meaning::cp_async};
  if (begins("cuda.ldmatrix_x")) {
    return {Meaning::ldmatrix, digit("cuda.ldmatrix_x"), contains("_trans")};
  }
  if (begins("cuda.stmatrix_x")) {
    return {Meaning::stmatrix, digit("cuda.stmatrix_x"), contains("_trans")};
  }
  if (name == "cuda.bulk_load" || name == "cuda.bulk_load_hint") return {Meaning::bulk_load};
  if (name == "cuda.bulk_store" || name == "cuda.bulk_store_hint") return {Meaning::bulk_store};
  if (begins("cuda.tma_load_")) return {Meaning::tensor_load, digit("cuda.tma_load_")};
  if (begins("cuda.tma_store_")) return {Meaning::tensor_store, digit("cuda.tma_store_")};
  if (begins("cuda.tma_im2col")) return {Meaning::tensor_im2col, 4};
  if (name == "cuda.prefetch_map") return {Meaning::prefetch_map};
  if (name == "cuda.barrier") return {Meaning::barrier};
  if (name == "cuda.fence_async") return {Meaning::fence_async};
  if (name == "cuda.cp_async_commit") return {Meaning::cp_async_commit};
  if (name == "cuda.cp_async_wait") return {Meaning::cp_async_wait};
  if (name == "cuda.bulk_commit") return {Meaning::bulk_commit};
  if (name == "cuda.bulk_wait") return {Meaning::bulk_wait};
  if (name == "cuda.bulk_wait_read") return {Meaning::bulk_wait, 0, false, true};
  if (name == "cuda.mbarrier_init") return {Meaning::mbarrier_init};
  if (name == "cuda.mbarrier_fence") return {Meaning::mbarrier_fence};
  if (name == "cuda.expect_tx") return {Meaning::expect_tx};
  if (name == "cuda.mbarrier_wait") return {Meaning::mbarrier_wait};
  return {};
}

}  // namespace tilecopy::emulator
