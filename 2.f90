!$moonloop begin transform
! dgemm = lp.split_iname(dgemm, "i", 4)
! dgemm = lp.split_iname(dgemm, "j", 5, {outer_tag = "par"})
! dgemm = lp.prioritize_loops(dgemm, "j_outer, i_outer, k")
!$moonloop end transform
