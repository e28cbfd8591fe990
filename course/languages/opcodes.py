"""What kind of work a SASS instruction is, by the name of its operation."""

from __future__ import annotations

import re

__all__ = ["kind_of"]

_KINDS = (
    ("FP64", r"D(ADD|MUL|FMA|SETP|SET|MNMX)"),
    ("FP32", r"F(ADD|MUL|FMA)(32I|2)?|F(SETP|SET|SEL|MNMX\d?|CHK|SWZADD|FMA32I)|RRO"),
    ("FP16", r"H(ADD|MUL|FMA|SETP|SET|MNMX)2(_32I|_MMA)?"),
    ("tensor", r"[A-Z0-9]*MMA|LDSM|MOVM|WARPGROUP\w*"),
    ("special", r"MUFU"),
    ("conversion", r"[FI]2[FI]P?|F2IP|FRND|I2IP?|F2FP|I2FP"),
    ("load global", r"LDG"),
    ("store global", r"STG"),
    ("load shared", r"LDS"),
    ("store shared", r"STS"),
    ("load local", r"LDL"),
    ("store local", r"STL"),
    ("load generic", r"LD"),
    ("store generic", r"ST"),
    ("load constant", r"LDC|ULDC|LDCU"),
    ("atomic global", r"ATOMG|RED|REDG"),
    ("atomic shared", r"ATOMS|REDS"),
    ("atomic generic", r"ATOM"),
    ("asynchronous copy", r"LDGSTS|LDGDEPBAR|DEPBAR|UBLKCP|UBLKPF|UTMA\w*|ARRIVES|SYNCS"),
    ("texture", r"TEX|TLD4?|TMML|TXD|TXQ|SU(LD|ST|RED|ATOM|QUERY)"),
    ("barrier", r"BAR|B2R|R2B|MEMBAR|ERRBAR|CCTL\w*|FENCE|NANOSLEEP|UCGABAR\w*"),
    ("warp", r"SHFL|VOTEU?|MATCH|REDUX|CREDUX|ELECT"),
    ("control", r"BRAU?|BRXU?|JMPU?|JMXU?|CALL|RET|EXIT|BSSY|BSYNC|BREAK|BMOV|BPT|YIELD|KILL|WARPSYNC|NOP|RTT|PMTRIG"
                r"|ACQBULK|PREEXIT|CGAERRBAR|RPCMOV|LEPC"),
    ("predicate", r"U?(PLOP3|PSETP|PSET)|P2RU?|R2P|UP2UR"),
    ("move", r"U?MOV|MOV32I|S2R|S2UR|CS2RU?|R2UR|UR2R|SHFL|UMOV32I|GETLMEMBASE|SETLMEMBASE"),
    ("integer", r"U?(IADD\d?|IADD3|IADD32I|IMAD|IMUL|IMUL32I|ISETP|ISET|IMNMX\d?|VIMNMX\d?|VIMNMX|VIADD\w*|IABS|IDP\w*"
                r"|ISCADD\w*|LEA|LOP\d?|LOP32I|SHF|SHL|SHR|SEL|USEL|PRMT|POPC|FLO|BREV|BMSK|SGXT|XMAD|VABSDIFF\w*|VHMNMX"
                r"|IMAD32I|SCADD)"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)


def kind_of(opcode: str) -> str:
    """Kind of an operation (``LDS.128`` -> "load shared"); "other" where it is not known."""
    name = opcode.split(".", 1)[0]
    return next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(name)), "other")
