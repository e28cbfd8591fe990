"""Kinds of machine instructions."""

from __future__ import annotations

import pytest

from course.languages.opcodes import kind_of

KINDS = {
    "FP64": "DADD DFMA DSETP.GT.AND", "FP32": "FADD FFMA.FTZ FSETP.GEU.AND FMNMX FSEL", "FP16": "HFMA2.MMA HADD2.F32",
    "tensor": "HMMA.16816.F32 IMMA DMMA LDSM.16.M88.4 HGMMA.64x64x16.F32 QGMMA", "special": "MUFU.RCP",
    "conversion": "F2I.FTZ I2F.RP F2F.F64.F32 I2FP.F32.S32 F2FP.BF16.F32.PACK_AB", "load global": "LDG.E.128",
    "store global": "STG.E.64", "load shared": "LDS.U.128", "store shared": "STS", "load local": "LDL.LU",
    "store local": "STL.64", "load generic": "LD.E", "store generic": "ST.E", "load constant": "LDC.64 ULDC LDCU.64",
    "atomic global": "ATOMG.E.ADD.STRONG.GPU RED.E.ADD REDG.E.ADD", "atomic shared": "ATOMS.POPC.INC.32",
    "atomic generic": "ATOM.E.ADD", "asynchronous copy": "LDGSTS.E.BYPASS.128 LDGDEPBAR DEPBAR.LE UTMALDG.2D",
    "barrier": "BAR.SYNC.DEFER_BLOCKING MEMBAR.SC.GPU", "warp": "SHFL.IDX VOTE.ANY VOTEU.ANY MATCH.ANY REDUX.SUM",
    "control": "BRA BRX EXIT CALL.REL.NOINC RET.REL.NODEC BSSY BSYNC NOP WARPSYNC.ALL",
    "predicate": "PLOP3.LUT UPLOP3.LUT P2R", "move": "MOV UMOV S2R S2UR CS2R R2UR",
    "integer": "IADD3 IADD3.X IMAD.WIDE UIADD3.X LEA.HI.X SHF.R.S32.HI LOP3.LUT ISETP.GE.AND UISETP.GE PRMT USEL VIADD",
    "other": "SOMETHINGNEW.F32",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_instruction_has_the_kind_that_its_name_says(kind):
    assert {opcode: kind_of(opcode) for opcode in KINDS[kind].split()} == dict.fromkeys(KINDS[kind].split(), kind)
