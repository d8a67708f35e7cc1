#include "grid.h"
#include "smooth.h"

int main(void) {
  static double u[SIZE], v[SIZE];
  fill(u);
  smooth(N, M, 0.8, u, v);
  return check(0.8, u, v);
}
