// Takes a failing description apart, one part at a time, as long as what is left still fails.
#include <algorithm>
#include <functional>

#include "property/check.h"
#include "tilecopy/error.h"

namespace tilecopy::property {
namespace {

/// Changes a description, or returns false when there is nothing to change.
using Edit = std::function<bool(Description&)>;
using StatementEdit = std::function<bool(std::vector<Statement>& body, std::size_t i)>;

// Every statement of a body and the bodies inside, with the list that holds it.
void for_each_statement(std::vector<Statement>& body,
                        const std::function<void(std::vector<Statement>&, std::size_t)>& visit) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    visit(body, i);
    for_each_statement(body[i].body, visit);
    for_each_statement(body[i].else_body, visit);
  }
}

void for_each_affine(Node& node, const std::function<void(Affine&)>& visit) {
  visit(node.affine);
  for (Affine& a : node.at) visit(a);
  for (Node& operand : node.operands) for_each_affine(operand, visit);
}

void for_each_affine(Description& kernel, const std::function<void(Affine&)>& visit) {
  for (Affine& a : kernel.grid) visit(a);
  for_each_statement(kernel.body, [&](std::vector<Statement>& body, std::size_t i) {
    for (Side* side : {&body[i].src, &body[i].dst}) {
      for (Side::Dim& dim : side->dims) visit(dim.origin);
    }
    for_each_affine(body[i].value, visit);
  });
}

class Shrinker {
 public:
  explicit Shrinker(const Description& kernel) : best_(kernel) {}

  Description run() {
    attempt([](Description& k) { return k.opt_level != 0 && (k.opt_level = 0, true); });
    one_launch();
    for (bool better = true; better && budget_ > 0;) {
      better = statements() | affines() | nodes() | buffers();
    }
    return best_;
  }

 private:
  bool fails(const Description& kernel) {
    if (--budget_ < 0) return false;
    try {
      return !check_alone(kernel).empty();
    } catch (const UserError&) {
      return false;
    }
  }

  bool attempt(const Edit& edit) {
    Description candidate = best_;
    if (!edit(candidate) || !fails(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  void one_launch() {
    for (std::size_t i = 0; i < best_.launches.size(); ++i) {
      if (attempt([i](Description& k) { return k.launches = {Launch(k.launches[i])}, true; }))
        return;
    }
  }

  // Applies `edit` to the n-th statement, for all n.
  bool for_nth_statement(const StatementEdit& edit) {
    bool better = false;
    std::size_t count = 0;
    for_each_statement(best_.body, [&](auto&, std::size_t) { ++count; });
    for (std::size_t n = count; n-- > 0;) {
      better |= attempt([&](Description& k) {
        std::size_t seen = 0;
        std::vector<Statement>* body = nullptr;
        std::size_t at = 0;
        for_each_statement(k.body, [&](std::vector<Statement>& b, std::size_t i) {
          if (seen++ == n) body = &b, at = i;
        });
        return body != nullptr && edit(*body, at);
      });
    }
    return better;
  }

  bool statements() {
    bool better = for_nth_statement([](auto& body, std::size_t i) {
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    });
    // A branch or loop gives way to its body; one that needs the loop's variable does not build.
    better |= for_nth_statement([](auto& body, std::size_t i) {
      if (body[i].body.empty()) return false;
      const std::vector<Statement> inner = body[i].body;
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), inner.begin(), inner.end());
      return true;
    });
    for_nth_statement([this](auto& body, std::size_t i) {
      body[i].hint = {};
      return !hints_tried_;
    });
    hints_tried_ = true;
    return better;
  }

  bool affines() {
    std::size_t count = 0;
    for_each_affine(best_, [&](Affine&) { ++count; });
    bool better = false;
    for (std::size_t n = 0; n < count; ++n) {
      auto edit = [&](const std::function<bool(Affine&)>& change) {
        Description candidate = best_;
        std::size_t seen = 0;
        bool changed = false;
        for_each_affine(candidate, [&](Affine& a) {
          if (seen++ == n) changed = change(a);
        });
        if (!changed || !fails(candidate)) return;
        best_ = std::move(candidate);
        better = true;
      };
      edit([](Affine& a) { return !is_constant(a, 0) && (a = Affine{}, true); });
      edit([](Affine& a) { return !a.terms.empty() && (a.terms.pop_back(), true); });
      edit([](Affine& a) { return a.divisor != 1 && (a.divisor = 1, true); });
      edit([](Affine& a) { return a.modulus != 0 && (a.modulus = 0, true); });
    }
    return better;
  }

  static bool is_constant(const Affine& a, std::int64_t value) {
    return a.terms.empty() && a.lookup < 0 && a.divisor == 1 && a.modulus == 0 &&
           a.constant + a.offset == value;
  }

  // An operand takes the place of the expression that it is in.
  bool nodes() {
    bool better = false;
    for (std::size_t operand : {0u, 1u, 2u}) {
      better |= for_nth_statement([&](auto& body, std::size_t i) {
        Node& value = body[i].value;
        if (value.operands.size() <= operand) return false;
        const Node inner = value.operands[operand];
        value = inner;
        return true;
      });
    }
    return better;
  }

  bool buffers() {
    bool better = false;
    for (std::size_t t = 0; t < best_.tiles.size(); ++t) {
      const Tile& tile = best_.tiles[t];
      if (tile.layout)
        better |= attempt([t](Description& k) { return k.tiles[t].layout.reset(), true; });
      if (tile.fragment)
        better |= attempt([t](Description& k) { return k.tiles[t].fragment.reset(), true; });
    }
    for (std::size_t t = 0; t < best_.tensors.size(); ++t) {
      if (best_.tensors[t].strides == Tensor::row_major) continue;
      better |= attempt([t](Description& k) {
        k.tensors[t].strides = Tensor::row_major;
        return true;
      });
    }
    if (best_.threads != 128)
      better |= attempt([](Description& k) { return k.threads = 128, true; });
    return better;
  }

  Description best_;
  int budget_ = 400;
  bool hints_tried_ = false;
};

}  // namespace

Description shrink(const Description& kernel) { return Shrinker(kernel).run(); }

}  // namespace tilecopy::property
