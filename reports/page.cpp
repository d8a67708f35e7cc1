#include "reports/page.h"

#include "core/base/diagnostic.h"
#include "reports/view_template.h"

namespace moonloop {

std::string with_data(std::string page, const std::string& json) {
  std::string data;
  for (const char c : json)  // no end of the script in it
    data += c == '<' ? "\\u003c" : std::string(1, c);
  const std::string mark = "/*DATA*/null";
  const std::size_t at = page.find(mark);
  ensure(at != std::string::npos, "a page without a place for its data");
  return page.replace(at, mark.size(), data);
}

std::string tune_page(const std::string& json) { return with_data(tune_template(), json); }

}  // namespace moonloop
