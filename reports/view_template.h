#pragma once
#include <string>

namespace moonloop {

/// reports/view.html, which is part of the binary.
std::string view_template();

}  // namespace moonloop
