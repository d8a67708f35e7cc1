#include <stdint.h>

void prefix(int32_t n, double const *restrict a, double *restrict b) {
  double total = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    total += a[i];
    b[i] = total;
  }
}
