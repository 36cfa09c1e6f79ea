// Random kernels: their statements.
#include <algorithm>
#include <numeric>

#include "property/generate_buffers.h"

namespace tilecopy::property {
namespace {

// Elements that one operation moves.
constexpr std::int64_t most_elements = 600;
constexpr std::int64_t most_blocks = 8;

std::vector<Extent> without_units(std::vector<Extent> extents) {
  std::erase_if(extents, [](const Extent& e) { return e.is_unit(); });
  return extents;
}

class Generator : BufferGenerator {
 public:
  Generator(RandomSource& random, Description& kernel) : BufferGenerator(random, kernel) {}

  void run() {
    kernel_.threads = random_.pick({1, 2, 31, 32, 33, 48, 96, 128, 256, 1000, 1024});
    kernel_.symbols = random_.chance(50) ? 0 : 1 + random_.below(3);
    kernel_.opt_level = random_.pick({0, 0, 0, 0, 1, 1, 1, 1, 1, 3});
    for (int n = 2 + random_.below(3); n > 0; --n) kernel_.tensors.push_back(tensor());
    kernel_.tensors.back().written = true;
    for (Tensor& t : kernel_.tensors) t.written |= random_.chance(20);
    bind_symbols();
    if (random_.chance(15)) {
      kernel_.tensors.push_back({random_.pick({int8, int32, int64, uint16}),
                                 {{5, -1}},
                                 Tensor::row_major,
                                 {},
                                 false,
                                 true});
    }
    for (Tensor& t : kernel_.tensors) choose_strides(t);
    for (int n = random_.below(4); n > 0; --n) kernel_.tiles.push_back(tile());
    grid();
    body();
    const int launches = kernel_.symbols > 0 ? 3 : 1;
    for (int n = 0; n < launches; ++n) kernel_.launches.push_back(launch());
  }

 private:
  void grid() {
    std::int64_t blocks = 1;
    for (int d = random_.pick({1, 1, 2, 2, 3}); d > 0; --d) {
      Affine extent;
      extent.constant = random_.chance(2) ? 0 : random_.between(1, 3);
      if (blocks * extent.constant > most_blocks) extent.constant = 1;
      blocks *= std::max<std::int64_t>(1, extent.constant);
      if (kernel_.symbols > 0 && random_.chance(30)) {
        const std::int64_t step = random_.pick({8, 16});
        extent = {step - 1, {{1, {VarRef::symbol, random_.below(kernel_.symbols)}}}, step};
      }
      vars.push_back({VarRef::block, static_cast<int>(kernel_.grid.size())});
      kernel_.grid.push_back(extent);
    }
  }

  // ---- Statements ----

  int buffers() const { return static_cast<int>(kernel_.tensors.size() + kernel_.tiles.size()); }
  bool may_write(int buffer) const {
    return !kernel_.is_tensor(buffer) || kernel_.tensor(buffer).written;
  }
  bool is_local(int buffer) const {
    return !kernel_.is_tensor(buffer) && kernel_.tile(buffer).scope == Scope::local;
  }
  int written_buffer() {
    for (;;) {
      const int buffer = random_.below(buffers());
      if (may_write(buffer)) return buffer;
    }
  }
  int other_buffer(int than) {
    for (;;) {
      const int buffer = random_.below(buffers());
      if (buffer != than) return buffer;
    }
  }
  static Side whole(int buffer) { return {buffer, Side::whole, {}}; }

  void body() {
    for (std::size_t t = 0; t < kernel_.tiles.size(); ++t) {
      const int buffer = static_cast<int>(kernel_.tensors.size() + t);
      if (random_.chance(60)) {
        kernel_.body.push_back(move_whole(buffer, false));
      } else {
        kernel_.body.push_back(fill(whole(buffer)));
      }
    }
    statements(kernel_.body, 1 + random_.below(4), 2);
    for (std::size_t t = 0; t < kernel_.tiles.size(); ++t) {
      if (random_.chance(60)) {
        kernel_.body.push_back(move_whole(static_cast<int>(kernel_.tensors.size() + t), true));
      }
    }
  }

  void statements(std::vector<Statement>& body, int count, int depth) {
    for (; count > 0; --count) {
      const int choice = random_.below(100);
      if (choice < 42) {
        body.push_back(move());
      } else if (choice < 52) {
        body.push_back(fill(region(written_buffer(), {})));
      } else if (choice < 72) {
        body.push_back(element());
      } else if (choice < 84) {
        body.push_back(safe_value());
        ++count;
      } else if (depth > 0) {
        body.push_back(choice < 93 ? loop(depth - 1) : branch(depth - 1));
      }
    }
  }

  // A region of these extents, which are not 1, in random dimensions; others have extent 1. Without
  // extents, some are made up.
  Side region(int buffer, std::vector<Extent> extents) {
    const std::vector<Extent> rooms = kernel_.shape(buffer);
    const int rank = static_cast<int>(rooms.size());
    if (extents.empty()) extents = some_extents(1 + random_.below(std::min(3, rank)), buffer);
    std::vector<int> dims(rooms.size());
    std::iota(dims.begin(), dims.end(), 0);
    while (dims.size() > extents.size()) {
      // Mostly the leading dimensions are single indices.
      const int drop = random_.chance(50) ? 0 : random_.below(static_cast<int>(dims.size()));
      dims.erase(dims.begin() + drop);
    }
    Side side{buffer, Side::region, {}};
    bool any = false;
    for (int d = 0; d < rank; ++d) {
      const auto at = std::find(dims.begin(), dims.end(), d) - dims.begin();
      const bool chosen = at < static_cast<std::ptrdiff_t>(dims.size());
      const Extent extent = chosen ? extents[static_cast<std::size_t>(at)] : Extent{};
      const bool range = chosen || random_.chance(25);
      any |= range;
      side.dims.push_back({origin(rooms[static_cast<std::size_t>(d)], extent), extent, range});
    }
    if (!any) side.dims.back().range = true;
    return side;
  }

  Side bare(int buffer, const std::vector<Extent>& extents) {
    const std::vector<Extent> rooms = kernel_.shape(buffer);
    Side side{buffer, Side::element, {}};
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      const std::size_t missing = rooms.size() - std::min(rooms.size(), extents.size());
      const Extent extent = d < missing ? Extent{} : extents[d - missing];
      side.dims.push_back({origin(rooms[d], extent), {}, false});
    }
    return side;
  }

  std::vector<Extent> some_extents(int count, int buffer) {
    const std::vector<Extent> rooms = kernel_.shape(buffer);
    std::vector<Extent> result;
    std::int64_t budget = most_elements;
    for (int i = 0; i < count; ++i) {
      Extent e = random_.pick(rooms);
      if (e.symbol < 0 && random_.chance(60)) e.constant = random_.between(2, 20);
      if (random_.chance(2)) e = {0, -1};
      if (e.is_unit()) e.constant = 2;
      if (e.symbol < 0 && e.constant > budget) e.constant = std::max<std::int64_t>(2, budget);
      budget /= std::max<std::int64_t>(1, e.symbol < 0 ? e.constant : 8);
      result.push_back(e);
    }
    return result;
  }

  // Whether a bare element of `rank` indices can borrow these extents.
  static bool can_borrow(std::size_t rank, const std::vector<Extent>& extents) {
    return extents.size() <= rank || without_units(extents).size() == rank;
  }

  // A copy of the whole buffer, to or from it.
  Statement move_whole(int buffer, bool from) {
    const std::vector<Extent> extents = kernel_.shape(buffer);
    const std::vector<Extent> loops = without_units(extents);
    for (int attempt = 0; attempt < 20; ++attempt) {
      const int other = from ? written_buffer() : other_buffer(buffer);
      const std::size_t rank = kernel_.shape(other).size();
      if (other == buffer) continue;
      Side side;
      if (random_.chance(50) && can_borrow(rank, extents)) {
        side = bare(other, extents);
      } else if (rank >= loops.size() && !loops.empty()) {
        side = region(other, loops);
      } else if (loops == without_units(kernel_.shape(other))) {
        side = whole(other);
      } else {
        continue;
      }
      Statement s{Statement::copy, from ? whole(buffer) : side, from ? side : whole(buffer)};
      s.hint = hint(loops);
      return s;
    }
    if (from) return fill(region(written_buffer(), {}));
    return fill(whole(buffer));
  }

  Statement move() {
    const int choice = random_.below(10);
    if (choice < 2) return move_whole(random_.below(buffers()), true);
    if (choice < 4) return move_whole(written_buffer(), false);
    const int to = written_buffer();
    if (random_.chance(6)) return move_within(to);
    const int from = other_buffer(to);
    if (choice < 6) {
      if (Statement s; swap(from, to, s)) return s;
    }
    const std::size_t most = std::min(kernel_.shape(from).size(), kernel_.shape(to).size());
    const std::vector<Extent> extents =
        some_extents(1 + random_.below(static_cast<int>(most)), random_.chance(50) ? from : to);
    Statement s{Statement::copy, region(from, extents), region(to, extents)};
    if (random_.chance(20) && can_borrow(s.src.dims.size(), written(s.dst))) {
      s.src = bare(from, written(s.dst));
    } else if (random_.chance(20) && can_borrow(s.dst.dims.size(), written(s.src))) {
      s.dst = bare(to, written(s.src));
    } else if (random_.chance(5) && s.src.dims.size() == s.dst.dims.size()) {
      s.src.form = s.dst.form = Side::element;
    }
    s.hint = hint(s.src.form == Side::element && s.dst.form == Side::element ? std::vector<Extent>{}
                                                                             : extents);
    return s;
  }

  static std::vector<Extent> written(const Side& side) {
    std::vector<Extent> result;
    for (const Side::Dim& dim : side.dims) result.push_back(dim.range ? dim.extent : Extent{});
    return result;
  }

  // Between two halves of one buffer.
  Statement move_within(int buffer) {
    const std::vector<Extent> rooms = kernel_.shape(buffer);
    const auto d = static_cast<std::size_t>(random_.below(static_cast<int>(rooms.size())));
    const std::int64_t half =
        std::max<std::int64_t>(2, (rooms[d].symbol < 0 ? rooms[d].constant : 8) / 2);
    Statement s{Statement::copy, {buffer, Side::region, {}}, {buffer, Side::region, {}}};
    for (std::size_t e = 0; e < rooms.size(); ++e) {
      const Extent extent{e == d ? half : 1, -1};
      s.src.dims.push_back({{}, extent, e == d});
      s.dst.dims.push_back({{}, extent, e == d});
    }
    (random_.chance(50) ? s.src : s.dst).dims[d].origin.constant = half;
    return s;
  }

  bool swap(int from, int to, Statement& s) {
    const std::size_t rank = kernel_.shape(to).size();
    if (rank < 2 || rank != kernel_.shape(from).size()) return false;
    s.kind = Statement::transpose;
    std::vector<Extent> extents = kernel_.shape(to);
    if (random_.chance(50)) {
      s.dst = whole(to);
    } else {
      s.dst = Side{to, Side::region, {}};
      for (std::size_t d = 0; d < rank; ++d) {
        if (random_.chance(50)) extents[d] = {random_.between(1, 9), -1};
        s.dst.dims.push_back({origin(kernel_.shape(to)[d], extents[d]), extents[d], true});
      }
    }
    std::swap(extents[rank - 1], extents[rank - 2]);
    s.src = bare(from, extents);
    if (random_.chance(50)) {
      s.src.form = Side::region;
      for (std::size_t d = 0; d < rank; ++d) {
        s.src.dims[d].extent = extents[d];
        s.src.dims[d].range = !extents[d].is_unit() || random_.chance(50);
      }
      if (without_units(extents).empty()) s.src.dims[0].range = true;
    } else if (s.dst.form == Side::region && random_.chance(10)) {
      s.dst = whole(to);
    }
    return true;
  }

  Statement fill(Side dst) {
    Statement s{Statement::fill, {}, std::move(dst)};
    const DType to = kernel_.dtype(s.dst.buffer);
    if (random_.chance(50)) {
      s.value = constant(to);
    } else {
      s.value = value(random_.chance(70) ? to : dtype(), 1, nullptr);
    }
    return s;
  }

  Statement safe_value() {
    Statement s{Statement::safe_value, {}, {}};
    s.dst.buffer = random_.below(buffers());
    s.value = constant(kernel_.dtype(s.dst.buffer));
    return s;
  }

  Statement element() {
    Statement s{Statement::element, {}, {}};
    do {
      s.dst.buffer = written_buffer();
    } while (is_local(s.dst.buffer));
    s.first_axis = axes_;
    s.through_local = random_.chance(15);
    const std::vector<Extent> rooms = kernel_.shape(s.dst.buffer);
    s.at.resize(rooms.size());
    std::int64_t budget = 2 * most_elements;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (d + 1 < rooms.size() && random_.chance(15)) {
        s.at[d] = origin(rooms[d], {});
        continue;
      }
      Extent e = rooms[d];
      if (e.symbol < 0 && random_.chance(30)) e.constant += random_.between(-2, 3);
      if (e.symbol < 0) e.constant = std::clamp<std::int64_t>(e.constant, 0, budget);
      budget = std::max<std::int64_t>(1, budget / std::max<std::int64_t>(1, e.constant));
      s.at[d].terms.push_back({random_.chance(90) ? 1 : 2, {VarRef::axis, axes_}});
      if (random_.chance(20)) s.at[d].constant = random_.between(-2, 2);
      if (random_.chance(25)) s.at[d].terms.push_back({e.constant, random_.pick(vars)});
      s.extents.push_back(e);
      ++axes_;
    }
    s.hint = hint(without_units(s.extents));
    const std::size_t outside = vars.size();
    for (int axis = s.first_axis; axis < axes_; ++axis) vars.push_back({VarRef::axis, axis});
    const DType to = kernel_.dtype(s.dst.buffer);
    s.value = value(random_.chance(80) ? to : dtype(), 1 + random_.below(3), &s);
    vars.resize(outside);
    return s;
  }

  Statement loop(int depth) {
    Statement s{Statement::loop, {}, {}};
    s.loop_number = loops_++;
    s.unrolled = random_.chance(30);
    s.trips = {random_.pick({0, 1, 2, 3, 3}), -1};
    if (!s.unrolled && random_.chance(30)) s.begin = random_.between(-2, 4);
    vars.push_back({VarRef::loop, s.loop_number});
    statements(s.body, 1 + random_.below(2), depth);
    vars.pop_back();
    return s;
  }

  Statement branch(int depth) {
    Statement s{Statement::branch, {}, {}};
    s.value = condition();
    statements(s.body, 1 + random_.below(2), depth);
    if (random_.chance(50)) statements(s.else_body, 1 + random_.below(2), depth);
    return s;
  }

  Hint hint(const std::vector<Extent>& loops) {
    Hint h;
    if (random_.chance(40)) return h;
    h.cuda = random_.chance(60);
    h.route = random_.pick({Hint::option, Hint::annotation, Hint::both});
    if (random_.chance(50)) h.coalesced_width = 1 << random_.below(6);
    if (random_.chance(50)) {
      h.eviction_policy = random_.pick({"evict_normal", "evict_first", "evict_last"});
    }
    h.disable_tma = random_.chance(30);
    if (random_.chance(50)) h.prefer_instruction = random_.pick({"tma", "cp_async", "sync"});
    if (h.prefer_instruction == "tma") h.disable_tma = false;
    std::vector<std::int64_t> extents;
    for (const Extent& e : loops) {
      if (e.symbol < 0 && e.constant > 0) extents.push_back(e.constant);
    }
    if (extents.size() == loops.size() && !loops.empty() && random_.chance(40)) {
      h.loop_layout = fragment(extents);
    }
    return h;
  }

  int loops_ = 0;
  int axes_ = 0;
};

}  // namespace

Description generate(std::uint64_t seed) {
  RandomSource random(seed);
  Description kernel;
  kernel.seed = seed;
  Generator(random, kernel).run();
  return kernel;
}

}  // namespace tilecopy::property
