#pragma once
#include <memory>
#include <string>

namespace moonloop {

/// The `x` of `name$x`, for targeting; it has no meaning. Mostly absent, hence not a string.
class Tag {
 public:
  Tag() = default;
  Tag(std::string text)  // NOLINT: a text is a tag
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}
  Tag(const Tag& o) : text_(o.text_ ? std::make_unique<const std::string>(*o.text_) : nullptr) {}
  Tag(Tag&&) = default;
  Tag& operator=(Tag o) noexcept {
    text_ = std::move(o.text_);
    return *this;
  }
  ~Tag() = default;
  bool empty() const { return text_ == nullptr; }
  const std::string& str() const {  // empty when there is none
    static const std::string kNone;
    return text_ ? *text_ : kNone;
  }
  bool operator==(const Tag& o) const { return str() == o.str(); }

 private:
  std::unique_ptr<const std::string> text_;
};

}  // namespace moonloop
