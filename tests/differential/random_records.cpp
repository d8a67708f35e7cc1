#include "tests/differential/random_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "tests/differential/random_names.h"

namespace moonloop::differential {
namespace {

struct Array {
  std::string name, type;
};

/// Takes the arguments of this shape out of a kernel's head, those with the given names.
std::vector<Array> take_arguments(std::string& head, const std::vector<std::string>& names,
                                  const std::string& shape) {
  std::vector<Array> out;
  for (const std::string& n : names) {
    const std::string begin = ", " + n + ": ";
    const std::size_t at = head.find(begin);
    if (at == std::string::npos) continue;
    const std::size_t open = head.find('[', at);
    if (head.compare(open, shape.size(), shape) != 0) continue;
    const std::size_t type = at + begin.size();
    out.push_back({n, head.substr(type, open - type)});
    head.erase(at, open + shape.size() - at);
  }
  return out;
}

/// `a[i + b[j]]` as `r[i + r[j].y].x`, by the names of arrays.
std::string with_fields(const std::string& text, const std::string& record,
                        const std::map<std::string, std::string>& fields) {
  std::string out;
  std::vector<std::string> open;  // the text after the closing bracket
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = std::isalpha(static_cast<unsigned char>(text[at])) &&
                        (at == 0 || (!in_name(text[at - 1]) && text[at - 1] != '.'));
    if (begins) {
      std::size_t end = at;
      while (end < text.size() && in_name(text[end])) ++end;
      const auto it = fields.find(text.substr(at, end - at));
      const bool field = it != fields.end() && end < text.size() && text[end] == '[';
      out += field ? record + "[" : text.substr(at, end - at);
      if (field) open.push_back("." + it->second);
      at = field ? end + 1 : end;
      continue;
    }
    if (text[at] == '[') open.emplace_back();
    out += text[at];
    if (text[at] == ']' && !open.empty()) {
      out += open.back();
      open.pop_back();
    }
    ++at;
  }
  return out;
}

/// Statements on arrays `r` and `s` of a record, and `best`, a short one.
class Statements {
 public:
  Statements(Random& random, std::string type, const std::vector<Array>& fields, std::string around)
      : r_(random), type_(std::move(type)), fields_(fields), around_(std::move(around)) {}

  void add() {
    switch (r_.below(7)) {
      case 0: return line(place("s"), place("r"));
      case 1: return line(place("r"), place(r_.pick({"r", "s"})));
      case 2: return filled();
      case 3: return passed_on();
      case 4: return largest();
      case 5: return carried();
      default: return field_update();
    }
  }
  std::string arguments() const { return fmt::format(", s: {0}[3*n + 12], best: {0}[4]", type_); }
  std::vector<std::string> declarations, lines;

 private:
  std::string place(const std::string& array) {
    const std::string x = r_.pick({around_.c_str(), "z"});
    const int c = r_.below(4);
    return fmt::format("{}[{}{}]", array, x, c ? fmt::format(" + {}", c) : "");
  }
  void line(const std::string& to, const std::string& value, const std::string& more = "") {
    lines.push_back(
        fmt::format("{} = {}  {{id=rec{}, inames={}{}}}", to, value, count_++, inames_, more));
  }
  bool whole(const Array& f) const { return f.type.find("int") != std::string::npos; }
  std::string small(const Array& f, const std::string& value) const {
    return whole(f) ? fmt::format("({}) % 7", value) : fmt::format("0.125*({})", value);
  }

  /// A temporary that gets its fields one by one, and is copied.
  void filled() {
    const std::string t = fmt::format("w{}", count_);
    declarations.push_back(fmt::format("temp {}: {}[2]", t, type_));
    for (const Array& f : fields_)
      line(fmt::format("{}[0].{}", t, f.name), small(f, place("r") + "." + f.name));
    if (r_.chance(50))
      line(t + "[1]", place("r"));
    else
      line(t + "[1]", t + "[0]");
    if (r_.chance(50)) {  // a field is written again
      const Array& f = r_.pick(fields_);
      line(fmt::format("{}[1].{}", t, f.name), small(f, fmt::format("{}[0].{}", t, f.name)));
    }
    line(place("s"), fmt::format("{}[{}]", t, r_.below(2)));
    const Array& f = r_.pick(fields_);
    if (r_.chance(50)) line(place("r") + "." + f.name, fmt::format("{}[1].{}", t, f.name));
  }
  /// A field that the first iteration sets for all others, next to fields that each sets.
  void carried() {
    const std::string t = fmt::format("c{}", count_);
    declarations.push_back(fmt::format("temp {}: {}{}", t, type_, r_.chance(50) ? "[2]" : "[()]"));
    const std::string place =
        declarations.back().back() == ']' && declarations.back().find("[2]") != std::string::npos
            ? t + "[1]"
            : t + "[()]";
    const std::size_t first = static_cast<std::size_t>(r_.below(static_cast<int>(fields_.size())));
    for (std::size_t n = 0; n < fields_.size(); ++n)
      line(fmt::format("{}.{}", place, fields_[n].name),
           small(fields_[n], this->place("r") + "." + fields_[n].name),
           n == first ? ", if=z == 0" : "");
    if (r_.chance(50)) return line(this->place("s"), place);
    const Array& f = r_.chance(50) ? fields_[first] : r_.pick(fields_);
    line(this->place("s") + "." + f.name, fmt::format("{}.{}", place, f.name));
  }
  /// One without axes, which is read by fields or whole.
  void passed_on() {
    const std::string t = fmt::format("v{}", count_);
    declarations.push_back(fmt::format("temp {}: {}", t, type_));
    line(t, place("r"));
    const Array& f = r_.pick(fields_);
    line(place("s") + "." + f.name, small(f, t + "." + f.name));
    if (r_.chance(50)) line(place("s"), t);
  }
  /// The largest record, by its fields in turn, or by some of them alone.
  void largest() {
    const std::string best = place_of_best(), r = place("r");
    std::string all, equal;
    const std::size_t compared = r_.chance(85) ? fields_.size() : 1;
    for (std::size_t n = 0; n < compared; ++n) {
      const std::string f = "." + fields_[n].name;
      all += fmt::format("{}{}{}{} > {}{}", all.empty() ? "" : " or ", equal, r, f, best, f);
      equal += fmt::format("{}{} == {}{} and ", r, f, best, f);
    }
    line(best, fmt::format("{} if {} else {}", r, all, best),
         fmt::format(", atomic, tags={}", compared == fields_.size() ? "at_largest" : "at_none"));
  }
  void field_update() {
    const Array& f = r_.pick(fields_);
    const std::string to = place_of_best() + "." + f.name;
    const std::string value = small(f, place("r") + "." + f.name);
    if (whole(f) && !f.type.starts_with("u") && r_.chance(50))
      line(to, fmt::format("{} + cast(int32, {})", to, value), ", atomic, tags=at_sum");
    else
      line(to, fmt::format("max({}, {})", to, value), ", atomic, tags=at_max");
  }
  std::string place_of_best() {
    return r_.chance(50) ? fmt::format("best[{} % 3]", r_.pick({around_.c_str(), "z"})) : "best[1]";
  }

  Random& r_;
  std::string type_;
  const std::vector<Array>& fields_;
  std::string around_;
  std::string inames_ = around_ + ":z";
  int count_ = 0;
};

}  // namespace

std::string with_records(Random& random, const std::string& text) {
  const std::size_t line = text.find('\n');
  std::string head = text.substr(0, line), rest = text.substr(line);
  const std::string name = "rec_" + head.substr(7, head.find('(') - 7);
  std::string records;
  // Fields of names that C or a device takes for something else.
  std::vector<std::string> names{"x", "re", "double", "kernel", "float4", "index", "value"};
  const auto field = [&] {
    const auto at = names.begin() + random.below(static_cast<int>(names.size()));
    std::string out = *at;
    names.erase(at);
    return out;
  };
  const auto join = [&](const std::string& array, const std::string& type,
                        const std::vector<std::string>& arrays, const std::string& shape) {
    const std::vector<Array> taken = take_arguments(head, arrays, shape);
    std::map<std::string, std::string> by;
    std::vector<Array> fields;
    std::vector<std::string> declared;
    for (const Array& a : taken) {
      fields.push_back({field(), a.type});
      by[a.name] = fields.back().name;
      declared.push_back(fmt::format("{}: {}", fields.back().name, a.type));
    }
    records += fmt::format("record {}({})\n", type, fmt::join(declared, ", "));
    head.insert(head.size() - 1, fmt::format(", {}: {}{}", array, type, shape));
    rest = with_fields(rest, array, by);
    return fields;
  };
  const std::vector<std::string> some =
      random.pick(std::vector<std::vector<std::string>>{{"a", "b", "c"}, {"a", "b"}, {"b", "c"}});
  const std::vector<Array> fields = join("r", name, some, "[3*n + 12]");
  if (random.chance(30)) join("grid", name + "_2", {"p", "q"}, "[3*n + 12, 3*n + 12]");

  const std::size_t first = rest.find("{[") + 2;
  Statements more(random, name, fields,
                  rest.substr(first, rest.find_first_of("],", first) - first));
  for (int n = random.below(3); n > 0; --n) more.add();
  if (!more.lines.empty()) {
    head.insert(head.size() - 1, more.arguments());
    const std::size_t assumed = rest.find("assume"), body = rest.find('\n', assumed) + 1;
    std::string all;
    for (const std::string& l : more.lines) all += l + "\n";
    rest.insert(random.chance(30) ? body : rest.size(), all);
    std::string declared = "domain {[z]: 0 <= z < n}\n";
    for (const std::string& d : more.declarations) declared += d + "\n";
    rest.insert(assumed, declared);
  }
  return records + head + rest;
}

}  // namespace moonloop::differential
