#include "core/base/source.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace moonloop {

std::string_view Source::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > line_starts.size()) return {};
  const std::size_t begin = line_starts[number - 1];
  std::size_t end = text.find('\n', begin);
  if (end == std::string::npos) end = text.size();
  if (end > begin && text[end - 1] == '\r') --end;
  return std::string_view(text).substr(begin, end - begin);
}

std::string Span::str() const {
  if (!source) return {};
  return source->name + ":" + std::to_string(line) + ":" + std::to_string(col);
}

const Source* add_source(std::string name, std::string text) {
  static std::mutex mutex;
  static std::deque<Source> sources;  // a deque never moves its elements
  Source source{std::move(name), std::move(text), {0}};
  for (std::size_t i = 0; i < source.text.size(); ++i)
    if (source.text[i] == '\n') source.line_starts.push_back(i + 1);
  const std::lock_guard lock(mutex);
  return &sources.emplace_back(std::move(source));
}

Span span_at(const Source* source, std::size_t offset, std::size_t len) {
  const auto& starts = source->line_starts;
  const auto it = std::upper_bound(starts.begin(), starts.end(), offset);
  const auto line = it - starts.begin();
  return {source, static_cast<int>(line), static_cast<int>(offset - starts[line - 1] + 1),
          static_cast<int>(len)};
}

Span join(const Span& a, const Span& b) {
  if (!a) return b;
  if (!b || a.source != b.source || a.line != b.line || b.col + b.len < a.col + a.len) return a;
  return {a.source, a.line, a.col, b.col + b.len - a.col};
}

}  // namespace moonloop
