#pragma once
#include "frontends/fortran/flang.h"

namespace moonloop::fortran {

/// The `format` statements of a routine, and the statements that name them.
class Formats {
 public:
  void note(const fp::Statement<Fortran::common::Indirection<fp::FormatStmt>>& s) {
    const std::string text = s.source.ToString();  // `format(...)`
    if (s.label) texts_[*s.label] = text.substr(std::min(text.find('('), text.size()));
  }

  void need(const OutputStatement& s, const Span& at) {
    if (s.format) needed_.push_back({s.output, *s.format, s.place, at});
  }

  /// Puts the formats in their places, once all statements are known.
  void put(std::vector<Diagnostic>& errors) const {
    for (const auto& [output, label, place, at] : needed_) {
      const auto it = texts_.find(label);
      if (it == texts_.end()) try {
          unsupported(at, fmt::format("the format {}, which is not among the statements,", label));
        } catch (const Error& e) {
          errors.insert(errors.end(), e.diagnostics().begin(), e.diagnostics().end());
          continue;
        }
      if (place == std::string::npos) {
        output->statement += fmt::format("\n{} format{}", label, it->second);
        continue;
      }
      std::string quoted = "'";
      for (const char c : it->second) quoted += c == '\'' ? "''" : std::string(1, c);
      output->statement.insert(place, quoted + "'");
    }
  }

 private:
  struct Needed {
    std::shared_ptr<Output> output;
    fp::Label label;
    std::size_t place;
    Span at;
  };
  std::map<fp::Label, std::string> texts_;
  std::vector<Needed> needed_;
};

}  // namespace moonloop::fortran
