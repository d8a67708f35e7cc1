#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/count/count.h"

namespace moonloop {

/// Counts by keys: the work of a kernel, distinguished by fields such as `dtype` and `variable`.
class CountMap {
 public:
  struct Entry {
    std::vector<std::string> key;  // a value for each field
    Count count;
    int bytes = 0;  // that one counted thing moves; 0: none, or not one number
  };

  CountMap() = default;
  /// `what` names the things counted, in the plural.
  CountMap(std::string what, std::vector<std::string> fields)
      : what_(std::move(what)), fields_(std::move(fields)) {}

  const std::vector<std::string>& fields() const { return fields_; }
  const std::vector<Entry>& entries() const { return entries_; }  // sorted by key
  /// Adds to the entry of that key; zero makes none.
  void add(std::vector<std::string> key, const Count& count, int bytes = 0);

  /// The entries whose `field` has one of the values. Fails `unknown-field`.
  CountMap filter(const std::string& field, const std::vector<std::string>& values) const;
  /// Sums over all fields but these, which come in the order given. Fails `unknown-field`.
  CountMap group(const std::vector<std::string>& fields) const;
  /// The same in bytes. Fails `no-bytes` where an entry's things have no size, or several.
  CountMap to_bytes() const;
  /// With the numbers for these parameters. Fails as Count::eval does.
  CountMap eval(const std::map<std::string, std::int64_t>& values) const;
  CountMap under(const Set& context) const;
  Count sum() const;

  /// A table: a line for the names, then a line for each entry. With `values`, a column of numbers
  /// too.
  std::string str(const std::map<std::string, std::int64_t>* values = nullptr) const;

 private:
  std::size_t index_of(const std::string& field) const;
  std::string what_;
  std::vector<std::string> fields_;
  std::vector<Entry> entries_;
};

}  // namespace moonloop
