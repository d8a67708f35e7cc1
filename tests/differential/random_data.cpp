#include "tests/differential/random_data.h"

#include <fmt/format.h>

namespace moonloop::differential {

DataStatement data_statement(Random& random, const Pieces& p) {
  DataStatement out;
  const std::string around = fmt::format("{}", fmt::join(p.around, ":")),
                    inside = around + ":" + p.row;
  const auto line = [&](const std::string& target, const std::string& value, const char* part,
                        const std::string& inames, const std::string& more = "") {
    out.lines.push_back(
        fmt::format("{} = {}  {{id={}{}, inames={}{}}}", target, value, p.id, part, inames, more));
  };
  const auto count = [&] { return "cnt[" + p.subscript(false) + "]"; };
  const auto row = [&] {
    const std::string length = "len_" + p.id, first = "low_" + p.id;
    if (random.chance(60)) {
      line("<int32> " + length, count() + " % 5", "l", around);
      out.domains.push_back(fmt::format("{{[{0}]: 0 <= {0} < {1}}}", p.row, length));
    } else {
      line("<int32> " + first, count() + " % 3", "f", around);
      line("<int32> " + length, fmt::format("{} + {} % 4", first, count()), "l", around);
      out.domains.push_back(fmt::format("{{[{0}]: {1} <= {0} < {2}}}", p.row, first, length));
    }
  };
  const std::string t = "t_" + p.id,
                    condition = fmt::format("{} % {} == 0", count(), random.between(2, 3));
  switch (random.below(6)) {
    case 0:
    case 1:
      row();
      line(p.element(true), p.value(true), "", inside);
      break;
    case 2:
      row();
      line(p.element(false), p.small(fmt::format("sum({}, {})", p.row, p.value(true))), "", around);
      break;
    case 3:
      row();
      out.domains.push_back(fmt::format("{{[{0}]: 0 <= {0} < 2}}", p.item));
      line(fmt::format("<{}> {}[{}]", p.type, t, p.item), p.value(true), "t",
           inside + ":" + p.item);
      line(p.element(true), p.small(fmt::format("{0}[0] + {0}[1]", t)), "", inside,
           ", dep=" + p.id + "t");
      break;
    case 4: line(p.element(false), p.value(false), "", around, ", if=" + condition); break;
    default:
      line(fmt::format("<{}> {}", p.type, t), p.value(false), "t", around, ", if=" + condition);
      line(t, p.value(false), "u", around, fmt::format(", if=not ({})", condition));
      line(p.element(false), p.small(t + " + " + t), "", around,
           fmt::format(", dep={0}t:{0}u", p.id));
  }
  return out;
}

}  // namespace moonloop::differential
