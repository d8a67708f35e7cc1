!$moonloop begin transform
! for _, j in ipairs{"j", "j_1", "j_2", "j_3", "j_4", "j_5"} do
!   dgemm = lp.split_iname(dgemm, j, 8, {outer_tag = "par"})
! end
! for _, t in ipairs{{"temp", "i_4", "l", "j_2"}, {"temp_2", "i_8", "l_2", "j_4"}} do
!   local temp, i, l, j = table.unpack(t)
!   dgemm = lp.assignment_to_subst(dgemm, temp)
!   dgemm = lp.duplicate_inames(dgemm, j .. "_inner", "iname:" .. i, {new_inames = "jj_" .. temp})
!   dgemm = lp.split_iname(dgemm, i, 64)
!   dgemm = lp.split_iname(dgemm, l, 32)
!   dgemm = lp.prioritize_loops(dgemm, {i .. "_outer", l .. "_outer", "jj_" .. temp, l .. "_inner",
!                                       i .. "_inner"})
! end
!$moonloop end transform
