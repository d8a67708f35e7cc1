#include <stdint.h>

void scalars(int32_t n, double const *restrict a, double *restrict b) {
  for (int32_t i = 0; i < n; ++i) {
    double const once = 2*a[i];
    double twice = once + 1;
    twice *= 3.0;
    b[i] = twice;
  }
}
