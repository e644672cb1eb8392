// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.List;

/**
 * What generated bodies are made of, besides control flow. No production lets the bits of a NaN
 * that an operation made be seen, and none leaves a result to chance.
 */
final class Productions {
  static final List<String> INTEGERS =
      List.of(
          "{add|sub|mul.lo|mul.hi|min|max}.{u16|s16} <h>, <h>, <hi>",
          "{add|sub|mul.lo|mul.hi|min|max}.{u32|s32} <r>, <r>, <ri>",
          "{add|sub|mul.lo|mul.hi|min|max}.{u64|s64} <x>, <x>, <xi>",
          "{add|sub}.sat.s32 <r>, <r>, <ri>",
          "{min|max}.relu.s32 <r>, <r>, <r>",
          "{min|max}.{u16x2|s16x2} <r>, <r>, <r>",
          "add.{u16x2|s16x2} <r>, <r>, <r>",
          "mul.wide.{u16|s16} <r>, <h>, <hi>",
          "mul.wide.{u32|s32} <x>, <r>, <ri>",
          "mad.wide.{u16|s16} <r>, <h>, <h>, <r>",
          "mad.wide.{u32|s32} <x>, <r>, <ri>, <x>",
          "mad.{lo|hi}.{u16|s16} <h>, <h>, <hi>, <h>",
          "mad.{lo|hi}.{u32|s32} <r>, <r>, <ri>, <ri>",
          "mad.{lo|hi}.{u64|s64} <x>, <x>, <xi>, <x>",
          "mad.hi.sat.s32 <r>, <r>, <r>, <r>",
          "mul24.{lo|hi}.{u32|s32} <r>, <r>, <ri>",
          "mad24.{lo|hi}.{u32|s32} <r>, <r>, <ri>, <r>",
          "sad.{u16|s16} <h>, <h>, <hi>, <h>",
          "sad.{u32|s32} <r>, <r>, <ri>, <r>",
          "sad.{u64|s64} <x>, <x>, <xi>, <x>",
          "or.b16 %th0, <h>, 1; {div|rem}.{u16|s16} <h>, <h>, %th0",
          "or.b32 %tr0, <r>, 1; {div|rem}.{u32|s32} <r>, <r>, %tr0",
          "{div|rem}.{u32|s32} <r>, <r>, {3|7|10|-1|16|1000003}",
          "or.b64 %tx0, <x>, 1; {div|rem}.{u64|s64} <x>, <x>, %tx0",
          "{neg|abs}.s16 <h>, <h>",
          "{neg|abs}.s32 <r>, <r>",
          "{neg|abs}.s64 <x>, <x>",
          "add.cc.{u32|s32} <r>, <r>, <ri>; addc.cc.u32 <r>, <r>, <ri>; addc.u32 <r>, <r>, <ri>",
          "sub.cc.{u32|s32} <r>, <r>, <ri>; subc.cc.u32 <r>, <r>, <ri>; subc.u32 <r>, <r>, <ri>",
          "add.cc.u64 <x>, <x>, <xi>; addc.u64 <x>, <x>, <xi>",
          "sub.cc.s64 <x>, <x>, <xi>; subc.s64 <x>, <x>, <xi>",
          "mad.{lo|hi}.cc.u32 <r>, <r>, <r>, <r>; madc.{lo|hi}.{u32|s32} <r>, <r>, <ri>, <r>",
          "mad.lo.cc.u64 <x>, <x>, <x>, <x>; madc.hi.u64 <x>, <x>, <x>, <x>");

  static final List<String> BITS =
      List.of(
          "{and|or|xor}.b16 <h>, <h>, <hi>",
          "{and|or|xor}.b32 <r>, <r>, <ri>",
          "{and|or|xor}.b64 <x>, <x>, <xi>",
          "{not|cnot}.b16 <h>, <h>",
          "{not|cnot}.b32 <r>, <r>",
          "{not|cnot}.b64 <x>, <x>",
          "{shl.b16|shr.u16|shr.s16|shr.b16} <h>, <h>, <n>",
          "{shl.b32|shr.u32|shr.s32|shr.b32} <r>, <r>, <n>",
          "{shl.b64|shr.u64|shr.s64|shr.b64} <x>, <x>, <n>",
          "shf.{l|r}.{wrap|clamp}.b32 <r>, <r>, <r>, <n>",
          "lop3.b32 <r>, <r>, <ri>, <r>, <0..255>",
          "popc.b32 <r>, <r>",
          "popc.b64 <r>, <x>",
          "clz.b32 <r>, <r>",
          "clz.b64 <r>, <x>",
          "brev.b32 <r>, <r>",
          "brev.b64 <x>, <x>",
          "bfind{|.shiftamt}.{u32|s32} <r>, <r>",
          "bfind{|.shiftamt}.{u64|s64} <r>, <x>",
          "bfe.{u32|s32} <r>, <r>, <n>, <n>",
          "bfe.{u64|s64} <x>, <x>, <n>, <n>",
          "bfi.b32 <r>, <r>, <r>, <n>, <n>",
          "bfi.b64 <x>, <x>, <x>, <n>, <n>",
          "bmsk.{wrap|clamp}.b32 <r>, <n>, <n>",
          "szext.{wrap|clamp}.{u32|s32} <r>, <r>, <n>",
          "prmt.b32{|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16} <r>, <r>, <r>, <ri>",
          "prmt.b32 <r>, <r>, <r>, {0x3210|0x4321|0x0123|0x7654|0xba98|0x5140}",
          "dp4a.{u32|s32}.{u32|s32} <r>, <r>, <r>, <r>",
          "dp2a.{lo|hi}.{u32|s32}.{u32|s32} <r>, <r>, <r>, <r>",
          "and.b32 %tr0, <r>, 31; fns.b32 <r>, <r>, %tr0, {-2|-1|0|1|2|3}");

  static final List<String> SINGLES =
      List.of(
          "{add|sub|mul}{|.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f32 <f>, <f>, <fi>",
          "{add|sub|mul}.f32 <f>, <f>, <fi>",
          "fma.{rn|rz|rm|rp}{|.ftz}{|.sat}.f32 <f>, <f>, <fi>, <f>",
          "fma.rn.f32 <f>, <f>, <fi>, <f>",
          "mad.{rn|rz}.f32 <f>, <f>, <fi>, <f>",
          "div.{rn|rz|rm|rp}{|.ftz}.f32 <f>, <f>, <fi>",
          "{rcp|sqrt}.{rn|rz|rm|rp}{|.ftz}.f32 <f>, <f>",
          "{abs|neg}{|.ftz}.f32 <f>, <f>",
          "{min|max}{|.ftz}{|.NaN}.f32 <f>, <f>, <fi>",
          "setp.nan.f32 %tp0, <f:1>, <f:1>; selp.f32 %tf0, 0f7FC00000, <f:1>, %tp0;"
              + "copysign.f32 <f>, %tf0, <f>",
          "testp.{finite|infinite|number|notanumber|normal|subnormal}.f32 <p>, <f>",
          "mov.f32 <f>, <fi>",
          "mov.b32 <f>, <r>",
          "setp.nan.f32 %tp0, <f:1>, <f:1>; selp.f32 %tf0, 0f7FC00000, <f:1>, %tp0;"
              + "mov.b32 <r>, %tf0");

  static final List<String> DOUBLES =
      List.of(
          "{add|sub|mul}{|.rn|.rz|.rm|.rp}.f64 <e>, <e>, <ei>",
          "{add|sub|mul}.f64 <e>, <e>, <ei>",
          "fma.{rn|rz|rm|rp}.f64 <e>, <e>, <ei>, <e>",
          "{div|div|div}.{rn|rn|rn|rz|rm|rp}.f64 <e>, <e>, <ei>",
          "{rcp|sqrt}.{rn|rn|rn|rz|rm|rp}.f64 <e>, <e>",
          "{abs|neg}.f64 <e>, <e>",
          "{min|max}.f64 <e>, <e>, <ei>",
          "setp.nan.f64 %tp0, <e:1>, <e:1>; selp.f64 %te0, 0d7FF8000000000000, <e:1>, %tp0;"
              + "copysign.f64 <e>, %te0, <e>",
          "testp.{finite|infinite|number|notanumber|normal|subnormal}.f64 <p>, <e>",
          "mov.f64 <e>, <ei>",
          "mov.b64 <e>, <x>",
          "mov.b64 <e>, {<r>, <r>}",
          "setp.nan.f64 %tp0, <e:1>, <e:1>; selp.f64 %te0, 0d7FF8000000000000, <e:1>, %tp0;"
              + "mov.b64 <x>, %te0");

  static final List<String> HALVES =
      List.of(
          "{add|sub|mul}{|.rn}{|.ftz}{|.sat}.f16 <k>, <k>, <k>",
          "fma.rn{|.ftz}{|.sat|.relu}.f16 <k>, <k>, <k>, <k>",
          "{neg|abs}{|.ftz}.f16 <k>, <k>",
          "{min|max}{|.ftz}{|.NaN}.f16 <k>, <k>, <k>",
          "{add|sub|mul}{|.rn}{|.ftz}{|.sat}.f16x2 <v>, <v>, <v>",
          "fma.rn{|.ftz}{|.sat|.relu}.f16x2 <v>, <v>, <v>, <v>",
          "{neg|abs}{|.ftz}.f16x2 <v>, <v>",
          "{min|max}{|.ftz}{|.NaN}.f16x2 <v>, <v>, <v>",
          "{add|sub|mul}{|.rn}.bf16 <b>, <b>, <b>",
          "fma.rn{|.relu}.bf16 <b>, <b>, <b>, <b>",
          "{neg|abs}.bf16 <b>, <b>",
          "{min|max}{|.NaN}.bf16 <b>, <b>, <b>",
          "{add|sub|mul}{|.rn}.bf16x2 <w>, <w>, <w>",
          "fma.rn{|.relu}.bf16x2 <w>, <w>, <w>, <w>",
          "{min|max}{|.NaN}.bf16x2 <w>, <w>, <w>",
          "mov.b16 <k>, <h>",
          "mov.b16 <b>, <h>",
          "mov.b32 <v>, <r>",
          "mov.b32 <w>, <r>",
          "mov.b32 <v>, {<k>, <k>}",
          "mov.b32 {<k2>}, <v>",
          "mov.b32 {<b2>}, <w>",
          "selp.b16 <k>, <k>, <k>, <p>",
          "selp.b32 <v>, <v>, <v>, <p>",
          "setp.nan.f16 %tp0, <k:1>, <k:1>; selp.b16 <h>, 0x7FFF, <k:1>, %tp0",
          "setp.nan.bf16 %tp0, <b:1>, <b:1>; selp.b16 <h>, 0x7FFF, <b:1>, %tp0");

  static final List<String> CONVERSIONS =
      List.of(
          "cvt{|.sat}.{u32|s32|u16|s16|u8|s8}.{u16|s16|u8|s8} <r>, <h>",
          "cvt{|.sat}.{u16|s16|u8|s8}.{u32|s32} <h>, <r>",
          "cvt{|.sat}.{u32|s32|u16|s16|u8|s8}.{u32|s32} <r>, <r>",
          "cvt.{u64|s64}.{u32|s32|u16|s16|u8|s8} <x>, <r>",
          "cvt{|.sat}.{u32|s32|u16|s16|u8|s8}.{u64|s64} <r>, <x>",
          "cvt{|.sat}.{u64|s64}.{u64|s64} <x>, <x>",
          "cvt.{rn|rz|rm|rp}.f32.{u8|s8|u16|s16|u32|s32} <f>, <r>",
          "cvt.{rn|rz|rm|rp}.f32.{u64|s64} <f>, <x>",
          "cvt.rn.f64.{u8|s8|u16|s16|u32|s32} <e>, <r>",
          "cvt.{rn|rz|rm|rp}.f64.{u64|s64} <e>, <x>",
          "cvt.{rn|rz|rm|rp}.f16.{u32|s32} <k>, <r>",
          "cvt.{rn|rz|rm|rp}.f16.{u16|s16} <k>, <h>",
          "cvt.{rn|rz|rm|rp}.f16.{u64|s64} <k>, <x>",
          "setp.num.f32 %tp0, <f:1>, <f:1>; selp.f32 %tf0, <f:1>, 0f00000000, %tp0;"
              + "cvt.{rni|rzi|rmi|rpi}{|.ftz}.{u8|s8|u16|s16|u32|s32}.f32 <r>, %tf0",
          "setp.num.f32 %tp0, <f:1>, <f:1>; selp.f32 %tf0, <f:1>, 0f00000000, %tp0;"
              + "cvt.{rni|rzi|rmi|rpi}{|.ftz}.{u64|s64}.f32 <x>, %tf0",
          "setp.num.f64 %tp0, <e:1>, <e:1>; selp.f64 %te0, <e:1>, 0d0000000000000000, %tp0;"
              + "cvt.{rni|rzi|rmi|rpi}.{u8|s8|u16|s16|u32|s32}.f64 <r>, %te0",
          "setp.num.f64 %tp0, <e:1>, <e:1>; selp.f64 %te0, <e:1>, 0d0000000000000000, %tp0;"
              + "cvt.{rni|rzi|rmi|rpi}.{u64|s64}.f64 <x>, %te0",
          "setp.num.f16 %tp0, <k:1>, <k:1>; selp.b16 %th0, <k:1>, 0, %tp0;"
              + "cvt.{rni|rzi|rmi|rpi}.{u16|s16|u32|s32}.f16 <r>, %th0",
          "cvt.f64.f32 <e>, <f>",
          "cvt.{rn|rz|rm|rp}{|.ftz}{|.sat}.f32.f64 <f>, <e>",
          "cvt.{rni|rzi|rmi|rpi}{|.ftz}{|.sat}.f32.f32 <f>, <f>",
          "cvt.sat{|.ftz}.f32.f32 <f>, <f>",
          "cvt.{rni|rzi|rmi|rpi}.f64.f64 <e>, <e>",
          "cvt.f32.f16 <f>, <k>",
          "cvt.f64.f16 <e>, <k>",
          "cvt.{rn|rz|rm|rp}.f16.f32 <k>, <f>",
          "cvt.{rn|rz|rm|rp}.f16.f64 <k>, <e>",
          "cvt.f32.bf16 <f>, <b>",
          "cvt.{rn|rz}{|.relu}.bf16.f32 <b>, <f>",
          "cvt.{rn|rz}{|.relu}.f16x2.f32 <v>, <f>, <f>",
          "cvt.{rn|rz}{|.relu}.bf16x2.f32 <w>, <f>, <f>");

  private static final String ANY = "{eq|ne|lt|le|gt|ge}";
  private static final String REAL = "{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}";

  static final List<String> PREDICATES =
      List.of(
          "setp." + ANY + ".{u16|s16} <p>, <h>, <hi>",
          "setp." + ANY + ".{u32|s32} <p>, <r>, <ri>",
          "setp." + ANY + ".{u64|s64} <p>, <x>, <xi>",
          "setp.{lo|ls|hi|hs}.{u32|u32} <p>, <r>, <ri>",
          "setp.{eq|ne}.b32 <p>, <r>, <ri>",
          "setp."
              + ANY
              + ".{and|or|xor}.s32 %tp1|%tp2, <r>, <ri>, <q>;"
              + "mov.pred <p>, %tp1; mov.pred <p>, %tp2",
          "setp." + ANY + ".{and|or|xor}.u32 <p>, <r>, <ri>, <q>",
          "setp." + REAL + "{|.ftz}.f32 <p>, <f>, <fi>",
          "setp." + REAL + ".{and|or|xor}.f32 <p>, <f>, <fi>, <q>",
          "setp." + REAL + ".f64 <p>, <e>, <ei>",
          "setp." + REAL + "{|.ftz}.f16 <p>, <k>, <k>",
          "setp." + REAL + ".bf16 <p>, <b>, <b>",
          "{and|or|xor}.pred <p>, <p>, <p>",
          "not.pred <p>, <p>",
          "selp.{b16|u16|s16} <h>, <h>, <hi>, <p>",
          "selp.{b32|u32|s32} <r>, <r>, <ri>, <p>",
          "selp.{b64|u64|s64} <x>, <x>, <xi>, <p>",
          "selp.f32 <f>, <f>, <fi>, <p>",
          "selp.f64 <e>, <e>, <ei>, <p>",
          "set." + ANY + ".{u32|s32}.{u32|s32} <r>, <r>, <ri>",
          "set." + ANY + ".f32.{u32|s32} <f>, <r>, <ri>",
          "set." + REAL + ".{u32|s32}.f32 <r>, <f>, <fi>",
          "set." + REAL + ".{and|or|xor}.f32.f64 <f>, <e>, <ei>, <q>",
          "slct.{u32|s32|b32}.s32 <r>, <r>, <ri>, <r>",
          "slct.{u64|b64}.s32 <x>, <x>, <x>, <r>",
          "slct.f32.s32 <f>, <f>, <f>, <r>",
          "slct{|.ftz}.u32.f32 <r>, <r>, <r>, <f>");

  static final List<String> MOVES =
      List.of(
          "mov.b16 <h>, <hi>",
          "mov.{b32|u32|s32} <r>, <ri>",
          "mov.{b64|u64|s64} <x>, <xi>",
          "mov.b32 {<h2>}, <r>",
          "mov.b32 <r>, {<h>, <h>}",
          "mov.b64 {<r2>}, <x>",
          "mov.b64 <x>, {<r>, <r>}",
          "mov.b64 {<h4>}, <x>",
          "mov.b64 <x>, {<h>, <h>, <h>, <h>}",
          "mov.u32 <r>, %{tid.x|tid.y|ntid.x|ctaid.x|nctaid.x|laneid|warpid}",
          "mov.u32 <r>, %lanemask_{eq|lt|le|gt|ge}");

  private static final String ORDER_LD = "{|.volatile|.relaxed.gpu|.acquire.sys|.weak}";
  private static final String ORDER_ST = "{|.volatile|.relaxed.cta|.release.gpu|.weak}";

  /** {@code %slot} holds the address of 128 bytes of the thread's own. */
  static final List<String> MEMORY =
      List.of(
          "ld" + ORDER_LD + "{|.global}.{u8|s8|b8} <h>, [%slot+<0..127>]",
          "ld{|.global}.{u8|s8} <r>, [%slot+<0..127>]",
          "ld" + ORDER_LD + "{|.global}.{u16|s16|b16} <h>, [%slot+<0..126/2>]",
          "ld{|.global}.{u16|s16} <r>, [%slot+<0..126/2>]",
          "ld" + ORDER_LD + "{|.global}.{u32|s32|b32} <r>, [%slot+<0..124/4>]",
          "ld.global{|.ca|.cg|.cs|.lu|.cv}.{u32|s32|b32} <r>, [%slot+<0..124/4>]",
          "ld" + ORDER_LD + "{|.global}.{u64|s64|b64} <x>, [%slot+<0..120/8>]",
          "ld{|.global}.{u32|s32} <x>, [%slot+<0..124/4>]",
          "ld{|.global}.f32 <f>, [%slot+<0..124/4>]",
          "ld{|.global}.f64 <e>, [%slot+<0..120/8>]",
          "ld{|.global}.b16 <k>, [%slot+<0..126/2>]",
          "ld{|.global}.b32 <v>, [%slot+<0..124/4>]",
          "ld{|.global}.v2.{u8|s8} {<h2>}, [%slot+<0..126/2>]",
          "ld{|.global}.v4.{u8|s8} {<h4>}, [%slot+<0..124/4>]",
          "ld{|.global}.v4.u16 {<h4>}, [%slot+<0..120/8>]",
          "ld{|.global}.v2.{u32|b32} {<r2>}, [%slot+<0..120/8>]",
          "ld{|.global}.v4.{u32|s32} {<r4>}, [%slot+<0..112/16>]",
          "ld{|.global}.v2.{u64|b64} {<x2>}, [%slot+<0..112/16>]",
          "ld{|.global}.v2.f32 {<f2>}, [%slot+<0..120/8>]",
          "ld{|.global}.v4.f32 {<f4>}, [%slot+<0..112/16>]",
          "st" + ORDER_ST + "{|.global}.{u8|b8|s8} [%slot+<0..127>], <h>",
          "st{|.global}.u8 [%slot+<0..127>], <r>",
          "st" + ORDER_ST + "{|.global}.{u16|b16} [%slot+<0..126/2>], <h>",
          "st" + ORDER_ST + "{|.global}.{u32|s32|b32} [%slot+<0..124/4>], <r>",
          "st.global{|.wb|.cg|.cs|.wt}.{u32|s32|b32} [%slot+<0..124/4>], <ri>",
          "st" + ORDER_ST + "{|.global}.{u64|s64|b64} [%slot+<0..120/8>], <x>",
          "st{|.global}.v2.u16 [%slot+<0..124/4>], {<h>, <h>}",
          "st{|.global}.v4.u8 [%slot+<0..124/4>], {<h>, <h>, <h>, <h>}",
          "st{|.global}.v2.u32 [%slot+<0..120/8>], {<r>, <r>}",
          "st{|.global}.v4.b32 [%slot+<0..112/16>], {<r>, <r>, <r>, <r>}",
          "st{|.global}.v2.u64 [%slot+<0..112/16>], {<x>, <x>}",
          "setp.nan.f32 %tp0, <f:1>, <f:1>; selp.f32 %tf0, 0f7FC00000, <f:1>, %tp0;"
              + "st{|.global}.f32 [%slot+<0..124/4>], %tf0",
          "setp.nan.f64 %tp0, <e:1>, <e:1>; selp.f64 %te0, 0d7FF8000000000000, <e:1>, %tp0;"
              + "st{|.global}.f64 [%slot+<0..120/8>], %te0",
          "and.b32 %tr0, <r>, 0x7c; cvt.u64.u32 %tx0, %tr0; add.s64 %tx0, %slot, %tx0;"
              + "ld{|.global}.{u32|s32} <r>, [%tx0]",
          "and.b32 %tr0, <r>, 0x78; cvt.u64.u32 %tx0, %tr0; add.s64 %tx0, %slot, %tx0;"
              + "st{|.global}.{u64|b64} [%tx0], <x>",
          "ld.const.{u32|s32} <r>, [TABLE+<0..252/4>]",
          "ld.const.v2.u32 {<r2>}, [TABLE+<0..248/8>]",
          "ld.const.f64 <e>, [TABLE+<0..248/8>]",
          "and.b32 %tr0, <r>, 0xfc; cvt.u64.u32 %tx0, %tr0; mov.u64 %tx1, TABLE;"
              + "add.s64 %tx0, %tx1, %tx0; ld.const.u32 <r>, [%tx0]",
          "ld.local.{u32|b32} <r>, [local+<0..60/4>]",
          "ld.local.u8 <h>, [local+<0..63>]",
          "ld.local.u64 <x>, [local+<0..56/8>]",
          "ld.local.v4.u32 {<r4>}, [local+<0..48/16>]",
          "st.local.{u32|b32} [local+<0..60/4>], <ri>",
          "st.local.u16 [local+<0..62/2>], <h>",
          "st.local.u64 [local+<0..56/8>], <x>",
          "and.b32 %tr0, <r>, 0x3c; cvt.u64.u32 %tx0, %tr0; mov.u64 %tx1, local;"
              + "add.s64 %tx0, %tx1, %tx0; ld.local.u32 <r>, [%tx0]",
          "and.b32 %tr0, <r>, 0x3c; cvt.u64.u32 %tx0, %tr0; mov.u64 %tx1, local;"
              + "cvta.local.u64 %tx1, %tx1; add.s64 %tx0, %tx1, %tx0; {ld.u32 <r>, [%tx0]|st.u32 [%tx0], <r>}",
          "mov.u64 %tx1, local; cvta.local.u64 %tx1, %tx1; isspacep.{global|local|shared} <p>, %tx1",
          "isspacep.{global|local|shared} <p>, %slot");

  private static final String SCOPE = "{|.relaxed.gpu|.acq_rel.gpu|.relaxed.cta|.release.sys}";

  /** Atomics on what is the thread's own, so that the old value is known. */
  static final List<String> ATOMICS =
      List.of(
          "atom" + SCOPE + "{|.global}.{add|min|max}.u32 <r>, [%slot+<0..124/4>], <ri>",
          "atom{|.global}.{add|min|max}.s32 <r>, [%slot+<0..124/4>], <ri>",
          "atom" + SCOPE + "{|.global}.{and|or|xor|exch}.b32 <r>, [%slot+<0..124/4>], <ri>",
          "atom{|.global}.{inc|dec}.u32 <r>, [%slot+<0..124/4>], <ri>",
          "atom{|.global}.cas.b32 <r>, [%slot+<0..124/4>], <ri>, <r>",
          "ld.global.u32 %tr0, [%slot+8]; atom{|.global}.cas.b32 <r>, [%slot+8], %tr0, <r>",
          "atom{|.global}.{add|min|max}.u64 <x>, [%slot+<0..120/8>], <xi>",
          "atom{|.global}.{min|max}.s64 <x>, [%slot+<0..120/8>], <xi>",
          "atom{|.global}.{and|or|xor|exch}.b64 <x>, [%slot+<0..120/8>], <x>",
          "atom{|.global}.cas.b64 <x>, [%slot+<0..120/8>], <x>, <x>",
          "red{|.relaxed.gpu|.relaxed.cta|.release.sys}{|.global}.{add|min|max}.{u32|s32} [%slot+<0..124/4>], <ri>",
          "red{|.global}.{and|or|xor}.b32 [%slot+<0..124/4>], <r>",
          "red{|.global}.add.u64 [%slot+<0..120/8>], <x>",
          "mov.b32 %tr0, 0x40490fdb; st.global.u32 [%slot+12], %tr0;"
              + "atom.global.add.f32 <f>, [%slot+12], 0f3F800000",
          "membar.{cta|gl|sys}",
          "fence.{sc|acq_rel}.{cta|gpu|sys}");

  /** Each word that all threads update is updated in one way only: the order does not matter. */
  static final List<String> COMMON =
      List.of(
          "{red|atom}.global.add.u32 DROP[%atom], <ri>",
          "{red|atom}{|.global}.and.b32 DROP[%atom+4], <ri>",
          "{red|atom}{|.global}.or.b32 DROP[%atom+8], <ri>",
          "{red|atom}{|.global}.xor.b32 DROP[%atom+12], <ri>",
          "{red|atom}{|.global}.min.u32 DROP[%atom+16], <ri>",
          "{red|atom}{|.global}.max.u32 DROP[%atom+20], <ri>",
          "{red|atom}{|.global}.min.s32 DROP[%atom+24], <ri>",
          "{red|atom}{|.global}.max.s32 DROP[%atom+28], <ri>",
          "{red|atom}{|.global}.add.u64 WIDE[%atom+32], <xi>",
          "{red|atom}{|.global}.min.s64 WIDE[%atom+40], <xi>",
          "{red|atom}{|.global}.max.u64 WIDE[%atom+48], <xi>",
          "{red|atom}{|.global}.xor.b64 WIDE[%atom+56], <x>",
          "and.b32 %tr0, <r>, 0xffc; cvt.u64.u32 %tx0, %tr0; add.s64 %tx0, %in, %tx0;"
              + "ld{|.global|.global.nc}.{u32|s32|b32} <r>, [%tx0]",
          "and.b32 %tr0, <r>, 0xff8; cvt.u64.u32 %tx0, %tr0; add.s64 %tx0, %in, %tx0;"
              + "ld{|.global|.global.nc}.f64 <e>, [%tx0]",
          "and.b32 %tr0, <r>, 0xff0; cvt.u64.u32 %tx0, %tr0; add.s64 %tx0, %in, %tx0;"
              + "ld{|.global|.global.nc}.v4.f32 {<f4>}, [%tx0]",
          "ld.param.u32 <r>, [n]",
          "ld.param.u64 <x>, [s+8]",
          "ld.param.{u8|s8} <h>, [s+<0..15>]",
          "ld.param.v2.u32 {<r2>}, [s+<0..8/8>]");

  /** {@code MASK} names the threads that have come here together. */
  static final List<String> WARP =
      List.of(
          "vote.sync.ballot.b32 <r>, <q>, MASK",
          "vote.sync.{any|all|uni}.pred <p>, <q>, MASK",
          "match.any.sync.b32 <r>, <r>, MASK",
          "and.b32 %tr0, <r>, 3; match.any.sync.b32 <r>, %tr0, MASK",
          "and.b64 %tx0, <x>, 1; match.any.sync.b64 <r>, %tx0, MASK",
          "match.all.sync.b32 <r>|%tp0, <r>, MASK; mov.pred <p>, %tp0",
          "redux.sync.{add|min|max}.{u32|s32} <r>, <r>, MASK",
          "redux.sync.{and|or|xor}.b32 <r>, <r>, MASK",
          "bar.warp.sync MASK",
          "activemask.b32 %tr0; mov.u32 %tr1, %laneid; shr.u32 %tr0, %tr0, %tr1;"
              + "and.b32 <r>, %tr0, 1",
          "bfind.u32 %tr0, MASK; shfl.sync.idx.b32 <r>|%tp0, <r>, %tr0, 31, MASK;"
              + "mov.pred <p>, %tp0",
          "brev.b32 %tr0, MASK; clz.b32 %tr0, %tr0; shfl.sync.idx.b32 <r>, <r>, %tr0, 0x1f, MASK",
          "mov.u32 %tr0, %laneid; xor.b32 %tr0, %tr0, <0..31:1>;"
              + "shfl.sync.bfly.b32 %tr1|%tp0, <r:2>, <0..31:1>, 31, MASK;"
              + "shr.u32 %tr0, MASK, %tr0; and.b32 %tr0, %tr0, 1; setp.ne.u32 %tp0, %tr0, 0;"
              + "selp.b32 <r>, %tr1, <r:2>, %tp0");

  /** For warps all of whose threads are there. */
  static final List<String> FULL_WARP =
      List.of(
          "shfl.sync.{up|down|bfly|idx}.b32 <r>, <r>, <n>, {0|31|0x1c03|0x181f|0x1000|7}, -1",
          "shfl.sync.{up|down|bfly|idx}.b32 <r>|%tp0, <r>, <n>, {0|31|0x1c03|0x181f|0x1000|7}, -1;"
              + "mov.pred <p>, %tp0");

  /** Barriers of the whole block. */
  static final List<String> BARRIERS =
      List.of(
          "{bar|barrier}.sync <0..15>",
          "bar.red.popc.u32 <r>, <0..3>, <q>",
          "bar.red.{and|or}.pred <p>, <0..3>, <q>");

  private Productions() {}
}
