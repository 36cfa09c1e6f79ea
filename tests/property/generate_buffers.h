// Random tensors and tiles: shapes, strides and layouts; and the sizes of launches.
#pragma once

#include <vector>

#include "property/generate_values.h"

namespace tilecopy::property {

class BufferGenerator : public ValueGenerator {
 public:
  BufferGenerator(RandomSource& random, Description& kernel)
      : ValueGenerator(random, kernel), common_dtype_(dtype()) {}

  Tensor tensor();
  /// Makes every symbol a dimension of some tensor.
  void bind_symbols();
  void choose_strides(Tensor& t);
  /// Permuted and padded; of a tensor that is only read, some negative or zero.
  std::vector<std::int64_t> strides(const std::vector<std::int64_t>& extents, bool written,
                                    bool inner_one);
  Tile tile();
  /// For the kernel as it stands.
  Launch launch();

 private:
  DType some_dtype();
  std::vector<std::int64_t> shape(int rank, std::int64_t budget);
  TileLayoutData layout(const std::vector<std::int64_t>& extents);
  std::vector<std::int64_t> constant_shape_of(const Tensor& from);

  DType common_dtype_;
};

}  // namespace tilecopy::property
