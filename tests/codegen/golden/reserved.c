#include <stdint.h>

void register_kernel(int32_t int_, double *restrict double_) {
  for (int32_t i = 0; i < int_; ++i)
    double_[i] *= 3.0;
}
