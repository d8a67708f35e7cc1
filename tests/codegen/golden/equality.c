#include <stdint.h>

void diagonal(int32_t n, double *restrict a) {
  for (int32_t i = 0; i < n; ++i) {
    int32_t const j = n - i - 1;
    a[(int64_t)n*i + j] = 1.0;
  }
}
