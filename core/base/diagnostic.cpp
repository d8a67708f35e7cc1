#include "core/base/diagnostic.h"

#include <algorithm>

#include "core/base/warning.h"

namespace moonloop {
namespace {

std::string block(const Label& label, const std::string& head, bool color) {
  if (!label.at) return head + "\n";
  std::string_view text = label.at.source->line(label.at.line);
  // A very long line (a generated one, or a broken file) is shown around its column only.
  constexpr int kMaxShown = 160;
  std::size_t from = 0;
  if (text.size() > kMaxShown && label.at.col > kMaxShown / 2)
    from = std::min<std::size_t>(label.at.col - kMaxShown / 2, text.size());
  text = text.substr(from, kMaxShown);
  const std::size_t caret_at = static_cast<std::size_t>(label.at.col - 1) - from;
  std::string pad;  // keeps the source line's tabs, so the caret lands below its column
  for (char c : text.substr(0, std::min(caret_at, text.size()))) pad += c == '\t' ? '\t' : ' ';
  const std::string number = std::to_string(label.at.line);
  const int room = static_cast<int>(text.size()) - static_cast<int>(pad.size());
  const int carets = std::max(1, std::min(label.at.len, room));
  const char* on = color ? "\033[1;32m" : "";
  const char* off = color ? "\033[0m" : "";
  return fmt::format("{}: {}\n  {} | {}\n  {} | {}{}{}{}{}{}\n", label.at.str(), head, number, text,
                     std::string(number.size(), ' '), pad, on, std::string(carets, '^'),
                     label.text.empty() ? "" : " ", label.text, off);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

namespace {

std::string render_as(const char* word, const char* shade, const Diagnostic& d, bool color) {
  const char* on = color ? shade : "";
  const char* off = color ? "\033[0m" : "";
  std::string out =
      block(d.where, fmt::format("{}{}{}: {} [{}]", on, word, off, d.text, d.code), color);
  for (const Label& n : d.notes) out += block({n.at, ""}, "note: " + n.text, color);
  if (!d.hint.empty()) out += "hint: " + d.hint + "\n";
  return out;
}

}  // namespace

std::string render(const Diagnostic& d, bool color) {
  return render_as("error", "\033[1;31m", d, color);
}

std::string render_warning(const Diagnostic& d, bool color) {
  return render_as("warning", "\033[1;35m", d, color);
}

Error::Error(Diagnostic d) : Error(std::vector<Diagnostic>{std::move(d)}) {}

Error::Error(std::vector<Diagnostic> all) : all_(std::move(all)) {
  for (const Diagnostic& d : all_) {
    if (!what_.empty()) what_ += "\n";
    what_ += d.text;
    if (!d.hint.empty()) what_ += "; " + d.hint;
  }
}

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;  // a longer list shows half of that and says how many are left
  const std::size_t shown = names.size() > kMost ? kMost / 2 : names.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += (i ? ", `" : "`") + names[i] + "`";
  return shown == names.size() ? out : fmt::format("{} and {} more", out, names.size() - shown);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  // Exclusive. One letter is like any other, so short names have to agree in most of theirs.
  std::size_t best_distance = name.size() <= 2   ? name.size()
                              : name.size() == 3 ? 2
                                                 : name.size() / 3 + 2;
  for (const std::string& c : candidates) {
    if (c.size() > name.size() + best_distance || name.size() > c.size() + best_distance) continue;
    const std::size_t distance = edit_distance(name, c);
    if (distance < best_distance) best = &c, best_distance = distance;
  }
  return best ? "; did you mean `" + *best + "`?" : "";
}

}  // namespace moonloop
