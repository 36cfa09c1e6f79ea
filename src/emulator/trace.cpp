#include "emulator/trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace tilecopy::emulator {
namespace {

// A viewer's limit more than ours: later events are left out, which the trace says.
constexpr std::size_t most_events = 500'000;

std::string name_of(const Site* site) { return site ? site->text : "(no statement)"; }

}  // namespace

Trace::Event& Trace::add(Kind kind, std::string name) {
  if (events_.size() > most_events) return left_out_;
  if (events_.size() == most_events) name = "the trace ends here: it has too many events";
  Event& event = events_.emplace_back();
  event.kind = kind;
  event.name = std::move(name);
  event.time = now_;
  event.block = block_;
  return event;
}

void Trace::start_block(const std::string& name, int warps) {
  ++block_;
  warps_.assign(static_cast<std::size_t>(warps), {});
  copies_.clear();
  add(Kind::process, name);
  for (int warp = 0; warp < warps; ++warp) {
    add(Kind::thread, fmt::format("warp {}", warp)).track = warp;
  }
}

void Trace::step(int warp, const Site* site) {
  WarpState& state = warps_[static_cast<std::size_t>(warp)];
  if (state.begin < 0) state.begin = now_;
  ++now_;
  if (!site) return;
  if (state.slice >= 0 && state.site == site) {
    Event& slice = events_[static_cast<std::size_t>(state.slice)];
    slice.duration = now_ - slice.time;
  } else if (events_.size() < most_events) {
    Event& slice = add(Kind::slice, name_of(site));
    slice.track = warp;
    slice.time = state.begin;
    slice.duration = now_ - state.begin;
    state.slice = static_cast<std::int64_t>(events_.size()) - 1;
    state.site = site;
  }
  state.begin = -1;
}

void Trace::end_turn(int warp) {
  WarpState& state = warps_[static_cast<std::size_t>(warp)];
  state.begin = state.slice = -1;
}

void Trace::start_wait(int warp, std::string what) {
  WarpState& state = warps_[static_cast<std::size_t>(warp)];
  state.wait = std::move(what);
  state.wait_begin = now_;
}

void Trace::end_wait(int warp) {
  WarpState& state = warps_[static_cast<std::size_t>(warp)];
  const std::int64_t begin = std::exchange(state.wait_begin, -1);
  if (begin < 0 || begin == now_) return;
  Event& slice = add(Kind::slice, std::move(state.wait));
  slice.track = warp;
  slice.time = begin;
  slice.duration = now_ - begin;
}

void Trace::issue(std::uint32_t number, const Site* site, std::int64_t bytes) {
  Copy& copy = copies_[number];
  if (copy.under_way++ > 0) return;
  copy.name = name_of(site);
  Event& event = add(Kind::begin, copy.name);
  event.id = id_of(number);
  event.bytes = bytes;
}

void Trace::source_read(std::uint32_t number) {
  add(Kind::instant, copies_[number].name).id = id_of(number);
}

void Trace::land(std::uint32_t number) {
  Copy& copy = copies_[number];
  if (--copy.under_way > 0) return;
  add(Kind::end, copy.name).id = id_of(number);
}

void Trace::mbarrier(const std::string& name, std::int64_t arrivals, std::int64_t bytes) {
  Event& event = add(Kind::counter, name);
  event.arrivals = arrivals;
  event.bytes = bytes;
}

std::string Trace::json() {
  // Those of a deadlock have no end.
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) end_wait(static_cast<int>(warp));
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Event& event : events_) {
    Json item = {{"pid", event.block}, {"ts", event.time}, {"name", event.name}};
    auto metadata = [&](const char* what) {
      item["ph"] = "M";
      item["name"] = what;
      item["args"] = {{"name", event.name}};
    };
    auto copy = [&](const char* phase) {
      item["ph"] = phase;
      item["cat"] = "copy";
      item["id"] = fmt::format("{:#x}", event.id);
    };
    switch (event.kind) {
      case Kind::process: metadata("process_name"); break;
      case Kind::thread:
        metadata("thread_name");
        item["tid"] = event.track;
        break;
      case Kind::slice:
        item["ph"] = "X";
        item["tid"] = event.track;
        item["dur"] = event.duration;
        break;
      case Kind::begin:
        copy("b");
        item["args"] = {{"bytes", event.bytes}};
        break;
      case Kind::instant:
        copy("n");
        item["args"] = {{"shared memory", "read"}};
        break;
      case Kind::end: copy("e"); break;
      case Kind::counter:
        item["ph"] = "C";
        item["args"] = {{"arrivals", event.arrivals}, {"bytes", event.bytes}};
        break;
    }
    list.push_back(std::move(item));
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(list)}}.dump();
}

}  // namespace tilecopy::emulator
