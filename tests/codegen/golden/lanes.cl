__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scale(int const n, __global float const *restrict a, __global float *restrict b) {
  int const i = get_group_id(0);
  if (4*i + 3 < n) {
    float4 const v_0 = *(__global float4 const *)&a[4*i];
    float4 v_1;
    v_1.x = 2*v_0.x;
    v_1.y = 2*v_0.y;
    v_1.z = 2*v_0.z;
    v_1.w = 2*v_0.w;
    *(__global float4 *)&b[4*i] = v_1;
  } else {
    b[4*i] = 2*a[4*i];
    if (4*i + 1 < n)
      b[4*i + 1] = 2*a[4*i + 1];
    if (4*i + 3 == n)
      b[4*i + 2] = 2*a[4*i + 2];
  }
}
