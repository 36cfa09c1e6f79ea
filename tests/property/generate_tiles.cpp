// Random kernels of the shape that GPUs are programmed in: blocks that move aligned tiles from
// tensors through shared memory and fragments to tensors. Here the fast ways to copy apply, or just
// fail to.
#include <algorithm>

#include "property/generate_buffers.h"

namespace tilecopy::property {
namespace {

class TileGenerator : BufferGenerator {
 public:
  TileGenerator(RandomSource& random, RandomSource& matrices, Description& kernel)
      : BufferGenerator(random, kernel), matrices_(matrices) {}

  void run() {
    kernel_.threads = random_.pick({1, 2, 31, 32, 48, 64, 96, 128, 128, 128, 256, 512});
    from_ = random_.pick({float16, float16, bfloat16, float32, float32, int8, uint8, float64, int64,
                          bool_, float8_e4m3fn, int32, uint16});
    to_ = random_.chance(75) ? from_ : random_.pick({float16, float32, int32, float64});
    if (matrices_.chance(25)) matrix_fragment();
    sizes();
    tensors();
    tiles();
    for (int d = 0; d < 2; ++d) {
      kernel_.grid.push_back(blocks(d));
      vars.push_back({VarRef::block, d});
    }
    body();
    int launches = kernel_.symbols > 0 ? 3 : 1 + random_.below(2);
    for (int n = 0; n < launches; ++n) kernel_.launches.push_back(bind());
  }

 private:
  // A fragment as matrix instructions hold it: 8x8 matrices of pairs of registers, some along rows
  // and columns for each warp, warps along either, pairs along either; on purpose not always one
  // that ldmatrix fits.
  void matrix_fragment() {
    from_ = matrices_.pick({float16, float16, bfloat16, int16, uint16, float32});
    to_ = matrices_.chance(80) ? from_ : matrices_.pick({float16, float32});
    const std::int64_t warps = matrices_.pick({1, 2, 4, 8});
    const std::int64_t down = matrices_.pick({1, 2, 2}), across = matrices_.pick({1, 2, 2, 3, 4});
    kernel_.threads = static_cast<int>(32 * warps * (matrices_.chance(90) ? 1 : 2));
    const bool across_first = matrices_.chance(30), warps_across = matrices_.chance(30);
    const std::int64_t down_stride = 2 * (across_first ? across : 1);
    const std::int64_t across_stride = 2 * (across_first ? 1 : down);
    FragmentData f;
    f.thread = {{{8, 4}, {down, 0}}, {{2, 0}, {4, 1}, {across, 0}}};
    f.reg = {{{8, 0}, {down, down_stride}}, {{2, 1}, {4, 0}, {across, across_stride}}};
    const std::size_t along = warps_across ? 1 : 0;
    f.thread[along].push_back({warps, 32});
    f.reg[along].push_back({warps, 0});
    tile_[0] = 8 * down * (warps_across ? 1 : warps);
    tile_[1] = 8 * across * (warps_across ? warps : 1);
    if (matrices_.chance(30)) {
      std::swap(f.thread[0], f.thread[1]);
      std::swap(f.reg[0], f.reg[1]);
      std::swap(tile_[0], tile_[1]);
    }
    matrix_ = f;
  }

  // Rows and columns of the tensors and of the tile.
  void sizes() {
    if (!matrix_) tile_shape();
    transposed_ = !matrix_ && random_.chance(15);
    tensor_sizes();
    symbolic_ = random_.chance(35);
    if (symbolic_) kernel_.symbols = 2;
    outer_ = random_.chance(30) ? random_.between(1, 3) : 0;
  }

  void tile_shape() {
    const std::int64_t granule = 16 / width_of(from_);
    tile_[0] = random_.pick({1, 2, 3, 4, 7, 8, 8, 16, 16, 24, 32, 64});
    const std::int64_t columns = random_.pick({16, 32, 32, 64, 64, 128, 128, 256, 512, 520});
    tile_[1] = std::max<std::int64_t>(columns / width_of(from_), 2);
    if (random_.chance(15)) tile_[1] += random_.between(1, granule);
    while (tile_[0] * tile_[1] > 4096) tile_[0] = std::max<std::int64_t>(1, tile_[0] / 2);
  }

  void tensor_sizes() {
    const std::int64_t granule = 16 / width_of(from_);
    for (int d = 0; d < 2; ++d) {
      size_[d] = tile_[d] * random_.between(1, 3);
      if (random_.chance(40)) {
        size_[d] +=
            d == 1 && random_.chance(70) ? granule * random_.between(1, 4) : random_.between(-3, 5);
      }
      size_[d] = std::max<std::int64_t>(1, size_[d]);
    }
  }

  Extent size(int d) const { return symbolic_ ? Extent{1, d} : Extent{size_[d], -1}; }

  Tensor tensor_of(DType dtype, bool written, bool swapped) {
    Tensor t;
    t.dtype = dtype;
    if (outer_ > 0) t.shape.push_back({outer_, -1});
    t.shape.push_back(size(swapped ? 1 : 0));
    t.shape.push_back(size(swapped ? 0 : 1));
    t.written = written;
    const int choice = random_.below(100);
    if (symbolic_) {
      if (choice < 30) t.strides = Tensor::inner_one;
      return t;
    }
    if (choice < 35) {
      // A pitch, aligned more often than not.
      const std::int64_t granule = 16 / width_of(dtype);
      std::int64_t pitch = t.shape.back().constant + random_.between(0, 2) * granule;
      if (random_.chance(70)) pitch = (pitch + granule - 1) / granule * granule;
      t.strides = Tensor::constant;
      const std::int64_t rows = t.shape[t.shape.size() - 2].constant;
      t.constant_strides = {pitch, 1};
      if (outer_ > 0) t.constant_strides.insert(t.constant_strides.begin(), pitch * rows);
    }
    return t;
  }

  void tensors() {
    kernel_.tensors.push_back(tensor_of(from_, false, false));
    kernel_.tensors.push_back(tensor_of(to_, true, transposed_));
  }

  void tiles() {
    Tile first{Scope::shared, from_, {tile_[0], tile_[1]}, {}, {}};
    if (random_.chance(30)) {
      for (int span : {128, 64, 32}) {
        bool fits = tile_[1] * width_of(from_) % span == 0 && tile_[0] % 8 == 0;
        if (fits && random_.chance(60)) {
          first.layout = TileLayoutData{{}, {}, span};
          break;
        }
      }
    }
    kernel_.tiles.push_back(first);
    if (transposed_) {
      kernel_.tiles.push_back({Scope::shared, to_, {tile_[1], tile_[0]}, {}, {}});
      return;
    }
    if (matrix_) {
      // Through the fragment to shared memory and on, so that both directions are met.
      kernel_.tiles.push_back({Scope::fragment, from_, {tile_[0], tile_[1]}, {}, matrix_});
      if (matrices_.chance(70)) {
        kernel_.tiles.push_back({Scope::shared, to_, {tile_[0], tile_[1]}, {}, {}});
      }
      return;
    }
    for (int n = random_.below(3); n > 0; --n) {
      const Scope scope = random_.pick({Scope::fragment, Scope::fragment, Scope::shared});
      kernel_.tiles.push_back({scope, n == 1 ? to_ : from_, {tile_[0], tile_[1]}, {}, {}});
    }
  }

  // Blocks along columns first, as kernels have them.
  Affine blocks(int grid_dim) {
    const int d = 1 - grid_dim;
    if (symbolic_) return {tile_[d] - 1, {{1, {VarRef::symbol, d}}}, tile_[d]};
    Affine count;
    count.constant = (size_[d] + tile_[d] - 1) / tile_[d];
    return count;
  }

  // The tile of this block, moved off by a few elements now and then.
  Side place(int buffer, bool swapped) {
    Side side{buffer, Side::region, {}};
    if (outer_ > 0) side.dims.push_back({{random_.between(0, outer_ - 1), {}}, {}, false});
    for (int k = 0; k < 2; ++k) {
      const int d = swapped ? 1 - k : k;
      Affine origin{shift_[d], {{tile_[d], {VarRef::block, 1 - d}}}};
      side.dims.push_back({origin, {tile_[d], -1}, true});
    }
    return side;
  }

  Hint hint() {
    Hint h;
    if (random_.chance(35)) return h;
    h.cuda = true;
    if (random_.chance(40)) {
      h.eviction_policy = random_.pick({"evict_normal", "evict_first", "evict_last"});
    }
    if (random_.chance(70)) h.prefer_instruction = random_.pick({"tma", "cp_async", "sync", "tma"});
    if (random_.chance(15) && h.prefer_instruction != "tma") h.disable_tma = true;
    if (random_.chance(25)) h.coalesced_width = 1 << random_.below(5);
    return h;
  }

  void body() {
    if (random_.chance(25)) {
      const std::int64_t granule = 16 / width_of(from_);
      for (std::int64_t& s : shift_) {
        s = random_.between(-2, 2) * (random_.chance(70) ? granule : 1);
      }
    }
    std::vector<Statement>* into = &kernel_.body;
    const int first_tile = static_cast<int>(kernel_.tensors.size());
    const int last = first_tile + static_cast<int>(kernel_.tiles.size()) - 1;
    if (random_.chance(25)) {
      Statement safe{Statement::safe_value, {}, {}};
      safe.dst.buffer = 0;
      safe.value = constant(from_);
      kernel_.body.push_back(safe);
    }
    if (random_.chance(30)) {
      Statement loop{Statement::loop, {}, {}};
      loop.loop_number = 0;
      loop.unrolled = random_.chance(20);
      loop.trips = {random_.pick({1, 2, 3, 5}), -1};
      kernel_.body.push_back(loop);
      into = &kernel_.body.back().body;
    }
    into->push_back({Statement::copy, place(0, false), whole(first_tile), hint()});
    for (int tile = first_tile; tile < last; ++tile) {
      const bool turn = transposed_ && tile + 1 == last;
      into->push_back({turn ? Statement::transpose : Statement::copy, whole(tile), whole(tile + 1),
                       turn ? Hint{} : hint()});
    }
    if (random_.chance(40)) into->push_back(double_it(last));
    into->push_back({Statement::copy, whole(last), place(1, transposed_), hint()});
  }

  static Side whole(int buffer) { return {buffer, Side::whole, {}}; }

  // tile(i, j) = tile(i, j) + tile(i, j)
  Statement double_it(int buffer) {
    Statement s{Statement::element, {}, {}};
    s.dst.buffer = buffer;
    const std::vector<Extent> extents = kernel_.shape(buffer);
    Node load{Node::load, kernel_.dtype(buffer)};
    load.buffer = buffer;
    for (int d = 0; d < 2; ++d) {
      s.at.push_back({0, {{1, {VarRef::axis, d}}}});
      s.extents.push_back(extents[static_cast<std::size_t>(d)]);
    }
    load.at = s.at;
    if (kernel_.dtype(buffer) == bool_) {
      s.value = load;
      return s;
    }
    s.value.kind = Node::binary;
    s.value.dtype = kernel_.dtype(buffer);
    s.value.op = Op::add;
    s.value.operands = {load, load};
    return s;
  }

  // Usual arguments, and some that break what a fast variant needs.
  Launch bind() {
    Launch l;
    l.contents = random_.bits();
    l.threads = 1;
    const std::int64_t granule = 16 / width_of(from_);
    for (int d = 0; symbolic_ && d < 2; ++d) {
      std::int64_t n = size_[d];
      if (d == 1 && random_.chance(60)) n = (n + granule - 1) / granule * granule;
      if (random_.chance(20)) n += random_.between(0, 3);
      l.symbols.push_back(n);
    }
    bind_strides(l);
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      l.shifts.push_back(random_.chance(75) ? 0 : random_.between(1, 16));
    }
    return l;
  }

  // Row-major for these symbols, with a pitch where strides are symbols.
  void bind_strides(Launch& l) {
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      const Tensor& tensor = kernel_.tensors[t];
      l.strides.emplace_back(tensor.shape.size());
      std::int64_t stride = 1;
      for (std::size_t d = tensor.shape.size(); d-- > 0;) {
        l.strides[t][d] = stride;
        const Extent& e = tensor.shape[d];
        std::int64_t n = e.symbol < 0 ? e.constant : l.symbols[static_cast<std::size_t>(e.symbol)];
        const std::int64_t granule = 16 / width_of(tensor.dtype);
        if (d + 1 == tensor.shape.size() && tensor.strides != Tensor::row_major) {
          if (random_.chance(60)) n = (n + granule - 1) / granule * granule;
          n += random_.pick({0, 0, 1}) * granule;
        }
        stride *= n;
      }
    }
  }

  DType from_ = float16, to_ = float16;
  std::int64_t tile_[2] = {}, size_[2] = {}, shift_[2] = {};
  bool symbolic_ = false, transposed_ = false;
  RandomSource& matrices_;  // of its own, so that seeds without matrices keep their kernels
  std::optional<FragmentData> matrix_;
  std::int64_t outer_ = 0;
};

}  // namespace

Description generate_tiles(std::uint64_t seed) {
  RandomSource random(seed ^ 0x7117e5);
  Description kernel;
  kernel.seed = seed;
  RandomSource matrices(seed ^ 0x8a7215);
  TileGenerator(random, matrices, kernel).run();
  return kernel;
}

}  // namespace tilecopy::property
