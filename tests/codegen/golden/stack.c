#include <stdint.h>

void stack(double *restrict a) {
  double t[8][8];
  for (int32_t i = 0; i < 8; ++i)
    for (int32_t j = 0; j < 8; ++j)
      t[i][j] = 2*a[8*i + j];
  for (int32_t k = 0; k < 8; ++k)
    for (int32_t l = 0; l < 8; ++l)
      a[8*k + l] = t[l][k];
}
