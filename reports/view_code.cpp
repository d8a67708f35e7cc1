#include "reports/view_code.h"

#include <algorithm>

namespace moonloop {
namespace {

using Json = nlohmann::json;

constexpr char kHole = '`';

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A line with holes in the places of its numbers, and these.
std::pair<std::string, Json> with_holes(const std::string& line) {
  std::pair<std::string, Json> out{{}, Json::array()};
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end == i && line[i] != kHole) {
      out.first += line[i++];
      continue;
    }
    if (end == i) ++end;  // a hole's own character
    const std::string part = line.substr(i, end - i);
    const bool number =
        is_digit(part[0]) && part.size() < 16 && (part.size() == 1 || part[0] != '0');
    out.first += kHole;
    out.second.push_back(number ? Json(std::stoll(part)) : Json(part));
    i = end;
  }
  return out;
}

std::uint64_t pair_at(const std::vector<std::int32_t>& lines, std::size_t at) {
  return std::uint64_t(std::uint32_t(lines[at])) << 32 | std::uint32_t(lines[at + 1]);
}

}  // namespace

std::int32_t CodeTable::number_of(const Line& line) {
  const auto [it, fresh] = line_numbers_.emplace(line, static_cast<std::int32_t>(lines_.size()));
  if (!fresh) return it->second;
  auto [text, parts] = with_holes(line.first);
  const auto [form, first] = form_numbers_.emplace(std::pair(std::move(text), line.second),
                                                   static_cast<std::int32_t>(forms_.size()));
  if (first) forms_.push_back({form->first.first, form->first.second});
  parts.insert(parts.begin(), form->second);
  lines_.push_back(std::move(parts));
  return it->second;
}

std::pair<std::size_t, std::size_t> CodeTable::known_run(const std::vector<std::int32_t>& lines,
                                                         std::size_t at) const {
  std::pair<std::size_t, std::size_t> best{0, 0};
  if (at + 1 >= lines.size()) return best;
  const auto known = places_.find(pair_at(lines, at));
  if (known == places_.end()) return best;
  constexpr std::size_t kTried = 16;  // more are seldom better
  const std::vector<std::size_t>& places = known->second;
  for (std::size_t n = 0; n < std::min(kTried, places.size()); ++n) {
    const std::size_t from = places[places.size() - 1 - n];
    std::size_t length = 0;
    while (at + length < lines.size() && from + length < all_.size() &&
           lines[at + length] == all_[from + length])
      ++length;
    if (length > best.second) best = {from, length};
  }
  return best;
}

Json CodeTable::add(const Json& code) {
  std::vector<std::int32_t> lines;
  for (const Json& l : code)
    lines.push_back(number_of({l[0].get<std::string>(), l[1].get<std::string>()}));
  Json out = Json::array();
  for (std::size_t at = 0; at < lines.size();) {
    const auto [from, length] = known_run(lines, at);
    if (length < 2) {
      out.push_back(lines[at++]);
      continue;
    }
    out.push_back({from, length});
    at += length;
  }
  const std::size_t before = all_.size();
  all_.insert(all_.end(), lines.begin(), lines.end());
  for (std::size_t at = before; at + 1 < all_.size(); ++at)
    places_[pair_at(all_, at)].push_back(at);
  return out;
}

}  // namespace moonloop
