"""One read-modify-write operation of memory in LLVM IR: what atomics and reductions do to each word."""

from __future__ import annotations

INTEGER = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "xchg",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}
_FLOATS = {
    "f32": "float",
    "f64": "double",
    "f16": "half",
    "bf16": "bfloat",
    "f16x2": "<2 x half>",
    "bf16x2": "<2 x bfloat>",
}


def _combine(operation: str, ptx_type: str, element: str) -> str:
    """LLVM lines that compute `%new` from `%old`, `%b` and `%c` (texts of the element type)."""
    if operation == "cas":
        return f"  %same = icmp eq {element} %old, %b\n  %new = select i1 %same, {element} %c, {element} %old\n"
    if operation == "exch":
        return f"  %new = add {element} %b, 0\n"
    if operation == "add" and ptx_type in _FLOATS:
        kind = _FLOATS[ptx_type]
        return (
            f"  %fo = bitcast {element} %old to {kind}\n  %fb = bitcast {element} %b to {kind}\n"
            f"  %fn = fadd {kind} %fo, %fb\n  %new = bitcast {kind} %fn to {element}\n"
        )
    if operation in ("min", "max") and ptx_type in _FLOATS:
        kind = _FLOATS[ptx_type]
        test = "olt" if operation == "min" else "ogt"
        select = "i1" if not kind.startswith("<") else "<2 x i1>"
        return (
            f"  %fo = bitcast {element} %old to {kind}\n  %fb = bitcast {element} %b to {kind}\n"
            f"  %better = fcmp {test} {kind} %fb, %fo\n  %nan = fcmp uno {kind} %fo, %fo\n"
            f"  %take = or {select} %better, %nan\n"
            f"  %fn = select {select} %take, {kind} %fb, {kind} %fo\n  %new = bitcast {kind} %fn to {element}\n"
        )
    if operation in ("min", "max"):
        sign = "s" if ptx_type.startswith("s") else "u"
        test = f"{sign}{'lt' if operation == 'min' else 'gt'}"
        return f"  %better = icmp {test} {element} %b, %old\n  %new = select i1 %better, {element} %b, {element} %old\n"
    if operation == "inc":
        return (
            f"  %wraps = icmp uge {element} %old, %b\n  %more = add {element} %old, 1\n"
            f"  %new = select i1 %wraps, {element} 0, {element} %more\n"
        )
    if operation == "dec":
        return (
            f"  %zero = icmp eq {element} %old, 0\n  %over = icmp ugt {element} %old, %b\n  %reset = or i1 %zero, %over\n"
            f"  %down = sub {element} %old, 1\n  %new = select i1 %reset, {element} %b, {element} %down\n"
        )
    return f"  %new = {INTEGER[operation]} {element} %old, %b\n"


def one_update(operation: str, ptx_type: str, element: str, shared: bool) -> str:
    """LLVM lines of one operation, in a block `%lane`: `%old` from `%p`, with `%b` (and `%c`). May open blocks; goes on
    to a block `%stored`. `shared`: nobody else runs meanwhile."""
    align = int(element[1:]) // 8
    if shared:
        return (
            f"  %old = load {element}, ptr %p, align {align}\n{_combine(operation, ptx_type, element)}"
            f"  store {element} %new, ptr %p, align {align}\n  br label %stored\n"
        )
    if operation == "cas":
        return (
            f"  %pair = cmpxchg ptr %p, {element} %b, {element} %c seq_cst seq_cst, align {align}\n"
            f"  %old = extractvalue {{ {element}, i1 }} %pair, 0\n  br label %stored\n"
        )
    simple = None
    if operation in INTEGER and ptx_type not in _FLOATS:
        simple = INTEGER[operation]
    elif operation in ("min", "max") and ptx_type not in _FLOATS:
        simple = f"{'' if ptx_type.startswith('s') else 'u'}{operation}"
    if operation == "exch":
        simple = "xchg"
    if simple is not None:
        return f"  %old = atomicrmw {simple} ptr %p, {element} %b seq_cst, align {align}\n  br label %stored\n"
    return f"""  %first = load atomic {element}, ptr %p monotonic, align {align}
  br label %try
try:
  %old = phi {element} [ %first, %lane ], [ %seen, %try ]
{_combine(operation, ptx_type, element)}  %pair = cmpxchg ptr %p, {element} %old, {element} %new seq_cst seq_cst, align {align}
  %seen = extractvalue {{ {element}, i1 }} %pair, 0
  %done = extractvalue {{ {element}, i1 }} %pair, 1
  br i1 %done, label %stored, label %try
"""
