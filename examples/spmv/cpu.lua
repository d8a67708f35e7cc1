spmv = lp.tag_inames(spmv, "row:par")
