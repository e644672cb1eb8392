// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.instruction;

/**
 * The table of all instruction forms and of the reasons why some are refused. {@code .{a,b}} is one
 * of a and b, {@code [.a]} may be missing, {@code $x} stands for a list; a form that is refused has
 * to have only what it names. Source: the syntax sections of the PTX ISA, version 9.0, as ptxas
 * 13.0 reads them.
 */
final class InstructionTable {
  static final String TEXT =
      """
      $rnd = rn,rz,rm,rp
      $irnd = rni,rzi,rmi,rpi
      $wide = u32,s32,u64,s64
      $int = u16,s16,$wide
      $bool = and,or,xor
      $order = eq,ne,lt,le,gt,ge
      $unordered = equ,neu,ltu,leu,gtu,geu,num,nan
      $scope = cta,cluster,gpu,sys
      $shared = shared,shared::cta,shared::cluster
      $any = b8,u8,s8,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64
      $four = b32,u32,s32,f32
      $eight = b64,u64,s64,f64
      $evict1 = L1::evict_normal,L1::evict_unchanged,L1::evict_first,L1::evict_last,L1::no_allocate
      $evict2 = L2::evict_normal,L2::evict_first,L2::evict_last
      $prefetch = L2::64B,L2::128B,L2::256B

      ## Integer arithmetic
      add.{$int,u16x2,s16x2} add.sat.s32
      sub.{$int} sub.sat.s32
      mul.{lo,hi}.{$int} mul.wide.{u16,s16,u32,s32}
      mad.{lo,hi}.{$int} mad.wide.{u16,s16,u32,s32} mad.hi.sat.s32
      mul24.{lo,hi}.{u32,s32}
      mad24.{lo,hi}.{u32,s32} mad24.hi.sat.s32
      sad.{$int}
      div.{$int}
      rem.{$int}
      abs.{s16,s32,s64}
      neg.{s16,s32,s64}
      min.{$int,u16x2,s16x2} min.relu.{s16x2,s32}
      max.{$int,u16x2,s16x2} max.relu.{s16x2,s32}
      dp4a.{u32,s32}.{u32,s32}
      dp2a.{lo,hi}.{u32,s32}.{u32,s32}

      ## Carry chains
      add.cc.{$wide} addc[.cc].{$wide}
      sub.cc.{$wide} subc[.cc].{$wide}
      mad.{lo,hi}.cc.{$wide} madc.{lo,hi}[.cc].{$wide}

      ## Logic, shifts and bit fields
      and.{pred,b16,b32,b64} or.{pred,b16,b32,b64} xor.{pred,b16,b32,b64} not.{pred,b16,b32,b64}
      cnot.{b16,b32,b64}
      lop3.b32 lop3.{and,or}.b32
      shl.{b16,b32,b64} shr.{b16,b32,b64,$int}
      shf.{l,r}.{clamp,wrap}.b32
      bfe.{$wide} bfi.{b32,b64} bfind[.shiftamt].{$wide}
      brev.{b32,b64} clz.{b32,b64} popc.{b32,b64} fns.b32
      bmsk.{clamp,wrap}.b32 szext.{clamp,wrap}.{u32,s32}
      prmt.b32[.{f4e,b4e,rc8,ecl,ecr,rc16}]

      ## Single and double precision
      add[.{$rnd}][.ftz][.sat].f32 add[.{$rnd}].f64 add[.{$rnd}][.ftz].f32x2
      sub[.{$rnd}][.ftz][.sat].f32 sub[.{$rnd}].f64 sub[.{$rnd}][.ftz].f32x2
      mul[.{$rnd}][.ftz][.sat].f32 mul[.{$rnd}].f64 mul[.{$rnd}][.ftz].f32x2
      fma.{$rnd}[.ftz][.sat].f32 fma.{$rnd}.f64 fma.{$rnd}[.ftz].f32x2
      mad.{$rnd}[.ftz][.sat].f32 mad.{$rnd}.f64
      div.{$rnd}[.ftz].f32 div.{$rnd}.f64
      rcp.{$rnd}[.ftz].f32 rcp.{$rnd}.f64
      sqrt.{$rnd}[.ftz].f32 sqrt.{$rnd}.f64
      abs[.ftz].f32 abs.f64 neg[.ftz].f32 neg.f64
      min[.ftz][.NaN].f32 min[.ftz][.NaN].xorsign.abs.f32 min[.ftz][.NaN].abs.f32 min.f64
      max[.ftz][.NaN].f32 max[.ftz][.NaN].xorsign.abs.f32 max[.ftz][.NaN].abs.f32 max.f64
      testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}
      copysign.{f32,f64}

      ## Mixed precision
      add[.{$rnd}][.sat].f32.{f16,bf16}
      sub[.{$rnd}][.sat].f32.{f16,bf16}
      fma.{$rnd}[.sat].f32.{f16,bf16}

      ## Approximate functions
      div.{approx,full}[.ftz].f32
      rcp.approx[.ftz].f32 rcp.approx.ftz.f64
      sqrt.approx[.ftz].f32
      rsqrt.approx[.ftz].{f32,f64}
      sin.approx[.ftz].f32 cos.approx[.ftz].f32
      lg2.approx[.ftz].f32 ex2.approx[.ftz].f32
      tanh.approx.f32
      tanh.approx.{f16,f16x2,bf16,bf16x2}
      ex2.approx.{f16,f16x2} ex2.approx.ftz.{bf16,bf16x2}

      ## Half precision
      add[.rn][.ftz][.sat].{f16,f16x2} add[.rn].{bf16,bf16x2}
      sub[.rn][.ftz][.sat].{f16,f16x2} sub[.rn].{bf16,bf16x2}
      mul[.rn][.ftz][.sat].{f16,f16x2} mul[.rn].{bf16,bf16x2}
      fma.rn[.ftz][.sat].{f16,f16x2} fma.rn[.ftz].relu.{f16,f16x2} fma.rn[.relu].{bf16,bf16x2}
      abs[.ftz].{f16,f16x2} abs.{bf16,bf16x2}
      neg[.ftz].{f16,f16x2} neg.{bf16,bf16x2}
      min[.ftz][.NaN].{f16,f16x2} min[.ftz][.NaN].xorsign.abs.{f16,f16x2}
      min[.NaN].{bf16,bf16x2} min[.NaN].xorsign.abs.{bf16,bf16x2}
      max[.ftz][.NaN].{f16,f16x2} max[.ftz][.NaN].xorsign.abs.{f16,f16x2}
      max[.NaN].{bf16,bf16x2} max[.NaN].xorsign.abs.{bf16,bf16x2}
      refused (reads what tensor copies leave out of bounds): fma.oob

      ## Comparison and selection
      setp.{eq,ne}[.{$bool}].{b16,b32,b64}
      setp.{$order}[.{$bool}].{s16,s32,s64}
      setp.{$order,lo,ls,hi,hs}[.{$bool}].{u16,u32,u64}
      setp.{$order,$unordered}[.ftz][.{$bool}].{f32,f16,f16x2}
      setp.{$order,$unordered}[.{$bool}].{f64,bf16,bf16x2}
      set.{eq,ne}[.{$bool}].{u32,s32,f32,f16,bf16}.{b16,b32,b64}
      set.{$order}[.{$bool}].{u32,s32,f32,f16,bf16}.{s16,s32,s64}
      set.{$order,lo,ls,hi,hs}[.{$bool}].{u32,s32,f32,f16,bf16}.{u16,u32,u64}
      set.{$order,$unordered}[.ftz][.{$bool}].{u32,s32,f32,f16,bf16}.f32
      set.{$order,$unordered}[.{$bool}].{u32,s32,f32,f16,bf16}.f64
      set.{$order,$unordered}[.ftz][.{$bool}].{u16,s16,u32,s32,f16}.f16
      set.{$order,$unordered}[.{$bool}].{u16,s16,u32,s32,bf16}.bf16
      set.{$order,$unordered}[.ftz][.{$bool}].{u32,s32,f16x2}.f16x2
      set.{$order,$unordered}[.{$bool}].{u32,s32,bf16x2}.bf16x2
      selp.{b16,b32,b64,$int,f32,f64}
      slct.{b16,b32,b64,$int,f32,f64}.s32 slct[.ftz].{b16,b32,b64,$int,f32,f64}.f32

      ## Conversion
      cvt[.sat].{u8,s8,$int}.{u8,s8,$int}
      cvt.{$rnd}[.sat].{f16,f64}.{u8,s8,$int} cvt.{$rnd}[.ftz][.sat].f32.{u8,s8,$int}
      cvt.{$rnd}.bf16.{u8,s8,$int}
      cvt.{$irnd}[.ftz][.sat].{u8,s8,$int}.f32 cvt.{$irnd}[.sat].{u8,s8,$int}.{f16,f64}
      cvt.{$irnd}.{u8,s8,$int}.bf16
      cvt[.{$irnd}][.ftz][.sat].f32.f32 cvt[.{$irnd}][.sat].f16.f16 cvt[.{$irnd}][.sat].f64.f64
      cvt[.{$irnd}].bf16.bf16
      cvt[.ftz][.sat].f32.f16 cvt[.ftz].f32.bf16 cvt[.ftz][.sat].f64.f32 cvt[.sat].f64.f16 cvt.f64.bf16
      cvt.{$rnd}[.ftz][.sat].f32.f64 cvt.{$rnd}[.ftz][.sat].f16.f32 cvt.{$rnd}[.sat].f16.f64
      cvt.{$rnd}.bf16.f32 cvt.{$rnd}.bf16.f64 cvt.{$rnd}.bf16.f16 cvt.{$rnd}.f16.bf16
      cvt.{rn,rz}[.relu][.satfinite].{f16,bf16}.f32
      cvt.{rn,rz}[.relu][.satfinite].{f16x2,bf16x2}.f32
      cvt.rna[.satfinite].tf32.f32 cvt.{rn,rz}[.satfinite][.relu].tf32.f32
      cvt.rn.satfinite[.relu].{e4m3x2,e5m2x2}.{f32,f16x2} cvt.rn[.relu].f16x2.{e4m3x2,e5m2x2}
      cvt.pack.sat.{u16,s16}.s32 cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32
      refused (compute capability 10.0a and later): cvt.{e2m1x2,e2m3x2,e3m2x2,ue8m0x2} cvt.rs

      ## Moves and addresses
      mov.{pred,b16,b32,b64,b128,$int,f32,f64}
      cvta.{const,global,local,param,param::entry,$shared}.u64
      cvta.to.{const,global,local,param,param::entry,$shared}.u64
      refused (addresses have 64 bits): cvta.u32
      isspacep.{const,global,local,param,param::entry,$shared}
      mapa[.{$shared}].{u32,u64} getctarank[.{$shared}].{u32,u64}
      elsewhere (stack_allocation.cu): alloca.{u32,u64} stacksave.{u32,u64} stackrestore.{u32,u64}
      refused (reads opaque texture types): istypep

      ## Loads and stores
      ld[.weak][.{const,global,local,param,param::entry,$shared}][.{ca,cg,cs,lu,cv}][.{$prefetch}][.{v2,v4}].{$any}
      ld[.weak][.{const,global,local,param,param::entry,$shared}][.{ca,cg,cs,lu,cv}][.{$prefetch}].b128
      ld[.weak].global[.{$evict1}][.{$evict2}][.L2::cache_hint][.{$prefetch}][.{v2,v4}].{$any}
      ld[.weak].global[.{$evict1}][.{$evict2}][.L2::cache_hint][.{$prefetch}].v8.{$four}
      ld[.weak].global[.{ca,cg,cs,lu,cv}].L2::cache_hint[.{$prefetch}][.{v2,v4}].{$any}
      ld.volatile[.{global,$shared}][.{$prefetch}][.{v2,v4}].{$any}
      ld.volatile[.{global,$shared}].b128
      ld.{relaxed,acquire}.{$scope}[.{global,$shared}][.{$evict1}][.{$prefetch}][.{v2,v4}].{$any}
      ld.{relaxed,acquire}.{$scope}[.{global,$shared}].b128
      ld.mmio.relaxed.sys[.global].{$any}
      ld.global[.{ca,cg,cs}].nc[.L2::cache_hint][.{$prefetch}][.{v2,v4}].{$any}
      ld.global.nc[.{$evict1}][.{$evict2}][.L2::cache_hint][.{$prefetch}][.{v2,v4}].{$any}
      ld.global.nc.v8.{$four} ld.global[.{ca,cg,cs}].nc.b128
      ldu[.global][.{v2,v4}].{$any} ldu[.global].b128
      elsewhere (CallKernelsTest): ld[.weak].param::func[.{v2,v4}].{$any}
      st[.weak][.{global,local,$shared}][.{wb,cg,cs,wt}][.L2::cache_hint][.{v2,v4}].{$any}
      st[.weak][.{global,local,$shared}][.{wb,cg,cs,wt}].b128
      st[.weak].global[.{$evict1}][.{$evict2}][.L2::cache_hint][.{v2,v4}].{$any}
      st[.weak].global[.{$evict1}][.{$evict2}][.L2::cache_hint].v8.{$four}
      st.volatile[.{global,$shared}][.{v2,v4}].{$any} st.volatile[.{global,$shared}].b128
      st.{relaxed,release}.{$scope}[.{global,$shared}][.{$evict1}][.{v2,v4}].{$any}
      st.{relaxed,release}.{$scope}[.{global,$shared}].b128
      st.mmio.relaxed.sys[.global].{$any}
      elsewhere (CallKernelsTest): st[.weak].{param,param::func}[.{v2,v4}].{$any}
      elsewhere (ClusterKernelsTest): st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes[.{v2,v4}].{b32,u32,s32,f32}
      elsewhere (ClusterKernelsTest): st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes[.v2].{b64,u64,s64,f64}
      elsewhere (ClusterKernelsTest): red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{inc,dec}.u32
      elsewhere (ClusterKernelsTest): red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{min,max}.{u32,s32}
      elsewhere (ClusterKernelsTest): red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.{u32,s32,u64}
      elsewhere (ClusterKernelsTest): red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{and,or,xor}.b32
      refused (compute capability 10.0 and later): st.bulk

      ## Atomic operations
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].{and,or,xor}[.L2::cache_hint].{b32,b64}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].{cas,exch}.{b32,b64,b128}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].{cas,exch}.L2::cache_hint.{b32,b64,b128}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].cas.b16
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].add[.L2::cache_hint].{u32,s32,u64,f32,f64}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].add.noftz[.L2::cache_hint].{f16,f16x2,bf16,bf16x2}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].{inc,dec}[.L2::cache_hint].u32
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.{global,$shared}].{min,max}[.L2::cache_hint].{$wide}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.global].add[.L2::cache_hint].{v2,v4}.f32
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.global].{add,min,max}.noftz[.L2::cache_hint].{v2,v4,v8}.{f16,bf16}
      atom[.{relaxed,acquire,release,acq_rel}][.{$scope}][.global].{add,min,max}.noftz[.L2::cache_hint].{v2,v4}.{f16x2,bf16x2}
      red[.{relaxed,release}][.{$scope}][.{global,$shared}].{and,or,xor}[.L2::cache_hint].{b32,b64}
      red[.{relaxed,release}][.{$scope}][.{global,$shared}].add[.L2::cache_hint].{u32,s32,u64,f32,f64}
      red[.{relaxed,release}][.{$scope}][.{global,$shared}].add.noftz[.L2::cache_hint].{f16,f16x2,bf16,bf16x2}
      red[.{relaxed,release}][.{$scope}][.{global,$shared}].{inc,dec}[.L2::cache_hint].u32
      red[.{relaxed,release}][.{$scope}][.{global,$shared}].{min,max}[.L2::cache_hint].{$wide}
      red[.{relaxed,release}][.{$scope}][.global].add[.L2::cache_hint].{v2,v4}.f32
      red[.{relaxed,release}][.{$scope}][.global].{add,min,max}.noftz[.L2::cache_hint].{v2,v4,v8}.{f16,bf16}
      red[.{relaxed,release}][.{$scope}][.global].{add,min,max}.noftz[.L2::cache_hint].{v2,v4}.{f16x2,bf16x2}
      refused (needs memory that several cards share by multicast): multimem

      ## Caches
      no effect: prefetch[.{global,local}].{L1,L2} prefetch.global.{L2::evict_last,L2::evict_normal} prefetchu.L1
      no effect: applypriority[.global].L2::evict_normal discard[.global].L2
      createpolicy.fractional.{$evict2,L2::evict_unchanged}[.{L2::evict_first,L2::evict_unchanged}].b64
      createpolicy.range[.global].{$evict2,L2::evict_unchanged}[.{L2::evict_first,L2::evict_unchanged}].b64
      createpolicy.cvt.L2.b64
      no effect: prefetch[.{const,param}].tensormap

      ## Warps
      shfl.sync.{up,down,bfly,idx}.b32
      vote.sync.{all,any,uni}.pred vote.sync.ballot.b32
      match.{any,all}.sync.{b32,b64}
      redux.sync.{add,min,max}.{u32,s32} redux.sync.{and,or,xor}.b32
      activemask.b32
      elect.sync
      refused (compute capability 10.0a and later): redux.f32
      refused (PTX before 6.0 for compute capability below 7.0): shfl.{up,down,bfly,idx} vote.{all,any,uni,ballot}

      ## Barriers and fences
      bar.warp.sync
      bar[.cta].sync barrier[.cta].sync[.aligned]
      bar[.cta].arrive barrier[.cta].arrive[.aligned]
      bar[.cta].red.popc.u32 barrier[.cta].red.popc[.aligned].u32
      bar[.cta].red.{and,or}.pred barrier[.cta].red.{and,or}[.aligned].pred
      barrier.cluster.arrive[.{release,relaxed}][.aligned] barrier.cluster.wait[.acquire][.aligned]
      membar.{cta,gl,sys}
      fence[.{sc,acq_rel,acquire,release}].{$scope}
      fence.acquire.sync_restrict::shared::cluster.cluster fence.release.sync_restrict::shared::cta.cluster
      fence.mbarrier_init.release.cluster
      fence.proxy.{alias,async} fence.proxy.async.{global,shared::cta,shared::cluster}
      fence.proxy.tensormap::generic.release.{$scope}
      elsewhere (tensor_map.cu): fence.proxy.tensormap::generic.acquire.{$scope}
      fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
      fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster

      ## Barrier objects and asynchronous copies
      mbarrier.{init,inval}[.{$shared}].b64
      mbarrier.{expect_tx,complete_tx}[.relaxed][.{cta,cluster}][.{$shared}].b64
      mbarrier.{arrive,arrive_drop}[.{release,relaxed}][.{cta,cluster}][.{$shared}].b64
      mbarrier.{arrive,arrive_drop}.noComplete[.release][.cta][.{$shared}].b64
      mbarrier.{arrive,arrive_drop}.expect_tx[.{release,relaxed}][.{cta,cluster}][.{$shared}].b64
      mbarrier.{test_wait,try_wait}[.parity][.{acquire,relaxed}][.{cta,cluster}][.{$shared}].b64
      mbarrier.pending_count.b64
      cp.async.{ca,cg}.{shared,shared::cta}.global[.L2::cache_hint][.{$prefetch}]
      cp.async.{commit_group,wait_group,wait_all}
      cp.async.mbarrier.arrive[.noinc][.{shared,shared::cta}].b64
      cp.async.bulk.{shared::cta,shared::cluster}.global.mbarrier::complete_tx::bytes[.L2::cache_hint]
      cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
      elsewhere (ClusterKernelsTest): cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster[.L2::cache_hint]
      elsewhere (ClusterKernelsTest): cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.shared::cluster.global[.tile].mbarrier::complete_tx::bytes.multicast::cluster[.L2::cache_hint]
      cp.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint]
      cp.async.bulk.commit_group cp.async.bulk.wait_group[.read]
      no effect: cp.async.bulk.prefetch.L2.global[.L2::cache_hint]
      $rank = 1d,2d,3d,4d,5d
      elsewhere (TensorKernelsTest): cp.async.bulk.tensor.{$rank}.{shared::cta,shared::cluster}.global[.tile].mbarrier::complete_tx::bytes[.L2::cache_hint]
      elsewhere (TensorKernelsTest): cp.async.bulk.tensor.{$rank}.global.shared::cta[.tile].bulk_group[.L2::cache_hint]
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.tensor.{$rank}.global.shared::cta.{add,min,max,inc,dec,and,or,xor}[.tile].bulk_group[.L2::cache_hint]
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].add.{u32,s32,u64,f32,f64}
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].add.noftz.{f16,bf16}
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{min,max}.{$wide,f16,bf16}
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{inc,dec}.u32
      elsewhere (TensorKernelsTest): cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint].{and,or,xor}.{b32,b64}
      no effect: cp.async.bulk.prefetch.tensor.{$rank}.L2.global[.tile][.L2::cache_hint]
      refused (tensor maps of im2col, gather and scatter modes): cp.tensor
      refused (compute capability 9.0a and later): tensormap
      refused (reductions into shared memory): cp.reduce
      refused (compute capability 10.0 and later): cp.cp_mask

      ## Video
      vadd.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{add,min,max}]
      vsub.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{add,min,max}]
      vabsdiff.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{add,min,max}]
      vmin.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{add,min,max}]
      vmax.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{add,min,max}]
      vshl.{u32,s32}.{u32,s32}.u32[.sat].{clamp,wrap}[.{add,min,max}]
      vshr.{u32,s32}.{u32,s32}.u32[.sat].{clamp,wrap}[.{add,min,max}]
      vset.{u32,s32}.{u32,s32}.{$order}[.{add,min,max}]
      vmad.{u32,s32}.{u32,s32}.{u32,s32}[.po][.sat][.{shr7,shr15}]
      vadd2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vadd4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vsub2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vsub4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vavrg2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vavrg4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vabsdiff2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vabsdiff4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vmin2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vmin4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vmax2.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}] vmax4.{u32,s32}.{u32,s32}.{u32,s32}[.{sat,add}]
      vset2.{u32,s32}.{u32,s32}.{$order}[.add] vset4.{u32,s32}.{u32,s32}.{$order}[.add]

      ## Textures and surfaces
      $planes = 1d,2d,3d,a1d,a2d
      $query = width,height,depth,array_size,num_mipmap_levels,num_samples,normalized_coords
      elsewhere (TextureKernelTest): tex[.{base,level,grad}].{$planes,cube,acube}.v4.{u32,s32,f32,f16}.{s32,f32}
      elsewhere (TextureKernelTest): tex[.{base,level,grad}].{$planes,cube,acube}.v2.f16x2.{s32,f32}
      elsewhere (TextureKernelTest): tld4.{r,g,b,a}.{2d,a2d,cube,acube}.v4.{u32,s32,f32}.f32
      elsewhere (TextureKernelTest): suld.b.{$planes}[.{ca,cg,cs,cv}][.{v2,v4}].{b8,b16,b32,b64}.{trap,clamp,zero}
      elsewhere (TextureKernelTest): sust.b.{$planes}[.{wb,cg,cs,wt}][.{v2,v4}].{b8,b16,b32,b64}.{trap,clamp,zero}
      elsewhere (TextureKernelTest): sured.b.{add,min,max,and,or}.{$planes}.{u32,u64,s32,s64,b32,b64}.{trap,clamp,zero}
      elsewhere (texture_queries.cu): txq[.level].{$query}.b32 suq.{width,height,depth,array_size}.b32
      refused (multisampled textures): tex.{2dms,a2dms}
      refused (formatted surface access): suld.p sust.p sured.p
      refused (channel formats and memory layouts): txq.{channel_data_type,channel_order} suq.{channel_data_type,channel_order,memory_layout}

      ## Control
      elsewhere (ControlKernelsTest): bra[.uni] exit
      elsewhere (CallKernelsTest): call[.uni] ret[.uni]
      elsewhere (FaultKernelsTest): trap
      brx.idx[.uni]
      nanosleep.u32
      no effect: brkpt pmevent[.mask] griddepcontrol.{launch_dependents,wait}
      no effect: setmaxnreg.{inc,dec}.sync.aligned.u32

      ## Tensor cores and clusters
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f16.f16.f16.f16
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.f16.f16.f32
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col[.{$rnd}].f64.f64.f64.f64
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m8n8k16,m16n8k16,m16n8k32}.row.col[.satfinite].s32.{s8,u8}.{s8,u8}.s32
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k16,m16n8k32}.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32
      elsewhere (MatrixInstructionsTest): mma.sync.aligned.{m16n8k16,m16n8k32}.row.col.f16.{e4m3,e5m2}.{e4m3,e5m2}.f16
      elsewhere (MatrixInstructionsTest): ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans][.{shared,shared::cta}].b16
      elsewhere (MatrixInstructionsTest): stmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans][.{shared,shared::cta}].b16
      elsewhere (MatrixInstructionsTest): movmatrix.sync.aligned.m8n8.trans.b16
      $wshape = m16n16k16,m32n8k16,m8n32k16
      $memory = global,shared,shared::cta
      elsewhere (MatrixInstructionsTest): wmma.load.{a,b}.sync.aligned.{row,col}.{$wshape}[.{$memory}].{f16,bf16,s8,u8}
      elsewhere (MatrixInstructionsTest): wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8[.{$memory}].tf32
      elsewhere (MatrixInstructionsTest): wmma.load.{a,b}.sync.aligned.{row,col}.m8n8k4[.{$memory}].f64
      elsewhere (MatrixInstructionsTest): wmma.load.c.sync.aligned.{row,col}.{$wshape}[.{$memory}].{f16,f32,s32}
      elsewhere (MatrixInstructionsTest): wmma.load.c.sync.aligned.{row,col}.m16n16k8[.{$memory}].f32
      elsewhere (MatrixInstructionsTest): wmma.load.c.sync.aligned.{row,col}.m8n8k4[.{$memory}].f64
      elsewhere (MatrixInstructionsTest): wmma.store.d.sync.aligned.{row,col}.{$wshape}[.{$memory}].{f16,f32,s32}
      elsewhere (MatrixInstructionsTest): wmma.store.d.sync.aligned.{row,col}.m16n16k8[.{$memory}].f32
      elsewhere (MatrixInstructionsTest): wmma.store.d.sync.aligned.{row,col}.m8n8k4[.{$memory}].f64
      elsewhere (MatrixInstructionsTest): wmma.mma.sync.aligned.{row,col}.{row,col}.{$wshape}.{f16,f32}.{f16,f32}
      elsewhere (MatrixInstructionsTest): wmma.mma.sync.aligned.{row,col}.{row,col}.{$wshape}.f32.bf16.bf16.f32
      elsewhere (MatrixInstructionsTest): wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32
      elsewhere (MatrixInstructionsTest): wmma.mma.sync.aligned.{row,col}.{row,col}.{$wshape}[.satfinite].s32.{s8,u8}.{s8,u8}.s32
      elsewhere (MatrixInstructionsTest): wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4[.{$rnd}].f64.f64.f64.f64
      refused (tensor cores, in a form that is not built): mma wmma ldmatrix stmatrix
      refused (tensor cores of 9.0a and later): wgmma tcgen05
      refused (compute capability 10.0 and later): clusterlaunchcontrol
      refused (grids whose extent counts clusters): blocksareclusters
      """;

  private InstructionTable() {}
}
