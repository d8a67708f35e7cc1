#pragma once
#include <string>
#include <vector>

/// Help on topics that are neither transforms nor commands.
namespace moonloop::cli {

constexpr const char* kTagTopics = "Tags of inames";  // a group
constexpr const char* kEnvironmentTopics = "Environment";

struct Topic {
  std::string name;   // what `moonloop doc NAME` finds
  std::string group;  // a heading of the reference
  std::string text;   // first line: summary
};

/// By group, then as a reader wants them.
const std::vector<Topic>& topics();

}  // namespace moonloop::cli
