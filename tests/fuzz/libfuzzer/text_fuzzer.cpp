// libFuzzer's side: texts change by tokens and lines, so that most of them still parse.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/try_text.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Random = std::minstd_rand;

// What a text does not have may come in from here.
const char* const words[] = {"0",
                             "1",
                             "2",
                             "3",
                             "7",
                             "8",
                             "16",
                             "31",
                             "32",
                             "33",
                             "64",
                             "127",
                             "128",
                             "256",
                             "257",
                             "1024",
                             "65535",
                             "2147483647",
                             "4294967296",
                             "9223372036854775807",
                             "-1",
                             "0.5",
                             "true",
                             "false",
                             "float16",
                             "float32",
                             "float64",
                             "bfloat16",
                             "float8_e4m3",
                             "int8",
                             "uint8",
                             "int16",
                             "int32",
                             "int64",
                             "uint64",
                             "bool",
                             "+",
                             "-",
                             "*",
                             "/",
                             "%",
                             "<",
                             "<=",
                             "==",
                             "&&",
                             "||",
                             "<<",
                             ">>",
                             "&",
                             "|",
                             "^",
                             "min",
                             "max",
                             "(",
                             ")",
                             "[",
                             "]",
                             "{",
                             "}",
                             ",",
                             ":",
                             "=",
                             "copy",
                             "im2col",
                             "fill",
                             "if",
                             "else",
                             "for",
                             "serial",
                             "parallel",
                             "alloc_shared",
                             "alloc_fragment",
                             "alloc_local",
                             "tensor_map",
                             "instr",
                             "swizzle",
                             "threads",
                             "row_major"};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Words, runs of blanks, and single characters: together they are the text.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    auto extend = [&](auto belongs) {
      while (end < text.size() && belongs(text[end])) ++end;
    };
    if (in_word(text[at])) extend(in_word);
    if (text[at] == ' ') extend([](char c) { return c == ' '; });
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::size_t below(Random& random, std::size_t limit) {
  return random() % std::max(limit, std::size_t{1});
}

void change_token(std::vector<std::string>& tokens, Random& random) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].find_first_not_of(" \n") != std::string::npos) places.push_back(i);
  }
  if (places.empty()) return;
  auto place = [&] { return places[below(random, places.size())]; };
  const std::size_t at = place();
  switch (below(random, 6)) {
    case 0: tokens[at] = words[below(random, std::size(words))]; break;
    case 1: tokens[at] = tokens[place()]; break;
    case 2: std::swap(tokens[at], tokens[place()]); break;
    case 3: tokens[at].clear(); break;
    case 4: tokens[at] += " " + tokens[place()]; break;
    default:  // a number, if there is one: it decides most
      for (int tries = 0; tries < 20; ++tries) {
        std::string& token = tokens[place()];
        if (!std::isdigit(static_cast<unsigned char>(token[0]))) continue;
        token = words[below(random, 20)];
        break;
      }
  }
}

void change_line(std::vector<std::string>& lines, Random& random) {
  if (lines.empty()) return;
  const std::size_t at = below(random, lines.size()), other = below(random, lines.size());
  const auto to = lines.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(random, 4)) {
    case 0: lines.erase(to); break;
    case 1: lines.insert(to, std::string(lines[other])); break;
    case 2: std::swap(lines[at], lines[other]); break;
    default: lines[at] = lines[other];
  }
}

std::size_t put(const std::vector<std::string>& parts, std::uint8_t* data, std::size_t most) {
  std::size_t size = 0;
  for (const std::string& part : parts) {
    const std::size_t length = std::min(part.size(), most - size);
    std::memcpy(data + size, part.data(), length);
    size += length;
  }
  return size;
}

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  Random random(seed);
  const std::size_t kind = below(random, 16);
  if (kind == 0) return LLVMFuzzerMutate(data, size, most);
  std::vector<std::string> parts;
  if (kind < 5) {
    parts = lines_of(view(data, size));
    change_line(parts, random);
  } else {
    parts = tokens_of(view(data, size));
    for (std::size_t changes = 1 + below(random, 3); changes > 0; --changes) {
      change_token(parts, random);
    }
  }
  return put(parts, data, most);
}

// Lines of another text among those of the first.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second,
                                                 std::size_t second_size, std::uint8_t* out,
                                                 std::size_t most, unsigned seed) {
  Random random(seed);
  std::vector<std::string> lines = lines_of(view(first, first_size));
  const std::vector<std::string> others = lines_of(view(second, second_size));
  if (lines.empty() || others.empty()) return put(lines, out, most);
  const std::size_t from = below(random, others.size());
  const std::size_t count = 1 + below(random, std::min<std::size_t>(others.size() - from, 4));
  const std::size_t at = below(random, lines.size());
  for (std::size_t i = 0; i < count; ++i) {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at + i), others[from + i]);
  }
  return put(lines, out, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    // Texts that run, or nearly, are what to go on from.
    const auto outcome = tilecopy::fuzz::try_text(std::string(view(data, size)));
    return outcome == tilecopy::fuzz::Outcome::too_large ? -1 : 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    std::abort();
  }
}
