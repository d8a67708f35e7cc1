/* What the three programs share: a grid to smooth, and what has to come out. */
#include <math.h>
#include <stdio.h>

enum { N = 45, M = 70, SIZE = (N + 2) * (M + 2) };

static void fill(double* u) {
  for (int i = 0; i < SIZE; ++i) u[i] = (i * 7919 % 1000) / 1000.0;
}

/* 0 where `v` is the smoothed grid and its edge is untouched, else 1. */
static int check(double w, double const* u, double const* v) {
  for (int i = 0; i < N + 2; ++i)
    for (int j = 0; j < M + 2; ++j) {
      int const at = i * (M + 2) + j, inside = 1 <= i && i <= N && 1 <= j && j <= M;
      double const wanted =
          !inside ? 0
                  : (1 - w) * u[at] +
                        0.25 * w * (u[at - M - 2] + u[at + M + 2] + u[at - 1] + u[at + 1]);
      if (fabs(v[at] - wanted) > 1e-13) {
        printf("v[%d, %d] is %g, not %g\n", i, j, v[at], wanted);
        return 1;
      }
    }
  printf("smoothed %d x %d points\n", N, M);
  return 0;
}
