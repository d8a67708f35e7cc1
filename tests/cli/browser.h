#pragma once
#include <string>

#include "runtime/process.h"
#include "tests/cli/harness.h"

/// Pages in a browser.
namespace moonloop::test {

/// The page after `script` ran in it, as in a browser; nothing where there is none. Errors of the
/// page fail the test.
inline std::string browse(std::string page, const std::string& script,
                          const std::string& address = {}) {
  const std::string browser = moonloop::find_program("chromium");
  if (browser.empty()) {
    MESSAGE("no chromium: the page is not looked at");
    return {};
  }
  const Folder f;
  page += "<script>" + script + "</script>";
  f.write("page.html", page);
  const Outcome o = shell(
      "timeout 60 " + browser +
          " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr "
          "--user-data-dir=profile --dump-dom \"file://$PWD/page.html" +
          address + "\"",
      f.str());
  CHECK(o.status == 0);
  CHECK(!contains(o.err, "CONSOLE"));
  return o.out;
}

inline constexpr const char* kKeys = R"(
const type = (key, on, more) =>
    (on || document).dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, ...more}));
const all = query => [...document.querySelectorAll(query)];
const tell = (name, value) => { document.body.dataset[name] = value; };
)";

/// `n` of `data-NAME="n"`.
inline std::string told(const std::string& dom, const std::string& name) {
  const std::string begin = " data-" + name + "=\"";
  const std::size_t at = dom.find(begin);
  if (at == std::string::npos) return "nothing";
  return dom.substr(at + begin.size(), dom.find('"', at + begin.size()) - at - begin.size());
}

}  // namespace moonloop::test
