#include "core/count/count_map.h"

#include <algorithm>

#include "core/base/diagnostic.h"

namespace moonloop {

void CountMap::add(std::vector<std::string> key, const Count& count, int bytes) {
  if (count.is_zero()) return;
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const Entry& e, const std::vector<std::string>& k) { return e.key < k; });
  if (at == entries_.end() || at->key != key) {
    entries_.insert(at, {std::move(key), count, bytes});
    return;
  }
  at->count = at->count + count;
  if (at->bytes != bytes) at->bytes = 0;
}

std::size_t CountMap::index_of(const std::string& field) const {
  const auto at = std::find(fields_.begin(), fields_.end(), field);
  if (at == fields_.end())
    fail("unknown-field", {}, "counts of {} have no field `{}`; they have {}{}", what_, field,
         fields_.empty() ? "none" : quoted_list(fields_), did_you_mean(field, fields_));
  return static_cast<std::size_t>(at - fields_.begin());
}

CountMap CountMap::filter(const std::string& field, const std::vector<std::string>& values) const {
  const std::size_t i = index_of(field);
  CountMap out(what_, fields_);
  for (const Entry& e : entries_)
    if (std::find(values.begin(), values.end(), e.key[i]) != values.end())
      out.entries_.push_back(e);
  return out;
}

CountMap CountMap::group(const std::vector<std::string>& fields) const {
  std::vector<std::size_t> kept;
  for (const std::string& f : fields) kept.push_back(index_of(f));
  CountMap out(what_, fields);
  for (const Entry& e : entries_) {
    std::vector<std::string> key;
    for (const std::size_t i : kept) key.push_back(e.key[i]);
    out.add(std::move(key), e.count, e.bytes);
  }
  return out;
}

CountMap CountMap::to_bytes() const {
  CountMap out("bytes", fields_);
  for (const Entry& e : entries_) {
    if (e.bytes == 0)
      fail("no-bytes", {}, "counts of {} by {} have no size in bytes; take bytes before groups",
           what_, fields_.empty() ? "nothing" : quoted_list(fields_));
    out.add(e.key, e.count.times(e.bytes), 1);
  }
  return out;
}

CountMap CountMap::eval(const std::map<std::string, std::int64_t>& values) const {
  CountMap out(what_, fields_);
  for (const Entry& e : entries_) {
    const Count number(e.count.number_at(values));
    out.add(e.key, e.count.exact() ? number : number.as_bound(), e.bytes);
  }
  return out;
}

CountMap CountMap::under(const Set& context) const {
  CountMap out(what_, fields_);
  for (const Entry& e : entries_) out.add(e.key, e.count.under(context), e.bytes);
  return out;
}

Count CountMap::sum() const {
  Count out;
  for (const Entry& e : entries_) out = out + e.count;
  return out;
}

std::string CountMap::str(const std::map<std::string, std::int64_t>* values) const {
  std::vector<std::vector<std::string>> rows{fields_};
  // Numbers first: formulas may be long, and push what follows them out of sight.
  if (values) rows.back().emplace_back("value");
  rows.back().emplace_back("count");
  for (const Entry& e : entries_) {
    rows.push_back(e.key);
    if (values) rows.back().push_back(Count(e.count.number_at(*values)).str());
    rows.back().push_back(e.count.str());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t width = 0;
      for (const auto& r : rows) width = std::max(width, r[i].size());
      line += fmt::format("{:<{}}  ", row[i], width);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace moonloop
