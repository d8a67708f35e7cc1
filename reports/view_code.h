#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace moonloop {

/// The codes of a page, small: the lines of an unrolled loop differ in numbers, and most lines of a
/// code are in that of another target or of the state before.
///
///     forms   [text, statement], where each "`" of the text is a place for a part
///     lines   [form, part...], each line once; a part is a number, or a text
///     code    a line's number, or [from, count]: so many lines from there on of all that the codes
///             before have, in the order in which they were added
class CodeTable {
 public:
  /// A code, a list of [line, statement], as the page has it. Cost: near-linear in its lines.
  nlohmann::json add(const nlohmann::json& code);
  const nlohmann::json& forms() const { return forms_; }
  const nlohmann::json& lines() const { return lines_; }

 private:
  using Line = std::pair<std::string, std::string>;

  std::int32_t number_of(const Line& line);
  /// The longest run of `lines` from `at` on that is in `all_`: where, and how many.
  std::pair<std::size_t, std::size_t> known_run(const std::vector<std::int32_t>& lines,
                                                std::size_t at) const;

  nlohmann::json forms_ = nlohmann::json::array(), lines_ = nlohmann::json::array();
  std::map<Line, std::int32_t> form_numbers_, line_numbers_;
  std::vector<std::int32_t> all_;
  /// Where in `all_` two lines follow each other; the latest places come last.
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places_;
};

}  // namespace moonloop
