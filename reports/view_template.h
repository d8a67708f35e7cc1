#pragma once
#include <string>

namespace moonloop {

/// reports/view.html, which stands in the binary.
std::string view_template();

}  // namespace moonloop
